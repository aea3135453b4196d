"""Drives a run to its end, or to a halt that can be resumed.

`propose_plan` plans a goal without starting it, with the same code as a run but without a journal. `carry_leaf` runs
one task on a worker machine, while another process holds the run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.decide import decide
from bough.core.errors import ClaimHeld, ClaimLost, StoreError, VersionConflict
from bough.core.ids import CONTROL, GOAL, RUN
from bough.core.journal.run_fold import Run, evolve_run, find_ending, fold_run
from bough.core.journal.task_fold import evolve_task
from bough.core.ladder.escalation import EscalationOptions
from bough.core.planning.agent_choice import has_stronger
from bough.core.planning.plan import Step, Tier
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.base_check import check_base
from bough.engine.perform import perform
from bough.engine.person_messages import listen
from bough.engine.run_steps import TaskRunner
from bough.engine.step_beginnings import StepStarter
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Claim, Ports, shown
from bough.ports.steering import cancel_tasks, run_beside

AHEAD = 4.0
"""Once the check on the original files runs its first test, agents wait this many seconds for its result."""
HEARTBEAT = 1.0
"""Seconds between two reads of people's requests and checks that this process still holds the run."""


async def start_run(run: str, first: e.RunStarted, ports: Ports) -> Run | None:
    """Start a run under a name and drive it to its end, or to a halt. If the name is taken, do nothing and return None.

    One claim covers both, so that no other process can take the run between its start and its work."""
    async with AsyncExitStack() as held:
        try:
            claim = await held.enter_async_context(_holding(run, first.rules.lease, ports))
            state = await _append(Run(run), claim, [first], ports)
        except (ClaimHeld, VersionConflict):
            return None
        return await _run(state, claim, ports)


async def resume_run(run: str, again: e.RunResumed, ports: Ports) -> Run:
    """Resume a run at its first unfinished action, and drive it to its end, or to a halt."""
    lease = fold_run(run, await ports.store.read(run, RUN)).rules.lease
    async with _holding(run, lease, ports) as claim:
        state = fold_run(run, await ports.store.read(run, RUN))
        state = await _append(state, claim, [again], ports)
        return await _run(state, claim, ports)


async def _run(state: Run, claim: Claim, ports: Ports) -> Run:
    if ports.unreachable:
        return await _append(state, claim, [e.RunHalted("unavailable", ports.unreachable)], ports)
    base = _BaseCheck(state, claim, ports)
    try:
        if state.checked is None or state.checked.lacking:
            await base.begin()
        while not (base.run.end or base.run.halt):
            goal = await _drive_stoppable(base, ports)
            event = find_ending(goal)
            if isinstance(event, e.RunFinished):
                # The work is in commits. The checkout is removed before the end is recorded, so that a kill between the
                # two cannot leave it behind.
                await ports.workspaces.discard(state.name, GOAL)
            if event is not None:
                # People compare the verdict with the check's result on the original files, so wait for that result.
                await base.end(wait=isinstance(event, e.RunFinished) and goal.acceptance.verdict is not None)
                await base.append([event])
    finally:
        await base.end()
    return base.run


