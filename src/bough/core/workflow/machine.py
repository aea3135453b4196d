"""State machines: steps that follow each other by what came of them, not by the order of writing.

A compound step may have states instead of steps. In the plan its states are its steps, so checks, grants, contexts
and drawing are those of any step; a `Machine` says which of them comes next.
"""

from __future__ import annotations

from msgspec import Struct

from bough.core.plan import Condition
from bough.core.workflow.conditions import BEFORE, StepResult, holds, spelt

MAX_TRANSITIONS = 50
END = "end"
"""Where a transition leads that ends the machine. It ended as well as its last state did."""


class Transition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where to go from a state."""

    to: str
    on: Condition | None = None
    """What must hold of the state that is over; None: always."""


class State(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The way on from a step. Without transitions it is a last one."""

    name: str
    transitions: tuple[Transition, ...] = ()


class Machine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which of a compound step's steps comes first, and which next."""

    start: str
    states: tuple[State, ...]
    limit: int = MAX_TRANSITIONS


class Turn(Struct, frozen=True):
    """What follows a state."""

    to: str | None
    """The next state; None when the machine is over."""
    success: bool
    """Whether all is well: a machine that is over ended well, one that goes on has had its failure taken up."""
    why: str
    """For the journal."""


def next_state(machine: Machine, state: str, result: StepResult, count: int) -> Turn:
    """What follows a state that is over, after `count` transitions so far.

    The first transition that holds is taken. A failure for which there is none fails the machine, and so does the
    limit: no failure and no endless loop is taken for success.
    """
    found = next((each for each in machine.states if each.name == state), State(state))
    for transition in found.transitions:
        if transition.on is not None and not holds(transition.on, {BEFORE: result, state: result}):
            continue
        why = f"{state} → {transition.to}" + (f", on {spelt(transition.on)}" if transition.on else "")
        if transition.to == END:
            return Turn(None, result.success, why)
        if count >= machine.limit:
            return Turn(None, False, f"the limit of {machine.limit} transitions is reached at {state}")
        return Turn(transition.to, True, why)
    if result.success:
        return Turn(None, True, f"no transition leads on from {state}")
    return Turn(None, False, f"{state} failed, and no transition takes that up")
