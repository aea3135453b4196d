"""What the smaller steps of a task need next. Pure, and computed again after every event, never once."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from bough.core import context, grants
from bough.core.budget import LAST_SHARE, Limits, Spend, left, used_up
from bough.core.events import ChildSettled, ChildStarted
from bough.core.inherited import Inherited
from bough.core.plan import Step
from bough.core.state import Task
from bough.core.states import State

RESULTS = 20
"""Results of finished siblings that a step is told of, beside those of the steps that it needs."""
WELL = frozenset({State.COMPLETED, State.SKIPPED})
AHEAD = 8
"""Ready steps that are looked for at once: it is asked anew after every event, and a plan may have thousands."""


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
    if failed(task) or joined(task) or (task.running and not task.step.parallel):
        return []
    waiting = (step for step in task.steps if step.name not in task.running and not _ended(task, step))
    if not task.step.parallel:
        # In order; but one whose needs came to a bad end does not hold up those after it.
        found = next((step for step in waiting if _needs_met(task, step)), None)
        return [_begin(task, found)] if found else []
    busy = {file for step in task.steps if step.name in task.running for file in step.files}
    ready = (step for step in waiting if busy.isdisjoint(step.files) and _needs_met(task, step))
    return [_begin(task, step) for step in islice(ready, AHEAD)]


def over(task: Task) -> bool:
    """Nothing runs, and nothing can be begun."""
    return not task.running and not moves(task)


def well(task: Task) -> bool:
    """The steps are over, and the task can stand on them."""
    if task.step.join == "any" and task.step.parallel:
        return any(child.state is State.COMPLETED for child in task.settled.values())
    ended = [step for step in task.steps if _ended(task, step)]
    return len(ended) == len(task.steps) and all(_well(task, step) for step in ended)


def failed(task: Task) -> ChildSettled | None:
    """The step whose bad end fails the task: `on_error = "fail"`, or its retries are used up."""
    if task.step.parallel and task.step.join != "all":
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
    return task.step.parallel and task.step.join == "any" and well(task)


def _ended(task: Task, step: Step) -> bool:
    return step.name in task.settled and (step.on_error != "retry" or not _retries(task, step))


def _well(task: Task, step: Step) -> bool:
    excused = step.on_error == "skip" or (task.step.parallel and task.step.join == "settled")
    return task.settled[step.name].state in WELL or excused


def _retries(task: Task, step: Step) -> bool:
    """It did not end well, and is done again."""
    child = task.settled.get(step.name)
    if child is None or child.state in WELL or step.on_error != "retry":
        return False
    return task.begun[step.name] <= step.max_retries


def _needs_met(task: Task, step: Step) -> bool:
    return all(_ended(task, other) and _well(task, other) for other in _needed(task, step))


def _needed(task: Task, step: Step) -> list[Step]:
    """The steps that it needs. One that is no longer in the plan was given up, and something else stands for it."""
    return [other for other in task.steps if other.name in step.needs] if step.needs else []


def _begin(task: Task, step: Step) -> Begin:
    times = task.begun.get(step.name, 0)
    if step.name in task.reopened:
        return Begin(step, segment(step, times))
    tries = step.on_error == "retry" and step.name in task.settled
    wait = step.retry.wait * step.retry.growth ** max(0, times - 1) if tries else 0.0
    return Begin(step, segment(step, times + 1), wait)


def leaves(step: Step) -> int:
    """How many leaves a plan has; one that repeats counts as often as it may."""
    return max(1, step.repeat) * sum(map(leaves, step.steps)) if step.steps else 1


def segment(step: Step, times: int) -> str:
    """The path segment of a step that is carried out for the n-th time."""
    return step.name if times <= 1 else f"{step.name}@{times}"


def fatal(task: Task, step: Step) -> bool:
    """Its bad end would be its parent's too, and only for want of rounds: then it is the parent that rests."""
    joins_all = not task.step.parallel or task.step.join == "all"
    return joins_all and step.on_error in ("fail", "retry") and step.rounds is None


def affords(task: Task, step: Step, spend: Spend) -> bool:
    """The step used up its grant, and the task itself could still go on without it."""
    charged = task.charged.get(task.running[step.name].task, Spend())
    running = {name: started for name, started in task.running.items() if name != step.name}
    after = replace(task, running=running, spend=task.spend.plus(spend.minus(charged)))
    return after.left.rounds > 0 and used_up(after.spend, after.limits) is None


def raised(task: Task, step: Step, limits: Limits, spend: Spend) -> Limits | None:
    """The grant of a step's task that has used it up, raised by what the parent still has for it; None: that is not
    enough for one more round."""
    grown = grants.more(limits, _added(task, step))
    return None if used_up(spend, grown, LAST_SHARE) else grown


def enlarged(task: Task, step: Step) -> Limits:
    """The grant of a running step that has more to do than was thought: its work does not fit onto the head."""
    return grants.more(task.running[step.name].grant, _added(task, step))


def _added(task: Task, step: Step) -> Limits:
    return grants.grant(
        task.limits,
        task.spend,
        list(task.reserved.values()),
        weight=step.complexity,
        waiting=_waiting(task, step),
        alone=not task.step.parallel,
    )


def regranted(task: Task) -> list[ChildStarted]:
    """What steps that were under way in an earlier life may spend from now on, where that is not what it was: more when
    the ledger was raised, less when what was reserved has been spent otherwise since (the run was taken back)."""
    changed: list[ChildStarted] = []
    for step in (step for step in task.steps if step.name in task.running):
        before, now = task.running[step.name].grant, grant(task, step)
        larger = any(_larger(getattr(now, name), getattr(before, name)) for name in Limits.__struct_fields__)
        reserved = sum(each.rounds for each in task.reserved.values())
        if larger or reserved > left(task.spend, task.limits).rounds:
            started = replace(task.running[step.name], grant=now)
            task = replace(task, running=task.running | {step.name: started})
            changed.append(started)
    return changed


def grant(task: Task, step: Step) -> Limits:
    """What a step that begins (or goes on) now may spend, on top of what was already charged for its task: one that was
    blocked or taken back goes on spending there."""
    again = step.name in task.reopened or step.name in task.running
    times = task.begun.get(step.name, 0) + (not again)
    fresh = grants.grant(
        task.limits,
        task.spend,
        [reserved for name, reserved in task.reserved.items() if name != step.name],
        weight=step.complexity,
        waiting=_waiting(task, step),
        alone=not task.step.parallel,
        rounds=step.rounds,
    )
    return grants.more(fresh, grants.spent(task.charged.get(segment(step, times), Spend())))


def _waiting(task: Task, step: Step) -> list[int]:
    """Weights of the other steps that are still to begin."""
    running, settled = task.running, task.settled
    return [
        other.complexity
        for other in task.steps
        if other is not step and other.name not in running and (other.name not in settled or not _ended(task, other))
    ]


def _larger(now: float | None, before: float | None) -> bool:
    return before is not None and (now is None or now > before)


def inherited(task: Task, step: Step) -> Inherited:
    """What a step that begins now is told of the tree around it: of its siblings, those that it needs and the last."""
    completed = [child for child in task.settled.values() if child.state is State.COMPLETED]
    needed = [child for child in completed[:-RESULTS] if child.child in step.needs] if step.needs else []
    return Inherited(
        above=(*task.inherited.above, context.crumb(task)),
        results=tuple(context.result(child) for child in (*needed, *completed[-RESULTS:])),
        dead_ends=context.dead_ends(task),
    )
