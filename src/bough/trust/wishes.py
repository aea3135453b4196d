"""The settings that a repository may make. Its file is untrusted input: a setting of it is a *wish*.

A short list applies unasked: numbers that lower what a run may use or find stuck work sooner, the time of the project's
own check, a stricter verdict, and the project's check as a candidate like any other that bough finds (it runs in the
sandbox, and the verdict names it). Everything else (what spends, opens, weakens a verdict, lends, prices or starts
something) waits for the person's yes, which holds for the value that they saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LOWERED = frozenset({"budget", "limits", "planning", "ladder", "stuck"})
"""Sections whose numbers bound what a run may use: lower ones apply."""
LONGEST_CHECK = 3600.0
"""Longest time in seconds that a project may set for its tests."""
_DURATIONS = frozenset({("check", "timeout"), ("limits", "check_timeout")})
_STRICTER: Mapping[tuple[str, str], Any] = {("limits", "strict"): True, ("check", "accept_failing"): False}
ABOUT_THE_VERDICT = frozenset({"check", "checks", "acceptance", "workspace", "services", "limits"})
"""Sections that affect what a verdict proves: it names their effective values."""


def applies_unasked(section: str, key: str, value: Any, default: Any, *, outside: bool = False) -> bool:
    """Whether a repository's setting is harmless. `default`: the value without it; `outside`: commands are not
    confined."""
    candidate = (section, key) == ("check", "command") and not outside
    if candidate or value == default or _STRICTER.get((section, key), ...) == value:
        return True
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, default))
    if (section, key) in _DURATIONS:
        return isinstance(value, int | float) and 1 <= value <= LONGEST_CHECK
    if section == "budget" and default is None:  # no limit
        return isinstance(value, int | float) and value > 0
    # Too little is no restraint but a fault: no time for a command, an output of which nothing is shown. A tree of
    # depth 0 and no repairs are plain work.
    floor = 0 if section == "planning" or key == "max_repairs" else 1 if numbers and default > 1 else 0.01
    return section in LOWERED and numbers and floor <= value < default
