"""Judge: the verdict on the runs of a check.

A verdict is `passed` only when a whole run of the check ended with exit status 0, at least one test ran where tests can
be counted, and no test that ran at the base fails or has disappeared unchecked. Where anything on the test side changed
since the run's base, the original tests run too, in addition to the check: the test side of the base is restored around
the new code. When they disagree, the verdict is `needs_approval`, and says test by test what they expected.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.tools.output_text import cut_middle
from bough.adapters.verifiers import canary as canaries
from bough.adapters.verifiers import original_tests, rulings, testside
from bough.adapters.verifiers.advice import advise
from bough.adapters.verifiers.baseline import CRASHED, Baseline
from bough.adapters.verifiers.check_artifacts import make_reader
from bough.adapters.verifiers.check_command import describe_result
from bough.adapters.verifiers.check_runner import CheckRunner, Say
from bough.adapters.verifiers.forged_runners import find_forged_runners
from bough.adapters.verifiers.original_tests import find_file
from bough.adapters.verifiers.project_check import find_file_check
from bough.adapters.verifiers.project_files import ProjectFiles
from bough.adapters.verifiers.renames import apply_new_names
from bough.adapters.verifiers.rulings import Ran
from bough.adapters.verifiers.runners import narrow
from bough.adapters.verifiers.tree_texts import Over, Same, Texts
from bough.core.acceptance.verdict import Check, Disagreement, Failure, Remark, Verdict
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.core.workflow.keys import is_for_agents
from bough.ports import Judgement, Workspace, Workspaces

NOT_FOUND = "finished, not verified: no check found (pass one with --check CMD, or let bough write tests)"
ONLY_COMMANDS = "only commands ran, and all succeeded; there is no check"
RERUN_MOST = 20
"""More failing tests than this are not flaky: they are not rerun."""
LISTED = 50
"""Disagreements that a verdict lists one by one."""


class Question(Struct, frozen=True):
    """The check with the test side of a base, on the new code."""

    base: str
    tree: str
    changed: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]


class Judge:
    def __init__(self, workspaces: Workspaces, texts: Texts, runner: CheckRunner) -> None:
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner

    async def judge(self, run: Run, task: Task, check: Check | None, workspace: Workspace, say: Say) -> Judgement:
        if not task.step.requires_testing:
            return Judgement(Verdict("passed", "no check was required", tree=task.tree))
        if check is None and not is_for_agents(task.step):
            return Judgement(Verdict("passed", ONLY_COMMANDS, tree=task.tree))
        if check is None:
            return Judgement(Verdict("not_verified", NOT_FOUND, tree=task.tree))
        self._runner.at(run, task, check, task.base)
        under_way = asyncio.create_task(self._runner.here(check, task, workspace, say))
        try:
            question = await self._make_question(run, task, check, run.base or task.base)
            if question is not None and (os.cpu_count() or 1) > 1:
                self._runner.at(run, task, check, question.tree)
            ran = await under_way
        finally:
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)
        judgement = await self._make_verdict(run, task, check, ran, question, workspace, say)
        if judgement.verdict.ruling == "passed":
            # The next task starts from this very tree: the result is its baseline.
            self._runner.baselines.know(task.tree, check, ran.known())
        return judgement

    async def _make_verdict(
        self, run: Run, task: Task, check: Check, ran: Ran, question: Question | None, workspace: Workspace, say: Say
    ) -> Judgement:
        ran, flaky = await self._rerun_failing(run, check, ran, task, workspace, say)
        known = await self._runner.at(run, task, check, task.base)
        lost = await self._find_lost(run, task, check, ran, known, question)
        reason, passed = rulings.decide_ruling(check, ran, known, lost, worked=is_for_agents(task.step))
        if not passed and task.rules.accept_failing and (why := rulings.explain_acceptance(ran, known, lost)):
            reason, passed = why, True
        if passed and (wrong := await self._find_foreign_influence(check, ran, known, task, workspace)):
            reason, passed = wrong, False
        found: tuple[Disagreement, ...] = ()
        if passed and question is not None:
            say("test files changed: running the original tests against the new code")
            found = await self._find_disagreements(run, task, check, question)
        if passed and not found and (dropped := await self._find_dropped(run, task, check, ran, known)):
            reason, passed = dropped, False
        remarks = await self._make_advice(task, check)
        canary = ""
        if passed and not found and (question is not None or remarks):
            canary, hollow = await self._run_canary(run, task, check, ran, known, question)
            reason, passed = (hollow, False) if hollow else (reason, True)
        if passed and not found and (broken := await self._find_broken_dependents(run, task, check, say)) is not None:
            reason, ran, known = broken
            passed = False
        mended = await self._find_mended(run, task, check, ran, question) if passed else ()
        allowed = not found or _is_allowed(task, found)
        verdict = Verdict(
            "failed" if not passed else "passed" if allowed else "needs_approval",
            reason if allowed else rulings.describe_disagreement(found),
            check.command,
            check.why,
            ran.finished.exit_status,
            ran.finished.seconds,
            tree=task.tree,
            how=ran.report.how,
            passed=ran.report.passed,
            failed=ran.report.failed,
            skipped=ran.report.skipped,
            failures=rulings.list_failures(ran, known.report, flaky, make_reader(workspace)),
            flaky=flaky,
            changed=question.changed if question is not None else (),
            disagreements=_limit_disagreements(found),
            mended=mended[:LISTED],
            added=rulings.find_added(ran.report, known.report)[:LISTED] if passed else (),
            advice=remarks,
            canary=canary,
        )
        return _attach_output(verdict, ran, task)

    async def _find_lost(
        self, run: Run, task: Task, check: Check, ran: Ran, known: Baseline, question: Question | None
    ) -> str:
        """Tests that ran at the base and do not run now. Where the original tests run, they cover these."""
        if task.step.may_edit_tests or question is not None:
            return ""
        before = await self._texts.of(task.base, check.command)
        after = await self._texts.of(task.tree, check.command)
        same = Same(before, after)
        if not rulings.find_lost(ran.report, known.report, same):
            return ""
        # The number of tests may already vary at the base: only what runs there twice can be lost.
        again = await self._runner.apart(run, task, check, task.base)
        return rulings.find_lost(ran.report, known.report, same, again.report)

    async def _find_foreign_influence(
        self, check: Check, ran: Ran, known: Baseline, task: Task, workspace: Workspace
    ) -> str:
        """Something other than the tree was tested; empty: it was the tree."""
        if other := sorted({*ran.rewritten} - {*known.rewritten}):
            return f"the check passed, but {other[0]} was replaced while it ran"
        texts = await self._texts.of(task.tree, check.command)
        tracked = frozenset(await self._workspaces.paths(task.tree))
        forged = await asyncio.to_thread(find_forged_runners, workspace.root, tracked, texts)
        return f"the check passed, but {forged[0]}" if forged else ""

    async def _find_broken_dependents(
        self, run: Run, task: Task, check: Check, say: Say
    ) -> tuple[str, Ran, Baseline] | None:
        """Tests of a project that needs this one, which passed at the run's base and do not now. Run once, for the
        whole work."""
        for other in check.dependents if task.id == GOAL else ():
            theirs = replace(check, command=other.command, runner=other.runner, dependents=())
            before = await self._runner.at(run, task, theirs, run.base or task.base)
            if before.exit_status != 0:
                continue  # It says nothing here: its own environment may be missing.
            say(f"the tests of {other.folder}/, which needs this project, run too")
            now = await self._runner.apart(run, task, theirs, task.tree, say)
            if now.finished.exit_status != 0:
                why = f"the check passed, but not that of {other.folder}/, which needs this project"
                return f"{why}: {describe_result(now.finished)}", now, before
        return None

    async def _find_mended(
        self, run: Run, task: Task, check: Check, ran: Ran, question: Question | None
    ) -> tuple[str, ...]:
        """Tests that the person had before the run and that pass because of this work: no agent that did it wrote
        them."""
        was = await self._runner.at(run, task, check, run.base or task.base)
        now = ran.known() if question is None else await self._runner.at(run, task, check, question.tree)
        return original_tests.find_mended(was, now)

    async def regressions(
        self, run: Run, task: Task, check: Check, before: Sequence[str], say: Say
    ) -> tuple[Failure, ...]:
        """Tests that passed at one of the earlier trees and fail at the task's, twice. A check that cannot run or does
        not finish says nothing here."""
        now = await self._runner.at(run, task, check, task.tree, say)
        if not now.exit_status or now.exit_status >= CRASHED or now.lacking:
            return ()
        found: dict[str, None] = {}
        for tree in before:
            found |= dict.fromkeys(rulings.find_broken(now, await self._runner.at(run, task, check, tree, say)))
            if len(found) >= len(now.report.failing):
                break
        if not found:
            return ()
        again = await self._runner.apart(run, task, check, task.tree, say)
        still = {case.id: case for case in again.report.failing}
        if again.finished.exit_status == 0 or (still and not still.keys() & found.keys()):
            return ()
        kept = [id for id in found if id in still or not still]
        texts = {id: still[id].message if id in still else now.said for id in kept}
        return tuple(Failure(id, "regression", texts[id]) for id in kept[: rulings.SHOWN_FAILURES])

    # ── the original tests ──────────────────────────────────────────────────────────────────────────────────────────

    async def _make_question(self, run: Run, task: Task, check: Check, base: str) -> Question | None:
        """None: nothing on the test side changed since that base."""
        changes = await self._workspaces.changes(base, task.tree)
        if not changes:
            return None
        before: Mapping[str, str] = await self._texts.of(base, check.command)
        after = await self._texts.of(task.tree, check.command)
        if data := [change.path for change in changes if testside.is_data(change.path)]:
            before = Over(before, await self._workspaces.texts(base, data))
        known = self._runner.baselines.look(base, check)
        reported = {find_file(case.id) for case in known.report.cases} if known is not None else set[str]()
        side = await asyncio.to_thread(testside.restore_test_side, changes, before, after, check.command, reported)
        if not side.changed:
            return None
        renamed = await asyncio.to_thread(apply_new_names, before, after, side.paths)
        tree = await self._workspaces.graft(task.tree, base, side.paths, {**side.texts, **renamed})
        return Question(base, tree, side.changed, Over(renamed, before), after)

    async def _find_disagreements(
        self, run: Run, task: Task, check: Check, question: Question
    ) -> tuple[Disagreement, ...]:
        """Original tests that do not pass on the new code: the run's base's, and those that earlier steps wrote."""
        found = await self._ask_original_tests(run, task, check, question)
        if task.base != question.base and (own := await self._make_question(run, task, check, task.base)) is not None:
            older = {case.id for case in (await self._runner.at(run, task, check, question.base)).report.cases}
            theirs = await self._ask_original_tests(run, task, check, own)
            found += tuple(replace(one, own=True) for one in theirs if one.test not in older)
        return found or await self._ask_other_tests(run, task, check)

    async def _ask_other_tests(self, run: Run, task: Task, check: Check) -> tuple[Disagreement, ...]:
        """Tests of the task's base that the work changed and its check does not run: each file separately."""
        question = await self._make_question(run, task, check, task.base)
        known = await self._runner.at(run, task, check, task.base)
        if question is None or not known.report.cases:
            return ()
        ids = [case.id for case in known.report.cases]
        old = {*await self._workspaces.paths(run.base)} if run.base else set[str]()
        look = ProjectFiles([*question.before], question.before.get)
        found: tuple[Disagreement, ...] = ()
        for path in question.changed:
            runs = path in question.before and testside.is_test_file(path)
            if (
                not runs
                or any(canaries.is_test_of(id, path) for id in ids)
                or (alone := find_file_check(path, look)) is None
            ):
                continue
            theirs = await self._ask_original_tests(run, task, alone, question)
            found += tuple(replace(one, own=path not in old) for one in theirs)
        return found

    async def _ask_original_tests(
        self, run: Run, task: Task, check: Check, question: Question
    ) -> tuple[Disagreement, ...]:
        known = await self._runner.at(run, task, check, question.base)
        if not original_tests.has_results(known):
            return ()
        then = await self._runner.at(run, task, check, question.tree)
        found = original_tests.find_disagreements(known, then)
        if found and not original_tests.is_certain(known, found) and len(found) <= RERUN_MOST:
            # Not by chance: what passes when rerun, in another fresh checkout, is flaky.
            named = narrow(check.command, check.runner, list(found)) if original_tests.THE_CHECK not in found else None
            again = await self._runner.apart(run, task, replace(check, command=named or check.command), question.tree)
            passing = {case.id for case in again.report.cases if case.outcome == "passed"}
            found = {id: one for id, one in found.items() if id not in passing}
            if original_tests.THE_CHECK in found and not original_tests.find_disagreements(known, again.known()):
                found = {}
        shown = (original_tests.add_expectations(one, question.before, question.after) for one in found.values())
        return tuple(shown)

    async def _find_dropped(self, run: Run, task: Task, check: Check, ran: Ran, known: Baseline) -> str:
        """Tests that an earlier step of this run wrote, which no longer run."""
        if not run.base or run.base == task.base or task.step.may_edit_tests:
            return ""
        older = await self._runner.at(run, task, check, run.base)
        return rulings.find_dropped(ran.report, known.report, older.report)

    # ── the canary ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _make_advice(self, task: Task, check: Check) -> tuple[Remark, ...]:
        before = await self._texts.of(task.base, check.command)
        after = await self._texts.of(task.tree, check.command)
        return await asyncio.to_thread(advise, before, after)

    async def _run_canary(
        self, run: Run, task: Task, check: Check, ran: Ran, known: Baseline, question: Question | None
    ) -> tuple[str, str]:
        """The result of the tests that carry the claim once their expected values are falsified; and the reason why
        they prove nothing, when they do not."""
        after = await self._texts.of(task.tree, check.command)
        tests = rulings.find_carrying(ran.report, known.report)[:RERUN_MOST]
        mended = bool(tests) and any(case.id == tests[0] for case in known.report.failing)
        ground = task.tree
        texts: Mapping[str, str] = after
        if mended and question is not None:
            ground, texts = question.tree, Over(question.before, after)
        script = "" if ran.report.cases else canaries.find_script(check.command, texts)
        if not original_tests.has_results(known) and canaries.asserts_nothing(texts, tests):
            return "", f"the check passed, but {tests[0]} asserts nothing about the code"
        wrong, done = await asyncio.to_thread(canaries.falsify_expectations, texts, tests, script)
        if not done:
            return canaries.explain_not_asked(texts, tests), ""
        tree = await self._workspaces.graft(ground, ground, (), wrong)
        names = sorted({original_tests.strip_parameters(id) for id in done})
        alone = narrow(check.command, check.runner, names) if not script else None
        again = await self._runner.apart(run, task, replace(check, command=alone or check.command), tree)
        passing = rulings.filter_passing(again.report, names)
        if not again.report.cases and again.finished.exit_status == 0:
            passing = [script or original_tests.THE_CHECK]
        if passing:
            return "", f"the check passed, but {passing[0]} also passes with wrong expected values: it proves nothing"
        return f"{len(done)} tests fail, as they should, when their expected values are changed", ""

    # ── flaky tests ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _rerun_failing(
        self, run: Run, check: Check, ran: Ran, task: Task, workspace: Workspace, say: Say
    ) -> tuple[Ran, tuple[str, ...]]:
        """Failing tests are rerun once, alone; when all of them pass then, so is the whole check. Only that second
        whole run can pass in place of the first: a verdict never rests on part of a check."""
        failing = [case.id for case in ran.report.failing]
        command = narrow(check.command, check.runner, failing) if 0 < len(failing) <= RERUN_MOST else None
        if command is None or ran.finished.exit_status is None:
            return ran, ()
        alone = await self._runner.here(replace(check, command=command), task, workspace, say)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        baseline = self._runner.at(run, task, check, task.base)
        unproven = rulings.find_unproven(flaky, (await baseline).report) if flaky else ()
        if unproven:
            sometimes = await self._find_flaky_at_base(run, task, check, unproven)
            flaky = tuple(id for id in flaky if id not in unproven or id in sometimes)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        again = await self._runner.here(check, task, workspace, say)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    async def _find_flaky_at_base(self, run: Run, task: Task, check: Check, ids: Collection[str]) -> set[str]:
        """Tests that failed at the base and pass there when rerun: those were flaky before the work."""
        command = narrow(check.command, check.runner, list(ids))
        if command is None:
            return set()
        alone = await self._runner.apart(run, task, replace(check, command=command), task.base)
        return {case.id for case in alone.report.cases if case.outcome == "passed"}


def _is_allowed(task: Task, found: tuple[Disagreement, ...]) -> bool:
    """Someone said in advance that these tests may change."""
    checks = task.rules.checks
    return task.step.may_edit_tests or all(checks.allows(one.test, one.path) for one in found)


def _limit_disagreements(found: tuple[Disagreement, ...]) -> tuple[Disagreement, ...]:
    """The rest counts too: allowing the work allows them all."""
    rest = found[LISTED:]
    return (*found[:LISTED], Disagreement(f"{len(rest)} other tests", said="they fail too")) if rest else found


def _attach_output(verdict: Verdict, ran: Ran, task: Task) -> Judgement:
    shown, cut = cut_middle(ran.text.rstrip("\n"), task.rules.shown)
    cases = [{"id": case.id, "outcome": case.outcome, "seconds": case.seconds} for case in ran.report.cases]
    return Judgement(
        replace(verdict, output=shown),
        ran.finished.output if cut else None,
        msgspec.json.encode(cases) if cases else None,
    )
