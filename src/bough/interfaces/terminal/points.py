"""The points that a task can be taken back to."""

from __future__ import annotations

from collections.abc import Sequence

from bough.core.messages import Replied
from bough.core.state import Task
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import clock, first_line, one_line, pad
from bough.interfaces.views import in_short


def point_lines(points: Sequence[Task]) -> list[list[Span]]:
    room = len(str(len(points) - 1))
    lines: list[list[Span]] = []
    for number, point in enumerate(points):
        lines.append(
            [
                (f"{'step' if point.steps else 'round'} {pad(str(number), room, right=True)}", "bold"),
                (f"  {clock(point.at)}  {point.tree[:10]}  ", "dim"),
                (round_words(point), ""),
            ]
        )
    return lines


def round_words(point: Task) -> str:
    """What happened in the round, or in the step, that ended here."""
    if point.steps:
        last = next(reversed(point.settled.values()), None)
        return f"{last.child} is {last.state.value.replace('_', ' ')}" if last is not None else "before its first step"
    messages = point.attempt.messages if point.attempt else ()
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, Replied):
            calls = ", ".join(one_line(in_short(call)) for call in message.calls)
            return calls or f"says: {first_line(message.text)}"
    return "before its first round"
