"""The scope a step runs in: what it knows of the tree around it, when it is retried, and when it need not run.

A `Scope` carries three strategies. `scope.child(mode)` makes the scope of a step:

    isolated    nothing of the parent's: only its own instructions
    shared      the parent's own: its notes are the parent's too, and all who share or inherit the context see them
    inherited   it sees the parent's, and its notes stay its own

Everything here is a value made from the journal; what a step is told is recorded when it begins.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.requirements import list_covered
from bough.core.conversation import context
from bough.core.ids import GOAL
from bough.core.planning.plan import ContextMode, Step
from bough.core.tree.inherited import Inherited, Subject
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import classify_step

# ── context ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class TaskTree(Struct, frozen=True):
    """Hierarchical: the path down to the step, the results of its finished siblings, and dead ends."""

    def told(self, task: Task, step: Step) -> Inherited:
        return Inherited(
            above=(*task.inherited.above, context.render_crumb(task)),
            # What was finished before the task was split: its steps replace it and need to know what it knew.
            results=(*(task.inherited.results if task.state is State.DECOMPOSED else ()), *_list_finished(task, step)),
            dead_ends=context.list_lessons(task),
            decisions=_list_decisions(task, step),
        )


class TaskList(Struct, frozen=True):
    """Flat: everything that was finished before, anywhere in the tree, and dead ends."""

    def told(self, task: Task, step: Step) -> Inherited:
        return Inherited(
            above=(*task.inherited.above[:1], context.render_crumb(task))[:1],
            results=(*task.inherited.results, *_list_finished(task, step))[-RESULTS:],
            dead_ends=context.list_lessons(task),
            decisions=_list_decisions(task, step),
        )


LATER = 300
"""Characters of each later step that a phase sees."""
RESULTS = 20
"""Results of finished siblings that a step sees, besides those of the steps it needs."""


def _list_finished(task: Task, step: Step) -> tuple[str, ...]:
    """Its siblings that it needs, and the latest. Includes those of earlier passes: a builder that shares the context
    knows the result of its last version."""
    completed = [child for child in task.children.ended.values() if child.state is State.COMPLETED]
    needs = _find_needed(task, step)
    needed = [child for child in completed[:-RESULTS] if child.child in needs]
    return tuple(
        context.render_result(child, None if child.child in needs else context.RESULT)
        for child in (*needed, *completed[-RESULTS:])
    )


def _find_needed(task: Task, step: Step) -> frozenset[str]:
    """The siblings that a step needs, directly or indirectly."""
    by_name = {other.name: other for other in task.plan.steps}
    found: set[str] = set()
    waiting = list(step.needs)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += by_name[name].needs if name in by_name else ()
    return frozenset(found)


def _list_decisions(task: Task, step: Step) -> tuple[str, ...]:
    """What was decided above, and by the steps that this one builds on."""
    needs = _find_needed(task, step)
    theirs = (child for child in task.children.ended.values() if child.child in needs and not child.shared)
    told = (f"{child.child}: {text}" for child in theirs for text in child.decisions)
    return tuple(dict.fromkeys((*context.list_decisions(task), *told)))[-task.rules.notes :]


# ── retry ───────────────────────────────────────────────────────────────────────────────────────────────────────────


LONGEST = 86_400.0
"""Seconds that a retry waits at most: a day."""


class RetryStrategy(Struct, frozen=True):
    """How often a failed step is retried, each time after a wait that may grow."""

    times: int = 0
    seconds: float = 0.0
    growth: float = 1.0

    def wait(self, tries: int) -> float | None:
        """Return the seconds to wait after `tries` tries; None: no retry."""
        if not self.times or tries > self.times:
            return None
        try:
            return float(min(self.seconds * self.growth ** max(0, tries - 1), LONGEST))
        except OverflowError:
            return LONGEST


def read_retry(step: Step) -> RetryStrategy:
    """Return the retry strategy that a step asks for."""
    if step.on_error != "retry":
        return RetryStrategy()
    return RetryStrategy(step.max_retries, step.retry.wait, step.retry.growth)


# ── cache ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Fresh(Struct, frozen=True):
    """Nothing is reused."""

    def key(self, step: Step, base: str, model: str, told: Inherited, subject: Subject | None = None) -> str:
        return ""


class Unchanged(Struct, frozen=True):
    """An agent's work is reused if its instructions, its inputs, the model and the starting tree are the same. Commands
    and checks always run: their results may depend on the outside world."""

    def key(self, step: Step, base: str, model: str, told: Inherited, subject: Subject | None = None) -> str:
        if classify_step(step) != "agent":
            return ""
        known = replace(told, beside=())  # what runs in parallel is chance
        parts = (msgspec.json.encode(part) for part in (_strip_schedule(step), base, model, known, subject))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _strip_schedule(step: Step) -> Step:
    """A step without the fields that only decide when it runs."""
    plain = Step(step.name)
    step = replace(step, needs=(), condition=None, rounds=None, title="", runs_on=())
    return replace(step, on_error=plain.on_error, max_retries=1, retry=plain.retry)


# ── all three ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Scope(Struct, frozen=True):
    """What a step runs in."""

    context: TaskTree | TaskList
    """What a task's steps are told of its knowledge."""
    cache: Fresh | Unchanged
    """Whether the work of an earlier run can be reused: a key of all that a step's outcome depends on; empty: it always
    runs."""
    retry: RetryStrategy = RetryStrategy()
    told: Inherited = Inherited()
    """What those below may see."""
    writes: bool = False
    """Notes made here are the parent's too."""

    def child(self, mode: ContextMode, retry: RetryStrategy = RetryStrategy()) -> Scope:  # noqa: B008
        """The scope of a step that begins here."""
        told = self.told
        if mode == "isolated":  # It is still told what it has to meet.
            told = Inherited(loop=told.loop, requirements=told.requirements)
        return replace(self, told=told, writes=mode == "shared", retry=retry)


def _list_later(task: Task, step: Step) -> tuple[str, ...]:
    to_come = (other for other in task.plan.steps if other.name not in task.children.begun and other.name != step.name)
    return tuple(f"{other.name}: {context.shorten_text(other.instructions, LATER)}" for other in to_come)


def build_scope(task: Task, step: Step, fresh: bool = False) -> Scope:
    """The scope that a step of a task begins in."""
    strategy = TaskList() if task.rules.planning.context == "list" else TaskTree()
    loop = task.step.repeat > 1 or task.inherited.loop
    later = _list_later(task, step) if step.plan_first else ()
    above = [] if task.id == GOAL else [segment.partition("@")[0] for segment in task.id.split("/")]
    path = "/".join((*above, step.name))  # in the written plan
    others = (other for other in task.plan.steps if other.name in task.children.running and other.name != step.name)
    # What it can build on, and what others need from it: exact names and signatures.
    needs = _find_needed(task, step)
    needed = (other for other in task.plan.steps if other.name in needs)
    there = (f"{other.name} provides: {each}" for other in needed for each in other.interfaces)
    users = [other.name for other in task.plan.steps if step.name in other.needs]
    asked = f"for {', '.join(users)}" if users else "for others"
    told = replace(
        strategy.told(task, step),
        loop=loop,
        later=later,
        beside=tuple(f"{other.name} ({', '.join(other.files)})" if other.files else other.name for other in others),
        requirements=list_covered(step, path, task.asked, task.plan.steps),
        conventions=tuple(dict.fromkeys((*task.inherited.conventions, *task.plan.conventions))),
        interfaces=(*there, *(f"this step provides {asked}: {each}" for each in step.interfaces)),
    )
    return Scope(strategy, Fresh() if fresh else Unchanged(), told=told)
