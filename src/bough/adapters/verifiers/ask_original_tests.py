"""Runs original tests on new code: the test side of a base (tests, data, configuration), and the work's other files."""

import asyncio
from collections import ChainMap
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.verifiers.check_runner import CheckRunner
from bough.core.acceptance.verdict import Disagreement, Report
from bough.core.verdict import original_tests, test_files
from bough.core.verdict.check_run import MixedRun
from bough.core.verdict.original_tests import apply_new_names, find_file
from bough.core.verdict.registry import narrow
from bough.ports.verifier import Work

RERUN_MOST = 20
"""If more tests fail than this, none counts as flaky, and they are not rerun."""


class Question(Struct, frozen=True):
    """What the original tests are run on: the new code in a tree that has the test side of a base."""

    base: str
    tree: str
    changed: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    only_adds: bool = False
    """Whether the work only added test files, and changed nothing else on the test side."""
    other: str = ""
    """A tree like `tree`, but files that may be tests or product are the work's; the tests must pass on both trees."""


class OriginalTests:
    def __init__(self, runner: CheckRunner) -> None:
        self._runner, self._workspaces, self._texts = runner, runner.workspaces, runner.texts

    async def make_question(self, work: Work, base: str, product: str = "") -> Question | None:
        """Make a tree of new code with the test side of `base`. Return None if the test side has not changed since
        then. `product`: the tree with the new code; empty: the task's."""
        task, command, product = work.task, work.check.command, product or work.task.tree
        changes = await self._workspaces.changes(base, product)
        if not changes:
            return None
        before: Mapping[str, str] = await self._texts.of(base, command, [change.path for change in changes])
        after = await self._texts.of(product, command, [change.path for change in changes])
        others = (change.path for change in changes if not test_files.is_watched(change.path, command))
        if data := [path for path in others if not test_files.is_foreign(path)]:
            before = ChainMap(before, await self._workspaces.texts(base, data))  # type: ignore[arg-type]
        known = self._runner.baselines.look(base, work.check)
        reported = {find_file(case.id) for case in known.report.cases} if known is not None else set[str]()
        request = f"{work.run.plan.goal.instructions}\n{task.step.instructions}"
        side = await asyncio.to_thread(test_files.restore_test_side, changes, before, after, command, reported, request)
        if not side.changed:
            return None
        renamed = await asyncio.to_thread(apply_new_names, before, after, side.paths, changes)
        texts = {**side.texts, **renamed}
        tree = await self._workspaces.graft(product, base, side.paths, texts)
        sure = [path for path in side.paths if path not in side.doubtful]
        doubts = bool(side.doubtful and (sure or side.texts))
        other = await self._workspaces.graft(product, base, sure, texts) if doubts else ""
        new = [change.path for change in changes if change.kind == "A" and test_files.is_only_tests(change.path)]
        adds = {*side.changed} <= {*new}
        return Question(base, tree, side.changed, ChainMap(renamed, before), after, adds, other)  # type: ignore[arg-type]

    async def run_tests(self, work: Work, product: str, tests: str, only: Sequence[str]) -> MixedRun:
        check = work.check
        question = await self.make_question(work, tests, product) if tests != product else None
        names = sorted({original_tests.strip_parameters(id) for id in only})
        alone = narrow(check.command, check.runner, names) if names else None
        ran = await self._runner.once(work.with_command(alone), question.tree if question is not None else product)
        return MixedRun(ran.report, ran.finished.exit_status, ran.text)

    async def list_disagreements(self, work: Work, question: Question, now: Report) -> tuple[Disagreement, ...]:
        """List original tests that do not pass on the new code: tests of the run's base, and tests that earlier steps
        wrote. `now`: the check's result with the work's own tests."""
        found, base = await self._ask_original_tests(work, question, now), work.task.base
        if base != question.base and (own := await self.make_question(work, base)) is not None:
            older = {case.id for case in (await self._runner.at_tree(work, question.base)).report.cases}
            theirs = await self._ask_original_tests(work, own, now)
            found += tuple(replace(one, own=True) for one in theirs if one.test not in older)
        return found

    async def _ask_original_tests(self, work: Work, question: Question, now: Report) -> tuple[Disagreement, ...]:
        check, known = work.check, await self._runner.at_tree(work, question.base)
        if not original_tests.has_results(known):
            return ()
        if not known.report.cases and known.exit_status != 0 and not question.before.keys() & {*question.changed}:
            return ()  # Files that the work adds are no original tests: without them the check fails as before.
        strict = replace(question, tree=question.other, other="")
        if question.other and (stricter := await self._ask_original_tests(work, strict, now)):
            return stricter
        then = await self._runner.at_tree(work, question.tree)
        found = original_tests.find_disagreements(known, then, check.runner, now)
        if found and not original_tests.is_certain(known, found) and len(found) <= RERUN_MOST:
            # Rule out chance: a test that passes when rerun, in another fresh checkout, is flaky.
            whole = original_tests.THE_CHECK in found
            named = narrow(check.command, check.runner, list(found)) if not whole else None
            again = await self._runner.in_fresh_checkout(work.with_command(named), question.tree)
            passing = {case.id for case in again.report.cases if case.outcome == "passed"}
            left = original_tests.find_disagreements(known, again.known, check.runner, now) if whole else found
            found = {id: one for id, one in found.items() if left and id not in passing}
        return tuple(original_tests.add_expectations(one, question.before, question.after) for one in found.values())
