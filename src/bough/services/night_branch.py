"""Merges the proven goals of a night (one pass through a backlog) into one branch. Each goal's run is a step of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.workspaces import deliver
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session, StartingPoint
from bough.core import events as e
from bough.core.backlog.decide import list_proven
from bough.core.backlog.entry import GoalReport
from bough.core.backlog.state import TOGETHER, Backlog, BacklogItem, Night
from bough.core.errors import BoughError
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan, Step
from bough.core.tree.task_state import State
from bough.services.backlog import is_of, make_listing
from bough.views.run_view import Outcome


async def make_branch_once(
    session: Session, run: str, branch: str, at: str, *, steps: bool = False, before: str = ""
) -> tuple[str, str]:
    """Create a branch with a run's work, starting from the commit `at`, or find the one that a killed process made;
    return its name and last commit. An existing branch is reused if its last commit is of this run, and replaced if it
    is the commit `before`; otherwise it belongs to somebody else, and another name is chosen."""
    root = session.root
    at = at if await asyncio.to_thread(deliver.find_commit, root, at) else "HEAD"  # It may be gone after a rebase.
    for number in count(1):
        name = branch if number == 1 else f"{branch}-{number}"
        tip = await asyncio.to_thread(deliver.find_commit, root, f"refs/heads/{name}")
        if tip and await asyncio.to_thread(deliver.find_run, root, tip) == run:
            return name, tip
        if tip and tip == before:
            await asyncio.to_thread(deliver.remove_branch, root, name, tip)
        if not tip or tip == before:
            return name, await session.branch(run, name, steps=steps, at=at)
    raise AssertionError("some name is free")


async def find_conflicts(
    session: Session, backlog: Backlog, item: BacklogItem, report: GoalReport
) -> dict[str, tuple[str, ...]]:
    """Find finished goals of this night whose work conflicts with this goal's work, and the files in conflict. Only
    goals that changed the same files are tried."""
    found: dict[str, tuple[str, ...]] = {}
    task = await session.task(item.run)
    for other in backlog.items.values():
        shared = other.report is not None and other.report.branch and set(report.files) & set(other.report.files)
        if other.name == item.name or not shared or other.night != item.night or other.removed is not None:
            continue
        done = await session.task(other.run)
        merged = await session.workspaces.merge(task.base, done.tree, task.tree) if done.base == task.base else None
        if merged is not None and merged.conflicts:
            found[other.name] = merged.conflicts
    return found


class NightBranch(Struct, frozen=True):
    """Merges one goal after the other, and proves each merge by the whole check and by the tests and probes that proved
    the goals merged before."""

    session: Session
    backlog: Backlog
    night: Night
    choices: Choices
    jobs: int
    post: Callable[[e.AnyEvent], Awaitable[None]]

    async def join(self, watch: RunObserver) -> None:
        proven = list_proven(self.backlog)
        done = [item for item in proven if item.removed is None]
        lost = {item.name: "its run was removed" for item in proven if item.removed is not None}
        if not done:
            await self.post(e.NightJoined(left_out=lost, why="no goal is done and proven"))
            return
        name = self.night.together or await self.session.find_free_name()
        if not self.night.together:
            await self.post(e.NightJoining(name))
        try:
            joined = await self._describe(await self._run(name, done, watch))
        except (BoughError, OSError) as error:
            if watch.stop.requested:
                raise
            joined = e.NightJoined(left_out=dict.fromkeys((item.name for item in done), str(error)), why=str(error))
        await self.post(replace(joined, left_out=joined.left_out | lost))

    async def _run(self, name: str, done: list[BacklogItem], watch: RunObserver) -> Outcome:
        session, listing = self.session, make_listing(self.backlog, TOGETHER)
        choices = replace(self.choices, jobs=self.jobs, cost=None, continues="")
        if is_of(await session.run(name), listing):
            return await session.resume(name, choices, watch)
        rules = choices.rules(session.config.limits)
        proof = replace(rules.acceptance, proof="check", examine="never")  # Each goal was examined before.
        point = StartingPoint(name, self.night.started.base, "", listing, replace(rules, acceptance=proof))
        steps = tuple([await self._make_step(item) for item in done])
        goal = Step(GOAL, f"The work of {len(done)} goals, together.", steps=steps, parallel=True, join="settled")
        return await session.start(Plan(goal), choices, watch, point)

    async def _make_step(self, item: BacklogItem) -> Step:
        verdict = (await self.session.task(item.run)).acceptance.verdict
        command = verdict.command if verdict is not None else ""
        step = Step(item.name, item.entry.goal, item.entry.title[:200], work=item.run)
        return replace(step, test_command=command or None, requires_testing=bool(command))

    async def _describe(self, outcome: Outcome) -> e.NightJoined:
        ends = (await self.session.task(outcome.run)).children.settled
        landed = tuple(name for name, end in ends.items() if end.state is State.COMPLETED)
        left_out = {name: end.why for name, end in ends.items() if end.state is not State.COMPLETED}
        if not outcome.completed or not landed:
            return e.NightJoined(landed=landed, left_out=left_out, why=outcome.summary or "nothing could be merged")
        wanted, session, before = self.night.started.together, self.session, self.night.joined
        if not self.night.started.commit:
            why = "there is no git repository with a commit here"
            return e.NightJoined(landed=landed, left_out=left_out, why=why)
        try:
            branch, commit = await make_branch_once(
                session,
                outcome.run,
                wanted,
                self.night.started.commit,
                steps=True,
                before=before.commit if before is not None else "",
            )
        except BoughError as error:
            return e.NightJoined(landed=landed, left_out=left_out, why=str(error))
        why = f"{wanted} is not a branch of this list" if branch != wanted else ""
        return e.NightJoined(branch, commit, landed, left_out, why)
