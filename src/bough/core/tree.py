"""What the smaller steps of a task need next. Pure, and computed again after every event, never once."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from bough.core import context, grants
from bough.core.budget import Limits, Spend, used_up
from bough.core.events import ChildSettled
from bough.core.inherited import Inherited
from bough.core.plan import Step
from bough.core.state import Task
from bough.core.states import State

WELL = frozenset({State.COMPLETED, State.SKIPPED})


class Begin(Struct, frozen=True):
    """Carry the step out."""

    step: Step
    task: str
    """The last segment of its path."""
    wait: float = 0.0
    """Seconds to wait first (before a retry)."""


class Skip(Struct, frozen=True):
    """Leave the step out."""

    step: Step
    why: str


class EndPass(Struct, frozen=True):
    """Begin the steps anew."""

    why: str


Move = Begin | Skip | EndPass


def moves(task: Task) -> list[Move]:
    """All that can be done now. Nothing, while running steps have to end first, or when the steps are over."""
    if failed(task) or joined(task):
        return []
    return [_begin(task, step) for step in task.steps if _ready(task, step)]


def over(task: Task) -> bool:
    """Nothing runs, and nothing can be begun."""
    return not task.running and not moves(task)


def well(task: Task) -> bool:
    """The steps are over, and the task can stand on them."""
    if task.step.join == "any" and task.parallel:
        return any(child.state is State.COMPLETED for child in task.settled.values())
    ended = [step for step in task.steps if _ended(task, step)]
    return len(ended) == len(task.steps) and all(_well(task, step) for step in ended)


def failed(task: Task) -> ChildSettled | None:
    """The step whose bad end fails the task: `on_error = "fail"`, or its retries are used up."""
    if task.parallel and task.step.join != "all":
        return None
    for step in task.steps:
        child = task.settled.get(step.name)
        if child and child.state not in WELL and step.on_error in ("fail", "retry") and not _retries(task, step):
            return child
    return None


def not_well(task: Task) -> list[ChildSettled]:
    """Steps that did not come to a good end and that nothing excuses."""
    return [task.settled[step.name] for step in task.steps if _ended(task, step) and not _well(task, step)]


def joined(task: Task) -> bool:
    """One step came to a good end, and that is enough."""
    return task.parallel and task.step.join == "any" and well(task)


def _ended(task: Task, step: Step) -> bool:
    return step.name in task.settled and not _retries(task, step)


def _well(task: Task, step: Step) -> bool:
    excused = step.on_error == "skip" or (task.parallel and task.step.join == "settled")
    return task.settled[step.name].state in WELL or excused


def _retries(task: Task, step: Step) -> bool:
    """It did not end well, and is done again."""
    child = task.settled.get(step.name)
    if child is None or child.state in WELL or step.on_error != "retry":
        return False
    return task.begun[step.name] <= step.max_retries


def _ready(task: Task, step: Step) -> bool:
    if step.name in task.running or _ended(task, step):
        return False
    if not task.parallel:
        before = task.steps[: task.steps.index(step)]
        if task.running or not all(_ended(task, other) for other in before):
            return False
    if any(other.name in step.needs and not (_ended(task, other) and _well(task, other)) for other in task.steps):
        return False
    busy = {file for other in task.steps if other.name in task.running for file in other.files}
    return not busy.intersection(step.files)


def _begin(task: Task, step: Step) -> Begin:
    times = task.begun.get(step.name, 0)
    if step.name in task.reopened:
        return Begin(step, segment(step, times))
    tries = step.on_error == "retry" and step.name in task.settled
    wait = step.retry.wait * step.retry.growth ** max(0, times - 1) if tries else 0.0
    return Begin(step, segment(step, times + 1), wait)


def segment(step: Step, times: int) -> str:
    """The path segment of a step that is carried out for the n-th time."""
    return step.name if times <= 1 else f"{step.name}@{times}"


def affords(task: Task, step: Step, child: Task) -> bool:
    """The step used up its grant, and the task itself could still go on without it."""
    running = {name: started for name, started in task.running.items() if name != step.name}
    after = replace(task, running=running, spend=task.spend.plus(child.spend))
    spent = child.halt is not None and child.halt.reason == "budget"
    return spent and after.left.rounds > 0 and used_up(after.spend, after.limits) is None


def raised(task: Task, step: Step, child: Task) -> Limits | None:
    """The grant of a step that has used up its own, raised by what its parent still has for it; None: nothing.

    Only a step whose bad end would be the end of its parent too: holding back would help nobody.
    """
    if used_up(child.spend, replace(child.limits, rounds=child.spend.rounds + 1)) or task.left.rounds < 1:
        return None  # Of tokens, money and time it had all there was from the start.
    more = grants.grant(task.limits, task.spend, [run.grant for run in task.running.values()], weight=step.complexity)
    return replace(child.limits, rounds=child.limits.rounds + more.rounds)


def grant(task: Task, step: Step) -> Limits:
    """What a step that begins (or goes on) now may spend."""
    others = [other for other in task.steps if other is not step]
    return grants.grant(
        task.limits,
        task.spend.minus(task.charged.get(step.name, Spend()) if _again(task, step) else Spend()),
        [task.running[other.name].grant for other in others if other.name in task.running],
        weight=step.complexity,
        waiting=[o.complexity for o in others if o.name not in task.running and not _ended(task, o)],
        alone=not task.parallel,
        rounds=step.rounds,
    )


def _again(task: Task, step: Step) -> bool:
    """It is taken up where it stopped: what it has spent is part of its own grant, not of what it is granted from."""
    return step.name in task.reopened or step.name in task.running


def inherited(task: Task, step: Step) -> Inherited:
    """What a step that begins now is told of the tree around it."""
    children = [task.settled[other.name] for other in task.steps if other.name in task.settled]
    return Inherited(
        above=(*task.inherited.above, context.crumb(task)),
        results=tuple(context.result(child) for child in children if child.state is State.COMPLETED),
        dead_ends=context.dead_ends(task),
    )
