"""Runs one task on a worker machine, while another process holds the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bough.core import events as e
from bough.core.errors import StoreError
from bough.core.ids import GOAL, RUN
from bough.core.journal.run_fold import fold_run
from bough.core.planning.plan import Tier
from bough.core.tree.task import Task
from bough.engine.person_messages import listen
from bough.engine.run_loop import HEARTBEAT
from bough.engine.run_steps import TaskRunner
from bough.engine.step_beginnings import StepStarter
from bough.ports import Ports
from bough.ports.steering import run_beside


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
