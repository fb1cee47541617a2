# SPDX-License-Identifier: MIT
"""The driver and the client against each other, over the toys; values; the base classes' refusals."""
import io
import json
import os
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from sandproof_driver import (Cancel, Client, CreateOptions, DriverError, Lease, Lock, Provider, Sandbox,  # noqa: E402
                              Store)
from sandproof_driver.driver import Driver  # noqa: E402
from sandproof_driver.wire import (Frames, bytes_of, error_from_wire, error_to_wire, int_of, to_bytes,  # noqa: E402
                                   to_int)

TOYS = [sys.executable, os.path.join(HERE, "..", "toys", "driver.py")]


def within(**kinds):
    """A Client of a Driver in this process."""
    there, here = os.pipe(), os.pipe()
    driver = Driver(Frames(os.fdopen(there[0], "rb"), os.fdopen(here[1], "wb")), **kinds)
    threading.Thread(target=driver.serve, daemon=True).start()
    return Client(Frames(os.fdopen(here[0], "rb"), os.fdopen(there[1], "wb")))


class Values(unittest.TestCase):
    def test_bytes(self):
        for wire, data in (("", b""), ("ä", b"\xc3\xa4"), ({"base64": "/w=="}, b"\xff"), ({"base64": "AA=="}, b"\0"),
                           ({"base64": "eA=="}, b"x")):
            with self.subTest(wire=wire):
                self.assertEqual(bytes_of(wire, "it"), data)
                self.assertEqual(bytes_of(to_bytes(data), "it"), data)
        self.assertEqual(to_bytes(b"a\0"), {"base64": "YQA="})
        for wrong in (None, 1, [], {}, {"base64": 1}, {"base64": "/w="}, {"base64": "a b="}):
            with self.subTest(wrong=wrong), self.assertRaises(DriverError) as caught:
                bytes_of(wrong, "it")
            self.assertEqual(caught.exception.code, "invalid")

    def test_integers(self):
        for value, wire in ((7, 7), (-2 ** 63, "-9223372036854775808"), (2 ** 53 - 1, 2 ** 53 - 1), (2 ** 53, str(2 ** 53))):
            with self.subTest(value=value):
                self.assertEqual(to_int(value), wire)
                self.assertEqual(int_of(wire, "it"), value)
        for wrong in (None, True, 1.5, "", "x", []):
            with self.subTest(wrong=wrong), self.assertRaises(DriverError):
                int_of(wrong, "it")

    def test_errors(self):
        for error, code, message in ((DriverError("gone", "no"), -4, "no"), (FileNotFoundError(2, "no"), -3, "[Errno 2] no"),
                                     (PermissionError(13, "no"), -5, "[Errno 13] no"), (OSError(5, "no"), -13, "[Errno 5] no"),
                                     (ValueError("a\0b\ud800"), -14, "a\ufffdb?"), (KeyError(), -14, "KeyError")):
            with self.subTest(error=error):
                wire = error_to_wire(error)
                self.assertEqual((wire["code"], wire["message"]), (code, message))
                self.assertEqual(error_from_wire(json.loads(json.dumps(wire))).code, wire["data"]["name"])
        self.assertEqual(error_from_wire({"code": -32601, "message": "m"}).code, "unsupported")
        self.assertEqual(error_from_wire({"code": 77, "message": "m"}).code, "protocol")
        with self.assertRaises(ValueError):
            DriverError("no-such-code", "m")

    def test_frames(self):
        for line, cause in ((b"[]\n", "no JSON object"), (b"{\n", "no JSON"), (b"{}", "within a line"), (b"\xff\n", "no JSON")):
            with self.subTest(line=line), self.assertRaisesRegex(DriverError, cause):
                Frames(io.BytesIO(line), None).read()
        self.assertIsNone(Frames(io.BytesIO(b""), None).read())
        frames = Frames(None, io.BytesIO())
        frames.limit = 10
        with self.assertRaisesRegex(DriverError, "the limit is 10"):
            frames.write({"a": "b" * 10})
        self.assertEqual(frames.sink.getvalue(), b"")


