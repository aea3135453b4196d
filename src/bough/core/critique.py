"""What a critic found in a change.

An approval is an answer that says, in the structure it was asked for, that there is nothing: everything else that is
not findings (prose, an empty answer, an error, half an answer) is `Problems`, and never an approval.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

from bough.core.context import criteria, section
from bough.core.findings import Finding, Severity
from bough.core.messages import Answer, ToolSpec
from bough.core.plan import Step
from bough.core.planning.brief import LONG, cut
from bough.core.results import listed
from bough.core.structured import Problems, read

_ORDER: tuple[Severity, ...] = ("high", "medium", "low")
CRITIQUE = ToolSpec(
    name="review",
    description="Give everything you found, in one call. An empty list of findings approves the change.",
    parameters={
        "type": "object",
        "properties": {
            "looked_at": {
                "type": "string",
                "description": "What you went through and held against the task, in a sentence or two. Written first.",
            },
            "findings": {
                "type": "array",
                "description": "What has to change before this can be taken. [] when nothing has to.",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "description": "The file, relative to the project."},
                        "line": {"type": "integer", "description": "The line in the file as it is now; 0: all of it."},
                        "severity": {
                            "type": "string",
                            "enum": ["low", "medium", "high"],
                            "description": "high: wrong result, lost data, a hole. medium: a case that was forgotten, "
                            "a test that proves nothing. low: hard to read or out of style.",
                        },
                        "what": {"type": "string", "description": "What is wrong and what it should be instead."},
                        "why": {"type": "string", "description": "The input or situation in which it goes wrong."},
                    },
                    "required": ["file", "severity", "what", "why"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["looked_at", "findings"],
        "additionalProperties": False,
    },
    writes=False,
)


class _Given(Struct, frozen=True):
    file: Annotated[str, Meta(max_length=500)]
    severity: Annotated[str, Meta(max_length=50)]
    what: Annotated[str, Meta(min_length=1, max_length=4_000)]
    why: Annotated[str, Meta(max_length=4_000)] = ""
    line: int | Annotated[str, Meta(max_length=50)] = 0


class _Review(Struct, frozen=True):
    findings: Annotated[tuple[_Given, ...], Meta(max_length=200)]
    looked_at: Annotated[str, Meta(max_length=4_000)]


_ALIASES = {"path": "file", "description": "what", "message": "what", "reason": "why", "summary": "looked_at"}
_WORDS: dict[Severity, tuple[str, ...]] = {
    "high": ("high", "critical", "blocker", "major", "error"),
    "medium": ("medium", "moderate", "warning"),
    "low": ("low", "minor", "nit", "info", "style"),
}
_SEVERITIES = {word: severity for severity, words in _WORDS.items() for word in words}


_ALONE = r"(?s)\s*(<think>.*</think>)?\s*(```\w*\s*)?\{.*\}\s*(```)?\s*"
"""An object and nothing around it: an approval that stands among other words may be one that the critic quotes."""


def findings(answer: Answer) -> tuple[Finding, ...] | Problems:
    """What the critic found, the most severe first; an empty tuple is an approval that was really given."""
    if answer.stop in ("length", "refusal"):
        return Problems(("The review was not finished, so it is no review: call `review` again, with fewer words.",))
    review = read(answer, CRITIQUE, _Review, _ALIASES)
    if isinstance(review, str):
        return Problems((review,))
    if not review.looked_at:
        return Problems(("`looked_at` is empty: say what you went through, then what you found.",))
    if not review.findings and not answer.calls and not re.fullmatch(_ALONE, answer.text):
        return Problems(("The review says more than its structure does: call `review`, with all of it in there.",))
    found = dict.fromkeys(_finding(given) for given in review.findings)
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def _finding(given: _Given) -> Finding:
    # A word of its own for a severity is still a finding: it counts as medium rather than as nothing.
    severity = _SEVERITIES.get(given.severity.lower(), "medium")
    return Finding(given.file, _line(given.line), severity, given.what, given.why)


def _line(given: int | str) -> int:
    """`12`, `L12`, `12-15`: the first number in it."""
    number = re.search(r"\d{1,7}", str(given))
    return int(number[0]) if number and not str(given).startswith("-") else 0


def brief(task: Step, verdict: str, diff: str, earlier: tuple[Finding, ...] = ()) -> dict[str, str]:
    """The values of `critic.md`. `verdict`: what the check said; `earlier`: what the review before this one found."""
    return {
        "instructions": task.instructions,
        "criteria": section("What must be true at the end", criteria(task)),
        "verdict": cut(verdict, LONG) or "No check was run.",
        "diff": cut(diff, 4 * LONG) or "(nothing was changed)",
        "earlier": section("What the last review found, and the engineer was to change", listed(earlier)),
    }
