"""Carry a run to its end, or to a halt that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from bough.core import events as e
from bough.core.budget import Limits, left
from bough.core.ids import CONTROL, GOAL, RUN, below
from bough.core.plan import Step
from bough.core.run import Finish, Run, Start, evolve_run, fold_run, next_move
from bough.core.state import Task, evolve, fold
from bough.core.states import State
from bough.engine.drive import STOPPED, drive
from bough.ports import Claim, Ports

HEARTBEAT = 1.0
"""Seconds between looks at what people ask of the run; the lease is renewed on the way."""


async def begin(run: str, first: e.RunStarted, ports: Ports) -> None:
    """Record that a run begins. `ClaimHeld` or `VersionConflict`, and nothing done, when the name is taken."""
    async with ports.store.claim(run, RUN, ports.worker, first.rules.lease) as claim:
        await _append(Run(run), claim, [first], ports)


async def go_on(run: str, ports: Ports) -> Run:
    """Carry a run that has begun to its end, or to a halt."""
    lease = fold_run(run, await ports.store.read(run, RUN)).rules.lease
    async with _holding(run, lease, ports) as claim:
        return await _carry_out(fold_run(run, await ports.store.read(run, RUN)), claim, ports)


async def resume(run: str, again: e.RunResumed, ports: Ports) -> Run:
    """Go on at the first unfinished effect."""
    lease = fold_run(run, await ports.store.read(run, RUN)).rules.lease
    async with _holding(run, lease, ports) as claim:
        state = fold_run(run, await ports.store.read(run, RUN))
        state = await _append(state, claim, [again], ports)
        return await _carry_out(state, claim, ports)


async def _carry_out(state: Run, claim: Claim, ports: Ports) -> Run:
    goal = Task(GOAL)
    while (move := next_move(state, goal)) is not None:
        match move:
            case Start():
                goal = await _stoppable(state, ports)
            case Finish(event):
                if isinstance(event, e.RunFinished):
                    # The work is in commits by now; before the end is recorded, so that a kill leaves no orphan.
                    await ports.workspaces.discard(state.name, GOAL)
                state = await _append(state, claim, [event], ports)
    return state


async def _stoppable(run: Run, ports: Ports) -> Task:
    """The goal carried to its end, or cut off in the middle of an effect when a person wants to stop now."""
    work = asyncio.create_task(carry(run, GOAL, run.plan.goal, run.base, run.limits, ports))

    def stop() -> None:
        if ports.stop.now:
            work.cancel()

    unwatch = ports.stop.watch(stop)
    try:
        return await work
    except asyncio.CancelledError:
        if not ports.stop.now:
            raise
        # The effect itself is recovered on resume.
        return await _record(run, GOAL, [e.TaskHalted(STOPPED.reason, STOPPED.message)], ports)
    finally:
        unwatch()


async def carry(run: Run, path: str, step: Step, base: str, limits: Limits, ports: Ports) -> Task:
    """Carry a task and all below it to its outcome: its smaller steps first, one after the other, each from where the
    one before it ended; then the task itself, at the merged head."""
    task = fold(path, await ports.store.read(run.name, path))
    if not task.version:
        await _record(run, path, [e.TaskCreated(step, base, limits, run.rules)], ports)
    elif not task.resting or task.halt:
        await _record(run, path, [e.TaskResumed(limits)], ports)
    while True:
        task = await drive(run, path, ports)
        if task.resting or task.awaits is None:
            return task
        task = await _carry_child(run, task, task.awaits, ports)
        if task.halt is not None:
            return task


async def _carry_child(run: Run, task: Task, step: Step, ports: Ports) -> Task:
    path = below(task.id, step.name)
    child = await carry(run, path, step, task.tree, left(task.spend, task.limits), ports)
    if child.halt is not None:
        return await _record(run, task.id, [child.halt], ports)
    # The work of a child that came to no good end stays on its own branch: it is not taken over.
    tree = child.tree if child.state is State.COMPLETED else task.tree
    await ports.workspaces.discard(run.name, path)
    return await _record(run, task.id, [e.ChildSettled(step.name, child.state, child.why, tree, child.spend)], ports)


async def _record(run: Run, task: str, events: Sequence[e.AnyEvent], ports: Ports) -> Task:
    """Append to a task's stream from outside its own loop."""
    async with ports.store.claim(run.name, task, ports.worker, run.rules.lease) as claim:
        state = fold(task, await ports.store.read(run.name, task))
        for record in await ports.store.append(claim, events, state.version):
            state = evolve(state, record)
            ports.recorded(record)
        return state


async def _append(state: Run, claim: Claim, events: Sequence[e.AnyEvent], ports: Ports) -> Run:
    for record in await ports.store.append(claim, events, state.version):
        state = evolve_run(state, record)
        ports.recorded(record)
    return state


@asynccontextmanager
async def _holding(run: str, lease: float, ports: Ports) -> AsyncIterator[Claim]:
    """Hold the run, with a heart that beats: claims are renewed, and a person's wish to stop is heard."""
    async with ports.store.claim(run, RUN, ports.worker, lease) as claim:
        asked = await ports.store.read(run, CONTROL)
        heart = asyncio.create_task(_beat(run, lease, asked[-1].seq if asked else 0, ports))
        try:
            yield claim
        finally:
            heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart


async def _beat(run: str, lease: float, since: int, ports: Ports) -> None:
    renewed = ports.clock()
    while True:
        await asyncio.sleep(min(HEARTBEAT, lease / 3))
        if ports.clock() - renewed >= lease / 3:
            await ports.store.renew(ports.worker, lease)
            renewed = ports.clock()
        for record in await ports.store.read(run, CONTROL, since=since):
            since = record.seq
            if isinstance(record.event, e.StopRequested):
                ports.stop.request(now=record.event.now)
