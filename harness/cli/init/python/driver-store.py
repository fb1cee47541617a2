# SPDX-License-Identifier: MIT
"""Serves the store on standard input and output."""
from store import ToyStore
from sandproof_driver import serve

if __name__ == "__main__":
    serve(store=ToyStore())
