"""Carry a run to its end, or to a halt that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from bough.core import events as e
from bough.core.ids import CONTROL, GOAL, RUN
from bough.core.run import Finish, Run, Start, evolve_run, fold_run, next_move
from bough.core.state import Task, fold
from bough.engine.drive import STOPPED, drive
from bough.ports import Claim, Ports

HEARTBEAT = 1.0
"""Seconds between looks at what people ask of the run; the lease is renewed on the way."""


async def start(run: str, first: e.RunStarted, ports: Ports) -> Run:
    """Begin a run and carry it out."""
    async with _holding(run, first.rules.lease, ports) as claim:
        state = await _append(Run(run), claim, [first], ports)
        return await _carry_out(state, claim, ports)


async def resume(run: str, again: e.RunResumed, ports: Ports) -> Run:
    """Go on at the first unfinished effect."""
    lease = fold_run(run, await ports.store.read(run, RUN)).rules.lease
    async with _holding(run, lease, ports) as claim:
        state = fold_run(run, await ports.store.read(run, RUN))
        state = await _append(state, claim, [again], ports)
        goal = fold(GOAL, await ports.store.read(run, GOAL))
        if goal.version:
            async with ports.store.claim(run, GOAL, ports.worker, lease) as held:
                await _record(held, [e.TaskResumed(again.limits)], goal.version, ports)
        return await _carry_out(state, claim, ports)


async def _carry_out(state: Run, claim: Claim, ports: Ports) -> Run:
    goal = fold(GOAL, await ports.store.read(state.name, GOAL))
    while (move := next_move(state, goal)) is not None:
        match move:
            case Start():
                goal = await _start(state, goal, ports)
            case Finish(event):
                if isinstance(event, e.RunFinished):
                    # The work is in commits by now; before the end is recorded, so that a kill leaves no orphan.
                    await ports.workspaces.discard(state.name, GOAL)
                state = await _append(state, claim, [event], ports)
    return state


async def _start(run: Run, goal: Task, ports: Ports) -> Task:
    if not goal.version:
        created = e.TaskCreated(run.plan.goal, run.base, run.limits, run.rules)
        async with ports.store.claim(run.name, GOAL, ports.worker, run.rules.lease) as claim:
            await _record(claim, [created], 0, ports)
    work = asyncio.create_task(drive(run, GOAL, ports))

    def stop() -> None:
        if ports.stop.now:
            work.cancel()

    unwatch = ports.stop.watch(stop)
    try:
        return await work
    except asyncio.CancelledError:
        if not ports.stop.now:
            raise
        return await _halt(run, ports)
    finally:
        unwatch()


async def _halt(run: Run, ports: Ports) -> Task:
    """Stopped in the middle of an effect: say so in the journal. The effect itself is recovered on resume."""
    goal = fold(GOAL, await ports.store.read(run.name, GOAL))
    async with ports.store.claim(run.name, GOAL, ports.worker, run.rules.lease) as claim:
        await _record(claim, [e.TaskHalted(STOPPED.reason, STOPPED.message)], goal.version, ports)
    return fold(GOAL, await ports.store.read(run.name, GOAL))


async def _append(state: Run, claim: Claim, events: Sequence[e.AnyEvent], ports: Ports) -> Run:
    for record in await _record(claim, events, state.version, ports):
        state = evolve_run(state, record)
    return state


async def _record(claim: Claim, events: Sequence[e.AnyEvent], expected: int, ports: Ports) -> list[e.Record]:
    records = await ports.store.append(claim, events, expected)
    for record in records:
        ports.recorded(record)
    return records


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
