"""A plan, as written by a person or by a planner."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, TypeVar

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug

T = TypeVar("T")
OnError = Literal["fail", "retry", "skip", "escalate"]
ContextMode = Literal["isolated", "shared", "inherited"]
Join = Literal["all", "any", "settled"]
Role = Literal["builder", "bug_hunter", "test_writer", "critic"]
Tier = Literal["fast", "main", "strong"]
Outcome = Literal["success", "failure", "has_errors", "empty", "contains"]


class Condition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question about a finished step, parsed from a workflow's text and never evaluated as code."""

    outcome: Outcome
    step: str = ""
    """The sibling that it asks about; empty for the step before this one or, in `until`, the last step of the pass."""
    text: str = ""
    """The text that `contains` looks for in the step's result."""
    negated: bool = False


class Retry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How long a step with `on_error = "retry"` waits before a retry."""

    wait: float = 0.0
    """Seconds before the first retry."""
    growth: float = 1.0
    """Factor for each further wait: 1 for a fixed wait, 2 for back-off."""


MAX_TRANSITIONS = 50


class Transition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    to: str
    on: Condition | None = None
    """The condition on the finished state; None if the transition always applies."""


class Exits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The transitions of a state, which is a step. Without transitions it is final."""

    name: str
    transitions: tuple[Transition, ...] = ()


class Machine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A state machine over a compound step's steps: their results, not the written order, decide which comes next."""

    start: str
    states: tuple[Exits, ...]
    limit: int = MAX_TRANSITIONS


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing to do."""

    name: str
    """The step's segment of the task's path."""
    instructions: str = ""
    """The agent's task. A compound step may say what its steps are for as a whole."""
    title: str = ""
    """The title for people; if empty, the name is shown."""
    criteria: tuple[str, ...] = ()
    """Conditions that must be true in the end, in terms a check can test."""
    covers: tuple[int, ...] = ()
    """Numbers of the goal's requirements that depend on this step."""
    interfaces: tuple[str, ...] = ()
    """Exact names and signatures that this step provides to the steps that need it."""

    test_command: str | None = None
    """The check. A shell line if it needs a shell (pipes, variables, &&), otherwise split into arguments."""
    test_file: str | None = None
    """The file whose tests are the check, if there is no `test_command`."""
    may_edit_tests: bool = False
    """Whether the step may change tests that existed before; such changes are still reported."""
    requires_testing: bool = True
    """False for steps that no check can prove (planning, documentation)."""

    steps: "tuple[Step, ...]" = ()
    """Smaller steps that do the work of this one. They run first; its own check then proves it as a whole."""
    plan_first: bool = False
    """Whether its smaller steps are planned when it starts, based on what was done before."""
    needs: tuple[str, ...] = ()
    """Siblings that must be completed before it starts."""
    parallel: bool = False
    """Whether its steps run in parallel as soon as their needs are met, and not one after the other."""
    join: Join = "all"
    """What parallel steps must achieve: all succeed; any one succeeds (the others are cancelled); or all just end."""

    files: tuple[str, ...] = ()
    """Files that the step is expected to change; two steps that share one do not run at the same time."""
    complexity: int = 1
    """The step's weight, from 1 (simple) to 5, when the parent's rounds are divided among its steps."""
    rounds: int | None = None
    """The number of rounds that the step may use, if a person sets it."""
    role: Role = "builder"
    model: Tier = "main"
    agent: str = ""
    """The outside agent that does the step; empty for the run's choice, `bough` for bough's own agent."""

    run: str = ""
    """A shell command that is the whole step, without an agent; the step is done when it exits with 0."""
    env: dict[str, str] = {}
    """Environment variables of the command; they hold the values of placeholders, which no shell then reads as code."""
    work: str = ""
    """The finished run whose work is the whole step: it is merged and proven, and no agent works on it."""
    given: str = ""
    """The git tree with a change that somebody else made: it is the whole work, which is judged and not added to."""
    do: Literal["", "break", "continue"] = ""
    """Whether this step leaves the nearest enclosing step that repeats (`break`), or begins its next pass."""
    condition: Condition | None = None
    """The step is skipped, with the reason recorded, unless this holds."""
    on_error: OnError = "fail"
    """What a failure leads to: the parent fails, the step is retried, it is skipped, or escalation deals with it."""
    max_retries: int = 1
    retry: Retry = Retry()
    repeat: int = 1
    """The maximum number of passes of a step with smaller steps."""
    until: Condition | None = None
    """No further pass begins once this condition holds."""
    context: ContextMode = "isolated"
    """What the step sees of the parent's context: nothing; the same context, to which both add; or the parent's
    context, with additions of its own."""
    summarize: bool = False
    """Whether the result of this step is a summary by a model, and not the list of its steps' results."""
    runs_on: tuple[str, ...] = ()
    """Tags that a worker must have to run the step, if tasks are dispatched to workers."""
    temperature: float | None = None
    """The sampling temperature of the model; None for the model's default."""
    machine: Machine | None = None
    """The transitions, if the smaller steps are states of a state machine."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The goal and how to reach it. A goal without steps is one piece of work (a leaf)."""

    goal: Step


