"""Bring a finished step's work onto where its parent stands by now, and prove it there. What cannot be brought there
just like that (a conflict, a check that fails beside the other work) becomes a task of its own below the step's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from bough.core import context, grants, tree
from bough.core import events as e
from bough.core.acceptance import Verdict
from bough.core.budget import Limits, Spend
from bough.core.plan import Step, Tier
from bough.core.run import Run
from bough.core.scope import scope_of
from bough.core.state import fold
from bough.core.states import State
from bough.core.task import Task
from bough.engine.drive import Book
from bough.engine.site import judge
from bough.ports import Ports

Carry = Callable[[Step, str, e.TaskCreated, Tier | None, Spend], Awaitable[Task]]
"""Carries a task out on behalf of a step, for which so much was spent before."""


async def mergings(run: str, ports: Ports, child: Task) -> list[Task]:
    """The tasks that have tried to bring a child's work onto the head; also those that a rewind has undone, since what
    they cost stays spent."""
    found: list[Task] = []
    while records := await ports.store.read(run, path := context.merging(child, len(found) + 1)):
        found.append(fold(path, records))
    return found


def total(spends: Iterable[Spend]) -> Spend:
    return reduce(Spend.plus, spends, Spend())


class Brought(Struct, frozen=True):
    """What came of it: the task that has the work on top of the parent's tree, when it is completed."""

    task: Task
    spend: Spend
    """For the step in all."""


class _Tried(Struct, frozen=True):
    tree: str = ""
    why: str = ""
    """What speaks against it; empty: nothing."""
    conflicts: tuple[str, ...] = ()


class MergeQueue(Struct, eq=False):
    """Used by one step at a time: whoever is in it has the parent's head for itself."""

    run: Run
    ports: Ports
    book: Book
    carry: Carry

    async def bring(self, step: Step, child: Task, again: Tier | None) -> Brought:
        """With `again` a merge that was given up is taken up again, with that model."""
        known = await mergings(self.run.name, self.ports, child)
        spends = [child.spend, *(task.spend for task in known)]
        work, times = child, 1
        while True:
            path = context.merging(child, times)
            begun = times <= len(known) and known[times - 1].created
            tried, instructions = _Tried(), ""
            if not begun:
                head = self.book.task.tree
                if head in (work.base, work.tree):
                    return Brought(work, total(spends))
                tried = await self._try(step, work, head)
                if tried.why == "":
                    return Brought(replace(work, tree=tried.tree), total(spends))
                instructions = await self._brief(step, work, tried.why)
            # One that was begun in an earlier life goes on, whatever the head is by now: what it makes is merged again.
            before = total(spends[:times] + spends[times + 1 :])
            limits = await self._fund(step, before, begun)
            focused = context.onto_head(step, instructions, tried.conflicts)
            task = self.book.task
            told = replace(scope_of(task, step).child(step.context).told, allowed=(*task.may_change, *child.allowed))
            first = e.TaskCreated(focused, task.tree, limits, self.run.rules, task.means, told, grows=True)
            work = await self.carry(step, path, first, again, before)
            spends[times : times + 1] = [work.spend]
            if work.halt is None:
                await self.ports.workspaces.discard(self.run.name, path)
            if work.halt is not None or work.state is not State.COMPLETED:
                return Brought(work, total(spends))
            times += 1

    async def _fund(self, step: Step, before: Spend, begun: bool) -> Limits:
        """What is left of the step's grant, and what the parent has beside it: reserved before it is used."""
        if not begun:
            await self.book.amend(
                lambda task: [replace(task.running[step.name], grant=tree.enlarged(task, step))],
            )
        return grants.less(self.book.task.running[step.name].grant, before)

    async def _try(self, step: Step, work: Task, head: str) -> _Tried:
        """The two together, and whether that holds."""
        merged = await self.ports.workspaces.merge(work.base, head, work.tree)
        if merged.conflicts:
            await self.book.write([e.ChildMerged(step.name, merged.tree, merged.conflicts)])
            return _Tried(
                merged.tree, f"it conflicts with that work in {', '.join(merged.conflicts)}", merged.conflicts
            )
        verdict = await self._proven(work, merged.tree)
        await self.book.write([e.ChildMerged(step.name, merged.tree, (), verdict)])
        why = "" if verdict.ruling == "passed" else f"on top of that work its check fails: {verdict.reason}"
        return _Tried(merged.tree, why, ())

    async def _proven(self, work: Task, merged: str) -> Verdict:
        """The step's check at the merged head. What it did to tests was judged before; here only results count."""
        ports, step = self.ports, replace(work.step, may_edit_tests=True)
        task = replace(work, tree=merged, step=step)
        workspace = await ports.workspaces.open(self.run.name, work.id, work.tree, self.run.folder)
        await workspace.restore(merged)
        check = await ports.verifier.find(task)
        judged = await judge(self.run, replace(task, id=work.id), check, workspace, ports)
        blob = await ports.store.put_blob(judged.output) if judged.output is not None else ""
        cases = await ports.store.put_blob(judged.cases) if judged.cases is not None else ""
        return replace(judged.verdict, blob=blob, cases=cases)

    async def _brief(self, step: Step, work: Task, why: str) -> str:
        diff = context.shortened(await self.ports.workspaces.diff(work.base, work.tree), context.DIFF)
        values = {"why": why, "instructions": step.instructions, "diff": diff}
        return context.render(self.ports.prompt("merge"), values)
