"""Runs the steps of a task: starts those that are ready, as many at once as allowed, and merges their work. A step's
work counts only once it is merged onto the task's head (its latest merged files) and proven there."""

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Spend, add_limits, compute_remaining, convert_spend, sum_spends
from bough.core.conversation import context
from bough.core.ids import GOAL, child_path, worker_name
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Step, Tier
from bough.core.tree import next_moves
from bough.core.tree.file_overlap import Touched, list_touched_files
from bough.core.tree.task import Task
from bough.core.tree.task_state import SETTLED, State
from bough.engine.merge_queue import MergeQueue
from bough.engine.step_beginnings import StepStarter
from bough.engine.step_merger import StepMerger, list_merge_tasks
from bough.engine.task_loop import TaskStream, drive_task, read_messages
from bough.engine.task_workspace import TaskRuntime, conclude
from bough.ports import Ports, shown
from bough.ports.steering import cancel_tasks

CALLED_OFF = "another step succeeded first"


class TaskRunner(Struct, eq=False):
    """Runs the tasks of a run with its ports, and with a limit on how many agents work at once."""

    run: Run
    ports: Ports
    agents: asyncio.Semaphore
    beginnings: StepStarter

    async def run_task(self, path: str, first: e.TaskCreated, again: Tier | None = None) -> Task:
        """Run a task and all tasks below it until it is finished or halts. `again`: if the task is blocked, retry it
        with the model of this tier."""
        run, ports = self.run, self.ports
        if ports.executor is not None and ports.executor.takes(path, first):
            async with self.agents:
                return await ports.executor.run_task(run, path, first, again)
        async with ports.store.claim(run.name, path, ports.worker, run.rules.lease) as claim:
            stream = await TaskStream.open(claim, ports)
            if events := _build_arrival(stream.task, first, again, worker_name(ports.worker)):
                await stream.write(events)
            self.beginnings.opened(stream)
            try:
                async with self.agents:
                    return await drive_task(run, stream, ports, self._run_steps)
            finally:
                self.beginnings.closed(path)

    async def _run_steps(self, stream: TaskStream, runtime: TaskRuntime) -> None:
        """Run the steps of a task. Meanwhile the task gives up its slot among the agents."""
        # If a task kept its slot while it waits, its own steps could not start with `--jobs 1`.
        self.agents.release()
        try:
            await Steps(self, stream, MergeQueue(stream.merging), runtime).run_to_end()
        finally:
            await self.agents.acquire()
        runtime.moved()

    async def record(self, path: str, events: Sequence[e.AnyEvent]) -> Task:
        """Append events to a task's journal while its own loop is not running, and return the task."""
        ports = self.ports
        async with ports.store.claim(self.run.name, path, ports.worker, self.run.rules.lease) as claim:
            stream = await TaskStream.open(claim, ports)
            await stream.write(events)
            return stream.task

    async def end(self, path: str, to: State, why: str) -> Task:
        """End a task in the given state, and all tasks running below it. Its work so far is saved in a commit."""
        ports = self.ports
        async with ports.store.claim(self.run.name, path, ports.worker, self.run.rules.lease) as claim:
            stream = await TaskStream.open(claim, ports)
            await self.end_children(stream, why)
            task = stream.task
            if task.created and task.state not in SETTLED:
                if task.tree != task.base:
                    async for events in conclude(to, why, task, TaskRuntime(self.run, ports)):
                        await stream.write(events)
                else:
                    await stream.write([e.StateChanged(to, why)])
            await ports.workspaces.discard(self.run.name, path)
            return stream.task

    async def end_children(self, stream: TaskStream, why: str) -> None:
        """End a task's running steps and their merges, the lowest first, because a step's spend must be known before it
        is recorded in its parent."""
        for name, started in stream.task.children.running.items():
            child = await self.end(child_path(stream.task.id, started.task), State.CANCELLED, why)
            for merging in await list_merge_tasks(self.run.name, self.ports, child):
                await self.end(merging.id, State.CANCELLED, CALLED_OFF)
            await stream.write([e.ChildSettled(name, State.CANCELLED, why, stream.task.tree, await self.spent(child))])

    async def spent(self, task: Task) -> Spend:
        """Sum what a task, the tasks below it, and the merges of its work have spent."""
        return sum_spends(
            each.budget.spend for each in (task, *await list_merge_tasks(self.run.name, self.ports, task))
        )


