"""Proves a task by evidence, in three parts: find its check, run it, judge the result."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from bough.adapters.verifiers.ask_original_tests import OriginalTests
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.verifiers.check_runner import CheckRunner, Say, Work
from bough.adapters.verifiers.claim import ClaimTest
from bough.adapters.verifiers.judge import Judge, rule_without_check
from bough.adapters.verifiers.prober import Prober
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.probes import Form, Probe, Probed
from bough.core.acceptance.verdict import Check, Failure
from bough.core.events import BaseChecked
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.core.verdict import rulings
from bough.core.verdict.check_run import CRASHED, Baseline, MixedRun
from bough.core.verdict.discover import discover_check, list_checks
from bough.core.verdict.language import DATA, is_test_path
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.project_check import find_runner_behind, shows_runner
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import find_language, find_runner
from bough.core.verdict.stated_commands import rank_told
from bough.core.verdict.test_files import is_code, is_foreign, is_product
from bough.core.verdict.texts import Read
from bough.ports import Sandbox, Workspace, Workspaces
from bough.ports.verifier import Judgement

BROKEN = "}}} )))\n"
MOST_BROKEN = 500
MOST_TOLD = 60
"""Files that say how a project is tested, and are read for it."""


class CheckFinder:
    """Finds the check that proves a task."""

    def __init__(self, workspaces: Workspaces, texts: Texts, environment: CheckEnvironment) -> None:
        self._environment = environment
        self._workspaces = workspaces
        self._texts = texts
        self.preferred = ""
        """The project's own command that was found to work; empty: none was tried, or the first candidate works."""
        self._told: dict[str, Mapping[str, str]] = {}
        """What was found at the last tree."""
        self.scouted = False
        """A model proposed that command: it is no candidate."""

    async def find(self, task: Task) -> Check | None:
        """The check at the base counts: what the agent writes cannot replace it. One that is named after the task may
        still come, and a runner that runs the tests of the one at the base too."""
        if not task.step.requires_testing:
            return None
        found = await self._find(task)
        return replace(found, environment=self._environment.environment) if found is not None else None

    async def _find(self, task: Task) -> Check | None:
        if task.step.test_command:
            return discover_check(task.step, task.id, (), (await self._texts.of(task.base)).get)
        base, own = await self._find_in(task, task.base)
        now, own_now = await self._find_in(task, task.tree) if task.tree != task.base else (base, own)
        if base is None or now is None:
            return base or now
        runner = find_runner(now.runner)
        wider = runner is not None and base.runner in runner.runs_tests_of
        return now if wider or (own and not own_now) else base

    async def _find_in(self, task: Task, tree: str) -> tuple[Check | None, bool]:
        """The check in a tree, and whether it is the project's own."""
        paths = await self._workspaces.paths(tree)
        read = await self._make_reader(tree, paths)
        where = (self._environment.folder, self._environment.command)
        found = discover_check(task.step, task.id, paths, read, *where, self.preferred)
        own = discover_check(task.step, GOAL, paths, read, *where, self.preferred)
        if found == own and self.scouted:
            return await self.make_scouted(task, self.preferred), True
        return found, found == own

    async def _make_reader(self, tree: str, paths: Sequence[str]) -> Read:
        """Texts that say how tests are run, and those that say which command runs them: CI files, guides."""
        texts = await self._texts.of(tree)
        if tree not in self._told:
            told = sorted((path for path in paths if rank_told(path) or shows_runner(path)), key=rank_told)[:MOST_TOLD]
            self._told = {tree: await asyncio.to_thread(texts.contents.read, told)}
        known, read = self._told[tree], self._environment.reader(texts)
        return lambda path: known[path] if path in known else read(path)

    async def make_scouted(self, task: Task, command: str) -> Check:
        look = ProjectFiles(await self._workspaces.paths(task.base), (await self._texts.of(task.base)).get)
        why = "a model proposed it, and it fails when the product is broken; keep it as `[check] command` in bough.toml"
        return Check(command, why, find_runner_behind(command, look), self._environment.environment)

    async def break_product(self, tree: str) -> str:
        """The tree with text in its product code that no language reads."""
        paths = [path for path in await self._workspaces.paths(tree) if not is_foreign(path)]
        # In a language that nobody wrote a record for, the commonest suffix of what is neither data nor a test.
        others = [path for path in paths if find_suffix(path) not in ("", *DATA) and not is_test_path(path)]
        common = Counter(map(find_suffix, others)).most_common(1)
        guessed = [path for path in others if find_suffix(path) == common[0][0]]
        product = [path for path in paths if is_product(path)] or guessed
        return await self._workspaces.graft(tree, tree, (), dict.fromkeys(product[:MOST_BROKEN], BROKEN))

    async def count_test_files(self, task: Task) -> int:
        """How many files of the base are named like tests, without those of examples: a suite has a test in each."""
        own = [path for path in await self._workspaces.paths(task.base) if not is_foreign(path) and is_code(path)]
        return sum(find_language(path).is_test_name(path) and not path.startswith("example") for path in own)

    async def list_others(self, task: Task, check: Check) -> list[Check]:
        """The other candidates for a task's check at its base."""
        paths = await self._workspaces.paths(task.base)
        read = await self._make_reader(task.base, paths)
        found = list_checks(task.step, task.id, paths, read, self._environment.folder, self._environment.command)
        named = [replace(other, environment=check.environment) for other in found if other.command != check.command]
        return named if len(named) < len(found) else []


