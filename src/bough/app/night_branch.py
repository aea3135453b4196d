"""Bring the finished branches of a night together: a run whose steps are finished runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.workspaces import deliver
from bough.app.backlog import is_of, make_listing
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session, StartingPoint
from bough.core import events as e
from bough.core.backlog.state import Backlog, BacklogItem, Night
from bough.core.errors import BoughError, UsageError
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan, Step
from bough.core.tree.task_state import State
from bough.views.run_view import Outcome

TOGETHER = "@together"
"""Whoever holds this brings the branches together."""


async def make_branch_once(session: Session, run: str, branch: str, at: str, *, steps: bool = False) -> str:
    """A branch from that commit with the work of a run, or the one that a process made that was killed since."""
    try:
        return await session.branch(run, branch, steps=steps, at=at)
    except UsageError:
        if commit := await asyncio.to_thread(deliver.find_commit, session.root, f"refs/heads/{branch}"):
            return commit
        raise


class NightBranch(Struct, frozen=True):
    """Each is merged onto the others and proven there, by the whole check and by the tests and probes that carried the
    goals before it."""

    session: Session
    backlog: Backlog
    night: Night
    choices: Choices
    jobs: int
    post: Callable[[e.AnyEvent], Awaitable[None]]

    async def join(self, watch: RunObserver) -> None:
        done = [
            item
            for item in self.backlog.items.values()
            if item.night == self.night.number and item.report is not None
            if item.report.status == "completed" and item.report.files
        ]
        if not done:
            await self.post(e.NightJoined(why="no goal is done and proven"))
            return
        name = self.night.together or await self.session.find_free_name()
        if not self.night.together:
            await self.post(e.NightJoining(name))
        try:
            await self.post(await self._describe(await self._run(name, done, watch)))
        except (BoughError, OSError) as error:
            if watch.stop.requested:
                raise
            await self.post(e.NightJoined(why=str(error)))

    async def _run(self, name: str, done: list[BacklogItem], watch: RunObserver) -> Outcome:
        session, listing = self.session, make_listing(self.backlog, TOGETHER)
        choices = replace(self.choices, jobs=self.jobs, cost=None, continues="")
        if is_of(await session.run(name), listing):
            return await session.resume(name, choices, watch)
        rules = choices.rules(session.config.limits)
        proof = replace(rules.acceptance, proof="check", examine="never")  # Each goal was proven by itself.
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
        branch, session = self.night.started.together, self.session
        try:
            at = self.night.started.commit or "HEAD"
            commit = await make_branch_once(session, outcome.run, branch, at, steps=True)
        except BoughError as error:
            return e.NightJoined(landed=landed, left_out=left_out, why=str(error))
        return e.NightJoined(branch, commit, landed, left_out)
