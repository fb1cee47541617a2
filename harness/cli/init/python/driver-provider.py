# SPDX-License-Identifier: MIT
"""Serves the provider on standard input and output."""
from provider import ToyProvider
from sandproof_driver import serve

if __name__ == "__main__":
    serve(provider=ToyProvider())
