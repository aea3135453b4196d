"""`dispute`: an agent's evidence against a test."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.tools.notes import require_text
from bough.adapters.tools.tool import Bench, Tool
from bough.core.events import Disputed
from bough.ports import ToolResult

LONGEST_NAME = 500
LONGEST_EVIDENCE = 4_000
ANSWER = (
    "Recorded. Change the test to what it should expect, finish the work and call `done`. If the original test then "
    "disagrees with your code, those who decide see your evidence: a judge, who allows only what the wording of the "
    "request demands, then the person. What is not allowed comes back to you as a result."
)


class Dispute(Struct, frozen=True, forbid_unknown_fields=True):
    test: Annotated[str, Meta(description="The test as the runner names it, e.g. tests/test_a.py::test_b.")]
    evidence: Annotated[
        str,
        Meta(description="Why it expects something wrong: words of the request, a specification, an output you saw."),
    ]


async def dispute(arguments: Dispute, bench: Bench) -> ToolResult:
    test = require_text("test", arguments.test, LONGEST_NAME)
    evidence = require_text("evidence", arguments.evidence, LONGEST_EVIDENCE)
    return ToolResult(ANSWER, events=(Disputed(test, evidence),))


DISPUTE = Tool(
    name="dispute",
    description="Say with evidence that an existing test expects something wrong. Others decide whether it may change.",
    arguments=Dispute,
    example='{"test": "test_totals.py::test_half", "evidence": "The task says: round half up. It expects 2 for 2.5."}',
    writes=False,
    act=dispute,
)
