"""Carry one task to its outcome. This loop is all there is; what happens in it is decided elsewhere."""

from __future__ import annotations

from bough.core.commands import Rest
from bough.core.decide import decide
from bough.core.run import Run
from bough.core.state import Task, evolve, fold
from bough.engine.perform import Site, perform
from bough.ports import Ports

STOPPED = Rest("stopped", "a person stopped it")


async def drive(run: Run, task: str, ports: Ports) -> Task:
    """Until it rests, or awaits a smaller step. Safe to kill and restart anywhere: each intent is durable before its
    effect, and recovery is to read, fold and decide again."""
    async with ports.store.claim(run.name, task, ports.worker, run.rules.lease) as claim:
        state = fold(task, await ports.store.read(run.name, task))
        site = await Site.enter(run, state, ports)
        while not state.resting and state.awaits is None:
            command = STOPPED if ports.stop.requested else decide(state, ports.clock())
            async for events in perform(command, state, site):
                for record in await ports.store.append(claim, events, expected=state.version):
                    state = evolve(state, record)
                    ports.recorded(record)
        return state