MAX_DEPTH = 3
"""The maximum number of levels of tasks below the goal."""


class PlanningRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    max_depth: int = MAX_DEPTH
    """The maximum number of levels below the goal; with 0 the goal is never split."""
    min_split: int = 10
    """A task with fewer rounds left than this is not split."""
    context: Literal["tree", "list"] = "tree"
    """The finished work that is shown to a step which sees its parent's context: `tree`, that of its own branch;
    `list`, all finished work in one list."""
    flat: bool = False
    """Whether a goal starts as one piece of work, without an estimate of its size."""
    prompts: Literal["plain", "optimised"] = "plain"
    """Guidance for planners: bough's own, or the better one found by `bough-optimise planner`."""


def describe_command(step: Step) -> str:
    """Return the command of a `run` step as people read it, with the values in place of the variables."""

    def render(found: re.Match[str]) -> str:
        return shlex.quote(step.env[found[1]]) if found[1] in step.env else found[0]

    return re.sub(r'"\$(\w+)"', render, step.run)


def count_leaves(step: Step) -> int:
    """Count the steps that do work themselves, as written."""
    return sum(map(count_leaves, step.steps)) or 1


def count_most_leaves(step: Step) -> int:
    """Count how often steps without smaller steps can run at most: repeated ones count for each possible pass."""
    return max(1, step.repeat) * sum(map(count_most_leaves, step.steps)) if step.steps else 1


def has_parallel_steps(step: Step) -> bool:
    return (step.parallel and len(step.steps) > 1) or any(map(has_parallel_steps, step.steps))


def validate_plan(plan: Plan) -> Plan:
    """Return the plan, or raise an error that says what is wrong with it, before anything runs."""
    _check_below(plan.goal, (), MAX_DEPTH)
    return plan


def _check_below(step: Step, path: tuple[str, ...], depth: int) -> None:
    where = "/".join(path) or "the goal"
    if step.steps and not depth:
        raise UsageError(f"The plan is nested deeper than {MAX_DEPTH} levels at {where}: lift its steps up one level.")
    names = [child.name for child in step.steps]
    for number, child in enumerate(step.steps):
        if child.name != slug(child.name) or child.name == GOAL:
            raise UsageError(f"`{child.name}` below {where} is not a valid step name: use `{slug(child.name)}`.")
        if child.name in names[:number]:
            raise UsageError(f"Two steps below {where} are called `{child.name}`: give each a name of its own.")
        _check_below(child, (*path, child.name), depth - 1)
        for need in child.needs:
            if need not in names:
                raise UsageError(f"`{child.name}` below {where} needs `{need}`, which is not one of its siblings.")
    if circle := find_circle({child.name: child.needs for child in step.steps}):
        raise UsageError(f"Steps below {where} need each other: {' → '.join(circle)}. Remove one of these needs.")


def find_all_needs(step: Step, steps: Iterable[Step]) -> frozenset[str]:
    """Find the siblings that a step needs, directly or through others."""
    needs = {other.name: other.needs for other in steps}
    return frozenset(find_reachable(step.needs, lambda name: needs.get(name, ())))


def find_reachable(starts: Iterable[T], ways: Callable[[T], Iterable[T]]) -> set[T]:
    """Find everything that can be reached from the starts by following `ways`, including the starts."""
    found, ahead = set[T](), [*starts]
    while ahead:
        if (one := ahead.pop()) not in found:
            found.add(one)
            ahead += ways(one)
    return found


def find_circle(needs: Mapping[T, Iterable[T]]) -> list[T]:
    """Find a cycle among things that need each other: each is followed by what it needs, and the first comes again at
    the end. Empty if there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle: list[T] = error.args[1][::-1]
        return circle
    return []


def build_goal_step(
    goal: str, *, check: str | None = None, criteria: tuple[str, ...] = (), requires_testing: bool = True
) -> Step:
    if not goal.strip():
        raise UsageError("The goal is empty: say what should be true when the work is done.")
    if check is not None and not check.strip():
        raise UsageError("The check is empty: give the command that proves the goal, or omit --check.")
    return Step("goal", goal.strip(), criteria=criteria, test_command=check, requires_testing=requires_testing)


def derive_step(parent: Step, name: str, instructions: str, **fields: Any) -> Step:
    """Make a smaller step of a step, for a planner or bough itself. What a person allowed or chose for the parent
    (editing tests, no check, a model) also holds for its parts; no model can set any of that."""
    return Step(
        name,
        instructions,
        may_edit_tests=parent.may_edit_tests,
        requires_testing=parent.requires_testing,
        model=parent.model,
        on_error="escalate",
        context="inherited",
        **fields,
    )


TEMPERATURES = (0.8, 0.6, 1.0, 0.7, 0.9)
"""Temperatures of further attempts at the same task; they differ, since identical answers would be useless."""