class _BaseCheck:
    """Runs the goal's check on the original files (the base) beside the work. Agents begin after its first test."""

    def __init__(self, run: Run, claim: Claim, ports: Ports) -> None:
        self.run, self._claim, self._ports = run, claim, ports
        self.halt: e.RunHalted | None = None
        """Set if the check turned out to miss something on this machine after agents had begun: the run's halt."""
        self.lacks = asyncio.Event()
        self._early = asyncio.Event()
        self._beside = False
        """Whether agents have begun."""
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start the check, and wait until it ends or has run for `AHEAD` seconds after its first test."""
        self._task = asyncio.create_task(self._check())
        # Agents that examine somebody else's change never start early, so wait for the check's end.
        early = asyncio.create_task(asyncio.Event().wait() if self.run.plan.goal.given else self._early.wait())
        with shown(self._ports, GOAL, "checking your files as they are"):
            try:
                await asyncio.wait((self._task, early), return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait((self._task,), timeout=AHEAD)
            finally:
                early.cancel()
        if self._task.done():
            self._task.result()
        self._beside = True

    async def _check(self) -> None:
        async for events in check_base(self.run, replace(self._ports, progress=self._show), seen=self._early.set):
            halts = [event for event in events if isinstance(event, e.RunHalted)]
            await self.append([event for event in events if event not in halts] if self._beside else events)
            if halts and self._beside and not self._ports.stop.requested:
                self.halt = halts[0]
                self.lacks.set()

    def _show(self, task: str, line: str) -> None:
        if not self._beside:  # Later the work of agents is shown instead.
            self._ports.progress(task, line)

    async def append(self, events: Sequence[e.AnyEvent]) -> None:
        self.run = await _append(self.run, self._claim, events, self._ports)

    async def end(self, wait: bool = False) -> None:
        if self._task is not None and wait:
            await self._task
        elif self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))


async def _drive_stoppable(base: _BaseCheck, ports: Ports) -> Task:
    """Drive the goal to its end. Cut it off at once if a person stops the run now, or if the check on the original
    files misses something on this machine."""
    run = base.run
    # One semaphore for the whole tree, because `--jobs` limits the agents of all levels together.
    task_runner = TaskRunner(run, ports, asyncio.Semaphore(run.jobs), StepStarter(run, ports))
    means = EscalationOptions(stronger=has_stronger(run.agents, run.models), person=ports.ask is not None)
    first = e.TaskCreated(run.plan.goal, run.base, run.limits, run.rules, means, run.inherited, spent=run.scouted)
    work = asyncio.create_task(task_runner.run_task(GOAL, first))
    lacks = asyncio.create_task(base.lacks.wait())
    lacks.add_done_callback(lambda _: None if lacks.cancelled() else work.cancel())
    with ports.stop.watch(lambda: work.cancel() if ports.stop.now else None):
        try:
            return await work
        except asyncio.CancelledError:
            if not ports.stop.now and base.halt is None:
                raise
            # What was cut off is recovered when the run is resumed.
            halt = (base.halt.reason, base.halt.message) if base.halt is not None else ports.stop.halt
            return await task_runner.record(GOAL, [e.TaskHalted(*halt)])
        finally:
            lacks.cancel()


async def _append(state: Run, claim: Claim, events: Sequence[e.AnyEvent], ports: Ports) -> Run:
    for record in await ports.store.append(claim, events, state.version):
        state = evolve_run(state, record)
        ports.recorded(record)
    return state


@asynccontextmanager
async def _holding(run: str, lease: float, ports: Ports) -> AsyncIterator[Claim]:
    """Hold the run during this block. A heartbeat renews its claims and reads people's requests; if the run is lost to
    another process, the current work is cut off, and recovered on resume."""
    async with ports.store.claim(run, RUN, ports.worker, lease) as claim:
        look = await listen(run, ports)
        ports.inbox.post = partial(ports.store.post, run, CONTROL)
        ports.fence.hold(partial(ports.store.check, claim))
        work = asyncio.current_task()
        heart = asyncio.create_task(_beat(claim, lease, look, ports))
        # If the claim is lost, another process works on the run already: stop at once.
        heart.add_done_callback(lambda beat: work.cancel() if work and not beat.cancelled() else None)
        try:
            yield claim
        except asyncio.CancelledError:
            if work is not None and heart.done() and not heart.cancelled():
                # The heartbeat made this cancellation. Without `uncancel`, asyncio would drop the error raised below.
                work.uncancel()
                heart.result()  # `result` raises the error that ended the heartbeat.
            raise
        finally:
            ports.fence.hold(None)
            ports.inbox.look = ports.inbox.post = None
            await cancel_tasks([heart])


async def _beat(claim: Claim, lease: float, look: Callable[[], Awaitable[None]], ports: Ports) -> None:
    """Renew the claims and read people's requests again and again. If the journal cannot be used for now (locked, full
    disk), try again. Raises `ClaimLost` if another process has taken the run."""
    renewed, away = ports.timer(), False
    while True:
        # With a third of the lease, two beats may fail before others take this process for dead.
        await asyncio.sleep(min(HEARTBEAT, lease / 3))
        try:
            if ports.timer() - renewed >= lease / 3:
                await ports.store.renew(ports.worker, lease)
                renewed = ports.timer()
            await ports.store.check(claim)
            await look()
            if away:
                ports.waiting("")
            away = False
        except ClaimLost:
            raise
        except StoreError as error:
            if not away:
                ports.waiting(f"{error} Trying again. If this lasts, stop; `bough resume {claim.run}` continues later.")
            away = True


async def propose_plan(run: Run, goal: Step, ports: Ports) -> tuple[Task, tuple[str, ...]]:
    """Plan a goal. Return it with its planned steps, and the faults of rejected plans."""
    runtime = TaskRuntime(run, replace(ports, approve=None))
    task, refused = Task(GOAL), list[str]()

    def see(event: e.AnyEvent) -> None:
        nonlocal task
        task = evolve_task(task, e.Record(0, run.name, GOAL, task.version + 1, ports.clock(), event))
        if isinstance(event, e.PlanRefused):
            refused.extend(event.problems)

    see(e.TaskCreated(goal, run.base, run.limits, run.rules))
    see(e.StateChanged(State.IN_PROGRESS, "to be planned"))
    while task.halt is None and isinstance(command := decide(task, ports.clock()), c.Estimate | c.MakePlan):
        async for events in perform(command, task, runtime):
            for event in events:
                see(event)
    return task, tuple(refused)


def is_leaf(path: str, first: e.TaskCreated) -> bool:
    """Return whether a worker may run this task: one piece of work that is neither the goal nor a merge."""
    step = first.step
    return path != GOAL and not step.steps and not step.plan_first and not step.do and first.merge is None


async def carry_leaf(run: str, path: str, first: e.TaskCreated, again: Tier | None, since: int, ports: Ports) -> Task:
    """Run the task until it is finished or halts. This process can be killed at any time, and another worker can
    continue. If the task splits, its steps run here, too. `since`: the event up to which stop requests are obsolete."""
    state = fold_run(run, await ports.store.read(run, RUN))
    look, work = await listen(run, ports, since), asyncio.current_task()
    # The worker also reads people's messages and stop requests. "Stop now" cuts off what it is doing.
    with ports.stop.watch(lambda: work.cancel() if work is not None and ports.stop.now else None):
        async with run_beside(_keep_listening(look, ports)):
            try:
                task_runner = TaskRunner(state, ports, asyncio.Semaphore(1), StepStarter(state, ports))
                return await task_runner.run_task(path, first, again)
            finally:
                ports.inbox.look = None


async def _keep_listening(look: Callable[[], Awaitable[None]], ports: Ports) -> None:
    while True:
        try:
            await look()
        except StoreError as error:
            ports.progress(GOAL, f"\n{error}\n")
        await asyncio.sleep(HEARTBEAT)
