# SPDX-License-Identifier: MIT
"""The client's side: starts a driver and offers what it serves as a Provider, a Store and a Lock."""
import itertools
import queue
import subprocess
import threading

from .bases import ExecResult, Exit, Lease, Lock, Process, Provider, Sandbox, Stat, Store
from .driver import Cancel
from .wire import (PROTOCOL, DriverError, Frames, bytes_of, env_to_wire, error_from_wire, int_of, to_bytes, to_int)


class Client:
    """A connection to a driver. Thread-safe; close() it, or use it in a with statement."""

    def __init__(self, frames, process=None):
        self.frames = frames
        self.process = process
        self.ids = itertools.count(1)
        self.lock = threading.Lock()
        self.pending = {}
        self.leases = {}
        # Losses of leases whose acquire() has not returned yet.
        self.early = {}
        self.gone = None
        threading.Thread(target=self._read, daemon=True).start()
        self.offers = self.call("initialize", protocol=PROTOCOL, client={"name": "sandproof-driver (python)"})
        self.frames.limit = min(self.frames.limit, self.offers.get("limits", {}).get("max_frame", self.frames.limit))

    @classmethod
    def start(cls, argv, **options):
        """Starts `argv`; `options` are those of subprocess.Popen."""
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        return cls(Frames(process.stdout, process.stdin), process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Asks the driver to leave and waits for it."""
        self._fail(DriverError("gone", "the connection was closed"))
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()

    def call(self, method, cancel=None, **params):
        """The result of a method; DriverError otherwise. A fired `cancel` goes to the driver, whose answer counts."""
        if cancel:
            cancel.check()
        answer = queue.SimpleQueue()
        with self.lock:
            if self.gone:
                raise self.gone
            id = next(self.ids)
            self.pending[id] = answer
        unwatch = lambda: None  # noqa: E731
        try:
            self.frames.write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            # Never before the call itself: nobody would know what to cancel.
            if cancel:
                unwatch = cancel.watch(lambda: self.tell(cancel, id=id))
            got = answer.get()
        finally:
            unwatch()
            self.pending.pop(id, None)
        if isinstance(got, Exception):
            raise got
        return got

    def tell(self, cancel, **what):
        """Tells the driver of a fired cancel; `what` names a call or a process."""
        params = {**what, "code": cancel.code, "reason": cancel.reason}
        self.frames.write({"jsonrpc": "2.0", "method": "$/cancel", "params": params})

    def provider(self):
        return RemoteProvider(self, self._offer("provider"))

    def store(self):
        return RemoteStore(self, self._offer("store"))

    def locks(self):
        return RemoteLock(self, self._offer("lock"))

    def _offer(self, kind):
        if kind not in self.offers:
            raise DriverError("unsupported", f"this driver offers no {kind}")
        return self.offers[kind]

    def _fail(self, error):
        with self.lock:
            self.gone = self.gone or error
            pending = list(self.pending.values())
        for answer in pending:
            answer.put(self.gone)

    def _read(self):
        try:
            for frame in iter(self.frames.read, None):
                self._frame(frame)
            self._fail(DriverError("unavailable", "the driver closed the channel"))
        except (DriverError, OSError, ValueError) as error:
            self._fail(error if isinstance(error, DriverError) else DriverError("io", str(error)))

    def _frame(self, frame):
        params = frame.get("params", {})
        if "method" in frame:
            if frame["method"] == "lock/lost":
                self._lost(params.get("lease"), params.get("reason", ""))
            return
        answer = self.pending.get(frame.get("id"))
        if not answer:
            raise DriverError("protocol", f"an answer with id {frame.get('id')!r}, which nobody asked")
        answer.put(error_from_wire(frame["error"]) if "error" in frame else frame.get("result", {}))


    def _lost(self, handle, reason):
        with self.lock:
            lease = self.leases.get(handle)
            if not lease:
                self.early[handle] = reason
        if lease:
            lease.lose(reason)

    def held(self, lease):
        """Takes a lease in."""
        with self.lock:
            self.leases[lease.handle] = lease
            reason = self.early.pop(lease.handle, None)
        if reason is not None:
            lease.lose(reason)


def exec_of(wire):
    return ExecResult(bytes_of(wire["stdout"], "stdout"), bytes_of(wire["stderr"], "stderr"), wire["exit_code"],
                      wire.get("stdout_cut", False), wire.get("stderr_cut", False))


def command_to_wire(command, cwd, env):
    params = {"command": to_bytes(command), "env": env_to_wire(env)}
    if cwd is not None:
        params["cwd"] = to_bytes(cwd)
    return params


class RemoteProcess(Process):
    def __init__(self, client, handle, cancel):
        self.client = client
        self.handle = handle
        # An abort belongs to the process for as long as it runs.
        self._unwatch = cancel.watch(lambda: client.tell(cancel, process=handle)) if cancel else lambda: None

    def call(self, method, cancel=None, **params):
        return self.client.call(f"process/{method}", cancel, process=self.handle, **params)

    def read(self, stream, size, cancel=None):
        got = self.call("read", cancel, stream=stream, max=size)
        return b"" if got.get("end") else bytes_of(got["data"], "data")

    def write_stdin(self, data, cancel=None):
        self.call("write_stdin", cancel, data=to_bytes(data))

    def close_stdin(self):
        self.call("close_stdin")

    def wait(self, cancel=None):
        got = self.call("wait", cancel)
        self._unwatch()
        return Exit(got["how"], got["code"], got.get("signal", 0))

    def kill(self, signal=0, cancel=None):
        self.call("kill", cancel, signal=signal)

    def signal(self, signal, cancel=None):
        self.call("signal", cancel, signal=signal)

    def release(self):
        self._unwatch()
        self.call("release")


class RemoteSandbox(Sandbox):
    def __init__(self, client, made):
        self.client = client
        self.handle = made["sandbox"]
        self.id = made["id"]
        self.workspace_root = made["workspace_root"]

    def call(self, method, cancel=None, **params):
        return self.client.call(method, cancel, sandbox=self.handle, **params)

    def path(self, method, path, cancel, **params):
        return self.call(f"fs/{method}", cancel, path=to_bytes(path), **params)

    def exec(self, command, cwd=None, env=None, cancel=None):
        return exec_of(self.call("sandbox/exec", cancel, **command_to_wire(command, cwd, env)))

    def spawn(self, command, cwd=None, env=None, cancel=None):
        got = self.call("sandbox/spawn", cancel, **command_to_wire(command, cwd, env))
        return RemoteProcess(self.client, got["process"], cancel)

    def fs_read(self, path, cancel=None):
        return bytes_of(self.path("read", path, cancel)["data"], "data")

    def fs_write(self, path, data, cancel=None):
        self.path("write", path, cancel, data=to_bytes(data))

    def fs_list(self, path, cancel=None):
        return [(bytes_of(entry["name"], "name"), bytes_of(entry["path"], "path"), entry["type"])
                for entry in self.path("list", path, cancel)["entries"]]

    def fs_mkdir(self, path, cancel=None):
        self.path("mkdir", path, cancel)

    def fs_remove(self, path, cancel=None):
        self.path("remove", path, cancel)

    def fs_rename(self, source, target, cancel=None):
        self.call("fs/rename", cancel, **{"from": to_bytes(source), "to": to_bytes(target)})

    def fs_exists(self, path, cancel=None):
        return self.path("exists", path, cancel)["exists"]

    def fs_lstat(self, path, cancel=None):
        got = self.path("lstat", path, cancel)
        return Stat(got["type"], got["mode"], int_of(got["size"], "size"))

    def env_set(self, env, cancel=None):
        self.call("sandbox/env_set", cancel, env=env_to_wire(env))

    def snapshot(self, label=None, cancel=None):
        got = self.call("sandbox/snapshot", cancel, **({} if label is None else {"label": label}))
        return got["id"], got.get("label")

    def fork(self, cancel=None):
        return RemoteSandbox(self.client, self.call("sandbox/fork", cancel))

    def port_connect(self, port, cancel=None):
        got = self.call("sandbox/port_connect", cancel, port=port)
        return got["url"], got.get("token")

    def git(self, options, cancel=None):
        return exec_of(self.call("sandbox/git", cancel, **{"depth": 0, **options}))

    def timeline(self, cancel=None):
        return [bytes_of(text, "a command") for text in self.call("sandbox/timeline", cancel)["commands"]]

    def destroy(self, cancel=None):
        self.call("sandbox/destroy", cancel)

    def close(self):
        self.call("sandbox/close")


class RemoteProvider(Provider):
    def __init__(self, client, offer):
        self.client = client
        self.name = offer["name"]
        self.capabilities = offer["capabilities"]

    @staticmethod
    def options(options):
        params = {"network": options.network, "env": env_to_wire(options.env)}
        for name in ("id", "workspace", "lifetime_s", "adapter_name"):
            if getattr(options, name) is not None:
                params[name] = getattr(options, name)
        return params

    def create(self, options, cancel=None):
        return RemoteSandbox(self.client, self.client.call("provider/create", cancel, **self.options(options)))

    def resume(self, id, cancel=None):
        got = self.client.call("provider/resume", cancel, id=id)
        return None if got.get("gone") else RemoteSandbox(self.client, got)

    def restore(self, snapshot, options, cancel=None):
        params = self.options(options)
        return RemoteSandbox(self.client, self.client.call("provider/restore", cancel, snapshot=snapshot, **params))

    def destroy(self, id, cancel=None):
        self.client.call("provider/destroy", cancel, id=id)

    def snapshot_delete(self, snapshot, cancel=None):
        self.client.call("provider/snapshot_delete", cancel, snapshot=snapshot)

    def list(self, cancel=None):
        return self.client.call("provider/list", cancel)["ids"]


class RemoteStore(Store):
    def __init__(self, client, offer):
        self.client = client
        self.capabilities = offer["capabilities"]

    def get(self, key, cancel=None):
        record = self.client.call("store/get", cancel, key=key)["record"]
        return record and {**record, "updated_at": int_of(record["updated_at"], "updated_at")}

    def upsert(self, record, fence=None, cancel=None):
        params = {"record": {**record, "updated_at": to_int(record["updated_at"])}}
        if fence is not None:
            params["fence"] = to_int(fence)
        self.client.call("store/upsert", cancel, **params)

    def delete(self, key, cancel=None):
        self.client.call("store/delete", cancel, key=key)


class RemoteLease(Lease):
    def __init__(self, client, handle, fence):
        self.client = client
        self.handle = handle
        self.fence = fence
        # Fires when the lease is lost.
        self.signal = Cancel()
        self.on_lost(lambda reason: self.signal.fire("aborted", reason))

    def release(self):
        self.client.leases.pop(self.handle, None)
        self.client.call("lock/release", lease=self.handle)


class RemoteLock(Lock):
    def __init__(self, client, offer):
        self.client = client
        self.capabilities = offer["capabilities"]

    def acquire(self, key, cancel=None):
        got = self.client.call("lock/acquire", cancel, key=key)
        lease = RemoteLease(self.client, got["lease"], int_of(got.get("fence", 0), "fence"))
        self.client.held(lease)
        return lease
