"""The forms in which a model that acts in text is asked again, and the choice of the next one.

A small model that is wrong repeats itself: shown its own failing file, it answered with the same file in 129 of 147
cases, and corrected it in 2 (`bench/weak.py`, Qwen2.5-Coder 1.5B). A fresh attempt from another point of view helps,
and more points of view solve more tasks. The form with the best measured result comes next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Tactic = Literal["tests_first", "short", "whole", "hinted", "repair"]
MEASURED: dict[Tactic, float] = {"tests_first": 7.0, "short": 5.5, "whole": 5.3, "hinted": 4.7, "repair": 2.6}
"""Tasks completed for 100,000 tokens where the task is one file and the first attempt failed. With `whole` and `repair`
alone 34 of 80 exercises are solved instead of 37."""
SEVERAL: dict[Tactic, float] = {"whole": 4.0, "repair": 10.0}
"""The same measure for tasks of several files, where a repair keeps the files that are right."""
LATER: frozenset[Tactic] = frozenset({"hinted", "repair"})
"""Tactics that need an earlier failure."""


def choose_tactic(allowed: tuple[Tactic, ...], tried: Mapping[str, int], *, alone: bool, failed: bool) -> Tactic:
    """Choose the most promising tactic. `tried`: how often each was tried on this task, which makes it less promising.
    `alone`: whether the task is one file; `failed`: whether an earlier attempt failed."""
    defaults = MEASURED if alone else SEVERAL
    usable = [tactic for tactic in defaults if tactic in allowed and (failed or tactic not in LATER)]
    return max(
        usable,
        key=lambda tactic: defaults[tactic] / (1 + tried.get(tactic, 0)),
        default="repair" if failed else "whole",
    )
