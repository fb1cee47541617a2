# SPDX-License-Identifier: MIT
"""A small instance store that keeps its promises as long as its process lives. Replace the dict by your database."""
from sandproof_driver import DriverError, Store

REQUIRED = ("key", "provider", "provider_sandbox_id", "thread_id")
OPTIONAL = ("latest_snapshot_id", "latest_run_id")
# Bytes of the longest key, and of the longest other text.
LIMITS = {"key": 1024}
LIMIT = 65536


def check(name, value):
    limit = LIMITS.get(name, LIMIT)
    if not isinstance(value, str) or (name == "key" and not value):
        raise DriverError("invalid", f"{name} is no text")
    if len(value.encode("utf-8")) > limit:
        raise DriverError("invalid", f"{name} is longer than {limit} bytes")


class ToyStore(Store):
    capabilities = {"durable": False, "multi_process": False, "fence": False}

    def __init__(self):
        self.records = {}

    def get(self, key, cancel):
        cancel.check()
        check("key", key)
        record = self.records.get(key)
        return record and dict(record)

    def upsert(self, record, fence, cancel):
        cancel.check()
        if fence is not None:
            raise DriverError("unsupported", "this store takes no fence (capability fence)")
        fields = REQUIRED + tuple(name for name in OPTIONAL if name in record)
        for name in fields:
            check(name, record.get(name))
        self.records[record["key"]] = {name: record[name] for name in fields + ("updated_at",)}

    def delete(self, key, cancel):
        cancel.check()
        check("key", key)
        self.records.pop(key, None)