TRYING = 120.0
"""Seconds that other candidates for a check may take together, where the first runs no test."""


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
        self._judge = Judge(workspaces, texts, self._runner, self._originals, claim)
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
            await asyncio.wait([self._runner.at_tree(Work(run, task, check), task.base)])
            await self._runner.reserve(run, task)

    def before(self, task: Task, check: Check) -> str:
        known = self._runner.baselines.look(task.base, check)
        if known is None:
            return ""
        return rulings.describe_baseline(known, task.step.instructions, task.rules.accept_failing, check.runner)

    async def at_base(self, run: Run, task: Task, check: Check, progress: Say, *, fresh: bool = False) -> BaseChecked:
        kept = await self._list_kept(task, check)
        best = (await self._choose(task, kept))[0] if kept else check
        now = await self._run_at_base(run, task, best, progress, fresh)
        if len(kept) > 1 and now.is_telling:  # An earlier process found out which one runs here.
            return self._environment.told(task, *self._prefer(check, kept[0][1], best, now))
        if best is not check:
            now = await self._run_at_base(run, task, check, progress, fresh)
        if not now.ran_tests:
            check, now = await self._try_others(run, task, check, now, progress, fresh)
        return self._environment.told(task, check, now)

    async def _run_at_base(self, run: Run, task: Task, check: Check, say: Say, fresh: bool) -> Baseline:
        if fresh:
            self._runner.baselines.forget(task.base, check)
        return await self._runner.at_tree(Work(run, task, check), task.base, say)

    async def _list_kept(self, task: Task, check: Check) -> list[tuple[Check, Baseline]]:
        """The candidates whose results at the base are known from before, where the first ran no test."""
        first = self._runner.baselines.look(task.base, check)
        if first is None or first.ran_tests:
            return []
        others = await self._finder.list_others(task, check)
        found = ((each, self._runner.baselines.look(task.base, each)) for each in others)
        return [(check, first), *((each, known) for each, known in found if known is not None)]

    async def _try_others(
        self, run: Run, task: Task, check: Check, known: Baseline, say: Say, fresh: bool
    ) -> tuple[Check, Baseline]:
        """The best candidate, where the first runs no test."""
        tried, until = [(check, known)], time.monotonic() + TRYING
        for other in await self._finder.list_others(task, check):
            if (left := until - time.monotonic()) < 1:
                break
            say(f"{check.command} ran no test: trying {other.command}")
            briefly = replace(task, rules=replace(task.rules, check_timeout=min(left, task.rules.check_timeout)))
            tried.append((other, await self._run_at_base(run, briefly, other, say, fresh)))
        best, found = await self._choose(task, tried)
        return self._prefer(check, known, best, found)

    async def _choose(self, task: Task, tried: Sequence[tuple[Check, Baseline]]) -> tuple[Check, Baseline]:
        """The one that runs the most tests; one that lacks something that can be installed comes before one that does
        not even start. Failing tests are no reason to switch: the suite that shows the person's bug is the right one.
        Where one lacks only what can be installed, another takes its place when it runs at least half: a few tests that
        happen to run here prove little."""
        first = tried[0][1]
        least = await self._finder.count_test_files(task) if any(known.lacking for _, known in tried) else 0
        worth = [
            (each, known)
            for each, known in tried
            if (known.ran_tests * 2 >= least and not (first.lacking and known.aside)) or known.lacking or known is first
        ]
        return max(worth, key=lambda one: (one[1].ran_tests, one[1].is_telling, one[1].lacking != ""))

    def _prefer(self, check: Check, known: Baseline, best: Check, found: Baseline) -> tuple[Check, Baseline]:
        if best.command == check.command:
            return check, found
        self._finder.preferred = best.command
        how = "runs no test" if known.started else "times out" if known.exit_status is None else "cannot run here"
        return replace(best, why=f"{best.why}, and `{check.command}` {how}"), found

    async def look_up(self, task: Task) -> tuple[BaseChecked, float] | None:
        check = await self.find(task)
        known = self._runner.baselines.look(task.base, check) if check is not None else None
        if check is None or known is None:
            return None
        best, known = await self._choose(task, await self._list_kept(task, check) or [(check, known)])
        return self._environment.told(task, best, known), self._runner.baselines.find_time(task.base, best)

    def prefer(self, command: str, scouted: bool = False) -> None:
        self._finder.preferred, self._finder.scouted = command, scouted

    async def try_check(self, run: Run, task: Task, command: str, progress: Say) -> BaseChecked | str:
        check = await self._finder.make_scouted(task, command)
        work = Work(run, task, check)
        known = await self._runner.at_tree(work, task.base, progress)
        if known.lacking:
            return known.lacking
        if not known.ran_tests:
            return "no test was seen in its output"
        broken = await self._finder.break_product(task.base)
        now = (await self._runner.once(work, broken, progress)).known
        if now.exit_status == 0 and now.ran_tests >= known.ran_tests:
            return "it passes on a broken product, too"
        self.prefer(command, scouted=True)
        return replace(self._environment.told(task, check, known), scouted=True)

    async def judge(self, run: Run, task: Task, check: Check | None, workspace: Workspace, progress: Say) -> Judgement:
        if check is None or not task.step.requires_testing:
            return Judgement(rule_without_check(task))
        return await self._judge.judge(Work(run, task, check), workspace, progress)

    async def regressions(
        self, run: Run, task: Task, check: Check, before: Sequence[str], progress: Say
    ) -> tuple[Failure, ...]:
        return await self._judge.regressions(Work(run, task, check), before, progress)

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
        return await self._originals.run_tests(Work(run, task, check), product, tests, only, falsify)

    async def failed_before(self, run: Run, task: Task, check: Check) -> bool:
        known = await self._runner.at_tree(Work(run, task, check), task.base)
        return known.exit_status is not None and 0 < known.exit_status < CRASHED

    async def form(self, task: Task, check: Check) -> tuple[Form, str]:
        return await self._prober.form(task, check)

    async def probe(
        self, run: Run, task: Task, check: Check, chosen: Sequence[Probe], progress: Say, *, once: bool = False
    ) -> tuple[Probed, ...]:
        return await self._prober.probe(Work(run, task, check), chosen, progress, once)

    async def close(self) -> None:
        for begun in self._begun:
            begun.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._runner.close()
