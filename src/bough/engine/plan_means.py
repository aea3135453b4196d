"""What a plan can use: parallel engineers, rounds, cores, and installed programs that the goal names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence


def describe_means(programs: Sequence[str], jobs: int, rounds: int) -> str:
    """For planners. `programs`: those that the result has to behave like, as the gate reads the goal."""
    cores = os.cpu_count() or 1
    at_once = "one engineer works at a time" if jobs == 1 else f"up to {jobs} engineers work at the same time"
    lines = [f"{at_once}, on {cores} core{'s' if cores > 1 else ''}; a step has about {rounds} rounds."]
    if found := [name for name in dict.fromkeys(programs) if "/" not in name and shutil.which(name)]:
        lines.append(
            f"Programs that the goal names and that are installed: {', '.join(found)}. Where the goal wants the same "
            "behaviour as one of them, the first step is a harness that runs both and compares, and every later step "
            "is proven with it: what the program does counts more than what anyone remembers of it."
        )
    return "\n".join(f"- {line}" for line in lines)
