"""The tasks of a run as rows of a tree, with the texts of each row; and runs and tasks as plain data, for `--json`:
programs rely on these keys, so add new ones, but never change one."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.core.budget.limits import Spend
from bough.core.ids import GOAL, parent_path
from bough.core.ids import depth as levels
from bough.core.tree.task_state import State
from bough.views.formatting import first_sentence, one_line, pluralize
from bough.views.run_view import RunView
from bough.views.task_view import TaskView
from bough.views.vocabulary import PATTERNS, RUNGS, describe_state


class TaskRow(Struct, frozen=True):
    """A task and its place in the tree."""

    task: TaskView
    prefix: str
    """The branch lines of the tree that are drawn before the task's name."""
    spend: Spend
    subtree: Spend
    """The spend of the task and everything below it."""
    leaf: bool
    name: str


def list_rows(run: RunView, below: str = GOAL, depth: int | None = None, flat: bool = False) -> list[TaskRow]:
    """List the task at `below` and everything under it, parents before their children, in order of creation.

    `depth`: list at most this many levels below it. `flat`: list only the leaves, each with its whole path."""
    children: dict[str, list[TaskView]] = {}
    for task in run.tasks.values():
        above = parent_path(task.path)
        while above is not None and above not in run.tasks:
            above = parent_path(above)
        if above is not None:
            children.setdefault(above, []).append(task)
    top = run.tasks.get(below)
    found = list(_walk(top, children, "", "")) if top else []
    if depth is not None:
        found = [row for row in found if levels(row.task.path) - levels(below) <= depth]
    if flat:
        found = [replace(row, prefix="", name=one_line(row.task.path)) for row in found if row.leaf]
    return found


def _walk(task: TaskView, children: dict[str, list[TaskView]], lead: str, rest: str) -> Iterator[TaskRow]:
    """Walk the tree. `lead` is drawn before the task itself, `rest` before the tasks below it."""
    under: list[TaskRow] = []
    mine = children.get(task.path, [])
    own = task.spend
    whole = own
    for number, child in enumerate(mine, 1):
        last = number == len(mine)
        drawn = list(_walk(child, children, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
        whole = whole.plus(drawn[0].subtree)
        under += drawn
    yield TaskRow(task, lead, own, whole, not mine, one_line(task.path.rpartition("/")[2]))
    yield from under


UNWELL = frozenset({State.BLOCKED, State.FAILED, State.SKIPPED, State.CANCELLED})


def describe_trouble(task: TaskView) -> str:
    """Say how bough reacts to an unfinished task that is stuck, and why it is stuck; empty: it is not."""
    if task.trouble is None or task.state in (*UNWELL, State.COMPLETED, State.TESTING):
        return ""
    return f"bough {RUNGS[task.rung]}: {PATTERNS.get(task.trouble.pattern) or one_line(task.trouble.says)}"


def describe_standing(task: TaskView) -> str:
    """Describe a task's state and, if it is repeated, the number of its current pass."""
    words = describe_state(task.state)
    if task.repeat > 1 and task.started_at:
        words += f", pass {task.passes}/{task.repeat}"
    return f"{words} earlier" if task.source else words


def describe_rounds(row: TaskRow) -> str:
    """Return the used and the allowed rounds, `12/40`, and the task's own rounds if it has tasks below it."""
    own = "" if row.leaf else f" ({row.spend.rounds} itself)"
    return f"{row.subtree.rounds}/{row.task.limits.rounds}{own}"


def describe_progress(drawn: Sequence[TaskRow]) -> str:
    """Return `3/3 tasks complete` for the first row's direct children; empty for a leaf."""
    first = drawn[0].task.path
    mine = [row.task for row in drawn[1:] if parent_path(row.task.path) == first]
    done = sum(task.state in (State.COMPLETED, State.SKIPPED) for task in mine)
    return f"{done}/{pluralize(len(mine), 'task')} complete" if mine else ""


def describe_task(task: TaskView) -> str:
    """Describe a task's purpose and, if it did not complete, why. The goal's reason is shown elsewhere."""
    if not task.started_at and (task.why or task.state is not State.PENDING):
        return one_line(task.why)  # The task waits for another one, was skipped, or is reused from an earlier run.
    why = f" ({one_line(task.why)})" if task.why and task.state in UNWELL and task.path != GOAL else ""
    return first_sentence(task.title) + why


RUN_KEYS = """
    run status summary exit_status holder goal folder models fallbacks started_at seconds limits spend applied question
    held_commands until
"""
TASK_KEYS = """
    path parent title state why halted attempt role worker repairs limits spend spend_with_subtasks tokens_by_role
    verdict files rung trouble report commit tree started_at last_at
"""
NULLED = frozenset({"question", "until", "halted", "role", "worker", "rung", "report", "commit"})
"""The keys whose value is null instead of empty."""


def run_to_dict(run: RunView, standing: str, holder: str | None) -> dict[str, Any]:
    now = {"status": standing, "holder": holder, "seconds": round(run.elapsed(), 3), "applied": bool(run.applied)}
    told = {"run": run.name, "spend": _spend_to_dict(run.spend), "held_commands": [*run.held.values()]}
    return _pick(RUN_KEYS, run, {**now, **told})


def task_to_dict(row: TaskRow) -> dict[str, Any]:
    own = {"parent": parent_path(row.task.path), "spend": _spend_to_dict(row.spend)}
    return _pick(TASK_KEYS, row.task, {**own, "spend_with_subtasks": _spend_to_dict(row.subtree)})


def _pick(keys: str, view: RunView | TaskView, own: dict[str, Any]) -> dict[str, Any]:
    """Return the values of these keys: the given ones (`own`), else the view's fields as plain data."""
    made = {}
    for key in keys.split():
        value = own[key] if key in own else getattr(view, key)
        value = _struct_to_dict(value) if isinstance(value, msgspec.Struct) else msgspec.to_builtins(value)
        made[key] = value or None if key in NULLED else value
    return made


def _struct_to_dict(struct: msgspec.Struct) -> dict[str, Any]:
    """Convert a struct, including fields that have default values: a program should not have to know the defaults."""
    return {name: msgspec.to_builtins(getattr(struct, name)) for name in struct.__struct_fields__}


def _spend_to_dict(spend: Spend) -> dict[str, Any]:
    """Convert the spend without its seconds, which would be incomplete: the view skips the events that time tools."""
    names = ("rounds", "tokens_in", "tokens_out", "tokens_cached", "cost", "unpriced", "estimated")
    return {name: getattr(spend, name) for name in names}
