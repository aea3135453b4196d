"""Bring a finished step's work onto where its parent stands by now, and prove it there. What cannot be brought there
just like that (a conflict, a check that fails beside the other work) becomes a task of its own below the step's."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable
from functools import partial, reduce

from msgspec import Struct
from msgspec.structs import replace

from bough.core import context, grants, joining, tree
from bough.core import events as e
from bough.core.acceptance import Failure, Verdict
from bough.core.budget import Limits, Spend
from bough.core.ids import GOAL, below
from bough.core.lockfiles import remake
from bough.core.merging import Merge, Needed
from bough.core.plan import Step, Tier
from bough.core.probes import told
from bough.core.run import Run
from bough.core.scope import scope_of
from bough.core.state import fold
from bough.core.states import State
from bough.core.task import Task
from bough.engine.drive import Book
from bough.engine.prove import Proof
from bough.engine.train import Car, Guess
from bough.ports import Merged, Ports

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
    verdict: Verdict | None = None
    """After the merge."""
    said: str = ""
    """What those who resolved conflicts say."""


class _Tried(Struct, frozen=True):
    merge: Merge | None = None
    why: str = ""
    """What speaks against it; empty: nothing."""
    conflicts: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    verdict: Verdict | None = None


class MergeQueue(Struct, eq=False):
    """Used by one step at a time: whoever is in it has the parent's head for itself."""

    run: Run
    ports: Ports
    book: Book
    carry: Carry

    async def guess(self, child: Task, car: Car, head: str) -> Guess | None:
        """The step on top of a head that is not there yet; None when nothing can be said of that."""
        if head in (child.base, child.tree):
            return None
        merged = await self.ports.workspaces.merge(child.base, head, child.tree)
        if merged.conflicts:
            return None
        car.comes_to(merged.tree)
        needed = (*self._needed(child), *car.needed)
        merge = Merge(child.base, head, child.tree, merged.tree, needed, self.book.task.probes)
        return Guess(merge, await self._proven(child, child, merge), merged.both)

    def need(self, child: Task) -> Needed:
        cases = child.verdict.cases if child.verdict else ""
        return Needed(joining.check_of(child.step), child.id, cases, context.passed_probes(child))

    async def bring(self, step: Step, child: Task, again: Tier | None, car: Car) -> Brought:
        """With `again` a merge that was given up is taken up again, with that model."""
        known = await mergings(self.run.name, self.ports, child)
        spends = [child.spend, *(task.spend for task in known)]
        work, times, said = child, 1, ""
        while True:
            path = context.merging(child, times)
            begun = times <= len(known) and known[times - 1].created
            tried, instructions = _Tried(), ""
            if not begun:
                head = self.book.task.tree
                if head in (work.base, work.tree):
                    car.comes_to(work.tree)
                    tried = await self._still_accepted(step, child, work)
                    if not tried.why:
                        return Brought(work, total(spends), work.verdict, said)
                else:
                    tried = await self._try(step, child, work, head, car)
                if tried.why == "" and tried.merge is not None:
                    return Brought(replace(work, tree=tried.merge.tree), total(spends), tried.verdict, said)
                instructions = await self._brief(step, child, tried)
            # One that was begun in an earlier life goes on, whatever the head is by now: what it makes is merged again.
            before = total(spends[:times] + spends[times + 1 :])
            limits = await self._fund(step, before, begun)
            focused = context.onto_head(step, instructions, tried.conflicts)
            task = self.book.task
            told = replace(scope_of(task, step).child(step.context).told, allowed=(*task.may_change, *child.allowed))
            first = e.TaskCreated(
                focused, task.tree, limits, self.run.rules, task.means, told, grows=True, merge=tried.merge
            )
            work = await self.carry(step, path, first, again, before)
            spends[times : times + 1] = [work.spend]
            if work.halt is None:
                await self.ports.workspaces.discard(self.run.name, path)
            if work.halt is not None or work.state is not State.COMPLETED:
                return Brought(work, total(spends))
            said = "\n\n".join(part for part in (said, work.claim or "") if part)
            times += 1

    async def _fund(self, step: Step, before: Spend, begun: bool) -> Limits:
        """What is left of the step's grant, and what the parent has beside it: reserved before it is used."""
        if not begun:
            await self.book.amend(
                lambda task: [replace(task.running[step.name], grant=tree.enlarged(task, step))],
            )
        return grants.less(self.book.task.running[step.name].grant, before)

    async def _try(self, step: Step, child: Task, work: Task, head: str, car: Car) -> _Tried:
        """The two together, and whether that holds."""
        guess = car.guess
        if guess is not None and work is child and guess.merge.ours == head and guess.verdict.ruling == "passed":
            made = e.ChildMerged(step.name, guess.merge.tree, (), guess.verdict, guess.both, ahead=True)
            await self.book.write([made])
            return _Tried(guess.merge, verdict=guess.verdict)
        merged = await self.ports.workspaces.merge(work.base, head, work.tree)
        merged, remade = await self._remade(child, merged)
        merge = Merge(work.base, head, work.tree, merged.tree, self._needed(child), self.book.task.probes)
        if merged.conflicts:
            made = e.ChildMerged(step.name, merged.tree, merged.conflicts, both=merged.both, remade=remade)
            await self.book.write([made])
            why = f"git could not join them in {_listed(merged.conflicts)}."
            return _Tried(merge, why, merged.conflicts, merged.says)
        car.comes_to(merged.tree)
        verdict = await self._proven(child, work, merge)
        await self.book.write([e.ChildMerged(step.name, merged.tree, (), verdict, merged.both, remade)])
        if verdict.ruling == "passed":
            return _Tried(merge, verdict=verdict)
        why = _refused(verdict)
        if not merged.both:
            return _Tried(merge, why)
        # Taking both additions was not enough: whoever decides sees them apart.
        return _Tried(replace(merge, tree=merged.marked), why, merged.both, ("",) * len(merged.both))

    def _needed(self, child: Task) -> tuple[Needed, ...]:
        """The checks of the step itself and of those that landed meanwhile, with the tests that passed."""
        task = self.book.task
        steps = {each.name: each for each in task.steps}
        needed = [self.need(child)]
        for other in joining.finished_beside(task, child.base):
            if other.child in steps and other.task:
                check = joining.check_of(steps[other.child])
                needed.append(Needed(check, below(task.id, other.task), other.cases))
        return tuple(needed)

    async def _proven(self, child: Task, work: Task, merge: Merge) -> Verdict:
        """The step's check at the merged head, in its own workspace. What it did to tests was judged before; here only
        results count."""
        task = replace(work, id=child.id, tree=merge.tree, step=replace(child.step, may_edit_tests=True))
        workspace = await self.ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
        await workspace.restore(merge.tree)
        proof = Proof(self.run, self.ports, task, merge, workspace, whole_check=not self._last(child))
        verdict = await proof.verdict()
        return await self._probed(task, merge, verdict) if verdict.ruling == "passed" else verdict

    def _last(self, child: Task) -> bool:
        """The goal is judged next: its check runs then, on the tree that this step comes to."""
        task = self.book.task
        others = (each.name for each in task.steps if each.name != child.step.name)
        return task.id == GOAL and all(name in task.settled for name in others)

    async def _still_accepted(self, step: Step, child: Task, work: Task) -> _Tried:
        """The step began where the head still is. Its check was seen to pass on this very tree; the goal's whole check
        and what finished steps have passed were not."""
        accepted = self.book.task.probes
        if work is not child or work.tree == work.base or child.verdict is None:
            return _Tried()
        merge = Merge(work.base, self.book.task.tree, work.tree, work.tree, self._needed(child), accepted)
        verdict = child.verdict
        if not self._last(child):
            workspace = await self.ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
            verdict = await Proof(self.run, self.ports, work, merge, workspace).whole(verdict, {verdict.command})
        if verdict.ruling == "passed":
            verdict = await self._probed(work, replace(merge, needed=()), verdict)
        if verdict.ruling == "passed":
            return _Tried()
        await self.book.write([e.ChildMerged(step.name, work.tree, (), verdict)])
        return _Tried(merge, _refused(verdict))

    async def _probed(self, task: Task, merge: Merge, verdict: Verdict) -> Verdict:
        """The verdict with what the probes say that passed before: on either side, and of all finished steps."""
        verifier = self.ports.verifier
        check = await verifier.find(task) if merge.probes else None
        if check is None:
            return verdict
        began = self.ports.clock()
        results = await verifier.probe(self.run, task, check, merge.probes, partial(self.ports.progress, task.id))
        verdict = replace(verdict, seconds=verdict.seconds + self.ports.clock() - began)
        outcomes = {result.name: result for result in results}
        failing = [probe for probe in merge.probes if outcomes[probe.name].outcome == "failed"]
        if not failing:
            return verdict
        return replace(
            verdict,
            ruling="failed",
            reason=f"a probe that passed before the merge fails: {failing[0].says}",
            failed=len(failing),
            failures=tuple(Failure(probe.name, "regression", told(probe, outcomes[probe.name])) for probe in failing),
        )

    async def _remade(self, child: Task, merged: Merged) -> tuple[Merged, tuple[str, ...]]:
        """Lock files that both changed are made again by their own program, out of what both wrote elsewhere; what it
        cannot do stays a conflict."""
        locks = [path for path in merged.conflicts if remake(path)]
        if not locks or len(locks) < len(merged.conflicts):  # It cannot read what has markers in it.
            return merged, ()
        ports, rules = self.ports, self.run.rules
        workspace = await ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
        await workspace.restore(merged.tree)
        for path in locks:
            folder = path.rpartition("/")[0] or "."
            argv = ["sh", "-c", f"cd {shlex.quote(str(workspace.root / folder))} && {remake(path)}"]
            say = partial(ports.progress, child.id)
            done = await ports.sandbox.run(
                argv, workspace=workspace, timeout=rules.check_timeout, limit=rules.kept, progress=say
            )
            if done.exit_status != 0:
                return merged, ()
        made = await workspace.snapshot()
        changed = {change.path for change in await ports.workspaces.changes(merged.tree, made)}
        if not changed <= set(locks):
            return merged, ()
        return replace(merged, tree=made, conflicts=(), says=()), tuple(locks)

    async def _brief(self, step: Step, child: Task, tried: _Tried) -> str:
        merge = tried.merge
        assert merge is not None
        texts = await self.ports.workspaces.texts(merge.tree, tried.conflicts)
        beside = joining.finished_beside(self.book.task, child.base)
        told = joining.conflicts(tried.conflicts, tried.says, texts)
        values = {
            "why": tried.why,
            "theirs": joining.intent(child.step, child.claim or ""),
            "ours": joining.intents(self.book.task, beside, tried.conflicts),
            "conflicts": context.section("The conflicts", told),
        }
        return context.render(self.ports.prompt("merge"), values)


def _refused(verdict: Verdict) -> str:
    probes = [failure.text for failure in verdict.failures if failure.text.startswith("### Probe")]
    return "\n\n".join((f"Joined, they do not pass: {verdict.reason}", *probes))


def _listed(paths: tuple[str, ...]) -> str:
    return ", ".join(f"`{path}`" for path in paths)
