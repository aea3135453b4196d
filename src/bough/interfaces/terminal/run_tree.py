"""A run as a tree, one row per task, with as many columns as fit the width."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bough.core.tree.task_state import State
from bough.interfaces.terminal.output import Span
from bough.views.formatting import (
    count_cells,
    cut,
    first_sentence,
    format_cost,
    format_count,
    format_duration,
    format_moment,
    format_spend,
    one_line,
    pad,
)
from bough.views.run_view import RunView
from bough.views.task_rows import TaskRow, describe_rounds, describe_standing, describe_task, list_rows
from bough.views.vocabulary import STATE_STYLES, STATUS_STYLES, choose_style, describe_status

ICONS = {
    State.PENDING: "○",
    State.IN_PROGRESS: "●",
    State.TESTING: "◐",
    State.TEST_FAILED: "✘",
    State.COMPLETED: "✔",
    State.BLOCKED: "⊘",
    State.DECOMPOSED: "◌",
    State.SKIPPED: "○",
    State.FAILED: "✘",
    State.CANCELLED: "✘",
}
STATUS_ICONS = {"completed": "✔", "failed": "✘", "running": "●"}
GAP = 2
NARROW = 18
"""Columns are dropped before names get less room than this."""


Cell = Callable[[TaskRow], Span]


def _render_state(row: TaskRow) -> Span:
    task = row.task
    halted = f" ({describe_status(task.halted)})" if task.halted else ""
    return describe_standing(task) + halted, STATE_STYLES.get(task.state, "")


def _render_check(row: TaskRow) -> Span:
    verdict = row.task.verdict
    if verdict is None:
        return "–", "dim"
    status = f" (exit {verdict.exit_status})" if verdict.exit_status else ""
    return verdict.ruling.replace("_", " ") + status, choose_style(verdict)


def _or_dash(text: str) -> Span:
    return (text, "") if text else ("–", "dim")


COLUMNS: tuple[tuple[str, Cell, bool], ...] = (
    ("state", _render_state, False),
    ("worker", lambda row: _or_dash(one_line(row.task.worker)), False),
    ("rounds", lambda row: _or_dash(describe_rounds(row) if row.task.started_at else ""), True),
    ("check", _render_check, False),
    ("tokens", lambda row: _or_dash(format_count(row.subtree.tokens) if row.task.started_at else ""), True),
    ("cost", lambda row: _or_dash(format_cost(row.spend) if row.task.started_at and row.spend.cost else ""), True),
    ("total", lambda row: ("" if row.leaf else format_cost(row.subtree) if row.subtree.cost else "–", ""), True),
    ("", lambda row: (describe_task(row.task), "dim"), False),
)
"""Heading, content, and whether it is right-aligned. Columns that do not fit are dropped from the end. Rounds and
tokens of a parent include those of everything below it, which come from its grant."""


def render_table(run: RunView, width: int, chosen: Sequence[TaskRow] | None = None) -> list[list[Span]]:
    """The tree (or the rows chosen of it) with its columns, each line at most `width` wide."""
    drawn = list_rows(run) if chosen is None else chosen
    names = [count_cells(row.prefix) + 2 + count_cells(row.name) for row in drawn]
    columns = COLUMNS if any(not row.leaf for row in drawn) else tuple(c for c in COLUMNS if c[0] != "total")
    if not any(row.subtree.cost for row in drawn):  # Free, or no known price: then tokens say it all.
        columns = tuple(column for column in columns if column[0] not in {"cost", "total"})
    if not any(row.task.worker for row in drawn):
        columns = tuple(column for column in columns if column[0] != "worker")
    if len(drawn) == 1:
        columns = columns[:-1]  # the only title is the goal, which is shown above
    filled = [[cell(row) for row in drawn] for _, cell, _ in columns]
    widths = [
        max(map(count_cells, (heading, *(text for text, _ in column))))
        for (heading, _, _), column in zip(columns, filled, strict=True)
    ]
    if columns and not columns[-1][0]:
        widths[-1] = min(widths[-1], 24)  # a title is cut at the edge anyway
    room = max([*names, len("task")])
    while widths and min(room, NARROW) + sum(widths) + GAP * len(widths) > width:
        widths.pop()
    room = max(min(room, width - sum(widths) - GAP * len(widths)), 0)
    lines = [
        _render_line(
            [("  task"[: room or 6], "dim")], room, [((heading, "dim"), right) for heading, _, right in columns], widths
        )
    ]
    for number, row in enumerate(drawn):
        contents = [(column[number], right) for (_, _, right), column in zip(columns, filled, strict=True)]
        lines.append(_render_line(render_name(row, room), room, contents, widths))
    return lines


def render_name(row: TaskRow, room: int) -> list[Span]:
    """Branch lines, icon and name within `room` columns."""
    style = STATE_STYLES.get(row.task.state, "")
    prefix = row.prefix
    if count_cells(prefix) + 2 + min(count_cells(row.name), 8) > room:
        prefix = "…" if prefix and room > 6 else ""
    return [(prefix, "dim"), (f"{ICONS[row.task.state]} ", style), (cut(row.name, room - count_cells(prefix) - 2), "")]


def _render_line(name: list[Span], room: int, contents: list[tuple[Span, bool]], widths: list[int]) -> list[Span]:
    used = sum(count_cells(text) for text, _ in name)
    line = [*name, (" " * (room - used), "")]
    for ((text, style), right), width in zip(contents, widths, strict=False):
        line.append((" " * GAP + pad(text, width, right), style))
    return line


def render_heading(run: RunView, status: str, now: float | None = None) -> list[list[Span]]:
    """Name the run, its status and what it has spent."""
    style = STATUS_STYLES.get(status, "yellow")
    first: list[Span] = [
        (one_line(run.name), "bold"),
        ("  ", ""),
        (f"{STATUS_ICONS.get(status, '○')} {describe_status(status)}", style),
        ("  ", ""),
        (first_sentence(run.goal), ""),
    ]
    model = one_line(run.models.get("main", ""))
    return [
        first,
        [
            (
                " · ".join(
                    part for part in (format_spend(run.spend), format_duration(run.elapsed(now)), model) if part
                ),
                "dim",
            )
        ],
    ]


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
