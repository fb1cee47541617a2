# SPDX-License-Identifier: MIT
"""The driver's side: requests in, answers out, cancels in between. Each call has a thread of its own."""
import itertools
import os
import sys
import threading
import traceback

from .bases import CreateOptions, ExecResult
from .wire import (PROTOCOL, DriverError, Frames, bytes_of, env_of, error_to_wire, int_of, to_bytes, to_int)


class Cancel:
    """What a call is cancelled by. The first abort or deadline counts."""

    def __init__(self):
        self._event = threading.Event()
        self._lock = threading.RLock()
        self._watchers = []
        self.code = None
        self.reason = ""

    def fire(self, code, reason):
        with self._lock:
            if self.code:
                return
            self.code, self.reason = ("timed-out" if code == "timed-out" else "aborted"), reason
            self._event.set()
            watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                watcher()

    @property
    def fired(self):
        return self.code is not None

    def check(self):
        """Raises what the caller is owed once it fired."""
        if self.fired:
            raise DriverError(self.code, self.reason or self.code)

    def wait(self, seconds):
        """Waits until it fires, at most so long; true when it has."""
        return self._event.wait(seconds)

    def watch(self, call):
        """Calls `call` when it fires, at once if it has; gives a function that takes that back. Once that function has
        returned, `call` is not running and will not run. `call` must not wait for anything."""
        with self._lock:
            if self.code:
                call()
            else:
                self._watchers.append(call)
        return lambda: self._unwatch(call)

    def _unwatch(self, call):
        with self._lock:
            if call in self._watchers:
                self._watchers.remove(call)


def exec_to_wire(result):
    wire = {"stdout": to_bytes(result.stdout), "stderr": to_bytes(result.stderr), "exit_code": result.exit_code}
    for cut in ("stdout_cut", "stderr_cut"):
        if getattr(result, cut):
            wire[cut] = True
    return wire


