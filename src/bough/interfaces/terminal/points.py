"""The points that a task can be taken back to."""

from __future__ import annotations

from collections.abc import Sequence

from bough.core.messages import Replied
from bough.core.task import Task
from bough.interfaces.terminal.lines import state_words
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import clock, first_line, one_line, pad
from bough.interfaces.views import in_short


def point_lines(points: Sequence[Task]) -> list[list[Span]]:
    room = len(str(len(points) - 1))
    word = "point" if any(point.steps for point in points) else "round"
    lines: list[list[Span]] = []
    for number, point in enumerate(points):
        lines.append(
            [
                (f"{word} {pad(str(number), room, right=True)}", "bold"),
                (f"  {clock(point.at)}  {point.tree[:10]}  ", "dim"),
                (point_words(point), ""),
            ]
        )
    return lines


def point_words(point: Task) -> str:
    """What had happened last."""
    if point.attempt is not None or not point.steps:
        return round_words(point)
    if not point.settled:
        return "before its first step"
    last = list(point.settled.values())[-1]
    return f"its step {last.child} is {state_words(last.state)}"


def round_words(point: Task) -> str:
    """What happened in the round that ended here."""
    messages = point.attempt.messages if point.attempt else ()
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, Replied):
            calls = ", ".join(one_line(in_short(call)) for call in message.calls)
            return calls or f"says: {first_line(message.text)}"
    return "before its first round"
