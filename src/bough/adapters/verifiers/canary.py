"""The canary: the tests that carry the claim run once with wrong expectations, and must fail.

It follows the claim, whatever changed: code that equals anything passes every test without touching one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping

from msgspec.structs import replace

from bough.adapters.verifiers.ask_original_tests import OriginalTests, Question
from bough.adapters.verifiers.check_runner import CheckRunner
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Check
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.core.verdict import canary, original_tests, rulings
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.texts import Over
from bough.ports import Workspaces

QUICK = 2.0
"""Seconds. A check whose tests have no names and that takes no longer is asked about its expectations one by one."""
MOST_SINGLE = 6
NOT_ASKED = "no expected value was found that could be made wrong"
FAILS = "fails, as it should, when its expected values are made wrong"
PASSES = "also passes with wrong expected values: it proves nothing"


class Canary:
    def __init__(self, workspaces: Workspaces, texts: Texts, runner: CheckRunner, originals: OriginalTests) -> None:
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner
        self._originals = originals
        self._drawn: dict[tuple[str, ...], list[str]] = {}

    async def ask(
        self,
        run: Run,
        task: Task,
        check: Check,
        ran: CheckRun,
        known: Baseline,
        question: Question | None,
        looks_around: bool,
    ) -> tuple[str, str]:
        """What came of it, and the reason why the tests prove nothing, when they do not. `looks_around`: the new code
        may notice that only a few tests run, so all do."""
        tests = self._draw(run, task, rulings.find_carrying(ran.report, known.report))
        if not tests:
            return ("", "") if ran.report.cases else await self._ask_whole(run, task, check, known, question)
        failed = any(case.id == tests[0] for case in known.report.failing)
        base = question.base if failed and question is not None else task.tree
        after = await self._texts.of(task.tree, check.command)
        if not original_tests.has_results(known) and canary.asserts_nothing(after, tests):
            return "", f"{tests[0]} asserts nothing about the code"
        again = await self._originals.run_tests(
            run, task, check, product=task.tree, tests=base, only=tests, falsify=True, whole=looks_around
        )
        if not again.falsified:
            if not ran.report.cases:
                return await self._ask_whole(run, task, check, known, question)
            return f"{NOT_ASKED} in {_count(len(tests))}", ""
        names = sorted({original_tests.strip_parameters(id) for id in again.falsified})
        passing = rulings.filter_passing(again.report, names)
        if not again.report.cases and again.exit_status == 0:
            passing = names
        if passing:
            return "", f"{passing[0]} {PASSES}"
        left = len(tests) - len(again.falsified)
        more = f"; {NOT_ASKED} in {_count(left)}" if left else ""
        if len(again.falsified) == 1:
            return f"{again.falsified[0]} {FAILS}{more}", ""
        return f"{len(again.falsified)} tests fail, as they should, when their expected values are made wrong{more}", ""

    def _draw(self, run: Run, task: Task, claims: list[str]) -> list[str]:
        """At most so many: those that the request names, and others by chance, which nobody can foresee. The same ones
        whenever the claim is the same."""
        key = tuple(claims)
        if key not in self._drawn:
            shuffled = random.SystemRandom().sample(claims, len(claims))
            request = f"{run.plan.goal.instructions}\n{task.step.instructions}"
            self._drawn[key] = canary.choose_claim(shuffled, request)
        return self._drawn[key]

    async def _ask_whole(
        self, run: Run, task: Task, check: Check, known: Baseline, question: Question | None
    ) -> tuple[str, str]:
        """A check whose tests have no names: all expected values of the files that it names, where it failed before or
        these files changed."""
        if known.exit_status == 0 and question is None:
            return "", ""
        after = await self._texts.of(task.tree, check.command)
        ground, texts = (question.tree, Over(question.before, after)) if question is not None else (task.tree, after)
        quick = known.seconds < QUICK
        wrong = await asyncio.to_thread(canary.falsify_files, texts, check.command, quick)
        for each in random.SystemRandom().sample(wrong, min(len(wrong), MOST_SINGLE)):
            # Perhaps it does not run what these files say. Then it does not mind what they say either.
            if not await self._fails(run, task, check, ground, each) and await self._fails(
                run, task, check, ground, dict.fromkeys(each, canary.NONSENSE)
            ):
                return "", f"it {PASSES}"
        return f"the check {FAILS}" if wrong else NOT_ASKED, ""

    async def _fails(self, run: Run, task: Task, check: Check, ground: str, texts: Mapping[str, str]) -> bool:
        tree = await self._workspaces.graft(ground, ground, (), texts)
        return (await self._runner.once(run, task, replace(check, dependents=()), tree)).finished.exit_status != 0


def _count(tests: int) -> str:
    return "1 test" if tests == 1 else f"{tests} tests"
