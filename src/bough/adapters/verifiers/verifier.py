"""Proves a task by evidence, in three parts: find its check, run it, judge the result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from bough.adapters.verifiers.ask_original_tests import OriginalTests
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.verifiers.check_finder import CheckFinder
from bough.adapters.verifiers.check_runner import CheckRunner, Say
from bough.adapters.verifiers.claim import ClaimTest
from bough.adapters.verifiers.judge import Judge
from bough.adapters.verifiers.prober import Prober
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.probes import Form, Probe, Probed
from bough.core.acceptance.verdict import Check, Failure
from bough.core.events import BaseChecked
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.core.verdict import rulings
from bough.core.verdict.check_run import CRASHED, MixedRun
from bough.ports import Judgement, Sandbox, Workspace, Workspaces


class ProjectVerifier:
    def __init__(
        self,
        sandbox: Sandbox,
        workspaces: Workspaces,
        home: Path,
        environment: CheckEnvironment = CheckEnvironment(),  # noqa: B008 - it is frozen
    ) -> None:
        texts = Texts(workspaces)
        self._environment = environment
        self._finder = CheckFinder(workspaces, texts, environment)
        self._runner = CheckRunner(sandbox, workspaces, texts, home, environment)
        self._originals = OriginalTests(workspaces, texts, self._runner)
        claim = ClaimTest(workspaces, texts, self._runner, self._originals)
        self._judge = Judge(texts, self._runner, self._originals, claim)
        self._prober = Prober(sandbox, workspaces, texts, self._runner)
        self._begun: set[asyncio.Task[None]] = set()

    async def find(self, task: Task) -> Check | None:
        return await self._finder.find(task)

    def begin(self, run: Run, task: Task) -> None:
        begun = asyncio.create_task(self._begin(run, task))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)

    async def _begin(self, run: Run, task: Task) -> None:
        await self._runner.sweep(run)
        check = await self.find(replace(task, tree=task.base))
        if check is not None:
            await asyncio.wait([self._runner.at_tree(run, task, check, task.base)])

    def before(self, task: Task, check: Check) -> str:
        known = self._runner.baselines.look(task.base, check)
        return rulings.describe_baseline(known, task.rules.accept_failing, check.runner) if known is not None else ""

    async def at_base(self, run: Run, task: Task, check: Check, progress: Say) -> BaseChecked:
        known = await self._runner.at_tree(run, task, check, task.base, progress)
        return self._environment.told(check, known, task.rules.accept_failing)

    async def judge(self, run: Run, task: Task, check: Check | None, workspace: Workspace, progress: Say) -> Judgement:
        return await self._judge.judge(run, task, check, workspace, progress)

    async def regressions(
        self, run: Run, task: Task, check: Check, before: Sequence[str], progress: Say
    ) -> tuple[Failure, ...]:
        return await self._judge.regressions(run, task, check, before, progress)

    async def run_tests(
        self,
        run: Run,
        task: Task,
        check: Check,
        *,
        product: str,
        tests: str,
        only: Sequence[str] = (),
        falsify: bool = False,
    ) -> MixedRun:
        return await self._originals.run_tests(
            run, task, check, product=product, tests=tests, only=only, falsify=falsify
        )

    async def failed_before(self, run: Run, task: Task, check: Check) -> bool:
        known = await self._runner.at_tree(run, task, check, task.base)
        return known.exit_status is not None and 0 < known.exit_status < CRASHED

    async def form(self, task: Task, check: Check) -> tuple[Form, str]:
        return await self._prober.form(task, check)

    async def probe(
        self, run: Run, task: Task, check: Check, chosen: Sequence[Probe], progress: Say, *, once: bool = False
    ) -> tuple[Probed, ...]:
        return await self._prober.probe(run, task, check, chosen, progress, once)

    async def close(self) -> None:
        for begun in self._begun:
            begun.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._runner.close()
