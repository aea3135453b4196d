"""What the smaller steps of a task need next. Pure, and computed again after every event, never once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from bough.core import beside, control, grants
from bough.core.beside import Held, Touched, busy
from bough.core.budget import LAST_SHARE, Limits, Spend, left, used_up
from bough.core.events import ChildSettled, ChildStarted
from bough.core.plan import Step
from bough.core.scope import retry_of
from bough.core.states import State
from bough.core.task import Task
from bough.core.urgency import by_urgency
from bough.core.workflow.keys import kind

LEAST_RAISE = 3
"""Rounds below which the grant of a step that its parent can do without is not raised."""
WELL = frozenset({State.COMPLETED, State.SKIPPED})
NOTHING: Mapping[str, Touched] = MappingProxyType({})
AHEAD = 8
"""Ready steps that are looked for at once: it is recomputed after every event, and a plan may have thousands."""


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
    """Start the steps over."""

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


def moves(task: Task, touched: Mapping[str, Touched] = NOTHING) -> list[Move]:
    """All that can be done now. Nothing, while running steps have to end first, or when the steps are over. `touched`:
    files that running steps have really changed, by step."""
    if failed(task):
        return []
    if control.machine(task) is not None:
        return _turns(task)
    if joined(task):
        why = "another step came to a good end first"
    elif not (why := control.rest_left_out(task)):
        return [_first(task, step) for step in _ready(task, touched)] or _next_pass(task)
    return _left_out(task, why) or _next_pass(task)


def held(task: Task, touched: Mapping[str, Touched]) -> list[Held]:
    """Steps that could begin, but for a running one that changes the same files."""
    if not task.running or not task.parallel or failed(task) or joined(task):
        return []
    files = busy(_running(task), touched)
    waiting = (step for step in task.steps if step.name not in task.running and not _ended(task, step))
    found = (beside.held(step, files) for step in waiting if _needs_met(task, step))
    return list(islice((each for each in found if each is not None), AHEAD))


def _running(task: Task) -> list[Step]:
    return [step for step in task.steps if step.name in task.running]


def _ready(task: Task, touched: Mapping[str, Touched]) -> list[Step]:
    """Steps that can begin now."""
    if task.running and not task.parallel:
        return []
    waiting = (step for step in task.steps if step.name not in task.running and not _ended(task, step))
    if not task.parallel:
        # In order; but one whose needs came to a bad end does not hold up those after it.
        found = next((step for step in waiting if _needs_met(task, step)), None)
        return [found] if found else []
    files = busy(_running(task), touched) if task.running else {}
    waiting = (step for step in by_urgency(task.steps) if step.name not in task.running and not _ended(task, step))
    free = (step for step in waiting if not (files and beside.held(step, files)) and _needs_met(task, step))
    return list(islice(free, AHEAD))


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
    return step.name in task.settled and (step.on_error != "retry" or not _retries(task, step))


def _well(task: Task, step: Step) -> bool:
    excused = step.on_error == "skip" or (task.parallel and task.step.join == "settled")
    return task.settled[step.name].state in WELL or excused


def _retries(task: Task, step: Step) -> bool:
    """It did not end well, and is done again."""
    child = task.settled.get(step.name)
    if child is None or child.state in WELL:
        return False
    return retry_of(step).wait(task.tries.get(step.name, 1)) is not None


def _needs_met(task: Task, step: Step) -> bool:
    return all(_ended(task, other) and _well(task, other) for other in _needed(task, step))


def _needed(task: Task, step: Step) -> list[Step]:
    """The steps that it needs. One that is no longer in the plan was given up, and something else stands for it."""
    return [other for other in task.steps if other.name in step.needs] if step.needs else []


def _begin(task: Task, step: Step) -> Begin:
    times = task.begun.get(step.name, 0)
    if step.name in task.reopened:
        return Begin(step, segment(step, times))
    wait = retry_of(step).wait(task.tries.get(step.name, 0)) if step.name in task.settled else None
    return Begin(step, segment(step, times + 1), wait or 0.0)


def segment(step: Step, times: int) -> str:
    """The path segment of the n-th run of a step."""
    return step.name if times <= 1 else f"{step.name}@{times}"


def fatal(task: Task, step: Step) -> bool:
    """Its bad end would be its parent's too, and only for want of rounds: then it is the parent that rests."""
    joins_all = not task.step.parallel or task.step.join == "all"
    return joins_all and step.on_error in ("fail", "retry") and step.rounds is None


def affords(task: Task, step: Step, spend: Spend) -> bool:
    """The step used up its grant, and the task itself could still continue without it."""
    charged = task.charged.get(task.running[step.name].task, Spend())
    running = {name: started for name, started in task.running.items() if name != step.name}
    after = replace(task, running=running, spend=task.spend.plus(spend.minus(charged)))
    return after.left.rounds > 0 and used_up(after.spend, after.limits) is None


def raised(task: Task, step: Step, limits: Limits, spend: Spend) -> Limits | None:
    """The grant of a step's task that has used it up, raised by what the parent still has for it; None: that is not
    enough for one more round."""
    added = _added(task, step)
    if added.rounds < LEAST_RAISE and not fatal(task, step):
        return None  # The ladder can do more with so little than an agent that has used up its grant.
    grown = grants.more(limits, added)
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
        alone=not task.parallel,
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
        alone=not task.parallel,
        rounds=step.rounds if _asks(step) else 1,
    )
    return grants.more(fresh, grants.spent(task.charged.get(segment(step, times), Spend())))


def _waiting(task: Task, step: Step) -> list[int]:
    """Weights of the other steps that are still to begin."""
    others = (other for other in task.steps if other is not step and other.name not in task.running)
    return [other.complexity for other in others if _asks(other) and not _ended(task, other)]


def _asks(step: Step) -> bool:
    """Whether running it takes rounds: commands and checks ask no model."""
    return kind(step) not in ("run", "check", "do")


def _larger(now: float | None, before: float | None) -> bool:
    return before is not None and (now is None or now > before)
