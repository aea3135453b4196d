"""Proves a task by evidence, in three parts: find its check, run it, judge the result."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from bough.adapters.verifiers.ask_original_tests import OriginalTests
from bough.adapters.verifiers.check_environment import OR_ANOTHER, CheckEnvironment
from bough.adapters.verifiers.check_runner import CheckRunner, Say, load_kept
from bough.adapters.verifiers.claim import AlteredCopies
from bough.adapters.verifiers.judge import Judge, rule_without_check
from bough.adapters.verifiers.prober import Prober
from bough.core.acceptance.verdict import Check
from bough.core.events import BaseChecked
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.core.verdict import rulings
from bough.core.verdict.alteration import Belief, counts_tests
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.discover import is_given, list_checks
from bough.core.verdict.language import is_test_name
from bough.core.verdict.missing import ABSENCE
from bough.core.verdict.project_check import shows_runner
from bough.core.verdict.registry import find_runner
from bough.core.verdict.stated_commands import rank_told
from bough.core.verdict.test_files import is_code, is_foreign
from bough.core.verdict.texts import Read
from bough.ports import Sandbox, Workspace, Workspaces
from bough.ports.verifier import Judgement, Work
from bough.trust.files import Place

MOST_TOLD = 60
"""The most files about a project's tests that are read."""


class CheckFinder:
    def __init__(self, runner: CheckRunner, environment: CheckEnvironment) -> None:
        self._environment, self._workspaces, self._texts = environment, runner.workspaces, runner.texts
        self.preferred = ""
        """The project's own command that was found to work; empty: none was tried, or the first candidate works."""
        self._told: dict[str, Mapping[str, str]] = {}
        """The texts that name the test command, by path, for the last tree."""
        self.refused: set[str] = set()
        """Candidates that pass whatever the product does: they are no checks."""
        self.proposed: Check | None = None
        """A model's proposal for this project, which is tried after all other candidates."""

    async def find(self, task: Task) -> Check | None:
        """Find the check at the base, so that the agent's files cannot replace it. Only a check named after the task,
        or a runner that also runs the tests of the one at the base, may come from the work."""
        if not task.step.requires_testing:
            return None
        if task.step.test_command:
            found = next(iter(list_checks(task.step, task.id, (), (await self._texts.of(task.base)).get)), None)
        else:
            found, own = await self._find_in(task, task.base)
            if task.tree != task.base:
                now, own_now = await self._find_in(task, task.tree)
                runner = find_runner(now.runner) if now is not None else None
                wider = found is None or (runner is not None and found.runner in runner.runs_tests_of)
                found = now if now is not None and (wider or (own and not own_now)) else found
        return replace(found, environment=self._environment.environment) if found is not None else None

    async def _find_in(self, task: Task, tree: str) -> tuple[Check | None, bool]:
        """Return the check in a tree, and whether it is the project's own."""
        found, own = [next(iter(await self._list(task, tree, name)), None) for name in (task.id, GOAL)]
        return found, found == own

    async def _list(self, task: Task, tree: str, name: str) -> list[Check]:
        """List the candidates in a tree for a task of this name."""
        paths, given = await self._workspaces.paths(tree), self._environment
        read = await self._make_reader(tree, paths)
        wanted = (given.folder, given.command, self.preferred, self.refused, self.proposed)
        return list_checks(task.step, name, paths, read, *wanted)

    async def _make_reader(self, tree: str, paths: Sequence[str]) -> Read:
        """Return a reader of texts that define how tests run, and of those that name the command: CI files, guides."""
        texts = await self._texts.of(tree)
        if tree not in self._told:
            found = (path for path in paths if rank_told(path) or shows_runner(path))
            told = sorted(found, key=lambda path: (path.count("/") > 3, rank_told(path), path.count("/")))[:MOST_TOLD]
            self._told = {tree: await asyncio.to_thread(texts.contents.read, told)}
        known, read = self._told[tree], self._environment.reader(texts)
        return lambda path: known[path] if path in known else read(path)

    async def list_others(self, task: Task, check: Check) -> list[Check]:
        """List the other commands that may be the check, as the files before a task's work name them."""
        found = await self._list(task, task.base, task.id)
        named = [replace(other, environment=check.environment) for other in found if other.command != check.command]
        return named if len(named) < len(found) else []


TESTS, UNBUILT, LACKS, FAILS, READS, ABSENT, TESTS_NOTHING = 6, 5, 4, 3, 2, 1, 0


