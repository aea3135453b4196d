"""Carry out the smaller steps of a task: those that are ready, as many at once as may be, and bring together what they
made. A step's work is merged onto where the task stands by then, proven there, and only then counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from bough.core import context
from bough.core import events as e
from bough.core.acceptance import Verdict
from bough.core.budget import Spend
from bough.core.ids import below
from bough.core.plan import Step, Tier
from bough.core.run import Run
from bough.core.state import Task
from bough.core.states import SETTLED, State
from bough.core.tree import Begin, EndPass, Skip, affords, grant, inherited, joined, moves, raised
from bough.engine.drive import STOPPED, Book, drive
from bough.engine.site import Site
from bough.ports import Ports


@dataclass
class Crew:
    """Who carries tasks out: a run's ports, and how many agents may work at once."""

    run: Run
    ports: Ports
    agents: asyncio.Semaphore

    async def carry(self, path: str, first: e.TaskCreated, again: Tier | None = None) -> Task:
        """A task and all below it, to its outcome. With `again` a blocked one goes on, with that model."""
        run, ports = self.run, self.ports
        async with ports.store.claim(run.name, path, ports.worker, run.rules.lease) as claim:
            book = await Book.open(claim, ports)
            if events := _arrival(book.task, first, again):
                await book.write(events)
            async with self.agents:
                return await drive(run, book, ports, self._tend)

    async def _tend(self, book: Book, site: Site) -> None:
        """A parent gives its place to its children meanwhile."""
        self.agents.release()
        try:
            await self.tend(book, site)
        finally:
            await self.agents.acquire()

    async def tend(self, book: Book, site: Site) -> None:
        """Until the steps are over, or the task rests."""
        live: dict[str, asyncio.Task[None]] = {}
        try:
            for name, started in book.task.running.items():  # Begun in an earlier life.
                step = next(step for step in book.task.steps if step.name == name)
                again = grant(book.task, step)
                if again.rounds > started.grant.rounds:  # A person raised the ledger.
                    await book.write([replace(started, grant=again)])
                live[name] = asyncio.create_task(self._step(book, step, started.task, _tier(book.task, step)))
            while True:
                if not self.ports.stop.requested and book.task.halt is None and not book.task.review:
                    await self._begin(book, live)
                if not live:
                    break
                await asyncio.wait(live.values(), return_when=asyncio.FIRST_COMPLETED)
                for name in [name for name, work in live.items() if work.done()]:
                    live.pop(name).result()
                if joined(book.task):
                    await self._call_off(book, live)
        finally:
            await _end(live.values())
        site.moved()
        if book.task.halt is None and self.ports.stop.requested:
            await book.write([e.TaskHalted(STOPPED.reason, STOPPED.message)])

    async def _begin(self, book: Book, live: dict[str, asyncio.Task[None]]) -> None:
        """Everything that can be begun now. What is ready is asked anew after each event."""
        while found := moves(book.task):
            match found[0]:
                case Skip(step, why):
                    tree, spend = book.task.tree, Spend()
                    await book.write([e.ChildSettled(step.name, State.SKIPPED, why, tree, spend)])
                case EndPass(why):
                    await book.write([e.PassEnded(book.task.passes, why)])
                case Begin(step, segment, wait):
                    if len(live) >= self.run.jobs:
                        return
                    again = _tier(book.task, step)
                    await book.write([e.ChildStarted(step.name, segment, grant(book.task, step))])
                    live[step.name] = asyncio.create_task(self._step(book, step, segment, again, wait))

    async def _call_off(self, book: Book, live: dict[str, asyncio.Task[None]]) -> None:
        """One step is enough: the others end here, and their work stays on their own branches."""
        await _end(live.values())
        for name in live:
            started = book.task.running.get(name)
            if started is None:
                continue
            path, why = below(book.task.id, started.task), "another step came to a good end first"
            child = await self.record(path, [e.StateChanged(State.CANCELLED, why)])
            await self.ports.workspaces.discard(self.run.name, path)
            await book.write([e.ChildSettled(name, State.CANCELLED, why, book.task.tree, child.spend)])
        live.clear()

    async def _step(self, book: Book, step: Step, segment: str, again: Tier | None, wait: float = 0.0) -> None:
        """One step, from its beginning to the point where its parent stands on it."""
        task = book.task
        if wait:
            await asyncio.sleep(wait)
        path = below(task.id, segment)
        limits = task.running[step.name].grant
        grows = step.on_error != "escalate" and step.rounds is None
        first = e.TaskCreated(step, task.tree, limits, self.run.rules, task.means, inherited(task, step), grows)
        child = await self.carry(path, first, again)
        while child.halt is not None and child.halt.reason == "budget" and child.grows:
            more = raised(book.task, step, child)
            if more is not None:
                await book.write([e.ChildStarted(step.name, segment, more)])
            first = replace(first, limits=more or child.limits, grows=more is not None)
            child = await self.carry(path, first)
        if child.halt is not None and affords(book.task, step, child):
            why = f"its grant is spent: {child.halt.message}"
            child = await self.record(path, [e.StateChanged(State.BLOCKED, why)])
        if child.halt is None:
            async with book.merging:
                await self._settle(book, step, child)
            await self.ports.workspaces.discard(self.run.name, path)
        elif book.task.halt is None:
            await book.write([e.TaskHalted(child.halt.reason, child.halt.message)])

    async def _settle(self, book: Book, step: Step, child: Task) -> None:
        state, why, tree, spend = child.state, child.why, book.task.tree, child.spend
        if state is State.COMPLETED:
            merged = await self._merge(book.task, step, child)
            if merged.halt is not None:
                await book.write([e.TaskHalted(merged.halt.reason, merged.halt.message)])
                return
            tree, spend = merged.tree, merged.spend
            if merged.state is not State.COMPLETED:
                state, why, tree = State.BLOCKED, f"it could not be merged: {merged.why}", book.task.tree
        await book.write([context.settled(step, child, state, why, tree, spend)])

    async def _merge(self, task: Task, step: Step, child: Task) -> Task:
        """The child with its work on top of where the parent stands by now; not completed when that cannot be done."""
        if task.tree in (child.base, child.tree):
            return child
        merged = await self.ports.workspaces.merge(child.base, task.tree, child.tree)
        why = f"it conflicts with that work in {', '.join(merged.conflicts)}"
        if not merged.conflicts:
            proven = await self._proven(child, merged.tree)
            if proven.ruling == "passed":
                return replace(child, tree=merged.tree)
            why = f"on top of that work its check fails: {proven.reason}"
        diff = context.shortened(await self.ports.workspaces.diff(child.base, child.tree), context.DIFF)
        values = {"why": why, "instructions": step.instructions, "diff": diff}
        focused = context.onto_head(step, context.render(self.ports.prompt("merge"), values), merged.conflicts)
        path = f"{child.id}/{context.MERGE}"
        first = e.TaskCreated(focused, task.tree, task.left, self.run.rules, task.means, inherited(task, step))
        mended = await self.carry(path, first)
        if mended.halt is None:
            await self.ports.workspaces.discard(self.run.name, path)
        return replace(mended, spend=child.spend.plus(mended.spend))

    async def _proven(self, child: Task, tree: str) -> Verdict:
        """The child's check at the merged head. What it did to tests was judged before; here only results count."""
        ports, step = self.ports, replace(child.step, may_edit_tests=True)
        merged = replace(child, tree=tree, step=step)
        workspace = await ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
        await workspace.restore(tree)
        check = await ports.verifier.find(merged)
        progress = partial(ports.progress, child.id)
        return (await ports.verifier.judge(self.run, merged, check, workspace, progress)).verdict

    async def record(self, path: str, events: Sequence[e.AnyEvent]) -> Task:
        """Append to a task's stream from outside its own loop."""
        ports = self.ports
        async with ports.store.claim(self.run.name, path, ports.worker, self.run.rules.lease) as claim:
            book = await Book.open(claim, ports)
            await book.write(events)
            return book.task


def _tier(task: Task, step: Step) -> Tier | None:
    """The model that takes a blocked step up again; None: it is begun, or goes on as it was."""
    return "strong" if step.name in task.reopened else None


def _arrival(task: Task, first: e.TaskCreated, again: Tier | None) -> list[e.AnyEvent]:
    """What coming to a task means for it: it begins, goes on after a halt or a crash, or is taken up again."""
    if not task.version:
        return [first]
    # A ledger that has followed its plan does not shrink back to what it was before there was one.
    limits = replace(first.limits, rounds=max(first.limits.rounds, task.limits.rounds if task.granted else 0))
    resumed = e.TaskResumed(limits, first.means, first.grows)
    if again is not None and task.state is State.BLOCKED and task.tier != again:
        return [resumed, e.TakenUp(again, "a stronger model takes it up again")]
    return [] if task.state in SETTLED else [resumed]


async def _end(works: Iterable[asyncio.Task[None]]) -> None:
    under_way = list(works)
    for work in under_way:
        work.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
