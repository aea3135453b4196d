"""A plan, as written by a person or by a planner."""

from __future__ import annotations

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
    """The sibling it asks about; empty: the step before this one (for `until`: the last step of the pass)."""
    text: str = ""
    """The text that `contains` looks for in the step's result."""
    negated: bool = False


class Retry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The retries of a step with `on_error = "retry"`."""

    wait: float = 0.0
    """Seconds before the first retry."""
    growth: float = 1.0
    """Factor for each further wait: 1 for a fixed wait, 2 for back-off."""


MAX_TRANSITIONS = 50


class Transition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A way from one state to the next."""

    to: str
    on: Condition | None = None
    """Condition on the finished state; None: always."""


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
    """Its segment of the task's path."""
    instructions: str = ""
    """The agent's task. A compound step may say what its steps are for as a whole."""
    title: str = ""
    """Its title for people; empty: the name."""
    criteria: tuple[str, ...] = ()
    """Conditions that must be true in the end, in terms a check can test."""
    covers: tuple[int, ...] = ()
    """Numbers of the goal's requirements that depend on this step."""
    interfaces: tuple[str, ...] = ()
    """Exact names and signatures that it provides to the steps that need it."""

    test_command: str | None = None
    """The check. A shell line if it needs a shell (pipes, variables, &&), otherwise split into arguments."""
    test_file: str | None = None
    """The file whose tests are the check, if there is no `test_command`."""
    may_edit_tests: bool = False
    """The step is allowed to change tests that were there before; changes are still reported."""
    requires_testing: bool = True
    """False for steps that no check can prove (planning, documentation)."""

    steps: tuple[Step, ...] = ()
    """Smaller steps that do its work. They run first; then its own check proves it as a whole."""
    plan_first: bool = False
    """Its smaller steps are planned when it starts, from what was done before."""
    needs: tuple[str, ...] = ()
    """Siblings that must be completed before it starts."""
    parallel: bool = False
    """Its steps run in parallel as soon as their needs are met; otherwise one after the other, in order."""
    join: Join = "all"
    """What parallel steps must achieve: all succeed; any one succeeds (the others are cancelled); or all just end."""

    files: tuple[str, ...] = ()
    """Files it is expected to change: two parallel steps that share one do not run at the same time."""
    complexity: int = 1
    """1 (simple) to 5: its weight when the parent's rounds are shared out."""
    rounds: int | None = None
    """Its grant, if a person sets it."""
    role: Role = "builder"
    model: Tier = "main"
    agent: str = ""
    """The outside agent that does it; empty: the run's choice; `bough`: bough's own."""

    run: str = ""
    """A command that is the whole step: no agent, done when it exits with 0. A shell runs it."""
    env: dict[str, str] = {}
    """Environment variables of the command: values of placeholders, which no shell ever reads as code."""
    work: str = ""
    """The finished run whose work is the step: it is merged and proven, and no agent works on it."""
    given: str = ""
    """The tree with a change that somebody else made: it is the whole work, to be judged, and no agent adds to it."""
    do: Literal["", "break", "continue"] = ""
    """Leave the nearest compound step that repeats, or begin its next pass."""
    condition: Condition | None = None
    """The step is skipped, with the reason recorded, unless this holds."""
    on_error: OnError = "fail"
    """Reaction to a failure: fail the parent, retry it, continue without it, or let the ladder handle it."""
    max_retries: int = 1
    retry: Retry = Retry()
    repeat: int = 1
    """The most passes of a compound step."""
    until: Condition | None = None
    """No further pass once this holds."""
    context: ContextMode = "isolated"
    """Its share of the parent's context: none; the same one, written by both; or the parent's, with writes of its
    own."""
    summarize: bool = False
    """The parent gets a summary of its children instead of each one's result."""
    runs_on: tuple[str, ...] = ()
    """Tags that a worker must have to run it, where tasks are dispatched to workers."""
    temperature: float | None = None
    """Sampling temperature of its model; None: the model's default."""
    machine: Machine | None = None
    """Its steps are states that follow each other by transitions."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The goal and how to reach it. A goal without steps is atomic: one leaf."""

    goal: Step


MAX_DEPTH = 3
"""Deepest level of a tree of tasks below the goal."""


class PlanningRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    max_depth: int = MAX_DEPTH
    """Deepest level below the goal. 0: the goal is never split."""
    min_split: int = 10
    """A task with fewer rounds left than this is not split."""
    context: Literal["tree", "list"] = "tree"
    """Finished work shown to a step that sees its parent's context: `tree`, that of its own branch; `list`, all of it
    in one list."""
    flat: bool = False
    """A goal starts as one leaf, without an estimate of its size."""
    prompts: Literal["plain", "optimised"] = "plain"
    """Guidance for planners: bough's own, or the better one found by `bough-optimise planner`."""


def describe_command(step: Step) -> str:
    """Return the command of a `run` step as people read it: with its values in place."""

    def render(found: re.Match[str]) -> str:
        return shlex.quote(step.env[found[1]]) if found[1] in step.env else found[0]

    return re.sub(r'"\$(\w+)"', render, step.run)


def count_leaves(step: Step) -> int:
    """Count the steps that do work themselves, as written."""
    return sum(map(count_leaves, step.steps)) or 1


def count_most_leaves(step: Step) -> int:
    """Count how often leaves can run at most: one that repeats counts for each possible pass."""
    return max(1, step.repeat) * sum(map(count_most_leaves, step.steps)) if step.steps else 1


def has_parallel_steps(step: Step) -> bool:
    """Whether any of its steps may run in parallel."""
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
    """Find everything to which some ways lead from the starts, and the starts."""
    found, ahead = set[T](), [*starts]
    while ahead:
        if (one := ahead.pop()) not in found:
            found.add(one)
            ahead += ways(one)
    return found


def find_circle(needs: Mapping[T, Iterable[T]]) -> list[T]:
    """Find a cycle among things that need each other, each before what it needs, the first again at the end; else
    empty."""
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
    """Make a part of a step, for a planner or bough itself. What a person allowed or chose for the parent (editing
    tests, no check, a model) also holds for its parts; no model can set any of that."""
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
"""Temperatures of further attempts at the same task: identical answers would be wasted."""
