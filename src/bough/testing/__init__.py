"""Tools for tests of programs that use bough, and for its own: a scripted model, a journal in memory, a fault fuse."""

from __future__ import annotations

from bough.testing.fuse import Fuse
from bough.testing.memory import MemoryStore
from bough.testing.scripted import ScriptedModel, call, say

__all__ = ["Fuse", "MemoryStore", "ScriptedModel", "call", "say"]
