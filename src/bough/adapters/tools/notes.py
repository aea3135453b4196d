"""The tools `note`, `dispute`, `propose_goal` and `done`, which record an agent's statements in the journal, so that
they outlast its context. With `dispute` it gives evidence that a test is wrong."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from bough.adapters.tools.tool import Bench, Refusal, Tool
from bough.core.events import AnyEvent, Disputed, DoneClaimed, GoalProposed, NoteKept
from bough.ports import ToolResult

LONGEST_NOTE = 2_000
LONGEST_SUMMARY = 8_000
LONGEST_NAME = 500
LONGEST_EVIDENCE = 4_000
ANSWER = (
    "Recorded. Change the test to what it should expect, finish the work and call `done`. If the original test then "
    "disagrees with your code, those who decide see your evidence: a judge, who allows only what the wording of the "
    "request demands, then the person. What is not allowed comes back to you as a result."
)


class NoteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        Literal["decision", "dead_end"],
        Meta(description="decision: what was settled, and why. dead_end: what does not work, and why."),
    ]
    text: Annotated[str, Meta(description=f"In a sentence or a few; at most {LONGEST_NOTE:,} characters.")]


class DoneArguments(Struct, frozen=True, forbid_unknown_fields=True):
    summary: Annotated[
        str,
        Meta(
            description="In a few sentences, first what others who build on it must know (names, files, decisions); "
            "then what was changed and why, how it was tested, and what you noticed but left alone."
        ),
    ]


class Dispute(Struct, frozen=True, forbid_unknown_fields=True):
    test: Annotated[str, Meta(description="The test as the runner names it, e.g. tests/test_a.py::test_b.")]
    evidence: Annotated[
        str,
        Meta(
            description="Why the test expects something wrong: words of the request, a specification, an output seen."
        ),
    ]


class Proposal(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(description="What should be true at the end, in one sentence.")]
    why: Annotated[str, Meta(description="What you saw, and where.")]
    files: Annotated[list[str], Meta(description="Files that the goal is about.", max_length=20)] = []


def _record(
    event: Callable[..., AnyEvent], answer: str, **longest: int
) -> Callable[[Struct, Bench], Awaitable[ToolResult]]:
    """Make a tool's function that records an event with the call's arguments. `longest`: the most characters of each
    text argument, by name."""

    async def act(arguments: Struct, bench: Bench) -> ToolResult:
        given = asdict(arguments)
        for name, most in longest.items():
            given[name] = text = given[name].strip()
            if not text:
                raise Refusal(f"`{name}` is empty: say it in a sentence or a few.", fault=True)
            if len(text) > most:
                raise Refusal(f"`{name}` has {len(text):,} characters; the limit is {most:,}: shorten it.", fault=True)
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return ToolResult(answer, events=(event(**given | lists),))

    return act


NOTE = Tool(
    name="note",
    description="Record a decision or a dead end for those who continue this task: they do not see this conversation.",
    arguments=NoteArguments,
    example='{"kind": "dead_end", "text": "The cache cannot be cleared from here: it is read-only."}',
    act=_record(NoteKept, "Kept.", text=LONGEST_NOTE),
)
DONE = Tool(
    name="done",
    description="Say that the task is done. The check then runs; only its passing completes the task.",
    arguments=DoneArguments,
    example='{"summary": "Fixed the rounding in totals(); the tests pass."}',
    act=_record(DoneClaimed, "Understood: now the check decides.", summary=LONGEST_SUMMARY),
)
PROPOSE = Tool(
    name="propose_goal",
    description="Propose what is worth doing and no part of your task. Leave it alone: a person decides about it.",
    arguments=Proposal,
    example='{"title": "Dates before 1970 are parsed.", "why": "parse() in dates.py raises for them."}',
    act=_record(GoalProposed, "Kept for the person.", title=LONGEST_NAME, why=LONGEST_NOTE),
)
DISPUTE = Tool(
    name="dispute",
    description="Say with evidence that an existing test expects something wrong. Others decide whether it may change.",
    arguments=Dispute,
    example='{"test": "test_totals.py::test_half", "evidence": "The task says: round half up. It expects 2 for 2.5."}',
    act=_record(Disputed, ANSWER, test=LONGEST_NAME, evidence=LONGEST_EVIDENCE),
)
