# SPDX-License-Identifier: MIT
"""Serves the lock on standard input and output."""
from lock import ToyLock
from sandproof_driver import serve

if __name__ == "__main__":
    serve(lock=ToyLock())
