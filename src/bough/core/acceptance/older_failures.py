"""Decide whether a goal is about the failures from before the work.

In doubt it is, since a failing test is often the reason for a goal. It is not if the goal asks to add something and
shares no word with the failures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ADDS = r"(?i)\s*(?:please\s+)?(?:add|write|create|document|describe|introduce|provide|translate)\b"
_REPAIRS = (
    r"(?i)\b(?:fix\w*|repair\w*|bugs?|wrong\w*|broken|breaks?|fail\w*|errors?|crash\w*|regress\w*|red|green|pass\w*"
    r"|tests?|specs?|suite|checks?|correct\w*|instead|again|missing)\b"
)
_LEAST = 4
"""The minimum number of letters of a word that can show what a goal is about."""
_COMMON = frozenset(
    "with that this from file files line lines into when which have each also their them than".split()  # noqa: SIM905
)


def speaks_of(goal: str, failures: Iterable[str]) -> bool:
    """Whether a goal may be about these failures; each is a text of the test's name and message."""
    if not re.match(_ADDS, goal) or re.search(_REPAIRS, goal):
        return True
    said = "\n".join(failures).lower()
    words = {word for word in re.findall(r"[a-z]+", goal.lower())[1:] if len(word) >= _LEAST} - _COMMON
    return not words or any(word in said for word in words)
