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

HEARTBEAT = 1.0
"""Seconds between reads of people's requests; the lease is renewed on the way."""


async def start_run(run: str, first: e.RunStarted, ports: Ports) -> Run | None:
    """Start a run under a name and drive it to its end, or to a halt. None, and nothing done, when the name is taken.

    One claim for both: between two, another start that wants the same name could hold it for a moment.
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
    if (state.checked is None or state.checked.lacking) and not await ports.store.read(state.name, GOAL):
        with shown(ports, GOAL, "checking your files as they are"):
            async for events in check_base(state, ports):
                state = await _append(state, claim, events, ports)
    while not (state.end or state.halt):
        event = find_ending(await _drive_stoppable(state, ports))
        if isinstance(event, e.RunFinished):
            # The work is in commits by now; before the end is recorded, so that a kill leaves no orphan.
            await ports.workspaces.discard(state.name, GOAL)
        if event is not None:
            state = await _append(state, claim, [event], ports)
    return state


async def _drive_stoppable(run: Run, ports: Ports) -> Task:
    """Drive the goal to its end, or cut it off in the middle of an effect when a person stops the run now."""
    # One semaphore for the whole tree: `--jobs` limits agents, whatever the depth they work at.
    task_runner = TaskRunner(run, ports, asyncio.Semaphore(run.jobs), StepStarter(run, ports))
    means = EscalationOptions(stronger=has_stronger(run.agents, run.models), person=ports.ask is not None)
    first = e.TaskCreated(run.plan.goal, run.base, run.limits, run.rules, means, run.inherited)
    work = asyncio.create_task(task_runner.run_task(GOAL, first))
    with ports.stop.watch(lambda: work.cancel() if ports.stop.now else None):
        try:
            return await work
        except asyncio.CancelledError:
            if not ports.stop.now:
                raise
            # The effect itself is recovered on resume.
            return await task_runner.record(GOAL, [e.TaskHalted(*ports.stop.halt)])


async def _append(state: Run, claim: Claim, events: Sequence[e.AnyEvent], ports: Ports) -> Run:
    for record in await ports.store.append(claim, events, state.version):
        state = evolve_run(state, record)
        ports.recorded(record)
    return state


@asynccontextmanager
async def _holding(run: str, lease: float, ports: Ports) -> AsyncIterator[Claim]:
    """Hold the run with a heartbeat: claims are renewed, and stop requests are read. Without the heartbeat nothing
    continues: what is in progress is cut off, and recovered on resume."""
    async with ports.store.claim(run, RUN, ports.worker, lease) as claim:
        look = await listen(run, ports)
        ports.inbox.post = partial(ports.store.post, run, CONTROL)
        ports.fence.hold(partial(ports.store.check, claim))
        work = asyncio.current_task()
        heart = asyncio.create_task(_beat(claim, lease, look, ports))
        # A run whose claim is gone must stop in mid-effect, because somebody else is already carrying it out.
        heart.add_done_callback(lambda beat: work.cancel() if work and not beat.cancelled() else None)
        try:
            yield claim
        except asyncio.CancelledError:
            if work is not None and heart.done() and not heart.cancelled():
                # This cancellation is ours: left standing, asyncio would take it for the caller's and drop the error
                # below.
                work.uncancel()
                heart.result()  # raises why it stopped
            raise
        finally:
            ports.fence.hold(None)
            ports.inbox.look = ports.inbox.post = None
            heart.cancel()
            await asyncio.gather(heart, return_exceptions=True)


async def _beat(claim: Claim, lease: float, look: Callable[[], Awaitable[None]], ports: Ports) -> None:
    """A journal that cannot be written or read for now (locked, a full disk) is retried; a lost claim ends it."""
    renewed, away = ports.timer(), False
    while True:
        # A third of the lease: two beats may fail before somebody else thinks that we are gone.
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
    """The goal with the steps it would have, and what was wrong with plans that were rejected on the way."""
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
