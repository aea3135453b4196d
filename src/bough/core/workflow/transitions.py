"""State machines: steps that follow each other by what came of them, not by the order of writing.

A compound step may have states instead of steps. In the plan its states are its steps, so checks, grants, contexts
and drawing are those of any step; a `Machine` says which of them comes next.
"""

from __future__ import annotations

from msgspec import Struct

from bough.core.planning.plan import Exits, Machine
from bough.core.workflow.conditions import BEFORE, StepResult, is_met, render_condition

END = "end"
"""Where a transition leads that ends the machine. It ended as well as its last state did."""


class NextState(Struct, frozen=True):
    """What follows a state."""

    to: str | None
    """The next state; None when the machine is over."""
    success: bool
    """Whether all is well: a machine that is over ended well, one that continues has had its failure handled."""
    why: str
    """For the journal."""


def choose_next_state(machine: Machine, state: str, result: StepResult, count: int) -> NextState:
    """What follows a state that is over, after `count` transitions so far.

    The first transition that holds is taken. A failure for which there is none fails the machine, and so does the
    limit: no failure and no endless loop is taken for success.
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
        return NextState(None, True, f"no transition leads on from {state}")
    return NextState(None, False, f"{state} failed, and no transition takes that up")
