"""Failures from before the work: whether a goal is about them.

In doubt it is: a red test is often the reason for a goal. It is not if the goal adds something and shares no word with
the failures.
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
"""Fewest letters of a word that shows a goal's subject."""
_COMMON = frozenset(
    "with that this from file files line lines into when which have each also their them than".split()  # noqa: SIM905
)


def speaks_of(goal: str, failures: Iterable[str]) -> bool:
    """Whether a goal may be about these failures, each a name and a message."""
    if not re.match(_ADDS, goal) or re.search(_REPAIRS, goal):
        return True
    said = "\n".join(failures).lower()
    words = {word for word in re.findall(r"[a-z]+", goal.lower())[1:] if len(word) >= _LEAST} - _COMMON
    return not words or any(word in said for word in words)
