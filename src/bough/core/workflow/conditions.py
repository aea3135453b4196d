"""Conditions: parsed from text, answered from results, never evaluated as code.

condition = ["not "] [STEP "."] ( "success" | "failure" | "has_errors" | "empty" | "contains:" TEXT )
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast, get_args

from msgspec import Struct

from bough.core.planning.plan import Condition, Outcome
from bough.core.workflow.problems import shorten_quote, suggest_nearest

BEFORE = ""
"""The name in `results` of the previous step."""
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_FORM = re.compile(r"(?P<not>not\s+)?(?:(?P<step>[^\s.:]+)\.)?(?P<outcome>[^\s.:]+)(?::(?P<text>.*))?", re.DOTALL)
_WORDS = tuple("contains:TEXT" if outcome == "contains" else outcome for outcome in OUTCOMES)


class StepResult(Struct, frozen=True):
    """What is known about a finished step."""

    success: bool
    errors: bool = False
    """It reported errors: its verdict has failures, or a critic's findings have severe ones."""
    text: str = ""
    """What it gives to others; empty for a critic without findings."""


def parse_condition(text: str) -> Condition | str:
    """The condition in a text, or a sentence about why it is not one."""
    found = _FORM.fullmatch(text.strip())
    if not found:
        return (
            f"`{shorten_quote(text)}` is not a condition: use one of {', '.join(_WORDS)}, with "
            f"`STEP.` or `not ` before it."
        )
    outcome, wanted = found["outcome"], found["text"]
    if outcome not in OUTCOMES:
        return f"`{shorten_quote(outcome)}` is not something a condition can ask: {suggest_nearest(outcome, OUTCOMES)}"
    if outcome != "contains" and wanted is not None:
        return f"`{outcome}` takes no text after it: write `{outcome}`, or `contains:TEXT`."
    if outcome == "contains":
        wanted = _unquote((wanted or "").strip())
        if not wanted:
            return "`contains:` says nothing to look for: write `contains:TEXT`."
    return Condition(cast(Outcome, outcome), found["step"] or "", wanted or "", bool(found["not"]))


def _unquote(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def render_condition(condition: Condition) -> str:
    """The text that `parse_condition` reads as this condition."""
    text = condition.text
    quoted = f'"{text}"' if text != text.strip() or text[:1] == '"' else text
    return (
        f"{'not ' if condition.negated else ''}{condition.step}{'.' if condition.step else ''}{condition.outcome}"
        f"{':' if condition.outcome == 'contains' else ''}{quoted}"
    )


def is_met(condition: Condition, results: Mapping[str, StepResult]) -> bool:
    """Whether a condition holds. `results` has the finished steps by name, and the previous one under `BEFORE`.

    For a step that was skipped or has not run nothing is true, so only a negated condition holds. `empty` holds only
    for steps that succeeded: a critic that failed has approved nothing.
    """
    result = results.get(condition.step)
    return (result is not None and _matches(condition, result)) != condition.negated


def _matches(condition: Condition, result: StepResult) -> bool:
    match condition.outcome:
        case "success":
            return result.success
        case "failure":
            return not result.success
        case "has_errors":
            return result.errors
        case "empty":
            return result.success and not result.text.strip()
        case "contains":
            return condition.text in result.text
