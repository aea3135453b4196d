"""What keeps tests waiting and is none of their business: the disk, and the second between two reads of what people
said to a run."""

from __future__ import annotations

import os

from bough.adapters.stores import sqlite_file
from bough.engine import run_loop


def apply() -> None:
    """For this process, and what is forked from it."""
    for name in ("fsync", "fdatasync"):
        setattr(os, name, lambda handle: None)
    sqlite_file.SYNCHRONOUS = "OFF"
    run_loop.HEARTBEAT = 0.1
