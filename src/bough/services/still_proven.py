"""Checks whether a run's work is still proven after main has moved. Both are merged in a private checkout; the probes
that proved the requirements run first, then the whole check. No model is called, and the person's files stay unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from bough.adapters.workspaces.given_change import PersonCommits
from bough.app.choices import Choices
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.backlog.decide import list_proven
from bough.core.backlog.state import Backlog
from bough.core.errors import BoughError, UsageError
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.core.tree.task_result import list_live_probes
from bough.ports import Merged
from bough.services.backlog import list_backlogs, load_backlog
from bough.services.recheck import Measuring, open_finished
from bough.views.formatting import name_some
from bough.views.run_view import RunView

MAINS = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD", "HEAD")
THE_CHECK = "the check"
"""Stands for the tests if none is known by name."""
FAR = 1_000
"""How many commits of main are searched at most for the one that broke the work."""


class CarriedProof(Struct, frozen=True):
    """The tests and probes (extra tests) that proved a run's work, with the trees before and after it."""

    base: str
    head: str
    tests: tuple[str, ...]
    probes: tuple[Probe, ...]


def find_carried(base: str, task: Task) -> CarriedProof:
    verdict, known = task.acceptance.verdict, task.examination
    tests = (*verdict.fixed, *verdict.added) if verdict is not None else ()
    passed = [one for one in list_live_probes(task) if (ran := known.results.get(one.name)) and ran.outcome == "passed"]
    return CarriedProof(base, task.tree, tests, tuple(passed))


async def list_proven_runs(session: Session, what: str) -> list[str]:
    """List the runs to check again: the proven runs of the backlog called `what`, or else the run called `what`, or all
    proven runs of the project if it is empty."""
    if what and what in await list_backlogs(session):
        found = [item.run for item in list_proven(await load_backlog(session, what)) if item.removed is None]
    elif what:
        return [await session.find(what)]
    else:
        views = [await session.view(name) for name in await session.store.runs()]
        found = [view.name for view in views if view.status == "completed" and _has_changes(view)]
    if not found:
        raise UsageError(f"No work of {what or 'this project'} is proven: nothing to check again. See `bough runs`.")
    return found


def _has_changes(view: RunView) -> bool:
    goal = view.tasks.get(GOAL)
    return goal is not None and goal.verdict is not None and bool(goal.verdict.command) and goal.tree != goal.base


async def recheck_night(session: Session, backlog: Backlog, choices: Choices) -> list[str]:
    """Check the proven work of a night (one pass through a backlog) again, if main has new commits since its start.
    Return a sentence about each goal that could not be checked."""
    commits, night = PersonCommits(session.root), backlog.open_night
    if night is None or not (began := night.started.commit):
        return []
    tip = await asyncio.to_thread(_find_tip, commits, "")
    if await asyncio.to_thread(commits.ask, "merge-base", tip, began) == tip:
        return []
    failed = []
    for item in list_proven(backlog):
        if item.removed is None and item.night == night.number:
            try:
                await recheck_run(session, item.run, "", choices)
            except BoughError as error:
                failed.append(f"{item.name} could not be checked on the current main: {error}")
    return failed


async def recheck_run(session: Session, name: str, onto: str, choices: Choices) -> e.Rechecked:
    """Merge a run's work with main (or the commit `onto`), run its evidence, and record the result."""
    commits = PersonCommits(session.root)
    async with open_finished(session, name, choices, passed=True) as (run, task, measuring):
        tip = await asyncio.to_thread(_find_tip, commits, onto)
        event = await MovedMain(session, commits, measuring, find_carried(run.base, task), tip).judge(onto)
    await session.record(name, event)
    return event


def _find_tip(commits: PersonCommits, onto: str) -> str:
    if onto:
        return commits.require(onto)
    if not (tip := next((found for name in MAINS if (found := commits.find(name))), "")):
        raise UsageError("There is no git repository with a commit here: commit your files, or name a branch.")
    return tip