class Steps(Struct, eq=False):
    """The smaller steps of one task while they run."""

    task_runner: TaskRunner
    stream: TaskStream
    merge_queue: MergeQueue
    runtime: TaskRuntime
    live: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    out_of_budget: dict[str, int] = field(default_factory=dict)
    """Steps that have spent their part of the budget and wait until other steps give some back, each with the rounds
    that were free when it began to wait."""
    changed: dict[tuple[str, str], Touched] = field(default_factory=dict)
    """The files that differ between two trees, cached."""

    async def run_to_end(self) -> None:
        """Run the steps until all are finished, or the task halts."""
        stream, live = self.stream, self.live
        said = asyncio.Event()
        listening = self.task_runner.ports.inbox.watch(said.set)
        try:
            if next_moves.is_joined(stream.task):
                await self._call_off()
            await stream.amend(next_moves.list_regrants)
            for name, started in stream.task.children.running.items():  # Steps that an earlier process started.
                self._start(self._find_step(name), started.task)
            while True:
                if self._may_begin():
                    await self._begin()
                if not live:
                    break
                said.clear()
                hearing = asyncio.create_task(said.wait())
                await asyncio.wait([*live.values(), hearing], return_when=asyncio.FIRST_COMPLETED)
                hearing.cancel()
                for name in [name for name, work in live.items() if work.done()]:
                    live.pop(name).result()
                if next_moves.is_joined(stream.task):
                    await self._call_off()
        finally:
            listening.close()
            await cancel_tasks(live.values())
        if stream.task.halt is None and self.task_runner.ports.stop.requested:
            await stream.write([e.TaskHalted(*self.task_runner.ports.stop.halt)])

    def _may_begin(self) -> bool:
        return not self.task_runner.ports.stop.requested and self.stream.task.halt is None

    def _find_step(self, name: str) -> Step:
        return next(step for step in self.stream.task.plan.steps if step.name == name)

    async def _begin(self) -> None:
        stream = self.stream
        await stream.hear()
        await read_messages(stream, self.runtime)
        for name, free in list(self.out_of_budget.items()):
            # If no step is running, none can give back budget, so the first step that waits gets what is left.
            if not self.live or stream.task.left.rounds > free:
                del self.out_of_budget[name]
                self._start(self._find_step(name), stream.task.children.running[name].task)
        # Only the first move is made, because every event can change the others.
        while found := next_moves.list_moves(stream.task, touched := await self._find_touched()):
            match found[0]:
                case next_moves.Begin(step, segment, _) if segment == step.name and await self._take_over(step):
                    pass
                case next_moves.Begin(step, segment, wait):
                    # A step begins only when an agent is free: it starts from the current head, and the later that is,
                    # the less there is to merge.
                    if len(self.live) >= self.task_runner.run.jobs or (self.live and not stream.task.left.rounds):
                        return
                    # The grant is computed while `amend` locks the task, so that two steps cannot get the same rounds.
                    await stream.amend(
                        lambda task: [e.ChildStarted(step.name, segment, next_moves.compute_step_grant(task, step))]
                    )
                    self._start(step, segment, wait)
                case event:
                    await stream.write([event])
        # If all agents are busy, the steps that are left only wait for one of them.
        if len(self.live) < self.task_runner.run.jobs:
            await stream.amend(lambda task: next_moves.list_held_steps(task, touched))

    async def _find_touched(self) -> dict[str, Touched]:
        task, found = self.stream.task, {}
        if (
            self.task_runner.run.jobs == 1
            or len(self.live) >= self.task_runner.run.jobs
            or len(task.children.running) == len(task.plan.steps)
        ):
            return {}
        for name, started in task.children.running.items():
            files: Touched = {}
            for each in self.task_runner.beginnings.under_way(child_path(task.id, started.task)):
                for path, adds in (await self._find_changed(each.base, each.tree)).items():
                    files[path] = adds and files.get(path, True)
            found[name] = files
        return found

    async def _find_changed(self, base: str, tree: str) -> Touched:
        if base == tree or not base:
            return {}
        if (base, tree) not in self.changed:
            self.changed[base, tree] = list_touched_files(await self.task_runner.ports.workspaces.diff(base, tree))
        return self.changed[base, tree]

    async def _take_over(self, step: Step) -> bool:
        """Reuse the work of an earlier run that completed the same step from the same files; return whether it did."""
        stream, beginnings = self.stream, self.task_runner.beginnings
        first = await beginnings.first(stream.task, step, stream.task.budget.limits)
        done = await beginnings.done_before(first)
        if done is None:
            return False
        async with stream.merging:  # No other step may be merged between this check and the event.
            if stream.task.tree != first.base:
                return False
            await stream.write([done])
        return True

    def _start(self, step: Step, segment: str, wait: float = 0.0) -> None:
        # The tier of the model that retries a blocked step; None for a step that starts or continues.
        again: Tier | None = "strong" if step.name in self.stream.task.children.reopened else None
        self.live[step.name] = asyncio.create_task(self._step(step, segment, again, wait))

    async def _call_off(self) -> None:
        """End the running steps, because enough others have succeeded. Their work stays on their own branches."""
        await cancel_tasks(self.live.values())
        self.live.clear()
        self.out_of_budget.clear()
        await self.task_runner.end_children(self.stream, CALLED_OFF)

    async def _step(self, step: Step, segment: str, again: Tier | None, wait: float) -> None:
        if wait and await self.task_runner.ports.stop.wait(wait):
            return  # The step starts when the run is resumed.
        task = self.stream.task
        limits = task.children.running[step.name].grant
        grows = step.rounds is None  # A limit set by a person stays.
        first = await self.task_runner.beginnings.first(task, step, limits, grows)
        path = child_path(task.id, segment)
        child = await self._run_step(step, path, first, again, Spend())
        if child.halt is None:
            await self._merge(step, child, again)
        elif not await self._handle_halt(step, child, spend := await self.task_runner.spent(child)):
            why = f"its grant is spent: {child.halt.message}"
            child = await self.task_runner.end(path, State.BLOCKED, why)
            await self.stream.write(
                [context.build_settled_event(step, child, State.BLOCKED, why, self.stream.task.tree, spend)]
            )

    async def _run_step(self, step: Step, path: str, first: e.TaskCreated, again: Tier | None, before: Spend) -> Task:
        """Run a task for a step. Its grant (part of the budget) grows while the parent has budget left. `before`: what
        the step has spent on other tasks already."""
        stream = self.stream
        child = await self.task_runner.run_task(path, first, again)
        while child.halt is not None and child.halt.reason == "budget" and child.budget.grows:
            await stream.amend(partial(_raise_grant, step, child, before))
            limits = compute_remaining(before, stream.task.children.running[step.name].grant)
            if limits == child.budget.limits and self._has_others(step) and next_moves.is_fatal(stream.task, step):
                break  # The parent has nothing to give now, but other steps may give back what they do not need.
            first = replace(first, limits=limits, grows=limits != child.budget.limits)
            child = await self.task_runner.run_task(path, first)
        return child

    def _has_others(self, step: Step) -> bool:
        return any(name != step.name and not work.done() for name, work in self.live.items())

    async def _handle_halt(self, step: Step, child: Task, spend: Spend) -> bool:
        """Handle a step's halt: the parent halts, too, or the step waits until others give back budget. Return False if
        only its own grant is spent and the parent continues without it. `spend`: all that the step has spent."""
        stream, halt = self.stream, child.halt
        assert halt is not None
        spent, others = halt.reason == "budget", self._has_others(step) and self._may_begin()
        if spent and not next_moves.is_fatal(stream.task, step) and next_moves.can_afford(stream.task, step, spend):
            return False
        if spent and others:
            self.out_of_budget[step.name] = stream.task.left.rounds
        elif stream.task.halt is None:
            await stream.write([e.TaskHalted(halt.reason, halt.message, until=halt.until)])
        return True

    async def _merge(self, step: Step, child: Task, again: Tier | None) -> None:
        stream, task_runner = self.stream, self.task_runner
        merger = StepMerger(task_runner.run, task_runner.ports, stream, self._run_step)
        need = merger.need(child) if child.state is State.COMPLETED else None
        if need is not None:
            task_runner.ports.doing(child.id, "waiting for its turn to be merged")
        async with self.merge_queue.turn(need, partial(merger.guess, child), lambda: stream.task.tree) as queued:
            state, why, tree, spend = child.state, child.why, stream.task.tree, child.budget.spend
            merged_step = None
            if state is not State.COMPLETED:
                spend = await task_runner.spent(child)
            else:
                await stream.write([e.MergeStarted(step.name)])
                with shown(task_runner.ports, child.id, f"merging into {stream.task.id}"):
                    merged_step = await merger.merge(step, child, again, queued)
                merged, spend = merged_step.task, merged_step.spend
                if merged.halt is not None:
                    if await self._handle_halt(step, merged, spend):
                        return
                    merged = await task_runner.end(
                        merged.id, State.BLOCKED, f"its grant is spent: {merged.halt.message}"
                    )
                tree = merged.tree
                if merged.state is not State.COMPLETED:
                    state, why, tree = State.BLOCKED, f"it could not be merged: {merged.why}", stream.task.tree
            # The checkout is removed before the step's end is recorded, so that a kill cannot leave it behind.
            await task_runner.ports.workspaces.discard(task_runner.run.name, child.id)
            settled = context.build_settled_event(step, child, state, why, tree, spend)
            if merged_step is not None and state is State.COMPLETED:
                settled = context.update_after_merge(settled, merged_step.task, merged_step.verdict, merged_step.said)
            await stream.write([settled])


