# SPDX-License-Identifier: MIT
"""The driver protocol of sandproof in Python (3.9 or newer, standard library only).

A driver: derive from Provider, Sandbox, Process, Store or Lock, then serve(provider=..., store=..., lock=...).
A user of one: Client.start(argv), which offers the same classes over the pipe.
"""
from .bases import (CreateOptions, ExecResult, Exit, Lease, Lock, Process, Provider, Sandbox, Stat, Store)
from .client import Client
from .driver import Cancel, serve
from .wire import DriverError

__all__ = ["Cancel", "Client", "CreateOptions", "DriverError", "ExecResult", "Exit", "Lease", "Lock", "Process", "Provider",
           "Sandbox", "Stat", "Store", "serve"]
