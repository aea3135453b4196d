"""Where a task can be taken back to, and what that means for the tasks above it."""

from __future__ import annotations

from collections.abc import Sequence

from bough.core import events as e
from bough.core.state import Task, ends_of_rounds, evolve, fold
from bough.core.states import State


def points(task_id: str, records: Sequence[e.Record]) -> list[Task]:
    """The moments that a task can be taken back to, oldest first: before anything, then the end of each round; of a
    task with steps, the end of each step."""
    if not any(isinstance(record.event, e.ChildStarted | e.ChildSettled) for record in records):
        return ends_of_rounds(task_id, records)
    task = Task(task_id)
    ends: list[Task] = []
    for index, record in enumerate(records):
        event = record.event
        if isinstance(event, e.TaskRewound):
            task = fold(task_id, records[: index + 1])
            ends = [end for end in ends if end.version <= event.version]
            continue
        before, task = task, evolve(task, record)
        began = before.state is State.PENDING and task.state is State.IN_PROGRESS
        if began or (isinstance(event, e.ChildSettled) and event.state is not State.SKIPPED):
            ends.append(task)
    return ends


def before_end_of(records: Sequence[e.Record], segment: str) -> int | None:
    """The version of a task's stream at which its step of that path segment had not ended yet; None when it has not.

    A step that is taken back goes on, so for the task above it is under way again, and what followed is not yet done.
    """
    name = segment.partition("@")[0]
    history: list[e.Record] = []
    for record in records:
        if isinstance(record.event, e.TaskRewound):
            history = [past for past in history if past.version <= record.event.version]
        else:
            history.append(record)
    started = [r.version for r in history if isinstance(r.event, e.ChildStarted) and r.event.task == segment]
    if not started:
        return None
    for record in history:
        if record.version > started[0] and isinstance(record.event, e.ChildSettled) and record.event.child == name:
            return record.version - 1
    return None
