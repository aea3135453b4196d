"""Changes that several kinds of event make to a task."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from bough.core.budget.limits import Spend
from bough.core.conversation.compaction import measure_messages
from bough.core.errors import IllegalTransition
from bough.core.messages import Message, Result
from bough.core.tree.task import Attempt, Task
from bough.core.tree.task_groups import Note

Apply = Callable[[Task, Any], Task]
"""Returns the task after an event. Its version and time are already the event's."""


def change(task: Task, **changes: Any) -> Task:
    """Return the task with these changes. A dict changes fields within a group: `change(task, plan={"split": ()})`."""
    for name, value in changes.items():
        if isinstance(value, dict):
            changes[name] = replace(getattr(task, name), **value)
    return replace(task, **changes)


def charge(task: Task, spend: Spend) -> Task:
    return change(task, budget={"spend": task.budget.spend.plus(spend)})


def charge_check(task: Task, seconds: float) -> Task:
    return charge(task, Spend(seconds=seconds, check_seconds=seconds))


def clear_trouble(task: Task) -> Task:
    """Clear the finished step of escalation (rung) and the trouble that led to it."""
    return change(task, ladder={"trouble": None, "rung": None, "soft_rounds": 0}, plan={"problems": ()})


def keep_notes(task: Task, notes: tuple[Note, ...]) -> Task:
    """Keep only the latest of these notes, as many as the rules allow."""
    return change(task, talk={"notes": notes[-task.rules.notes :]})


def get_attempt(task: Task) -> Attempt:
    if task.attempt is None:
        raise IllegalTransition(
            f"The journal is inconsistent: it has a round of {task.id or 'the goal'} that no agent began."
        )
    return task.attempt


def add_message(task: Task, message: Message) -> Task:
    attempt = get_attempt(task)
    used = attempt.used + measure_messages((message,))
    pictured = attempt.pictured or (isinstance(message, Result) and message.picture is not None)
    grown = replace(attempt, messages=attempt.messages.then(message), used=used, pictured=pictured)
    return replace(task, attempt=grown)


def count_tactic(tried: dict[str, int], tactic: str) -> dict[str, int]:
    return tried | {tactic: tried.get(tactic, 0) + 1} if tactic else tried
