"""Find: which check proves a task."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from bough.adapters.verifiers.check_environment import CheckEnvironment, Read
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Check
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.core.verdict.discover import discover_check, list_checks
from bough.core.verdict.language import DATA, is_test_path
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.project_check import find_runner_behind, rank_told, shows_runner
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import find_language, find_runner
from bough.core.verdict.test_files import is_code, is_foreign, is_product
from bough.ports import Workspaces

BROKEN = "}}} )))\n"
MOST_BROKEN = 500
MOST_TOLD = 60
"""Files that say how a project is tested, and are read for it."""


def _guess_product(paths: Sequence[str]) -> list[str]:
    """The sources of a language that nobody wrote a record for: files with the commonest suffix
    of those that are neither data nor tests."""
    others = [path for path in paths if find_suffix(path) not in ("", *DATA) and not is_test_path(path)]
    suffixes = Counter(find_suffix(path) for path in others)
    return [path for path in others if suffixes and find_suffix(path) == suffixes.most_common(1)[0][0]]


class CheckFinder:
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
        product = [path for path in paths if is_product(path) and is_code(path)] or _guess_product(paths)
        return await self._workspaces.graft(tree, tree, (), dict.fromkeys(product[:MOST_BROKEN], BROKEN))

    async def count_test_files(self, task: Task) -> int:
        """How many files of the base are named like tests: a suite has a test in each."""
        paths = await self._workspaces.paths(task.base)
        return sum(not is_foreign(path) and is_code(path) and find_language(path).is_test_name(path) for path in paths)

    async def list_others(self, task: Task, check: Check) -> list[Check]:
        """The other candidates for a task's check at its base."""
        paths = await self._workspaces.paths(task.base)
        read = await self._make_reader(task.base, paths)
        found = list_checks(task.step, task.id, paths, read, self._environment.folder, self._environment.command)
        named = [replace(other, environment=check.environment) for other in found if other.command != check.command]
        return named if len(named) < len(found) else []