class Bases(unittest.TestCase):
    def test_whatever_is_left_alone_is_unsupported(self):
        class Bare(Provider):
            def create(self, options, cancel):
                return Sandbox()

        client = within(provider=Bare(), store=Store(), lock=Lock())
        sandbox = client.provider().create(CreateOptions(env={}))
        provider, store = client.provider(), client.store()
        process = "process"
        for call in (lambda: provider.resume("x"), lambda: provider.destroy("x"), provider.list,
                     lambda: provider.restore("x", CreateOptions(env={})), lambda: provider.snapshot_delete("x"),
                     lambda: sandbox.exec(b":"), lambda: sandbox.spawn(b":"), lambda: sandbox.fs_read(b"x"),
                     lambda: sandbox.fs_write(b"x", b""), lambda: sandbox.fs_list(b"x"), lambda: sandbox.fs_mkdir(b"x"),
                     lambda: sandbox.fs_remove(b"x"), lambda: sandbox.fs_rename(b"x", b"y"),
                     lambda: sandbox.fs_exists(b"x"), lambda: sandbox.fs_lstat(b"x"), lambda: sandbox.env_set({}),
                     sandbox.snapshot, sandbox.fork, lambda: sandbox.port_connect(1), lambda: sandbox.git({"verb": "add"}),
                     sandbox.timeline, sandbox.destroy, lambda: store.get("k"), lambda: store.delete("k"),
                     lambda: store.upsert({"updated_at": 1}), lambda: client.locks().acquire("k"),
                     lambda: client.call("no/such"), lambda: client.call("__class__")):
            with self.assertRaises(DriverError) as caught:
                call()
            self.assertEqual(caught.exception.code, "unsupported", caught.exception.message)
        sandbox.close()
        with self.assertRaises(DriverError) as caught:
            sandbox.exec(b":")
        self.assertEqual((caught.exception.code, process), ("invalid", "process"))

    def test_a_cancel_that_has_fired_before_the_call_is_there(self):
        class Looks(Store):
            def get(self, key, cancel):
                cancel.check()

        client = within(store=Looks())
        with self.assertRaises(DriverError) as caught:
            client.call("store/get", key="k", cancelled={"code": "timed-out", "reason": "late"})
        self.assertEqual((caught.exception.code, caught.exception.message), ("timed-out", "late"))

    def test_a_lost_lease_is_told_of(self):
        class Lost(Lock):
            def acquire(self, key, cancel):
                lease = Lease()
                lease.fence = 2 ** 60
                lease.lose("cut")
                return lease

        lease = within(lock=Lost()).locks().acquire("k")
        self.assertTrue(lease.signal.wait(60))
        self.assertEqual((lease.signal.reason, lease.fence), ("cut", 2 ** 60))


