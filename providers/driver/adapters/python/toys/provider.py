# SPDX-License-Identifier: MIT
"""A small provider that keeps its promises: folders and processes of this machine, without any isolation. Begin here:
replace what stands behind each method by your own platform."""
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import uuid

from sandproof_driver import DriverError, ExecResult, Exit, Process, Provider, Sandbox, Stat

GRACE_S = 0.2
# A variable that everything carries which a command starts.
MARK = "TOY_MARK"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Shells make these themselves: what was given would be dropped without a word.
SHELLS = set("""BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_ENV BASH_LINENO BASH_SOURCE
BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COMP_WORDBREAKS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD
IFS LINENO OLDPWD OPTERR OPTIND PIPESTATUS PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID _""".split())
# Bytes that the kernel takes as one argument or variable, and as all of them, with some to spare.
LONGEST = 130_000
MOST = 1_000_000
GENTLE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def check(env, more=()):
    """Names and values that a command can be given, also together with `more`."""
    size = 0
    for name, value in {**dict(more), **env}.items():
        if not VARIABLE.match(name):
            # It may be a value in the wrong place: it is not repeated.
            raise DriverError("invalid", "what is given as the name of a variable cannot be one")
        if name == MARK or name in SHELLS or b"\0" in value or len(value) > LONGEST:
            raise DriverError("invalid", f"{name} cannot be handed over")
        size += len(name) + len(value) + 2
    if size > MOST:
        raise DriverError("invalid", f"{size} bytes of variables are more than a command can be given")


def marked(mark):
    """Processes whose environment holds the mark; zombies have none any more."""
    start = f"{MARK}={mark}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if any(line.startswith(start) for line in file.read().split(b"\0")):
                    yield int(pid)
        except OSError:
            pass


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def kill_marked(mark):
    """Ends everything that carries the mark: a walk that finds nothing is the proof."""
    while True:
        pids = list(marked(mark))
        if not pids:
            return
        for pid in pids:
            tell(pid, signal.SIGKILL)
        time.sleep(0.001)


class Command(Process):
    def __init__(self, command, cwd, env, mark, stdin):
        self.script = script_of(command) if len(command) > LONGEST else None
        words = [self.script] if self.script else ["-c", "--", command]
        self.mark = mark
        self.lock = threading.Lock()
        self.first = None
        self.code = None
        self.ended = threading.Event()
        self.killing = False
        self.child = subprocess.Popen(["/bin/bash", *words], cwd=cwd, env={**env, MARK: mark.encode()}, stdin=stdin,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, bufsize=0)
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self):
        code = self.child.wait()
        # What the command left behind holds its pipes and would run for ever.
        kill_marked(self.mark)
        if self.script:
            os.unlink(self.script)
        with self.lock:
            self.code = code if code >= 0 else 128 - code
            self.how = self.first or ("exited" if code >= 0 else "signalled")
        self.ended.set()

    def read(self, stream, size, cancel):
        pipe = getattr(self.child, stream)
        fired, wake = os.pipe()
        unwatch = cancel.watch(lambda: os.write(wake, b"!"))
        try:
            ready, _, _ = select.select([pipe, fired], [], [])
            if pipe not in ready:
                cancel.check()
            return os.read(pipe.fileno(), size)
        finally:
            unwatch()
            os.close(fired)
            os.close(wake)

    def write_stdin(self, data, cancel):
        while data:
            data = data[self.child.stdin.write(data):]

    def close_stdin(self):
        self.child.stdin.close()

    def wait(self, cancel):
        done = threading.Event()
        unwatch = cancel.watch(done.set)
        threading.Thread(target=lambda: (self.ended.wait(), done.set()), daemon=True).start()
        done.wait()
        unwatch()
        if not self.ended.is_set():
            cancel.check()
        return Exit(self.how, self.code)

    def kill(self, number, cancel, why="killed"):
        number = number or signal.SIGTERM
        with self.lock:
            if self.code is not None:
                return
            self.first = self.first or why
            gentle = number in GENTLE and not self.killing
            self.killing = True
        if gentle:
            tell(-self.child.pid, number)
            self.ended.wait(GRACE_S)
        # Its group by name: what is just being started has no environment to be found by yet.
        if not self.ended.is_set():
            tell(-self.child.pid, signal.SIGKILL)
        kill_marked(self.mark)
        self.ended.wait()

    def cancelled(self, cancel):
        self.kill(0, cancel, cancel.code)


def script_of(command):
    """A file for a command that is too long for one argument; it goes with the command."""
    file, path = tempfile.mkstemp(prefix="sandproof-toy-command-")
    with os.fdopen(file, "wb") as script:
        script.write(command)
    return path


