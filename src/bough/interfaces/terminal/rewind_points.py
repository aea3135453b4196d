"""The points that a task can be rewound to."""

from __future__ import annotations

from collections.abc import Sequence

from bough.interfaces.terminal.event_lines import describe_state
from bough.interfaces.terminal.formatting import first_line, format_clock, one_line, pad
from bough.interfaces.terminal.output import Span
from bough.views.details import Point
from bough.views.task_view import describe_call


def render_points(points: Sequence[Point]) -> list[list[Span]]:
    room = len(str(len(points) - 1))
    word = "point" if any(point.has_steps for point in points) else "round"
    lines: list[list[Span]] = []
    for number, point in enumerate(points):
        lines.append(
            [
                (f"{word} {pad(str(number), room, right=True)}", "bold"),
                (f"  {format_clock(point.at)}  {point.tree[:10]}  ", "dim"),
                (describe_point(point), ""),
            ]
        )
    return lines


def describe_point(point: Point) -> str:
    """What happened last."""
    if point.attempted or not point.has_steps:
        return describe_round(point)
    if point.settled is None:
        return "before its first step"
    return f"its step {point.settled.child} is {describe_state(point.settled.state)}"


def describe_round(point: Point) -> str:
    """What happened in the round that ended here."""
    if point.replied is None:
        return "before its first round"
    calls = ", ".join(one_line(describe_call(call)) for call in point.replied.calls)
    return calls or f"says: {first_line(point.replied.text)}"
