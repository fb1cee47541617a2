# SPDX-License-Identifier: MIT
"""A small lock that keeps its promises within one process. Replace it by your own service; where a holder can lose its
lock, call lease.lose()."""
import threading

from sandproof_driver import Lease, Lock


class ToyLease(Lease):
    def __init__(self, lock, key):
        self.lock = lock
        self.key = key

    def release(self):
        self.lock.leave(self.key)


class ToyLock(Lock):
    capabilities = {"lease": False, "multi_process": False, "fence": False}

    def __init__(self):
        self.guard = threading.Lock()
        # The holder of a key first, then who waits, in order.
        self.queues = {}

    def acquire(self, key, cancel):
        cancel.check()
        turn = threading.Event()
        with self.guard:
            queue = self.queues.setdefault(key, [])
            queue.append(turn)
            if queue[0] is turn:
                return ToyLease(self, key)
        unwatch = cancel.watch(turn.set)
        turn.wait()
        unwatch()
        with self.guard:
            if self.queues[key][0] is not turn:
                self.queues[key].remove(turn)
                cancel.check()
        return ToyLease(self, key)

    def leave(self, key):
        with self.guard:
            queue = self.queues[key]
            queue.pop(0)
            # Keys that nobody wants are forgotten.
            if queue:
                queue[0].set()
            else:
                del self.queues[key]
