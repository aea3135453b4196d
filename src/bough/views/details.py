"""The points to which a task can be rewound."""

from msgspec import Struct

from bough.core.messages import ModelMessage
from bough.core.tree.task import Task
from bough.views.formatting import first_line, one_line
from bough.views.task_view import describe_call
from bough.views.vocabulary import describe_state


class Point(Struct, frozen=True):
    """The state of a task at the end of a round, or at the end of one of its steps: it can be rewound to here."""

    at: float
    tree: str
    has_steps: bool
    words: str
    """A description of the last thing that happened."""


def point_of(task: Task) -> Point:
    return Point(task.at, task.tree, bool(task.plan.steps), _describe_point(task))


def _describe_point(task: Task) -> str:
    if task.attempt is None and task.plan.steps:
        last = next(reversed(task.children.settled.values()), None)
        return f"its step {last.child} is {describe_state(last.state)}" if last else "before its first step"
    messages = task.attempt.messages if task.attempt else ()
    places = range(len(messages) - 1, -1, -1)
    replied = next((found for place in places if isinstance(found := messages[place], ModelMessage)), None)
    if replied is None:
        return "before its first round"
    return ", ".join(one_line(describe_call(call)) for call in replied.calls) or f"says: {first_line(replied.text)}"
