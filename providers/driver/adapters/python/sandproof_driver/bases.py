# SPDX-License-Identifier: MIT
"""What a driver implements. A method that is left alone answers "unsupported".

Words, shapes and errors of each call are those of the contract's headers (provider.h, sandbox.h, process.h, store.h).
Commands, paths, values of variables and contents are bytes; ids, keys and names are text. Every method may be called
from any thread. `cancel` is a driver.Cancel: look at it before anything is begun (cancel.check()) and heed it while
you wait; what has outlived its use is raised as DriverError("aborted", cancel.reason), which cancel.check() does.
"""
from dataclasses import dataclass
from typing import Optional

from .wire import DriverError


def unsupported(self, name):
    raise DriverError("unsupported", f"{getattr(self, 'name', type(self).__name__)} has no {name}")


@dataclass
class ExecResult:
    """What a command left."""
    stdout: bytes
    stderr: bytes
    exit_code: int
    stdout_cut: bool = False
    stderr_cut: bool = False


@dataclass
class Exit:
    """How a process ended: "exited", "signalled", "killed", "aborted" or "timed-out"; death by signal n is 128 + n."""
    how: str
    code: int
    signal: int = 0


@dataclass
class Stat:
    """What lstat answers: "file", "dir", "symlink" or "other"; the full mode; bytes of a regular file."""
    type: str
    mode: int
    size: int = 0


class Process:
    """A process that was spawned. What read() has not fetched waits where it is."""

    def read(self, stream, size, cancel):
        """Up to `size` bytes of "stdout" or "stderr" as soon as there are some; b"" at the end, again and again."""
        unsupported(self, "process.read")

    def write_stdin(self, data, cancel):
        unsupported(self, "process.write_stdin (capability writable_stdin)")

    def close_stdin(self):
        unsupported(self, "process.close_stdin (capability writable_stdin)")

    def wait(self, cancel):
        """An Exit, at any time, any number of times."""
        unsupported(self, "process.wait")

    def kill(self, signal, cancel):
        """Ends it and all within reach; 0 is TERM."""
        unsupported(self, "process.kill (capability killable_processes)")

    def signal(self, signal, cancel):
        unsupported(self, "process.signal (capability signals)")

    def cancelled(self, cancel):
        """The cancel that was given to spawn has fired: end it as kill(TERM) does; wait() then says why."""
        self.kill(0, cancel)

    def release(self):
        """Nobody asks any more; the process goes on."""


class Sandbox:
    """A handle to a sandbox. `id` and `workspace_root` are text."""
    id = ""
    workspace_root = "/workspace"

    def exec(self, command, cwd, env, cancel):
        """Runs it to its end: an ExecResult. `cwd` is None for the workspace's root."""
        unsupported(self, "exec")

    def spawn(self, command, cwd, env, cancel):
        """A Process. `cancel` is the call's alone: an abort of the process comes through Process.cancelled()."""
        unsupported(self, "spawn (capability background_processes)")

    def fs_read(self, path, cancel):
        unsupported(self, "fs.read")

    def fs_write(self, path, data, cancel):
        unsupported(self, "fs.write")

    def fs_list(self, path, cancel):
        """(name, path, type) of each entry, in any order."""
        unsupported(self, "fs.list")

    def fs_mkdir(self, path, cancel):
        unsupported(self, "fs.mkdir")

    def fs_remove(self, path, cancel):
        unsupported(self, "fs.remove")

    def fs_rename(self, source, target, cancel):
        unsupported(self, "fs.rename")

    def fs_exists(self, path, cancel):
        unsupported(self, "fs.exists")

    def fs_lstat(self, path, cancel):
        """A Stat; DriverError "not-found" only where absence is certain."""
        unsupported(self, "fs.lstat")

    def env_set(self, env, cancel):
        unsupported(self, "env_set (capability env)")

    def snapshot(self, label, cancel):
        """(id, label)."""
        unsupported(self, "snapshot (capability snapshots)")

    def fork(self, cancel):
        unsupported(self, "fork (capability fork)")

    def port_connect(self, port, cancel):
        """(url, token or None)."""
        unsupported(self, "port_connect (capability ports)")

    def git(self, options, cancel):
        """An ExecResult; `options` as in PROTOCOL.md."""
        unsupported(self, "git")

    def timeline(self, cancel):
        unsupported(self, "timeline")

    def destroy(self, cancel):
        """Ends everything and removes it; already gone is success."""
        unsupported(self, "destroy")

    def close(self):
        """Nobody asks any more; the sandbox stays."""


@dataclass
class CreateOptions:
    """How to make a sandbox; `network` is "default", "allow" or "deny"."""
    env: dict
    network: str = "default"
    id: Optional[str] = None
    workspace: Optional[str] = None
    lifetime_s: Optional[int] = None
    adapter_name: Optional[str] = None


class Provider:
    """Makes, finds and removes sandboxes. `capabilities` are those of PROTOCOL.md; an absent one is false."""
    name = "provider"
    capabilities: dict = {}

    def create(self, options, cancel):
        """A Sandbox. Whatever was begun is removed when this fails."""
        unsupported(self, "create")

    def resume(self, id, cancel):
        """A Sandbox, or None only when it is gone for good."""
        unsupported(self, "resume")

    def restore(self, snapshot, options, cancel):
        unsupported(self, "restore (capability snapshots)")

    def destroy(self, id, cancel):
        unsupported(self, "destroy")

    def snapshot_delete(self, snapshot, cancel):
        unsupported(self, "snapshot_delete (capability snapshots)")

    def list(self, cancel):
        unsupported(self, "list")


class Store:
    """Which sandbox belongs to a key. Records are dicts with the members of PROTOCOL.md; an absent field is absent."""
    capabilities: dict = {}

    def get(self, key, cancel):
        """A record, or None."""
        unsupported(self, "store.get")

    def upsert(self, record, fence, cancel):
        """Replaces the whole record; `fence` is None without one."""
        unsupported(self, "store.upsert")

    def delete(self, key, cancel):
        unsupported(self, "store.delete")


class Lease:
    """A held lock. `fence` grows with each holder of the key where the lock offers tokens."""
    fence = 0
    _reason = None
    _tell = None

    def release(self):
        unsupported(self, "lock.release")

    def lose(self, reason=""):
        """Tells the holder that the lease is lost."""
        if self._reason is None:
            self._reason = reason
            if self._tell:
                self._tell(reason)

    def on_lost(self, tell):
        """Calls `tell(reason)` once when the lease is lost, at once if it was."""
        self._tell = tell
        if self._reason is not None:
            tell(self._reason)


class Lock:
    """A lock service."""
    capabilities: dict = {}

    def acquire(self, key, cancel):
        """Waits until the caller is the one holder; a Lease."""
        unsupported(self, "lock.acquire")
