"""The steps of a task whose work was merged, in merge order."""

from __future__ import annotations

from collections.abc import Iterable

from bough.core import events as e
from bough.core.tree.task_state import State


def list_settled_steps(records: Iterable[e.Record]) -> list[e.ChildSettled]:
    """Find them in the records of the task's stream. What was rewound does not count."""
    found: list[tuple[int, e.ChildSettled]] = []
    for record in records:
        event = record.event
        if isinstance(event, e.TaskRewound):
            found = [(version, step) for version, step in found if version <= event.version]
        elif isinstance(event, e.ChildSettled) and event.state is State.COMPLETED and event.files:
            found.append((record.version, event))
    return [step for _, step in found]
