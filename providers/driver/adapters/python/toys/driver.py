# SPDX-License-Identifier: MIT
"""The toys behind the protocol: python3 driver.py [provider] [store] [lock]."""
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from lock import ToyLock  # noqa: E402
from provider import ToyProvider  # noqa: E402
from sandproof_driver import serve  # noqa: E402
from store import ToyStore  # noqa: E402

KINDS = {"provider": ToyProvider, "store": ToyStore, "lock": ToyLock}

if __name__ == "__main__":
    serve(**{kind: KINDS[kind]() for kind in sys.argv[1:] or KINDS})