class Folder(Sandbox):
    def __init__(self, provider, root, env):
        self.provider = provider
        self.id = root
        self.workspace_root = root
        # Shared with every other handle on the sandbox.
        self.env = env

    def at(self, path):
        """Where a path is, as long as the sandbox is there."""
        if not os.path.isdir(self.workspace_root):
            raise DriverError("gone", f"sandbox {self.id} was destroyed")
        if path == b"/workspace" or path.startswith(b"/workspace/"):
            path = path[len(b"/workspace/"):]
        return os.path.join(os.fsencode(self.workspace_root), path)

    def start(self, command, cwd, env, cancel, stdin):
        cancel.check()
        check(env, self.env)
        folder = self.at(cwd or b"/workspace")
        if not os.path.isdir(folder):
            raise DriverError("not-found", f"{os.fsdecode(cwd or b'')} is no folder")
        base = {"PATH": os.environb[b"PATH"], "HOME": os.fsencode(self.workspace_root)}
        return Command(command, folder, {**base, **self.env, **env}, f"{self.id}:{uuid.uuid4()}", stdin)

    def exec(self, command, cwd, env, cancel):
        running = self.start(command, cwd, env, cancel, subprocess.DEVNULL)
        unwatch = cancel.watch(lambda: threading.Thread(target=running.cancelled, args=(cancel,), daemon=True).start())
        stdout, stderr = running.child.communicate()
        running.ended.wait()
        unwatch()
        if running.first:
            cancel.check()
        return ExecResult(stdout, stderr, running.code)

    def spawn(self, command, cwd, env, cancel):
        return self.start(command, cwd, env, cancel, subprocess.PIPE)

    def fs_read(self, path, cancel):
        cancel.check()
        with open(self.at(path), "rb") as file:
            return file.read()

    def fs_write(self, path, data, cancel):
        cancel.check()
        target = os.path.realpath(self.at(path))
        draft = target + b"." + uuid.uuid4().hex.encode()
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(target):
            raise DriverError("conflict", f"{os.fsdecode(path)} is a folder")
        with open(draft, "wb") as file:
            file.write(data)
        os.rename(draft, target)

    def fs_list(self, path, cancel):
        cancel.check()
        with os.scandir(self.at(path)) as entries:
            root = os.path.join(b"/workspace", path)
            return [(entry.name, os.path.normpath(os.path.join(root, entry.name)), kind(entry.stat(follow_symlinks=False).st_mode))
                    for entry in entries]

    def fs_mkdir(self, path, cancel):
        cancel.check()
        os.makedirs(self.at(path), exist_ok=True)

    def fs_remove(self, path, cancel):
        cancel.check()
        target = self.at(path).rstrip(b"/")
        try:
            shutil.rmtree(target) if stat.S_ISDIR(os.lstat(target).st_mode) else os.unlink(target)
        except FileNotFoundError:
            pass

    def fs_rename(self, source, target, cancel):
        cancel.check()
        os.rename(self.at(source), self.at(target))

    def fs_exists(self, path, cancel):
        try:
            self.fs_lstat(path, cancel)
        except FileNotFoundError:
            return False
        return True

    def fs_lstat(self, path, cancel):
        cancel.check()
        found = os.lstat(self.at(path))
        return Stat(kind(found.st_mode), found.st_mode, found.st_size if stat.S_ISREG(found.st_mode) else 0)

    def env_set(self, env, cancel):
        cancel.check()
        self.at(b"")
        check(env, self.env)
        self.env.update(env)

    def fork(self, cancel):
        cancel.check()
        self.at(b"")
        twin = self.provider.make(self.env)
        shutil.copytree(self.workspace_root, twin.workspace_root, symlinks=True, dirs_exist_ok=True)
        return twin

    def port_connect(self, port, cancel):
        self.at(b"")
        return f"http://127.0.0.1:{port}", None

    def destroy(self, cancel):
        self.provider.destroy(self.id, cancel)


def kind(mode):
    if stat.S_ISDIR(mode):
        return "dir"
    if stat.S_ISREG(mode):
        return "file"
    return "symlink" if stat.S_ISLNK(mode) else "other"


class ToyProvider(Provider):
    name = "toy"
    capabilities = {
        "fs": True, "exec": True, "env": True, "ports": True, "background_processes": True, "writable_stdin": True,
        "killable_processes": True, "durable_filesystem": True, "fork": True, "kill_reach": "session",
        "kill_grace_ms": int(GRACE_S * 1000), "exit_reaps_group": True, "output": "bytes", "follow": True,
        "atomic_write": True,
    }

    def __init__(self):
        # The variables of each sandbox, which its handles share.
        self.envs = {}

    def make(self, env):
        root = os.path.realpath(tempfile.mkdtemp(prefix="sandproof-toy-"))
        self.envs[root] = dict(env)
        return Folder(self, root, self.envs[root])

    def create(self, options, cancel):
        cancel.check()
        check(options.env)
        if options.network != "default":
            raise DriverError("unsupported", "toy cuts no network (capability network_policy)")
        sandbox = self.make(options.env)
        if cancel.fired:
            self.destroy(sandbox.id, cancel)
        cancel.check()
        return sandbox

    def resume(self, id, cancel):
        cancel.check()
        return Folder(self, id, self.envs.setdefault(id, {})) if own(id) and os.path.isdir(id) else None

    def list(self, cancel):
        cancel.check()
        folder = os.path.realpath(tempfile.gettempdir())
        return [id for id in (os.path.join(folder, name) for name in os.listdir(folder)) if own(id) and os.path.isdir(id)]

    def destroy(self, id, cancel):
        if own(id):
            self.envs.pop(id, None)
            kill_marked(id + ":")
            shutil.rmtree(id, ignore_errors=not os.path.exists(id))


def own(id):
    """An id is a folder that create() made, never another one."""
    return re.search(r"^/[^/].*/sandproof-toy-[a-z0-9_]{8}\Z", id) and os.path.normpath(id) == id