class Driver:
    """Serves one client over `frames`."""

    def __init__(self, frames, provider=None, store=None, lock=None, name="sandproof-driver (python)"):
        self.frames = frames
        self.kinds = {"provider": provider, "store": store, "lock": lock}
        self.name = name
        self.ready = False
        self.in_flight = {}
        self.handles = {"sandbox": {}, "process": {}, "lease": {}}
        self.cancels = {}
        self.counts = {kind: itertools.count(1) for kind in self.handles}

    def serve(self):
        """Until the channel ends."""
        for frame in iter(self.frames.read, None):
            params = frame.get("params") or {}
            if "id" not in frame:
                if frame.get("method") == "$/cancel":
                    self.cancelled(params)
                continue
            cancel = Cancel()
            if "cancelled" in params:
                cancel.fire(params["cancelled"].get("code"), params["cancelled"].get("reason", ""))
            self.in_flight[frame["id"]] = cancel
            threading.Thread(target=self.request, args=(frame["id"], frame.get("method"), params, cancel),
                             daemon=True).start()

    def cancelled(self, params):
        code, reason = params.get("code"), params.get("reason", "")
        if "id" in params and params["id"] in self.in_flight:
            self.in_flight[params["id"]].fire(code, reason)
        if params.get("process") in self.cancels:
            self.cancels[params["process"]].fire(code, reason)

    def notify(self, method, **params):
        self.frames.write({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, id, method, params, cancel):
        try:
            answer = {"result": self.run(method, params, cancel) or {}}
        except Exception as error:  # whatever a subject raises is its answer
            if not isinstance(error, (DriverError, OSError)):
                traceback.print_exc()
            answer = {"error": error_to_wire(error)}
        self.in_flight.pop(id, None)
        try:
            self.frames.write({"jsonrpc": "2.0", "id": id, **answer})
        except DriverError as error:
            self.frames.write({"jsonrpc": "2.0", "id": id, "error": error_to_wire(error)})
        self.answered(method, answer.get("result", {}))

    def run(self, method, params, cancel):
        if method == "initialize":
            return self.initialize(params)
        if not self.ready:
            raise DriverError("invalid", f"{method} before initialize")
        call = getattr(self, str(method).replace("/", "_"), None) if "/" in str(method) else None
        if not call:
            raise DriverError("unsupported", f"{self.name} has no {method}")
        return call(params, cancel)

    def initialize(self, params):
        if not int_of(params.get("protocol", 0), "protocol") >= PROTOCOL:
            raise DriverError("unsupported", f"this driver speaks version {PROTOCOL} of the protocol")
        self.frames.limit = min(self.frames.limit, params.get("limits", {}).get("max_frame", self.frames.limit))
        result = {"protocol": PROTOCOL, "driver": {"name": self.name}}
        for kind, subject in self.kinds.items():
            if subject:
                result[kind] = {"capabilities": subject.capabilities}
                if kind == "provider":
                    result[kind]["name"] = subject.name
        self.ready = True
        return result

    def add(self, kind, thing):
        handle = f"{kind}-{next(self.counts[kind])}"
        self.handles[kind][handle] = thing
        return handle

    def find(self, kind, params):
        try:
            return self.handles[kind][params[kind]]
        except KeyError:
            raise DriverError("invalid", f"there is no {kind} {params.get(kind)!r}") from None

    def subject(self, kind):
        if not self.kinds[kind]:
            raise DriverError("unsupported", f"{self.name} offers no {kind}")
        return self.kinds[kind]

    # ---- provider ----

    def made(self, sandbox):
        return {"sandbox": self.add("sandbox", sandbox), "id": sandbox.id, "workspace_root": sandbox.workspace_root}

    @staticmethod
    def options(params):
        plain = {name: params[name] for name in ("id", "workspace", "adapter_name") if name in params}
        if "lifetime_s" in params:
            plain["lifetime_s"] = int_of(params["lifetime_s"], "lifetime_s")
        return CreateOptions(env=env_of(params.get("env")), network=params.get("network", "default"), **plain)

    def provider_create(self, params, cancel):
        return self.made(self.subject("provider").create(self.options(params), cancel))

    def provider_restore(self, params, cancel):
        return self.made(self.subject("provider").restore(params["snapshot"], self.options(params), cancel))

    def provider_resume(self, params, cancel):
        sandbox = self.subject("provider").resume(params["id"], cancel)
        return self.made(sandbox) if sandbox else {"gone": True}

    def provider_destroy(self, params, cancel):
        self.subject("provider").destroy(params["id"], cancel)

    def provider_snapshot_delete(self, params, cancel):
        self.subject("provider").snapshot_delete(params["snapshot"], cancel)

    def provider_list(self, params, cancel):
        return {"ids": list(self.subject("provider").list(cancel))}

    # ---- sandbox ----

    @staticmethod
    def command(params):
        cwd = bytes_of(params["cwd"], "cwd") if "cwd" in params else None
        return bytes_of(params["command"], "command"), cwd, env_of(params.get("env"))

    def sandbox_exec(self, params, cancel):
        return exec_to_wire(self.find("sandbox", params).exec(*self.command(params), cancel))

    def sandbox_spawn(self, params, cancel):
        process = self.find("sandbox", params).spawn(*self.command(params), cancel)
        handle, own = self.add("process", process), Cancel()
        self.cancels[handle] = own
        # An end takes its time, and the next request may be a kill.
        own.watch(lambda: threading.Thread(target=process.cancelled, args=(own,), daemon=True).start())
        cancel.watch(lambda: own.fire(cancel.code, cancel.reason))
        return {"process": handle}

    def sandbox_env_set(self, params, cancel):
        self.find("sandbox", params).env_set(env_of(params.get("env")), cancel)

    def sandbox_snapshot(self, params, cancel):
        id, label = self.find("sandbox", params).snapshot(params.get("label"), cancel)
        return {"id": id} if label is None else {"id": id, "label": label}

    def sandbox_fork(self, params, cancel):
        return self.made(self.find("sandbox", params).fork(cancel))

    def sandbox_port_connect(self, params, cancel):
        url, token = self.find("sandbox", params).port_connect(int_of(params["port"], "port"), cancel)
        return {"url": url} if token is None else {"url": url, "token": token}

    def sandbox_git(self, params, cancel):
        options = {name: value for name, value in params.items() if name != "sandbox"}
        result = self.find("sandbox", params).git(options, cancel)
        return exec_to_wire(result if isinstance(result, ExecResult) else ExecResult(b"", b"", 0))

    def sandbox_timeline(self, params, cancel):
        return {"commands": [to_bytes(text) for text in self.find("sandbox", params).timeline(cancel)]}

    def sandbox_destroy(self, params, cancel):
        self.find("sandbox", params).destroy(cancel)

    def sandbox_close(self, params, cancel):
        self.find("sandbox", params).close()
        del self.handles["sandbox"][params["sandbox"]]

    # ---- fs ----

    def path_call(self, name, params, cancel, member="path"):
        return getattr(self.find("sandbox", params), name)(bytes_of(params[member], member), cancel)

    def fs_read(self, params, cancel):
        return {"data": to_bytes(self.path_call("fs_read", params, cancel))}

    def fs_write(self, params, cancel):
        path, data = bytes_of(params["path"], "path"), bytes_of(params["data"], "data")
        self.find("sandbox", params).fs_write(path, data, cancel)

    def fs_list(self, params, cancel):
        entries = sorted(self.path_call("fs_list", params, cancel))
        return {"entries": [{"name": to_bytes(name), "path": to_bytes(path), "type": type}
                            for name, path, type in entries]}

    def fs_mkdir(self, params, cancel):
        self.path_call("fs_mkdir", params, cancel)

    def fs_remove(self, params, cancel):
        self.path_call("fs_remove", params, cancel)

    def fs_rename(self, params, cancel):
        source, target = bytes_of(params["from"], "from"), bytes_of(params["to"], "to")
        self.find("sandbox", params).fs_rename(source, target, cancel)

    def fs_exists(self, params, cancel):
        return {"exists": bool(self.path_call("fs_exists", params, cancel))}

    def fs_lstat(self, params, cancel):
        stat = self.path_call("fs_lstat", params, cancel)
        return {"type": stat.type, "mode": stat.mode, "size": to_int(stat.size)}

    # ---- process ----

    def process_read(self, params, cancel):
        size = int_of(params["max"], "max")
        data = self.find("process", params).read(params["stream"], size, cancel)
        return {"data": to_bytes(data)} if data else {"end": True}

    def process_write_stdin(self, params, cancel):
        self.find("process", params).write_stdin(bytes_of(params["data"], "data"), cancel)

    def process_close_stdin(self, params, cancel):
        self.find("process", params).close_stdin()

    def process_wait(self, params, cancel):
        end = self.find("process", params).wait(cancel)
        return {"how": end.how, "code": end.code, "signal": end.signal}

    def process_kill(self, params, cancel):
        self.find("process", params).kill(int_of(params.get("signal", 0), "signal"), cancel)

    def process_signal(self, params, cancel):
        self.find("process", params).signal(int_of(params["signal"], "signal"), cancel)

    def process_release(self, params, cancel):
        self.find("process", params).release()
        del self.handles["process"][params["process"]]
        self.cancels.pop(params["process"], None)

    # ---- store and lock ----

    def store_get(self, params, cancel):
        record = self.subject("store").get(params["key"], cancel)
        if record is None:
            return {"record": None}
        return {"record": {**record, "updated_at": to_int(record["updated_at"])}}

    def store_upsert(self, params, cancel):
        record = {**params["record"], "updated_at": int_of(params["record"]["updated_at"], "updated_at")}
        fence = int_of(params["fence"], "fence") if "fence" in params else None
        self.subject("store").upsert(record, fence, cancel)

    def store_delete(self, params, cancel):
        self.subject("store").delete(params["key"], cancel)

    def lock_acquire(self, params, cancel):
        lease = self.subject("lock").acquire(params["key"], cancel)
        return {"lease": self.add("lease", lease), "fence": to_int(lease.fence)}

    def answered(self, method, result):
        """A lost lease is told of after the answer that names it, never before."""
        if method == "lock/acquire" and "lease" in result:
            handle = result["lease"]
            self.handles["lease"][handle].on_lost(
                lambda reason: self.notify("lock/lost", lease=handle, reason=reason))

    def lock_release(self, params, cancel):
        lease = self.find("lease", params)
        del self.handles["lease"][params["lease"]]
        lease.release()


def serve(provider=None, store=None, lock=None, name="sandproof-driver (python)"):
    """Speaks the protocol on standard input and output until the input ends. What is printed goes to standard error."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Driver(Frames(sys.stdin.buffer, sink), provider, store, lock, name).serve()
