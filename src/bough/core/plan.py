"""What is to be done, as written: by a person or by a planner."""

from __future__ import annotations

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing to do."""

    name: str
    """Its segment of the task's path."""
    instructions: str
    criteria: tuple[str, ...] = ()
    """What must be true when it is done, in words a check can be held against."""
    test_command: str | None = None
    """The check. A shell line when it needs a shell (pipes, variables, &&), else split into arguments."""
    test_file: str | None = None
    """The file whose tests are the check, when there is no `test_command`."""
    may_edit_tests: bool = False
    """The step is allowed to change tests that were there before; changes are still reported."""
    requires_testing: bool = True
    """False for steps that no check can prove (planning, documentation)."""

    steps: tuple[Step, ...] = ()
    """Smaller steps that carry it, in order. They come first; then its own check proves it as a whole."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The goal and how it is to be carried out. A goal without steps is atomic: one leaf."""

    goal: Step


MAX_DEPTH = 3
"""How deep a tree of tasks may grow below the goal."""


def checked(plan: Plan) -> Plan:
    """The plan, or an error that says what is wrong with it, before anything runs."""
    _check_below(plan.goal, (), MAX_DEPTH)
    return plan


def _check_below(step: Step, path: tuple[str, ...], depth: int) -> None:
    where = "/".join(path) or "the goal"
    if step.steps and not depth:
        raise UsageError(f"The plan is nested deeper than {MAX_DEPTH} levels at {where}: lift its steps up one level.")
    seen: set[str] = set()
    for child in step.steps:
        if child.name != slug(child.name) or child.name == GOAL:
            raise UsageError(f"`{child.name}` below {where} cannot be a step's name: `{slug(child.name)}` could.")
        if child.name in seen:
            raise UsageError(f"Two steps below {where} are called `{child.name}`: give each a name of its own.")
        seen.add(child.name)
        _check_below(child, (*path, child.name), depth - 1)


def goal_step(
    goal: str, *, check: str | None = None, criteria: tuple[str, ...] = (), requires_testing: bool = True
) -> Step:
    if not goal.strip():
        raise UsageError("The goal is empty: say what should be true when the work is done.")
    if check is not None and not check.strip():
        raise UsageError("The check is empty: give the command that proves the goal, or leave --check away.")
    return Step("goal", goal.strip(), criteria=criteria, test_command=check, requires_testing=requires_testing)
