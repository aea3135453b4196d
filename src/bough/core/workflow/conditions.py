"""Conditions and transitions: they are parsed from text and decided by results, never evaluated as code.

condition = ["not "] [STEP "."] ( "success" | "failure" | "has_errors" | "empty" | "contains:" TEXT )
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast, get_args

from msgspec import Struct

from bough.core.events import ChildSettled
from bough.core.planning.plan import Condition, Exits, Machine, Outcome
from bough.core.textual.spelling import shorten_line
from bough.core.tree.task_state import State
from bough.core.workflow.problems import suggest_nearest

BEFORE = ""
"""The name that the previous step has in `results`."""
END = "end"
"""The target of a transition that ends a state machine; the outcome is that of its last state."""
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_FORM = re.compile(r"(?P<not>not\s+)?(?:(?P<step>[^\s.:]+)\.)?(?P<outcome>[^\s.:]+)(?::(?P<text>.*))?", re.DOTALL)
_WORDS = tuple("contains:TEXT" if outcome == "contains" else outcome for outcome in OUTCOMES)


def parse_condition(text: str) -> Condition | str:
    """Parse a condition, or return a sentence that says why the text is not one."""
    found = _FORM.fullmatch(text.strip())
    if not found:
        return (
            f"`{shorten_line(text)}` is not a condition: use one of {', '.join(_WORDS)}, with "
            f"`STEP.` or `not ` before it."
        )
    outcome, wanted = found["outcome"], found["text"]
    if outcome not in OUTCOMES:
        return f"`{shorten_line(outcome)}` is not something a condition can ask: {suggest_nearest(outcome, OUTCOMES)}"
    if outcome != "contains" and wanted is not None:
        return f"`{outcome}` takes no text after it: write `{outcome}`, or `contains:TEXT`."
    if outcome == "contains":
        wanted = (wanted or "").strip()
        if len(wanted) > 1 and wanted[0] == wanted[-1] == '"':
            wanted = wanted[1:-1]
        if not wanted:
            return "`contains:` says nothing to look for: write `contains:TEXT`."
    return Condition(cast(Outcome, outcome), found["step"] or "", wanted or "", bool(found["not"]))


def render_condition(condition: Condition) -> str:
    """Return the text that `parse_condition` reads as this condition."""
    text = condition.text
    quoted = f'"{text}"' if text != text.strip() or text[:1] == '"' else text
    return (
        f"{'not ' if condition.negated else ''}{condition.step}{'.' if condition.step else ''}{condition.outcome}"
        f"{':' if condition.outcome == 'contains' else ''}{quoted}"
    )


def is_met(condition: Condition, results: Mapping[str, ChildSettled]) -> bool:
    """Whether a condition holds. `results` has the finished steps by name, and the previous one under `BEFORE`.

    For a step that was skipped or has not run, only a negated condition holds. `empty` holds only for steps that
    succeeded, since a critic that failed has approved nothing.
    """
    result = results.get(condition.step)
    return (result is not None and _matches(condition, result)) != condition.negated


def _matches(condition: Condition, result: ChildSettled) -> bool:
    success = result.state is State.COMPLETED
    match condition.outcome:
        case "success":
            return success
        case "failure":
            return not success
        case "has_errors":
            return result.errors
        case "empty":
            return success and not result.result.strip()
        case "contains":
            return condition.text in result.result


class NextState(Struct, frozen=True):
    """What follows a finished state of a state machine."""

    to: str | None
    """The next state; None if the machine has ended."""
    success: bool
    """Whether the machine succeeded; true if it continues."""
    why: str
    """The reason, for the journal."""


def choose_next_state(machine: Machine, ended: ChildSettled, count: int) -> NextState:
    """Choose the successor of a finished state, after `count` transitions so far.

    The first transition whose condition holds is taken. If a state fails and no transition applies, the machine fails;
    it also fails at the limit of transitions, so that an endless loop does not count as success.
    """
    state, success = ended.child, ended.state is State.COMPLETED
    found = next((each for each in machine.states if each.name == state), Exits(state))
    for transition in found.transitions:
        if transition.on is not None and not is_met(transition.on, {BEFORE: ended, state: ended}):
            continue
        why = f"{state} → {transition.to}" + (f", on {render_condition(transition.on)}" if transition.on else "")
        if transition.to == END:
            return NextState(None, success, why)
        if count >= machine.limit:
            return NextState(None, False, f"the limit of {machine.limit} transitions is reached at {state}")
        return NextState(transition.to, True, why)
    if success:
        return NextState(None, True, f"{state} has no further transition")
    return NextState(None, False, f"{state} failed, and no transition handles it")
