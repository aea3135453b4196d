"""Compute the next moves of a task's smaller steps, again after every event."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import astuple, replace

from bough.core.budget import grants
from bough.core.budget import limits as budget
from bough.core.budget.limits import Limits, Spend
from bough.core.events import ChildHeld, ChildSettled, ChildStarted, PassEnded, TransitionTaken
from bough.core.planning.plan import Step
from bough.core.tree import file_overlap
from bough.core.tree.file_overlap import Touched, find_busy_files
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow import control_flow
from bough.core.workflow.keys import classify_step

LEAST_RAISE = 3
"""The minimum number of rounds by which the grant (share of the budget) of a dispensable step is raised."""
WELL = frozenset({State.COMPLETED, State.SKIPPED})
NOTHING: Mapping[str, Touched] = MappingProxyType({})
LONGEST_WAIT = 86_400.0
"""The longest wait before a retry, in seconds: a day."""
AHEAD = 8
"""How many ready steps are looked for at a time: moves are computed after every event, and a plan may be very large."""


class Begin(Struct, frozen=True):
    """The move that runs a step."""

    step: Step
    task: str
    """The last segment of the task's path."""
    wait: float = 0.0
    """Seconds to wait first (before a retry)."""


Move = Begin | ChildSettled | PassEnded | TransitionTaken
"""A step to run, or an event to record: a step that is skipped or leaves the pass, the end of a pass, the transition
from one state to another."""


def list_moves(task: Task, touched: Mapping[str, Touched] = NOTHING) -> list[Move]:
    """List all moves that are possible now; empty while running steps have to end first, and if all steps have ended.
    `touched`: actual changes of running steps, by step."""
    if find_fatal_step(task):
        return []
    if control_flow.get_machine(task) is not None:
        return _list_machine_moves(task)
    if is_joined(task):
        why = "another step succeeded first"
    elif not (why := control_flow.explain_rest_skipped(task)):
        return [_choose_first_move(task, step) for step in _list_ready(task, touched)] or _end_pass(task)
    begun = task.children.settled.keys() | task.children.running.keys()
    return [_skip(task, step, why) for step in task.plan.steps if step.name not in begun] or _end_pass(task)


def list_held_steps(task: Task, touched: Mapping[str, Touched]) -> list[ChildHeld]:
    """List the steps that wait because a running step changes the same files, if that is not recorded yet."""
    if not task.children.running or not task.plan.parallel or find_fatal_step(task) or is_joined(task):
        return []
    files = find_busy_files(_list_running(task), touched)
    found = (
        ChildHeld(step.name, *blocked)
        for step in _iter_waiting(task, task.plan.steps)
        if _has_needs_met(task, step) and (blocked := file_overlap.find_blocking_step(step, files)) is not None
    )
    return [each for each in islice(found, AHEAD) if task.children.held.get(each.step) != each]


def _list_running(task: Task) -> list[Step]:
    return [step for step in task.plan.steps if step.name in task.children.running]


