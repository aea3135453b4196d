"""State machines: steps that follow each other by their results, not in written order.

A compound step may have states instead of steps. In the plan its states are its steps, so checks, grants, contexts
and drawing are those of any step; a `Machine` says which of them comes next.
"""

from __future__ import annotations

from msgspec import Struct

from bough.core.planning.plan import Exits, Machine
from bough.core.workflow.conditions import BEFORE, StepResult, is_met, render_condition

END = "end"
"""The target of a transition that ends the machine, with the outcome of its last state."""


class NextState(Struct, frozen=True):
    """What follows a state."""

    to: str | None
    """The next state; None if the machine has ended."""
    success: bool
    """Whether the machine succeeded, or, if it continues, a failure was handled."""
    why: str
    """For the journal."""


def choose_next_state(machine: Machine, state: str, result: StepResult, count: int) -> NextState:
    """What follows a finished state, after `count` transitions so far.

    The first transition that holds is taken. A failure without one fails the machine, and so does the limit: neither a
    failure nor an endless loop counts as success.
    """
    found = next((each for each in machine.states if each.name == state), Exits(state))
    for transition in found.transitions:
        if transition.on is not None and not is_met(transition.on, {BEFORE: result, state: result}):
            continue
        why = f"{state} → {transition.to}" + (f", on {render_condition(transition.on)}" if transition.on else "")
        if transition.to == END:
            return NextState(None, result.success, why)
        if count >= machine.limit:
            return NextState(None, False, f"the limit of {machine.limit} transitions is reached at {state}")
        return NextState(transition.to, True, why)
    if result.success:
        return NextState(None, True, f"{state} has no further transition")
    return NextState(None, False, f"{state} failed, and no transition handles it")
