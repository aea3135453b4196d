"""The loop that drives one task until it is finished or halts. Other modules decide what to do next, and do it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct, field

from bough.core.budget.limits import seconds_left
from bough.core.commands import LONG, SHOWN, Climb, Command, Conclude, ReadMessage, Rest
from bough.core.decide import decide
from bough.core.errors import DiskFull
from bough.core.events import AnyEvent, Record, TaskHalted
from bough.core.journal.run_fold import Run
from bough.core.journal.task_fold import evolve_task, fold_task
from bough.core.tree.next_moves import is_over
from bough.core.tree.task import Task
from bough.engine.perform import perform
from bough.engine.person_messages import collect_received, find_unread
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Claim, Ports


class TaskStream(Struct, eq=False):
    """A task's part of the journal while this process holds the task, and the task's state after its last event."""

    _claim: Claim
    task: Task
    _ports: Ports
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a finished step is merged, so that steps are merged one after the other."""

    @classmethod
    async def open(cls, claim: Claim, ports: Ports) -> "TaskStream":
        return cls(claim, fold_task(claim.task, await ports.store.read(claim.run, claim.task)), ports)

    async def write(self, events: Sequence[AnyEvent]) -> None:
        """Append events; they are durable on return. Writers of the same task wait for each other here."""
        await self.amend(lambda task: events)

    async def amend(self, make: Callable[[Task], Sequence[AnyEvent]]) -> None:
        """Append events that `make` computes from the task's state. No other event can come in between."""
        async with self._lock:
            if not (events := make(self.task)):
                return
            store, claim = self._ports.store, self._claim
            try:
                self._take(await store.append(claim, events, expected=self.task.version))
            except asyncio.CancelledError:
                # A write that has started is completed in spite of the cancellation: read it, since otherwise the next
                # write would expect a wrong version.
                written = await store.read(claim.run, claim.task)
                self._take([record for record in written if record.version > self.task.version])
                raise

    async def hear(self, look: bool = False) -> bool:
        """Record people's messages to the task; return whether there were any. `look`: read the journal first."""
        inbox, before = self._ports.inbox, self.task.version
        if look and inbox.look is not None:
            await inbox.look()
        await self.amend(lambda task: collect_received(task, inbox))
        return self.task.version != before

    def _take(self, records: Sequence[Record]) -> None:
        for record in records:
            self.task = evolve_task(self.task, record)
            self._ports.recorded(record)


RunSteps = Callable[[TaskStream, TaskRuntime], Awaitable[None]]
"""Runs the steps of a task until all are finished or the task halts."""


async def drive_task(run: Run, stream: TaskStream, ports: Ports, run_steps: RunSteps) -> Task:
    """Drive the task until it is finished or halts. The process can be killed at any time: each intent is recorded
    before it is acted on, so that another process can read the events and decide again."""
    if run.checked is not None:
        ports.verifier.prefer(run.checked)
    runtime = await TaskRuntime.enter(run, stream.task, ports)
    runtime.record = stream.write
    try:
        while not stream.task.resting:
            if stream.task.gathering and not is_over(stream.task):
                await run_steps(stream, runtime)
                continue
            await read_messages(stream, runtime)
            await stream.hear()
            command = Rest(*ports.stop.halt) if ports.stop.requested else decide(stream.task, ports.clock())
            # Look for messages once more before concluding: one that arrives now would otherwise come too late.
            last = isinstance(command, Conclude)
            if last and (await stream.hear(look=True) or find_unread(stream.task, ports.inbox) or ports.stop.requested):
                continue
            await _execute(command, stream, runtime)
    finally:
        await runtime.leave()
    return stream.task


async def read_messages(stream: TaskStream, runtime: TaskRuntime) -> None:
    """Turn people's new messages to the run into requirements of the goal, before anything else is decided."""
    while not runtime.ports.stop.requested and (said := find_unread(stream.task, runtime.ports.inbox)) is not None:
        await _execute(ReadMessage(said), stream, runtime)
        if find_unread(stream.task, runtime.ports.inbox) is said:
            return  # The message could not be read, because the task's time is up.


async def _execute(command: Command, stream: TaskStream, runtime: TaskRuntime) -> None:
    """Perform a command. If the task's time runs out, cut it off and halt; resuming recovers it as after a crash."""
    timer, before = runtime.ports.timer, stream.task.budget.spend.seconds
    began, limits = timer(), stream.task.budget.limits
    long = isinstance(command, LONG) or (isinstance(command, Climb) and command.decision.rung != "ask")
    left = seconds_left(stream.task.budget.spend, limits) if long else None
    what = SHOWN.get(type(command), "")
    try:
        # The time limit is set here for everything, so that no tool, check or model call has to know it.
        async with asyncio.timeout(left) as limit:
            if what:
                runtime.ports.doing(stream.task.id, what)
            async for events in perform(command, stream.task, runtime):
                try:
                    await stream.write(events)
                except DiskFull:
                    # Most often the task's temporary files fill the disk: remove them and try again, because these
                    # events cannot be recreated.
                    await runtime.make_room()
                    await stream.write(events)
    except TimeoutError:
        if not limit.expired():
            raise
        uncounted = max(timer() - began, left or 0.0) - (stream.task.budget.spend.seconds - before)
        if not stream.task.resting:
            spent = f"the budget of {limits.minutes:.4g} minutes is spent"
            await stream.write([TaskHalted("budget", spent, uncounted)])
    finally:
        if what:
            runtime.ports.doing(stream.task.id, "")
