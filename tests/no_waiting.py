"""What keeps tests waiting and is none of their business: the disk, and the second between two reads of what people
said to a run."""

import os

from bough.adapters.stores import sqlite_file
from bough.engine import run_loop


def apply() -> None:
    """For this process, and what is forked from it."""
    spare_disk()
    run_loop.HEARTBEAT = 0.1


def spare_disk() -> None:
    """Flush nothing: beside other tests, each flush waits for all that these have written."""
    for name in ("fsync", "fdatasync"):
        setattr(os, name, lambda handle: None)
    sqlite_file.SYNCHRONOUS = "OFF"
