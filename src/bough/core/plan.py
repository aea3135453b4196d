"""What is to be done, as written: by a person or by a planner."""

from __future__ import annotations

from msgspec import Struct

from bough.core.errors import UsageError


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing to do."""

    name: str
    """Its segment of the task's path."""
    instructions: str
    criteria: tuple[str, ...] = ()
    """What must be true when it is done, in words a check can be held against."""
    test_command: str | None = None
    """The check. A shell line when it needs a shell (pipes, variables, &&), else split into arguments."""
    requires_testing: bool = True
    """False for steps that no check can prove (planning, documentation)."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The goal and how it is to be carried out. A goal without steps is atomic: one leaf."""

    goal: Step


def goal_step(
    goal: str, *, check: str | None = None, criteria: tuple[str, ...] = (), requires_testing: bool = True
) -> Step:
    if not goal.strip():
        raise UsageError("The goal is empty: say what should be true when the work is done.")
    if check is not None and not check.strip():
        raise UsageError("The check is empty: give the command that proves the goal, or leave --check away.")
    return Step("goal", goal.strip(), criteria=criteria, test_command=check, requires_testing=requires_testing)
