"""`note` and `done`: what an agent says that outlasts its context."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bough.adapters.tools.tool import Bench, Refusal, Tool
from bough.core.events import DoneClaimed, NoteKept
from bough.ports import ToolResult

LONGEST_NOTE = 2_000
LONGEST_SUMMARY = 8_000


class NoteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        Literal["decision", "dead_end"],
        Meta(description="decision: what was settled, and why. dead_end: what does not work, and why."),
    ]
    text: Annotated[str, Meta(description=f"In a sentence or a few; at most {LONGEST_NOTE:,} characters.")]


class Done(Struct, frozen=True, forbid_unknown_fields=True):
    summary: Annotated[
        str,
        Meta(
            description="In a few sentences, first what others who build on it must know (names, files, decisions); "
            "then what was changed and why, how it was tested, and what you noticed but left alone."
        ),
    ]


async def note(arguments: NoteArguments, bench: Bench) -> ToolResult:
    text = require_text("text", arguments.text, LONGEST_NOTE)
    return ToolResult("Kept.", events=(NoteKept(arguments.kind, text),))


async def done(arguments: Done, bench: Bench) -> ToolResult:
    summary = require_text("summary", arguments.summary, LONGEST_SUMMARY)
    return ToolResult("Understood: now the check decides.", events=(DoneClaimed(summary),))


def require_text(name: str, text: str, longest: int) -> str:
    text = text.strip()
    if not text:
        raise Refusal(f"`{name}` is empty: say it in a sentence or a few.", fault=True)
    if len(text) > longest:
        raise Refusal(f"`{name}` has {len(text):,} characters; the limit is {longest:,}: shorten it.", fault=True)
    return text


NOTE = Tool(
    name="note",
    description="Record a decision or a dead end for those who continue this task: they do not see this conversation.",
    arguments=NoteArguments,
    example='{"kind": "dead_end", "text": "The cache cannot be cleared from here: it is read-only."}',
    writes=False,
    act=note,
)
DONE = Tool(
    name="done",
    description="Say that the task is done. The check then runs; only its passing completes the task.",
    arguments=Done,
    example='{"summary": "Fixed the rounding in totals(); the tests pass."}',
    writes=False,
    act=done,
)