class Toys(unittest.TestCase):
    def setUp(self):
        self.client = Client.start(TOYS)
        self.addCleanup(self.client.close)
        self.provider = self.client.provider()

    def sandbox(self, **env):
        made = self.provider.create(CreateOptions(env=env))
        self.addCleanup(made.destroy)
        return made

    def test_exec(self):
        sandbox = self.sandbox(A=b"\xff'")
        result = sandbox.exec(b'printf "%s" "$A"; echo oops >&2; exit 3')
        self.assertEqual((result.stdout, result.stderr, result.exit_code), (b"\xff'", b"oops\n", 3))
        with self.assertRaises(DriverError) as caught:
            sandbox.exec(b":", cwd=b"/workspace/none")
        self.assertEqual(caught.exception.code, "not-found")

    def test_abort(self):
        sandbox, cancel, seen = self.sandbox(), Cancel(), []

        def run():
            try:
                sandbox.exec(b": >on; exec sleep 1000", cancel=cancel)
            except DriverError as error:
                seen.append((error.code, error.message))

        thread = threading.Thread(target=run)
        thread.start()
        while not sandbox.fs_exists(b"on"):
            pass
        cancel.fire("aborted", "enough")
        cancel.fire("timed-out", "late")
        thread.join()
        self.assertEqual(seen, [("aborted", "enough")])

    def test_spawn(self):
        process = self.sandbox().spawn(b"cat; echo oops >&2; exit 4")
        process.write_stdin(b"hi\0")
        self.assertEqual(process.read("stdout", 2), b"hi")
        process.close_stdin()
        self.assertEqual([process.read("stdout", 9), process.read("stdout", 9), process.read("stderr", 9)],
                         [b"\0", b"", b"oops\n"])
        self.assertEqual([(end.how, end.code) for end in (process.wait(), process.wait())], [("exited", 4)] * 2)
        process.kill()
        self.assertEqual(process.wait().how, "exited")
        process.release()

    def test_kill_goes_past_a_read(self):
        process, seen = self.sandbox().spawn(b"(setsid sleep 1000 &) ; exec sleep 1000"), []
        thread = threading.Thread(target=lambda: seen.append(process.read("stdout", 9)))
        thread.start()
        process.kill(9)
        thread.join()
        self.assertEqual((seen, process.wait().how, process.wait().code), ([b""], "killed", 137))

    def test_cancel_of_a_process(self):
        cancel = Cancel()
        process = self.sandbox().spawn(b"exec sleep 1000", cancel=cancel)
        cancel.fire("timed-out", "")
        self.assertEqual((process.wait().how, process.wait().code), ("timed-out", 143))

    def test_files(self):
        sandbox = self.sandbox()
        sandbox.fs_write(b"/workspace/a/\xff", b"\0\xff")
        self.assertEqual(sandbox.fs_read(b"a/\xff"), b"\0\xff")
        self.assertEqual(sandbox.fs_list(b"/workspace/a"), [(b"\xff", b"/workspace/a/\xff", "file")])
        self.assertEqual((sandbox.fs_lstat(b"a/\xff").size, sandbox.fs_lstat(b"a").type), (2, "dir"))
        sandbox.fs_rename(b"a", b"b")
        self.assertEqual((sandbox.fs_exists(b"a"), sandbox.fs_exists(b"b")), (False, True))
        sandbox.fs_remove(b"b")
        sandbox.fs_remove(b"b")
        with self.assertRaises(DriverError) as caught:
            sandbox.fs_read(b"b")
        self.assertEqual(caught.exception.code, "not-found")

    def test_life(self):
        made = self.provider.create(CreateOptions(env={}))
        self.assertEqual(self.provider.resume(made.id).id, made.id)
        made.destroy()
        self.provider.destroy(made.id)
        self.assertIsNone(self.provider.resume(made.id))

    def test_store(self):
        store = self.client.store()
        record = {"key": "k", "provider": "p", "provider_sandbox_id": "s", "thread_id": "t", "updated_at": -2 ** 63}
        self.assertIsNone(store.get("k"))
        store.upsert({**record, "latest_run_id": "r"})
        store.upsert(record)
        self.assertEqual(store.get("k"), record)
        store.delete("k")
        self.assertIsNone(store.get("k"))

    def test_lock(self):
        locks, order = self.client.locks(), []
        first = locks.acquire("k")
        thread = threading.Thread(target=lambda: (locks.acquire("k").release(), order.append("second")))
        thread.start()
        locks.acquire("another").release()
        order.append("first")
        first.release()
        thread.join()
        self.assertEqual(order, ["first", "second"])

    def test_what_is_printed_is_not_in_the_dialogue(self):
        code = """import sys; sys.path.insert(0, sys.argv[1])
from sandproof_driver import Store, serve
class Noisy(Store):
    def get(self, key, cancel): print("busy", flush=True)
serve(store=Noisy())"""
        argv = [sys.executable, "-c", code, os.path.dirname(HERE)]
        with Client.start(argv, stderr=subprocess.DEVNULL) as client:
            self.assertIsNone(client.store().get("k"))


if __name__ == "__main__":
    unittest.main()
