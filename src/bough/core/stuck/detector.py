"""The stuck detector: is the work still making progress?

`observe_round` sees every round at its end. It is pure, and costs the same at round 400 as at round 10. After a signal
the work should change, so the caller continues with `reset_watch(watch)`; the same signal can then be raised again.

`patterns` has the table of everything it looks for, `marks` says when an act repeats another, `masks` what is
volatile, `signals` has the thresholds.
"""

from __future__ import annotations

from bough.core.stuck.patterns import find_signal
from bough.core.stuck.signals import PATTERNS, Act, Pattern, Recommended, Signal, StuckRules, Turn
from bough.core.stuck.watch import Watch, note_round, reset_watch

__all__ = [
    "PATTERNS",
    "Act",
    "Pattern",
    "Recommended",
    "Signal",
    "StuckRules",
    "Turn",
    "Watch",
    "observe_round",
    "reset_watch",
]


def observe_round(watch: Watch, turn: Turn, rules: StuckRules) -> tuple[Watch, Signal | None]:
    """The watch after one more round, and what is wrong, if anything is."""
    watch = note_round(watch, turn, rules)
    return watch, find_signal(watch, turn, rules)