def _raise_grant(step: Step, child: Task, before: Spend, task: Task) -> list[e.ChildStarted]:
    limits = next_moves.raise_grant(task, step, child.budget.limits, child.budget.spend)
    started = task.children.running[step.name]
    return [replace(started, grant=add_limits(limits, convert_spend(before)))] if limits is not None else []


def _build_arrival(task: Task, first: e.TaskCreated, again: Tier | None, worker: str) -> list[e.AnyEvent]:
    """Build the events for entering a task: the task starts, resumes after a halt or crash, or is retried."""
    if not task.created:
        return [replace(first, worker=worker)]
    # A budget that grew with the plan does not shrink.
    limits = replace(
        first.limits, rounds=max(first.limits.rounds, task.budget.limits.rounds if task.budget.granted else 0)
    )
    resumed = e.TaskResumed(limits, first.means, first.grows, worker=worker)
    if first.step.test_command != task.step.test_command and task.id == GOAL:
        resumed = replace(resumed, check=first.step.test_command or "")
    if first.rules.accept_failing != task.rules.accept_failing:
        resumed = replace(resumed, accept_failing=first.rules.accept_failing)
    if again is not None and task.state is State.BLOCKED and task.models.tier != again:
        return [resumed, e.TakenUp(again, "retried with a stronger model")]
    return [] if task.state in SETTLED else [resumed]
