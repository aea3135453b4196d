"""Drive a run to its end, or to a halt that can be resumed.

`propose_plan` plans a goal without starting it: the same code as in a run, on a task that no journal holds.
"""

from __future__ import annotations

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
from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.base_check import check_base
from bough.engine.perform import perform
from bough.engine.person_messages import listen
from bough.engine.run_steps import TaskRunner
from bough.engine.step_beginnings import StepStarter
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Claim, Ports, shown
from bough.ports.steering import cancel_tasks

AHEAD = 4.0
"""Seconds that agents wait for the check at the base once it runs a test."""
HEARTBEAT = 1.0
"""Seconds between reads of people's requests; the lease is renewed then too."""


async def start_run(run: str, first: e.RunStarted, ports: Ports) -> Run | None:
    """Start a run under a name and drive it to its end, or to a halt. None, without any effect, if the name is taken.

    One claim covers both: between two, another start with the same name could get in.
    """
    async with AsyncExitStack() as held:
        try:
            claim = await held.enter_async_context(_holding(run, first.rules.lease, ports))
            state = await _append(Run(run), claim, [first], ports)
        except (ClaimHeld, VersionConflict):
            return None
        return await _run(state, claim, ports)


async def resume_run(run: str, again: e.RunResumed, ports: Ports) -> Run:
    """Resume at the first unfinished effect."""
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
                # Its work is in commits. Before the end is recorded, so that a kill leaves no orphan.
                await ports.workspaces.discard(state.name, GOAL)
            if event is not None:
                # A verdict needs the check's result at the base: wait for it. Without a verdict, cut it off.
                await base.end(wait=isinstance(event, e.RunFinished) and goal.acceptance.verdict is not None)
                await base.append([event])
    finally:
        await base.end()
    return base.run


class _BaseCheck:
    """The goal's check at the base, beside the work: agents begin as soon as it runs a test."""

    def __init__(self, run: Run, claim: Claim, ports: Ports) -> None:
        self.run, self._claim, self._ports = run, claim, ports
        self.halt: e.RunHalted | None = None
        """The halt for what the check lacks, if agents had begun by then."""
        self.lacks = asyncio.Event()
        self._early = asyncio.Event()
        self._beside = False
        """Agents have begun."""
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Wait until the check has ended, or takes long after its first test."""
        self._task = asyncio.create_task(self._check())
        # Examining somebody else's change has no agent to start early: wait for the result.
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
        if not self._beside:  # Otherwise an agent's work is shown.
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
    """Drive the goal to its end, or cut it off within an effect: if a person stops the run now, or the check lacks
    something."""
    run = base.run
    # One semaphore for the whole tree: `--jobs` limits agents at any depth.
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
            # The effect itself is recovered on resume.
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
    """Hold the run with a heartbeat: renew claims and read stop requests. If the heartbeat fails, the current work is
    cut off, and recovered on resume."""
    async with ports.store.claim(run, RUN, ports.worker, lease) as claim:
        look = await listen(run, ports)
        ports.inbox.post = partial(ports.store.post, run, CONTROL)
        ports.fence.hold(partial(ports.store.check, claim))
        work = asyncio.current_task()
        heart = asyncio.create_task(_beat(claim, lease, look, ports))
        # A run without its claim must stop within an effect: somebody else already runs it.
        heart.add_done_callback(lambda beat: work.cancel() if work and not beat.cancelled() else None)
        try:
            yield claim
        except asyncio.CancelledError:
            if work is not None and heart.done() and not heart.cancelled():
                # This cancellation is ours: otherwise asyncio would take it for the caller's and drop the error below.
                work.uncancel()
                heart.result()  # raises why it stopped
            raise
        finally:
            ports.fence.hold(None)
            ports.inbox.look = ports.inbox.post = None
            await cancel_tasks([heart])


async def _beat(claim: Claim, lease: float, look: Callable[[], Awaitable[None]], ports: Ports) -> None:
    """Beat. A journal that cannot be written or read for now (locked, a full disk) is retried; a lost claim ends it."""
    renewed, away = ports.timer(), False
    while True:
        # A third of the lease: two beats may fail before others consider us gone.
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
                ports.waiting(f"{error} Trying again; should it stay away, `bough resume {claim.run}` continues later.")
            away = True


async def propose_plan(run: Run, goal: Step, ports: Ports) -> tuple[Task, tuple[str, ...]]:
    """Return the goal with its planned steps, and the faults of rejected plans."""
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
