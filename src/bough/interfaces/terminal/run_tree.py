"""Renders a run as a tree, one row per task, with as many columns as fit the width."""

import time
from collections.abc import Sequence

from bough.core.tree.task_state import State
from bough.interfaces.terminal.output import Span
from bough.views import formatting as f
from bough.views.run_view import RunView
from bough.views.task_rows import TaskRow, describe_rounds, describe_standing, describe_task
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
"""The fewest columns for names: other columns of the table are dropped before names get less room."""
RIGHT = frozenset({"rounds", "tokens", "cost", "total", "took"})
"""The headings of columns whose content is right-aligned."""
DASH: Span = ("–", "dim")
Cells = dict[str, Span]
"""The content of a row, by heading."""


def _make_cells(row: TaskRow) -> Cells:
    """Make the cells of a task's row. Rounds and tokens of a parent include those of all tasks below it, because these
    count towards its limits."""
    task, verdict, begun = row.task, row.task.verdict, row.task.started_at
    halted = f" ({describe_status(task.halted)})" if task.halted else ""
    exit_status = f" (exit {verdict.exit_status})" if verdict and verdict.exit_status else ""
    return {
        "state": (describe_standing(task) + halted, STATE_STYLES.get(task.state, "")),
        "worker": (f.one_line(task.worker), "") if task.worker else DASH,
        "rounds": (describe_rounds(row), "") if begun else DASH,
        "check": (verdict.ruling.replace("_", " ") + exit_status, choose_style(verdict)) if verdict else DASH,
        "tokens": (f.format_count(row.subtree.tokens), "") if begun else DASH,
        "cost": (f.format_cost(row.spend), "") if begun and row.spend.cost else DASH,
        "total": ("" if row.leaf else f.format_cost(row.subtree) if row.subtree.cost else "–", ""),
        "": (describe_task(task), "dim"),
    }


def render_table(drawn: Sequence[TaskRow], width: int) -> list[list[Span]]:
    """Render the rows of a tree with their columns, each line at most `width` wide. Columns that do not fit are
    dropped, the last first."""
    free = not any(row.subtree.cost for row in drawn)  # If no price is known, hide the costs.
    hidden = {
        "worker": not any(row.task.worker for row in drawn),
        "cost": free,
        "total": free or all(row.leaf for row in drawn),
        "": len(drawn) == 1,  # The only title is the goal, which is shown above.
    }
    rows = [{key: cell for key, cell in _make_cells(row).items() if not hidden.get(key)} for row in drawn]
    names = max([4, *(f.count_cells(row.prefix) + 2 + f.count_cells(row.name) for row in drawn)])
    widths = _fit_columns(rows, [*rows[0]][::-1], width - min(names, NARROW), {"": 24})
    room = max(min(names, width - sum(widths.values()) - GAP * len(widths)), 0)
    heads = {heading: (heading, "dim") for heading in widths}
    return [_render_line([("  task"[: room or 6], "dim")], room, heads, widths)] + [
        _render_line(render_name(row, room), room, cells, widths) for row, cells in zip(drawn, rows, strict=True)
    ]


def _fit_columns(rows: Sequence[Cells], order: Sequence[str], room: int, most: dict[str, int]) -> dict[str, int]:
    """Choose the columns that fit into `room`, and their widths. `order`: which columns are dropped first. `most`: the
    greatest width of some columns."""
    widths = {key: max(f.count_cells(text) for text in (key, *(row[key][0] for row in rows))) for key in rows[0]}
    widths |= {key: min(widths[key], limit) for key, limit in most.items() if key in widths}
    for key in order:
        if sum(widths.values()) + GAP * len(widths) <= room:
            break
        del widths[key]
    return widths


def render_name(row: TaskRow, room: int) -> list[Span]:
    """Render the branch lines, the icon and the name of a task within `room` columns."""
    style = STATE_STYLES.get(row.task.state, "")
    prefix = row.prefix
    if f.count_cells(prefix) + 2 + min(f.count_cells(row.name), 8) > room:
        prefix = "…" if prefix and room > 6 else ""
    return [
        (prefix, "dim"),
        (f"{ICONS[row.task.state]} ", style),
        (f.cut(row.name, room - f.count_cells(prefix) - 2), ""),
    ]


def _render_line(name: list[Span], room: int, cells: Cells, widths: dict[str, int]) -> list[Span]:
    used = sum(f.count_cells(text) for text, _ in name)
    columns = [(" " * GAP + f.pad(cells[key][0], width, key in RIGHT), cells[key][1]) for key, width in widths.items()]
    return [*name, (" " * (room - used), ""), *columns]


def render_heading(run: RunView, status: str, now: float | None = None) -> list[list[Span]]:
    """Render the two lines above a tree: the run, its status and goal, then its spend, time and models."""
    style = STATUS_STYLES.get(status, "yellow")
    model = f.one_line(" then ".join(filter(None, (run.models.get("main", ""), *run.fallbacks))))
    facts = [f.format_spend(run.spend), f.format_duration(run.elapsed(now)), *filter(None, (model, run.rechecked))]
    return [
        [
            (f.one_line(run.name), "bold"),
            (f"  {STATUS_ICONS.get(status, '○')} {describe_status(status, run.accepted, run.examines)}  ", style),
            (f.first_sentence(run.goal), ""),
        ],
        [(" · ".join(facts), "dim")],
    ]


ROOM = 16
"""The columns reserved for the goals: other columns are dropped before the goals get less."""
LEAST_NEEDED = ("started", "took", "cost", "rounds", "status")


def render_runs(runs: Sequence[tuple[RunView, str]], width: int) -> list[list[Span]]:
    """Render a heading and one line per run, in the given order. Columns that do not fit are dropped."""
    rows = [_summarize(run, status) for run, status in runs]
    names = max([3, *(f.count_cells(f.one_line(run.name)) for run, _ in runs)])
    widths = _fit_columns(rows, LEAST_NEEDED, width - names, {"goal": ROOM})
    lines = [_render_line([("run", "dim")], names, {heading: (heading, "dim") for heading in widths}, widths)]
    named = zip(runs, rows, strict=True)
    return lines + [_render_line([(f.one_line(run.name), "bold")], names, cells, widths) for (run, _), cells in named]


def _summarize(run: RunView, status: str) -> Cells:
    now = time.time() if status == "running" else None
    spend = run.spend
    cost = f.format_cost(spend) if spend.cost or not spend.unpriced else f"{f.format_count(spend.tokens)} tokens"
    applied = ", applied" if run.applied else ""
    return {
        "status": (describe_status(status, run.accepted, run.examines) + applied, STATUS_STYLES.get(status, "yellow")),
        "rounds": (f"{spend.rounds}/{run.limits.rounds}", ""),
        "cost": (cost, ""),
        "took": (f.format_duration(run.elapsed(now)), ""),
        "started": (f.format_moment(run.started_at), "dim"),
        "goal": (f.first_sentence(run.goal), ""),
    }
