"""What the smaller steps of a task need next. Pure, and computed again after every event, never once."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bough.core import control, grants
from bough.core.budget import Limits, Spend, used_up
from bough.core.events import ChildSettled
from bough.core.plan import Step
from bough.core.scope import retry_of
from bough.core.state import Task
from bough.core.states import State
from bough.core.workflow.keys import kind

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


class Jump(Struct, frozen=True):
    """Leave the nearest pass, or begin the next one."""

    step: Step


class GoTo(Struct, frozen=True):
    """Go from a state that is over to another one."""

    state: str
    to: str
    why: str


Move = Begin | Skip | EndPass | Jump | GoTo


def moves(task: Task) -> list[Move]:
    """All that can be done now. Nothing, while running steps have to end first, or when the steps are over."""
    if failed(task):
        return []
    if control.machine(task) is not None:
        return _turns(task)
    if joined(task):
        why = "another step came to a good end first"
    elif not (why := control.rest_left_out(task)):
        ready = [_first(task, step) for step in _candidates(task) if _ready(task, step)]
        return ready or _next_pass(task)
    return _left_out(task, why) or _next_pass(task)


def _candidates(task: Task) -> Sequence[Step]:
    """Steps that could be ready: in order, only the first that is not over."""
    if task.parallel:
        return task.steps
    return [step for step in task.steps if not _ended(task, step)][:1]


def _first(task: Task, step: Step) -> Move:
    """What a step that is ready needs."""
    if why := control.left_out(task, step):
        return Skip(step, why)
    return Jump(step) if step.do else _begin(task, step)


def _left_out(task: Task, why: str) -> list[Move]:
    return [Skip(step, why) for step in task.steps if step.name not in task.settled and step.name not in task.running]


def _next_pass(task: Task) -> list[Move]:
    if task.running or not well(task):
        return []
    why = control.next_pass(task)
    return [EndPass(why)] if why else []


def _turns(task: Task) -> list[Move]:
    """What a machine needs: its present state, the way on from it, or nothing more."""
    state = control.present(task)
    if state is None or task.running:
        return []
    if not _ended(task, state):
        return [_begin(task, state)]
    turn = control.turn(task)
    if turn is not None and turn.to is not None:
        return [GoTo(state.name, turn.to, turn.why)]
    why = f"it ended at `{state.name}` and did not come here"
    return [Skip(step, why) for step in task.steps if step.name not in task.ended] if well(task) else []


def over(task: Task) -> bool:
    """Nothing runs, and nothing can be begun."""
    return not task.running and not moves(task)


def well(task: Task) -> bool:
    """The steps are over, and the task can stand on them."""
    if (state := control.present(task)) is not None:
        turn = control.turn(task)
        over_well = turn is not None and turn.to is None and (turn.success or state.on_error == "skip")
        return over_well and _ended(task, state)
    if task.step.join == "any" and task.parallel:
        return any(child.state is State.COMPLETED for child in task.settled.values())
    ended = [step for step in task.steps if _ended(task, step)]
    return len(ended) == len(task.steps) and all(_well(task, step) for step in ended)


def failed(task: Task) -> ChildSettled | None:
    """The step whose bad end fails the task: `on_error = "fail"`, or its retries are used up."""
    if (state := control.present(task)) is not None:
        return _broken(task, state)
    if task.parallel and task.step.join != "all":
        return None
    for step in task.steps:
        child = task.settled.get(step.name)
        if child and child.state not in WELL and step.on_error in ("fail", "retry") and not _retries(task, step):
            return child
    return None


def _broken(task: Task, state: Step) -> ChildSettled | None:
    """A state whose failure no transition takes up, and a machine that goes round and round."""
    child, turn = control.broken(task), control.turn(task)
    if child is None or turn is None or not _ended(task, state):
        return None
    if state.on_error in ("fail", "retry") or control.goes_round(task):
        why = turn.why if child.state in WELL else f"{turn.why} ({child.why})"
        return replace(child, state=State.FAILED, why=why)
    return None


def not_well(task: Task) -> list[ChildSettled]:
    """Steps that did not come to a good end and that nothing excuses."""
    if (state := control.present(task)) is not None:
        child = control.broken(task)
        return [child] if child is not None and state.on_error != "skip" else []
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
    if child is None or child.state in WELL:
        return False
    return retry_of(step).wait(task.tries.get(step.name, 1)) is not None


def _ready(task: Task, step: Step) -> bool:
    if step.name in task.running or _ended(task, step):
        return False
    if not task.parallel and task.running:
        return False
    if step.needs:
        needed = [other for other in task.steps if other.name in step.needs]
        if not all(_ended(task, other) and _well(task, other) for other in needed):
            return False
    if not step.files or not task.running:
        return True
    busy = {file for other in task.steps if other.name in task.running for file in other.files}
    return not busy.intersection(step.files)


def _begin(task: Task, step: Step) -> Begin:
    times = task.begun.get(step.name, 0)
    if step.name in task.reopened:
        return Begin(step, segment(step, times))
    wait = retry_of(step).wait(task.tries.get(step.name, 0)) if step.name in task.settled else None
    return Begin(step, segment(step, times + 1), wait or 0.0)


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
        waiting=[o.complexity for o in others if _asks(o) and o.name not in task.running and not _ended(task, o)],
        alone=not task.parallel,
        rounds=step.rounds if _asks(step) else 1,
    )


def _asks(step: Step) -> bool:
    """Whether carrying it out takes rounds: commands and checks ask no model."""
    return kind(step) not in ("run", "check", "do")


def _again(task: Task, step: Step) -> bool:
    """It is taken up where it stopped: what it has spent is part of its own grant, not of what it is granted from."""
    return step.name in task.reopened or step.name in task.running
