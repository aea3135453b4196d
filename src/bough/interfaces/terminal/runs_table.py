"""The runs of a project as a table."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bough.interfaces.terminal.output import Span
from bough.views.formatting import (
    count_cells,
    first_sentence,
    format_cost,
    format_count,
    format_duration,
    format_moment,
    one_line,
    pad,
)
from bough.views.run_view import RunView
from bough.views.vocabulary import STATUS_STYLES, describe_status

GAP = 2
ROOM = 16
"""Columns to keep for the goals: other columns are dropped first."""
HEADINGS = ("run", "status", "rounds", "cost", "took", "started", "goal")
RIGHT = frozenset({"rounds", "cost", "took"})
LEAST_NEEDED = ("started", "took", "cost", "rounds", "status")


def render_runs(runs: Sequence[tuple[RunView, str]], width: int) -> list[list[Span]]:
    """A heading and one line per run, oldest first; columns that do not fit are dropped."""
    table = [{heading: (heading, "dim") for heading in HEADINGS}, *(_make_row(run, status) for run, status in runs)]
    widths = {heading: max(count_cells(row[heading][0]) for row in table) for heading in HEADINGS[:-1]}
    for heading in LEAST_NEEDED:
        if sum(widths.values()) + GAP * len(widths) + ROOM <= width:
            break
        del widths[heading]
    return [_render_row(row, widths) for row in table]


def _make_row(run: RunView, status: str) -> dict[str, Span]:
    now = time.time() if status == "running" else None
    spend = run.spend
    return {
        "run": (one_line(run.name), "bold"),
        "status": (
            describe_status(status) + (", applied" if run.applied else ""),
            STATUS_STYLES.get(status, "yellow"),
        ),
        "rounds": (f"{spend.rounds}/{run.limits.rounds}", ""),
        "cost": (
            format_cost(spend) if spend.cost or not spend.unpriced else f"{format_count(spend.tokens)} tokens",
            "",
        ),
        "took": (format_duration(run.elapsed(now)), ""),
        "started": (format_moment(run.started_at), "dim"),
        "goal": (first_sentence(run.goal), ""),
    }


def _render_row(row: dict[str, Span], widths: dict[str, int]) -> list[Span]:
    line: list[Span] = []
    for heading, width in widths.items():
        text, style = row[heading]
        line += [(pad(text, width, heading in RIGHT), style), (" " * GAP, "")]
    return [*line, row["goal"]]
