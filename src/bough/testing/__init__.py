"""Tools for tests of bough and programs that use it: a scripted model, a journal in memory, simulated crashes."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from bough.adapters.stores.sqlite import SqliteStore
from bough.testing.fuse import Fuse
from bough.testing.scripted import ScriptedModel, call, say

__all__ = ["Fuse", "MemoryStore", "ScriptedModel", "call", "say"]


class MemoryStore(SqliteStore):
    """A journal in memory (where the system has no files in memory: in a temporary folder). Its events are lost when
    the object or the process ends."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(Path(folder) / "journal.db")
