"""What a plan can use: parallel engineers, rounds, cores, and installed programs that the goal names."""

from __future__ import annotations

import os
import re
import shutil
from functools import lru_cache

MOST = 20
"""Programs that are named."""
_WORDS = frozenset(
    """a add all and any apply at base be bind build by check chown clear code column comm convert copy cut date diff
    do done down echo edit ed env expand expr factor false file find fold for free from get group groups head help hash
    history host id if import in info install it join kill last less let line link list load local locate logger login
    look make man merge mix more mount move name new nice nl no node not of on open or out paste patch pick port ps read
    reboot rename replace reset run script see select send seq series service set shell show shuf shutdown size sleep
    sort source split start stat state stop strings style sum sync tail task test then time to top touch tree true tty
    type uniq unlink up update use user users view visual w wait wall watch wc what when where which while who whoami
    with word write x yes""".split()  # noqa: SIM905
)
"""Words of plain language that are also programs."""


def describe_means(goal: str, jobs: int, rounds: int) -> str:
    """For planners."""
    cores = os.cpu_count() or 1
    at_once = "one engineer works at a time" if jobs == 1 else f"up to {jobs} engineers work at the same time"
    lines = [f"{at_once}, on {cores} core{'s' if cores > 1 else ''}; a step has about {rounds} rounds."]
    if found := find_programs(goal):
        lines.append(
            f"Programs that the goal names and that are installed: {', '.join(found)}. Where the goal wants the same "
            "behaviour as one of them, the first step is a harness that runs both and compares, and every later step "
            "is proven with it: what the program does counts more than what anyone remembers of it."
        )
    return "\n".join(f"- {line}" for line in lines)


@lru_cache(maxsize=32)
def find_programs(goal: str) -> tuple[str, ...]:
    """Words of a goal that are programs here, in order of appearance."""
    words = dict.fromkeys(re.findall(r"(?<![\w./-])[A-Za-z][\w+-]{0,30}(?![\w/-]|\.\w)", goal))
    named = dict.fromkeys(word.lower() for word in words if word.lower() not in _WORDS)
    return tuple(word for word in named if shutil.which(word))[:MOST]