def _iter_waiting(task: Task, steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps that are neither running nor finished, lazily, since the first is often enough."""
    return (step for step in steps if step.name not in task.children.running and not _has_ended(task, step))


def _list_ready(task: Task, touched: Mapping[str, Touched]) -> list[Step]:
    if task.children.running and not task.plan.parallel:
        return []
    waiting = _iter_waiting(task, task.plan.steps)
    if not task.plan.parallel:
        # Steps run in order, but one whose needs failed does not hold up those after it.
        found = next((step for step in waiting if _has_needs_met(task, step)), None)
        return [found] if found else []
    files = find_busy_files(_list_running(task), touched) if task.children.running else {}
    waiting = _iter_waiting(task, by_urgency(task.plan.steps))
    free = (
        step
        for step in waiting
        if not (files and file_overlap.find_blocking_step(step, files)) and _has_needs_met(task, step)
    )
    return list(islice(free, AHEAD))


def _choose_first_move(task: Task, step: Step) -> Move:
    if why := control_flow.explain_skip(task, step):
        return _skip(task, step, why)
    if not step.do:
        return _begin(task, step)
    why = f"{step.do}: later steps of this pass are skipped"
    return ChildSettled(step.name, State.COMPLETED, why, task.tree, Spend(), do=step.do)


def _skip(task: Task, step: Step, why: str) -> ChildSettled:
    return ChildSettled(step.name, State.SKIPPED, why, task.tree, Spend())


def _end_pass(task: Task) -> list[Move]:
    if task.children.running or not has_succeeded(task):
        return []
    why = control_flow.explain_next_pass(task)
    return [PassEnded(task.children.passes, why)] if why else []


def _list_machine_moves(task: Task) -> list[Move]:
    """List the next moves of a state machine: run its current state, take a transition, or skip unreached states."""
    state = control_flow.find_current_state(task)
    if state is None or task.children.running:
        return []
    if not _has_ended(task, state):
        return [_begin(task, state)]
    turn = control_flow.find_next_state(task)
    if turn is not None and turn.to is not None:
        return [TransitionTaken(state.name, turn.to, turn.why)]
    why = f"the machine ended at `{state.name}` without reaching it"
    return (
        [_skip(task, step, why) for step in task.plan.steps if step.name not in task.children.ended]
        if has_succeeded(task)
        else []
    )


def is_over(task: Task) -> bool:
    """Whether nothing runs and nothing can begin."""
    return not task.children.running and not list_moves(task)


def has_succeeded(task: Task) -> bool:
    """Whether the steps have ended and the task can build on them."""
    if (state := control_flow.find_current_state(task)) is not None:
        turn = control_flow.find_next_state(task)
        over_well = turn is not None and turn.to is None and (turn.success or state.on_error == "skip")
        return over_well and _has_ended(task, state)
    if task.step.join == "any" and task.plan.parallel:
        return any(child.state is State.COMPLETED for child in task.children.settled.values())
    ended = [step for step in task.plan.steps if _has_ended(task, step)]
    return len(ended) == len(task.plan.steps) and all(_has_succeeded(task, step) for step in ended)


def find_fatal_step(task: Task) -> ChildSettled | None:
    """Find the step whose failure fails the task, by its `on_error = "fail"` or after its last retry."""
    if (state := control_flow.find_current_state(task)) is not None:
        # No transition handles the state's failure, or the machine has reached its limit of transitions.
        child, turn = control_flow.find_broken_state(task), control_flow.find_next_state(task)
        if child is None or turn is None or not _has_ended(task, state):
            return None
        if state.on_error in ("fail", "retry") or control_flow.has_exhausted_transitions(task):
            why = turn.why if child.state in WELL else f"{turn.why} ({child.why})"
            return replace(child, state=State.FAILED, why=why)
        return None
    if task.plan.parallel and task.step.join != "all":
        return None
    for step in task.plan.steps:
        child = task.children.settled.get(step.name)
        if child and child.state not in WELL and step.on_error in ("fail", "retry") and not _will_retry(task, step):
            return child
    return None


def list_unsuccessful(task: Task) -> list[ChildSettled]:
    """List the steps that failed and whose failure is not ignored."""
    if (state := control_flow.find_current_state(task)) is not None:
        child = control_flow.find_broken_state(task)
        return [child] if child is not None and state.on_error != "skip" else []
    return [
        task.children.settled[step.name]
        for step in task.plan.steps
        if _has_ended(task, step) and not _has_succeeded(task, step)
    ]


def is_joined(task: Task) -> bool:
    """Whether one parallel step succeeded and that is enough (`join = "any"`)."""
    return task.plan.parallel and task.step.join == "any" and has_succeeded(task)


def _has_ended(task: Task, step: Step) -> bool:
    return step.name in task.children.settled and (step.on_error != "retry" or not _will_retry(task, step))


def _has_succeeded(task: Task, step: Step) -> bool:
    excused = step.on_error == "skip" or (task.plan.parallel and task.step.join == "settled")
    return task.children.settled[step.name].state in WELL or excused


def _will_retry(task: Task, step: Step) -> bool:
    child = task.children.settled.get(step.name)
    if child is None or child.state in WELL:
        return False
    return compute_wait(step, task.children.tries.get(step.name, 1)) is not None


def compute_wait(step: Step, tries: int) -> float | None:
    """Return the seconds to wait before a failed step is retried, after `tries` tries; None if it is not retried."""
    if step.on_error != "retry" or tries > step.max_retries:
        return None
    try:
        return float(min(step.retry.wait * step.retry.growth ** max(0, tries - 1), LONGEST_WAIT))
    except OverflowError:
        return LONGEST_WAIT


def _has_needs_met(task: Task, step: Step) -> bool:
    """Whether the steps that a step needs have succeeded; needs that are no longer in the plan do not count."""
    needed = (other for other in task.plan.steps if other.name in step.needs) if step.needs else ()
    return all(_has_ended(task, other) and _has_succeeded(task, other) for other in needed)


def _begin(task: Task, step: Step) -> Begin:
    times = task.children.begun.get(step.name, 0)
    if step.name in task.children.reopened:
        return Begin(step, build_segment(step, times))
    wait = compute_wait(step, task.children.tries.get(step.name, 0)) if step.name in task.children.settled else None
    return Begin(step, build_segment(step, times + 1), wait or 0.0)


def build_segment(step: Step, times: int) -> str:
    """Return the path segment of the n-th run of a step, such as `name@2`."""
    return step.name if times <= 1 else f"{step.name}@{times}"


def is_fatal(task: Task, step: Step) -> bool:
    """Whether a task cannot do without a step that has run out of rounds, so that it halts instead of failing."""
    joins_all = not task.step.parallel or task.step.join == "all"
    return joins_all and step.on_error in ("fail", "retry") and step.rounds is None


def can_afford(task: Task, step: Step, spend: Spend) -> bool:
    """Whether the task could still continue after a step that ends with this spend."""
    charged = task.children.charged.get(task.children.running[step.name].task, Spend())
    running = {name: started for name, started in task.children.running.items() if name != step.name}
    after = replace(
        task,
        budget=replace(task.budget, spend=task.budget.spend.plus(spend.minus(charged))),
        children=replace(task.children, running=running),
    )
    return after.left.rounds > 0 and budget.find_reached_limit(after.budget.spend, after.budget.limits) is None


def raise_grant(task: Task, step: Step, limits: Limits, spend: Spend) -> Limits | None:
    """Raise the exhausted grant of a step's task by what the parent still has for it; None if that is not enough for
    another round."""
    added = _compute_raise(task, step)
    if added.rounds < LEAST_RAISE and not is_fatal(task, step):
        return None  # Escalation makes better use of so few rounds than an agent whose grant is exhausted.
    grown = budget.add_limits(limits, added)
    return None if budget.find_reached_limit(spend, grown, budget.LAST_SHARE) else grown


def enlarge_grant(step: Step, task: Task) -> list[ChildStarted]:
    """Enlarge the grant of a running step that has more to do than planned, since its work conflicts with others'."""
    started = task.children.running[step.name]
    return [replace(started, grant=budget.add_limits(started.grant, _compute_raise(task, step)))]


def _compute_raise(task: Task, step: Step) -> Limits:
    return grants.compute_grant(
        task.budget.limits,
        task.budget.spend,
        list(task.reserved.values()),
        weight=step.complexity,
        waiting=_list_waiting_weights(task, step),
        alone=not task.plan.parallel,
    )


def list_regrants(task: Task) -> list[ChildStarted]:
    """List the changed grants of steps that were running before a restart: larger if the budget was raised, smaller if
    their reserve has been spent elsewhere since (after a rewind)."""
    changed: list[ChildStarted] = []
    for step in (step for step in task.plan.steps if step.name in task.children.running):
        before, now = task.children.running[step.name].grant, compute_step_grant(task, step)
        pairs = zip(astuple(now), astuple(before), strict=True)
        larger = any(old is not None and (new is None or new > old) for new, old in pairs)
        reserved = sum(each.rounds for each in task.reserved.values())
        if larger or reserved > budget.compute_remaining(task.budget.spend, task.budget.limits).rounds:
            started = replace(task.children.running[step.name], grant=now)
            task = replace(task, children=replace(task.children, running=task.children.running | {step.name: started}))
            changed.append(started)
    return changed


def compute_step_grant(task: Task, step: Step) -> Limits:
    """Compute the grant of a step that begins or resumes now. Earlier charges for its task are added, since a blocked
    or rewound task continues to count from there."""
    again = step.name in task.children.reopened or step.name in task.children.running
    times = task.children.begun.get(step.name, 0) + (not again)
    fresh = grants.compute_grant(
        task.budget.limits,
        task.budget.spend,
        [reserved for name, reserved in task.reserved.items() if name != step.name],
        weight=step.complexity,
        waiting=_list_waiting_weights(task, step),
        alone=not task.plan.parallel,
        rounds=step.rounds if _needs_rounds(step) else 1,
    )
    return budget.add_limits(
        fresh, budget.convert_spend(task.children.charged.get(build_segment(step, times), Spend()))
    )


def _list_waiting_weights(task: Task, step: Step) -> list[int]:
    others = (other for other in task.plan.steps if other is not step and other.name not in task.children.running)
    return [other.complexity for other in others if _needs_rounds(other) and not _has_ended(task, other)]


def _needs_rounds(step: Step) -> bool:
    """Whether a step takes rounds; commands and checks do not, since they call no model."""
    return classify_step(step) not in ("run", "check", "do")


_KEPT = 64
_orders: OrderedDict[int, tuple[tuple[Step, ...], tuple[Step, ...]]] = OrderedDict()
"""Cache of sorted steps by the `id` of the plan's tuple, which is kept with them so that no other gets the same id."""


def by_urgency(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Sort the steps by the longest chain of others that wait for them, the longest first, since it bounds the time of
    the whole plan; equal ones stay in the plan's order."""
    known = _orders.get(id(steps))
    if known is not None and known[0] is steps:
        return known[1]
    chains = _chains(steps)
    ordered = tuple(sorted(steps, key=lambda step: -chains[step.name]))
    _orders[id(steps)] = (steps, ordered)
    while len(_orders) > _KEPT:
        _orders.popitem(last=False)
    return ordered


def _chains(steps: tuple[Step, ...]) -> dict[str, int]:
    """Compute, for each step, the work on the longest path from its start to the end of a step that waits for it."""
    named = {step.name: step for step in steps}
    needs = {step.name: set(step.needs) & named.keys() for step in steps}
    chains = dict.fromkeys(named, 0)
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError:  # A plan with a cycle is rejected elsewhere.
        return chains
    for name in reversed(order):  # The steps that wait for it come first.
        chains[name] += weight(named[name])
        for need in needs[name]:
            chains[need] = max(chains[need], chains[name])
    return chains


def weight(step: Step) -> int:
    """Return the units of work that a step takes if its parallel steps run in parallel."""
    if not step.steps:
        return 1
    return max(_chains(step.steps).values()) if step.parallel else sum(map(weight, step.steps))
