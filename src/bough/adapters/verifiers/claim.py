"""What carries the claim: tests that failed before or are new, and pass now. They are asked twice.

The canary: with wrong expectations they must fail. It follows the claim, whatever changed: code that equals anything
passes every test without touching one. The plain program: what the tests do, without a test run around it. Code that is
right only where it is tested fails there as before the work.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence

from bough.adapters.verifiers.ask_original_tests import OriginalTests, Question
from bough.adapters.verifiers.check_runner import CheckRunner, Say, Work
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.verdict import canary, original_tests, rulings
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.plain_program import PlainResult, Source, make_plain_check, read_result
from bough.core.verdict.registry import PLAIN
from bough.ports import Workspace, Workspaces

SINGLY = 20.0
"""Seconds in which a check whose tests have no names is asked about its expectations one by one."""
MOST_SINGLE = 6
"""Expectations that are asked about one by one at the most."""
NOT_ASKED = "no expected value was found that could be made wrong"
FAILS = "fails, as it should, when its expected values are made wrong"
ALL_FAIL = "tests fail, as they should, when their expected values are made wrong"
PASSES = "also passes with wrong expected values: it proves nothing"
TELLS = "fails as before the work when the same code runs as a plain program: the work tells whether it is tested"


class CheckedWork(Work, eq=False):
    """A check that ran on a task's tree, with everything that its verdict is based on."""

    workspace: Workspace
    say: Say
    question: Question | None
    """None: nothing on the test side changed since the run's base."""
    ran: CheckRun
    flaky: tuple[str, ...]
    known: Baseline
    """What the check says at the task's base."""
    canary: str = ""
    """The result of the canary, once it ran."""
    unfalsified: bool = False
    """No expected value could be made wrong."""


