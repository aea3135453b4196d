"""What the words for an event may need to know of earlier ones."""

from __future__ import annotations

from msgspec import Struct, field

from bough.core.messages import Call
from bough.views.formatting import one_line
from bough.views.task_view import describe_call

Told = tuple[str, str]
"""What happened, and the name of the style that fits it."""


class TaskMemory(Struct):
    """What a teller remembers about one task."""

    rounds: int = 0
    attempts: int = 0
    calls: dict[str, Call] = field(default_factory=dict)
    asking: bool = False

    def describe_call(self, id: str) -> str:
        return shorten_call(self.calls[id]) if id in self.calls else "a tool"


def shorten_call(call: Call, room: int = 60) -> str:
    words = one_line(describe_call(call))
    return words if len(words) <= room else words[: room - 1].rstrip() + "…"


def name_summarizer(by: str) -> str:
    return "the fast model" if by == "model" else "plain rules"
