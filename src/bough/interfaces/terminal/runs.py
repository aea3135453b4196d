"""The runs of a project as a table."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bough.interfaces.terminal.lines import STATUS_STYLES, STATUS_WORDS
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import cells, cost, count, duration, first_sentence, moment, one_line, pad
from bough.interfaces.views import RunView

GAP = 2
ROOM = 16
"""Columns that the goals should have: before they get less, other columns are left out."""
HEADINGS = ("run", "status", "rounds", "cost", "took", "started", "goal")
RIGHT = frozenset({"rounds", "cost", "took"})
LEAST_NEEDED = ("started", "took", "cost", "rounds", "status")


def runs_table(runs: Sequence[tuple[RunView, str]], width: int) -> list[list[Span]]:
    """A heading and one line a run, oldest first; what there is no room for is left out."""
    table = [{heading: (heading, "dim") for heading in HEADINGS}, *(_row(run, status) for run, status in runs)]
    widths = {heading: max(cells(row[heading][0]) for row in table) for heading in HEADINGS[:-1]}
    for heading in LEAST_NEEDED:
        if sum(widths.values()) + GAP * len(widths) + ROOM <= width:
            break
        del widths[heading]
    return [_line(row, widths) for row in table]


def _row(run: RunView, status: str) -> dict[str, Span]:
    now = time.time() if status == "running" else None
    spend = run.spend
    return {
        "run": (one_line(run.name), "bold"),
        "status": (
            STATUS_WORDS.get(status, status) + (", applied" if run.applied else ""),
            STATUS_STYLES.get(status, "yellow"),
        ),
        "rounds": (f"{spend.rounds}/{run.limits.rounds}", ""),
        "cost": (cost(spend) if spend.cost or not spend.unpriced else f"{count(spend.tokens)} tokens", ""),
        "took": (duration(run.elapsed(now)), ""),
        "started": (moment(run.started_at), "dim"),
        "goal": (first_sentence(run.goal), ""),
    }


def _line(row: dict[str, Span], widths: dict[str, int]) -> list[Span]:
    line: list[Span] = []
    for heading, width in widths.items():
        text, style = row[heading]
        line += [(pad(text, width, heading in RIGHT), style), (" " * GAP, "")]
    return [*line, row["goal"]]
