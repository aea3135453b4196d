"""Find: which check proves a task."""

from __future__ import annotations

from msgspec.structs import replace

from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Check
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.core.verdict.discover import discover_check, list_checks
from bough.core.verdict.registry import find_runner
from bough.ports import Workspaces


class CheckFinder:
    def __init__(self, workspaces: Workspaces, texts: Texts, environment: CheckEnvironment) -> None:
        self._environment = environment
        self._workspaces = workspaces
        self._texts = texts
        self.preferred = ""
        """The project's own command that was found to work; empty: none was tried, or the first candidate works."""

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
        paths, read = await self._workspaces.paths(tree), self._environment.reader(await self._texts.of(tree))
        where = (self._environment.folder, self._environment.command)
        found = discover_check(task.step, task.id, paths, read, *where, self.preferred)
        return found, found == discover_check(task.step, GOAL, paths, read, *where, self.preferred)

    async def list_others(self, task: Task, check: Check) -> list[Check]:
        """The other candidates for a task's check at its base."""
        paths = await self._workspaces.paths(task.base)
        read = self._environment.reader(await self._texts.of(task.base))
        found = list_checks(task.step, task.id, paths, read, self._environment.folder, self._environment.command)
        named = [replace(other, environment=check.environment) for other in found if other.command != check.command]
        return named if len(named) < len(found) else []
