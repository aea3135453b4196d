"""The points that a task can be taken back to."""

from __future__ import annotations

from collections.abc import Sequence

from bough.interfaces.terminal.lines import state_words
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import clock, first_line, one_line, pad
from bough.interfaces.views import in_short
from bough.views.details import Point


def point_lines(points: Sequence[Point]) -> list[list[Span]]:
    room = len(str(len(points) - 1))
    word = "point" if any(point.has_steps for point in points) else "round"
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


def point_words(point: Point) -> str:
    """What had happened last."""
    if point.attempted or not point.has_steps:
        return round_words(point)
    if point.settled is None:
        return "before its first step"
    return f"its step {point.settled.child} is {state_words(point.settled.state)}"


def round_words(point: Point) -> str:
    """What happened in the round that ended here."""
    if point.replied is None:
        return "before its first round"
    calls = ", ".join(one_line(in_short(call)) for call in point.replied.calls)
    return calls or f"says: {first_line(point.replied.text)}"
