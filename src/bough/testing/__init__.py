"""Tools for tests of bough and programs that use it: a scripted model, a journal in memory, simulated crashes."""

from bough.testing.fuse import Fuse
from bough.testing.memory import MemoryStore
from bough.testing.scripted import ScriptedModel, call, say

__all__ = ["Fuse", "MemoryStore", "ScriptedModel", "call", "say"]