class MovedMain(Struct, frozen=True):
    """Judges whether the evidence for a run's work still holds on main, which may have moved."""

    session: Session
    commits: PersonCommits
    measuring: Measuring
    carried: CarriedProof
    tip: str

    async def judge(self, onto: str) -> e.Rechecked:
        merged = await self._merge(self.tip)
        if merged.conflicts:

            async def conflicts(commit: str) -> bool:
                return bool((await self._merge(commit)).conflicts)

            return e.Rechecked(onto, self.tip, "conflicts", await self._find_first(conflicts), merged.conflicts[0])
        failing = await self._find_failing(merged.tree)
        if not failing:
            return e.Rechecked(onto, self.tip, "proven")
        culprit = await self._find_first(lambda commit: self._breaks(commit, failing))
        return e.Rechecked(onto, self.tip, "broken", culprit, f"{name_some(failing)} fails")

    async def _bring(self, commit: str) -> str:
        tree = await asyncio.to_thread(self.commits.find_tree, commit)
        await self.session.workspaces.bring(tree)
        return tree

    async def _merge(self, commit: str) -> Merged:
        """Merge the work with a commit. Lines that both add in the same place count as a conflict here, although
        bough's own merges keep both, because the person's git would stop there."""
        merged = await self.session.workspaces.merge(self.carried.base, await self._bring(commit), self.carried.head)
        return Merged(merged.tree, (*merged.conflicts, *merged.both))

    async def _find_failing(self, merged: str) -> list[str]:
        """Find tests and probes that fail on the merge but not on main alone. Probes run first, because they are quick.
        Every failure must be seen twice."""
        probes = await self._list_failing_probes(merged, self.carried.probes)
        if probes:
            return probes
        ended, tests = await self.measuring.run_tests(merged)
        lost = [name for name in self.carried.tests if name not in tests] if tests else []
        if lost:  # A name that the work itself no longer has either differs in every run, for example by the clock.
            _, own = await self.measuring.run_tests(self.carried.head)
            lost = [name for name in lost if name in own or not own]
        failing = [name for name, outcome in tests.items() if outcome in ("failed", "error")]
        if ended == "passed" and not lost:
            return []
        alone, before = await self.measuring.run_tests(await self._bring(self.tip))
        if not tests and alone == "failed":
            raise UsageError(
                f"`{self.measuring.check.command}` also fails on {self.tip[:10]} without the work, so it proves "
                "nothing: repair that first, or name another commit with --onto."
            )
        new = [name for name in failing if before.get(name) not in ("failed", "error")]
        if new:  # Run them again, to exclude failures by chance.
            _, again = await self.measuring.run_tests(merged, new)
            new = [name for name in new if again.get(name) in ("failed", "error")]
        return [*new, *lost] or ([THE_CHECK] if not failing and ended == "failed" else [])

    async def _list_failing_probes(self, tree: str, probes: tuple[Probe, ...]) -> list[str]:
        for _ in range(2):
            ended = await self.measuring.probe(tree, probes)
            probes = tuple(one for one in probes if ended[one.name] != "passed")
        return [one.name for one in probes]

    async def _breaks(self, commit: str, failing: list[str]) -> bool:
        made = await self._merge(commit)
        if made.conflicts:
            return True
        merged = made.tree
        probes = tuple(one for one in self.carried.probes if one.name in failing)
        if probes:
            return bool(await self._list_failing_probes(merged, probes))
        own = [name for name in failing if name in self.carried.tests]
        # A test that only main has may not exist in older commits, and a runner that cannot find one test runs none.
        ended, tests = await self.measuring.run_tests(merged, own if own == failing else ())
        if not tests or failing == [THE_CHECK]:
            return ended == "failed"
        return any(tests.get(name, "failed" if name in own else "") in ("failed", "error") for name in failing)

    async def _find_first(self, is_bad: Callable[[str], Awaitable[bool]]) -> str:
        """Find the first bad commit of main since the work began, by bisection; empty if there are no commits since."""
        commits = await asyncio.to_thread(self.commits.list_since, self.carried.base, self.tip, FAR)
        first, last = 0, len(commits) - 1
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if await is_bad(commits[middle]) else (middle + 1, last)
        return commits[last] if commits else ""