class _TriedCheck(NamedTuple):
    """A candidate for a check, and its result at the base."""

    check: Check
    known: Baseline
    belief: Belief | None = None

    @property
    def rank(self) -> int:
        """Rank the check by its result. Failing tests do not lower it: the suite that shows the person's bug is the
        right one. A check that lacks something installable comes before one that passes but tests nothing."""
        known, belief = self.known, self.belief
        if known.lacking:
            return ABSENT if known.absent else LACKS
        if known.exit_status == 0 and (known.absent or (belief is not None and belief.kind == "passes")):
            return TESTS_NOTHING
        if known.ran_tests or (belief is not None and belief.proves):
            return UNBUILT if known.fails_throughout and re.search(ABSENCE, known.said) else TESTS
        return FAILS if known.exit_status != 0 and known.is_telling else READS


def _builds(check: Check, other: Check) -> bool:
    """Whether a check runs another one's command after a build of the product, and so may do better."""
    return check.command.endswith(f" && {other.command}")


class ProjectVerifier:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, home: Path, environment: CheckEnvironment) -> None:
        self._environment = environment
        self._runner = CheckRunner(sandbox, workspaces, home, environment)
        self._finder = CheckFinder(self._runner, environment)
        self.find = self._finder.find
        self._kept = Place(home, "scout.json")
        """A model's statement on how the project is tested: a command and why, or a key of the files without one."""
        if command := (kept := load_kept(self._kept, dict[str, str]) or {}).get("command"):
            self._finder.proposed = Check(command, kept.get("why", ""))
        originals, prober = OriginalTests(self._runner), Prober(self._runner)
        self._altered = AlteredCopies(self._runner, home)
        self._judge = Judge(self._runner, originals, self._altered)
        self.form, self.probe = prober.form, prober.probe
        self.run_tests, self.regressions = originals.run_tests, self._judge.regressions
        self._begun: set[asyncio.Task[None]] = set()

    def begin(self, run: Run, task: Task) -> None:
        self._begun.add(begun := asyncio.create_task(self._begin(run, task)))
        begun.add_done_callback(self._begun.discard)

    async def _begin(self, run: Run, task: Task) -> None:
        if (check := await self.find(replace(task, tree=task.base))) is not None:
            work = Work(run, task, check)
            measured = self._runner.at_tree(work, task.base)
            await asyncio.wait([measured])
            await self._runner.reserve(run, task)
            failed = measured.cancelled() or measured.exception() is not None
            # Begin now, so that the result is there before the verdict needs it.
            if not failed and not is_given(run, check):
                await self._altered.believe(work, task.base, measured.result())

    def before(self, task: Task, check: Check) -> str | None:
        if (known := self._runner.baselines.look(task.base, check)) is None:
            return None
        return rulings.describe_baseline(known, task.step.instructions, task.rules.accept_failing, check.runner)

    async def at_base(self, work: Work, progress: Say, *, fresh: bool = False) -> BaseChecked:
        """Run the candidates, the most certain first and each with the full time limit, until one tests something."""
        run, task, check, given = work.run, work.task, work.check, is_given(work.run, work.check)
        tried: list[_TriedCheck] = []

        def choose(each: Check) -> None:
            self._runner.goal_command = each.command
            self._finder.preferred = each.command if tried else self._finder.preferred
            # If the first candidate lacks something, a few tests that happen to run may not count.
            if not tried or tried[0].rank != LACKS:
                work.seen()

        candidates = [check, *await self._finder.list_others(task, check)]
        self._environment.require([each for each in candidates if not is_given(run, each)])
        for each in candidates:
            if tried:
                if tried[0].rank == UNBUILT and not _builds(each, check):
                    continue
                progress(f"{tried[-1].check.command} tests nothing here: trying {each.command}")
            if fresh:
                self._runner.baselines.forget(task.base, each)
            trial = Work(run, task, each, partial(choose, each))
            known, belief = await self._runner.at_tree(trial, task.base, progress), None
            # A candidate whose tests cannot be counted is chosen only if it fails on a product broken on purpose.
            sure = not fresh and (counts_tests(known) or given)
            if known.exit_status == 0 and not (known.absent or known.lacking or sure):
                belief = await self._altered.believe(trial, task.base, known, progress)
            tried.append(_TriedCheck(each, known, belief))
            best = await self._choose(task, tried)
            # A candidate that takes too long may be the right one: try no others, and report that it takes too long.
            if known.exit_status is None or (best is tried[-1] and best.rank == TESTS):
                break
        if not given:
            # Do not refuse a candidate that has nothing to test yet: it may have something after the work.
            nothing = [one for one in tried if one.rank == TESTS_NOTHING]
            self._finder.refused |= {one.check.command for one in nothing if not one.known.absent}
            if best in nothing:
                why = "it has nothing to do" if best.known.absent else best.belief.said if best.belief else ""
                return BaseChecked(belief=f"`{best.check.command}`: {why}")
        if best is not tried[0]:
            self._finder.preferred, first = best.check.command, tried[0].known
            how = "cannot run here" if first.lacking or first.absent or first.fails_throughout else "runs no test"
            how = "times out" if first.exit_status is None else how
            best = best._replace(check=replace(best.check, why=f"{best.check.why}, and `{check.command}` {how}"))
        return self._tell(task, best)

    def _tell(self, task: Task, best: _TriedCheck) -> BaseChecked:
        proposed = self._finder.proposed
        scouted = proposed is not None and proposed.command == best.check.command
        self._runner.goal_command = best.check.command
        return replace(self._environment.told(task, *best), scouted=scouted)

    async def _choose(self, task: Task, tried: Sequence[_TriedCheck]) -> _TriedCheck:
        """Choose the best candidate; of equals, the first. If the very first lacks only something installable, another
        replaces it only if it runs half of the tests or more, and not all of these fail: else it proves little."""
        first, worth = tried[0], tried
        if first.rank == LACKS:
            # A suite should run one test at least for each file that is named like a test and is no example.
            own = [path for path in await self._runner.workspaces.paths(task.base) if not is_foreign(path)]
            least = sum(is_code(path) and is_test_name(path) and not path.startswith("example") for path in own)
            worth = [
                one
                for one in tried
                if one.rank < UNBUILT
                or _builds(one.check, first.check)
                or (one.known.ran_tests * 2 >= least and not one.known.aside and not one.known.fails_throughout)
            ]
        # Prefer, of those that lack something, the one for which there is a way to get it.
        return max(worth, key=lambda one: (one.rank, one.rank == LACKS and OR_ANOTHER not in one.known.way_out))

    async def look_up(self, task: Task) -> tuple[BaseChecked, float] | None:
        if (check := await self.find(task)) is None:
            return None
        every = [check, *await self._finder.list_others(task, check)]
        found = ((each, self._runner.baselines.look(task.base, each)) for each in every)
        if not (tried := [_TriedCheck(each, known) for each, known in found if known is not None]):
            return None
        best = await self._choose(task, tried)
        return self._tell(task, best), self._runner.baselines.find_time(task.base, best.check)

    def prefer(self, checked: BaseChecked) -> None:
        self._finder.preferred = self._runner.goal_command = checked.command
        if checked.scouted:
            self._finder.proposed = Check(checked.command, checked.why)

    async def try_check(self, run: Run, task: Task, proposed: Check, progress: Say) -> BaseChecked | str:
        check = replace(proposed, environment=self._environment.environment)
        work = Work(run, task, check)
        known = await self._runner.at_tree(work, task.base, progress)
        if known.lacking:
            return f"{known.lacking}. {known.way_out}"
        belief = await self._altered.believe(work, task.base, known, progress)
        if not belief.proves:
            return belief.said
        self._finder.preferred, self._finder.proposed = check.command, proposed
        return self._tell(task, _TriedCheck(check, known, belief))

    async def keep_proposal(self, run: Run, task: Task, proposed: Check | None) -> None:
        found = {"command": proposed.command, "why": proposed.why} if proposed else None
        self._kept.write(msgspec.json.encode(found or {"files": await self._make_key(run, task)}))

    async def was_asked(self, run: Run, task: Task) -> bool:
        return (load_kept(self._kept, dict[str, str]) or {}).get("files") == await self._make_key(run, task)

    async def _make_key(self, run: Run, task: Task) -> str:
        return await self._altered.make_key(Work(run, task, Check("", "")), task.base)

    async def judge(
        self, run: Run, task: Task, check: Check | None, workspace: Workspace, progress: Say, *, merged: bool = False
    ) -> Judgement:
        if check is None or not task.step.requires_testing:
            return Judgement(rule_without_check(task))
        return await self._judge.judge(Work(run, task, check), workspace, progress, merged)

    async def measure_base(self, work: Work) -> Baseline:
        return await self._runner.at_tree(work, work.task.base)

    async def close(self) -> None:
        for begun in self._begun:
            begun.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._runner.close()
