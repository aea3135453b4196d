"""The stuck detector: is the work still making progress?

`observe_round` sees every round at its end. It is pure, and costs the same at round 400 as at round 10. After a signal
the work should change, so the caller continues with `reset_memory(memory)`; the same signal can then be raised again.

`patterns` has the table of everything it looks for, `marks` says when an act repeats another, `masks` what is
volatile, `signals` has the thresholds.
"""

from __future__ import annotations

from bough.core.stuck.memory import StuckMemory, note_round, reset_memory
from bough.core.stuck.patterns import find_signal
from bough.core.stuck.signals import PATTERNS, Act, Pattern, Recommended, Signal, StuckRules, Turn

__all__ = [
    "PATTERNS",
    "Act",
    "Pattern",
    "Recommended",
    "Signal",
    "StuckMemory",
    "StuckRules",
    "Turn",
    "observe_round",
    "reset_memory",
]


def observe_round(memory: StuckMemory, turn: Turn, rules: StuckRules) -> tuple[StuckMemory, Signal | None]:
    """The memory after one more round, and what is wrong, if anything is."""
    memory = note_round(memory, turn, rules)
    return memory, find_signal(memory, turn, rules)