class ClaimTest:
    def __init__(self, workspaces: Workspaces, texts: Texts, runner: CheckRunner, originals: OriginalTests) -> None:
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner
        self._originals = originals
        self._drawn: dict[tuple[str, ...], list[str]] = {}

    async def ask(self, work: CheckedWork) -> str:
        """The reason why the claim is not proven, when it is not. The work gets what came of wrong expectations."""
        repaired, added = original_tests.find_carrying(work.ran.report, work.known.report)
        tests = self._draw(work, [*repaired, *added])
        if not tests and work.ran.report.cases:
            return ""
        old, new = [test for test in tests if test in repaired], [test for test in tests if test not in repaired]
        why, done = await self._ask_plainly(work, old, new)
        if why:
            return why
        if not tests:
            return await self._ask_whole(work)
        return await self._ask_wrongly(work, old, new, done)

    def _draw(self, work: CheckedWork, claims: list[str]) -> list[str]:
        """Choose the tests to ask: those that the request names first, then others by chance, so that nobody can
        foresee them. The same claim always gets the same ones."""
        key = tuple(claims)
        if key not in self._drawn:
            shuffled = random.SystemRandom().sample(claims, len(claims))
            request = f"{work.run.plan.goal.instructions}\n{work.task.step.instructions}"
            self._drawn[key] = canary.choose_claim(shuffled, request)
        return self._drawn[key]

    # ── with wrong expectations ────────────────────────────────────────────────────────────────────────────────────

    async def _ask_wrongly(self, work: CheckedWork, old: list[str], new: list[str], done: set[str]) -> str:
        """Tests that failed before are asked as they were; new ones as they are. `done`: a plain program has asked
        them."""
        task, tests = work.task, [*old, *new]
        after = await self._texts.of(task.tree, work.check.command)
        if not original_tests.has_results(work.known) and canary.asserts_nothing(after, tests):
            return f"{tests[0]} asserts nothing about the code"
        base = work.question.base if work.question is not None else task.tree
        running = (
            self._originals.run_tests(work, task.tree, tree, only, falsify=True)
            for tree, group in ((base, old), (task.tree, new))
            if (only := [test for test in group if test not in done])
        )
        results = [again for again in await asyncio.gather(*running) if again.falsified]
        # Some runners know files only: a file is one test to them, whatever it asserts.
        nameless = not work.ran.report.cases or all(test in after for test in tests)
        if not results and not done and nameless:
            return await self._ask_whole(work)
        for again in results:
            names = sorted({original_tests.strip_parameters(id) for id in again.falsified})
            silent = not again.report.cases and again.exit_status == 0
            if passing := names if silent else rulings.filter_passing(again.report, names):
                return f"{passing[0]} {PASSES}"
        asked = [*sorted(done), *(test for again in results for test in again.falsified)]
        work.unfalsified = not asked
        rest = f"{NOT_ASKED} in {rulings.count_tests(len(tests) - len(asked))}"
        which = f"{asked[0]} {FAILS}" if len(asked) == 1 else f"{len(asked)} {ALL_FAIL}"
        work.canary = rest if not asked else f"{which}; {rest}" if len(asked) < len(tests) else which
        return ""

    async def _ask_whole(self, work: CheckedWork) -> str:
        """A check whose tests have no names: all expected values of the files that it names, where it failed before or
        these files changed."""
        if work.known.exit_status == 0 and work.question is None:
            return ""
        ground, texts = await self._find_ground(work)
        most = min(MOST_SINGLE, int(SINGLY / max(work.known.seconds, 1.0)))
        wrong = await asyncio.to_thread(canary.falsify_files, texts, work.check.command, most > 1)
        for each in random.SystemRandom().sample(wrong, min(len(wrong), max(most, 1))):
            # Perhaps it does not run what these files say. Then it does not mind what they say either.
            nonsense = dict.fromkeys(each, canary.NONSENSE)
            if not await self._fails(work, ground, each) and await self._fails(work, ground, nonsense):
                return f"it {PASSES}"
        work.unfalsified = not wrong
        work.canary = f"the check {FAILS}" if wrong else NOT_ASKED
        return ""

    async def _find_ground(self, work: CheckedWork) -> tuple[str, Mapping[str, str]]:
        """The new code with the original tests, and its texts."""
        ground = work.question.tree if work.question is not None else work.task.tree
        return ground, await self._texts.of(ground, work.check.command)

    async def _fails(self, work: CheckedWork, ground: str, texts: Mapping[str, str]) -> bool:
        tree = await self._workspaces.graft(ground, ground, (), texts)
        ran = await self._runner.once(work, tree)
        return ran.finished.exit_status != 0

    # ── as a plain program ─────────────────────────────────────────────────────────────────────────────────────────

    async def _ask_plainly(self, work: CheckedWork, old: list[str], new: list[str]) -> tuple[str, set[str]]:
        """Why the claim does not hold outside a test run; empty: nothing shows that. And the tests that fail there with
        wrong expectations, as they should. A failure counts only where the code of the base fails in the same way: what
        a plain program cannot provide is not the work's fault."""
        folder = work.run.folder and work.task.step.test_command  # It runs there, and a plain program at the top.
        if folder or (not old and not new and work.known.exit_status == 0):
            return "", set()
        ground, texts = await self._find_ground(work)
        after = await self._texts.of(work.task.tree, work.check.command)
        sources = [each for each in ((texts, old), (after, new)) if each[1]] or [(texts, [])]
        found = await self._run_plainly(work, sources, ground)
        if found is None or found.hollow:
            return (f"{min(found.hollow)} {PASSES}" if found else ""), set()
        if not found.failures:
            return "", found.failing
        base = work.question.base if work.question is not None else work.task.base
        before = await self._run_plainly(work, [(await self._texts.of(base, work.check.command), old)], base)
        # What does not pass there as it is shows nothing with wrong expectations: the runner asks it.
        same = sorted(found.failures & before.failures) if before is not None else []
        said = f"{same[0].partition(' ')[2]} - " if same and old else ""
        return (f"{said}it {TELLS}" if same else ""), set()

    async def _run_plainly(self, work: CheckedWork, sources: Sequence[Source], tree: str) -> PlainResult | None:
        paths = await self._workspaces.paths(tree)
        plain = await asyncio.to_thread(make_plain_check, sources, paths, work.check.command)
        if plain is None:
            return None
        made = await self._workspaces.graft(tree, tree, (), plain.files)
        ran = await self._runner.once(work.with_command(plain.command, PLAIN), made)
        return read_result(ran.text, ran.finished.exit_status, plain)
