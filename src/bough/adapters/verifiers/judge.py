"""The verdict on the runs of a check.

A verdict is `passed` only if a whole run of the check ended with exit status 0, at least one test ran where tests can
be counted, and no test that ran at the base fails or has disappeared unchecked. If the test side changed since the
run's base, that of the base also runs around the new code: if it disagrees, the verdict is `needs_approval`.
"""

import asyncio
import os
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bough.adapters.tools.output_text import cut_middle
from bough.adapters.verifiers.ask_original_tests import RERUN_MOST, OriginalTests, Question
from bough.adapters.verifiers.check_runner import CheckRunner, Say
from bough.adapters.verifiers.claim import AlteredCopies, CheckedWork
from bough.core.acceptance.verdict import Disagreement, Failure, Ruling, Verdict
from bough.core.ids import GOAL
from bough.core.tree.file_overlap import ADDS
from bough.core.tree.task import Task
from bough.core.verdict import original_tests, rulings, test_files
from bough.core.verdict.check_run import CheckRun
from bough.core.verdict.discover import is_given
from bough.core.verdict.missing import still_aside
from bough.core.verdict.registry import narrow
from bough.core.workflow.keys import is_for_agents
from bough.ports import Workspace
from bough.ports.verifier import Judgement, Work

NOT_FOUND = "finished, not verified: no check found (pass one with --check CMD, or ask for tests in the goal)"
ONLY_COMMANDS = "only commands ran, and all succeeded; there is no check"
SILENT = "it names its tests only when one fails"
LISTED = 50
"""The most disagreements that a verdict lists one by one."""
_Answer = tuple[Ruling, str, tuple[Disagreement, ...]]
"""A ruling, the reason for an objection, and original tests that disagree."""
_FAILED: _Answer = ("failed", "", ())


class Judge:
    def __init__(self, runner: CheckRunner, originals: OriginalTests, altered: AlteredCopies) -> None:
        self._runner, self._workspaces, self._texts = runner, runner.workspaces, runner.texts
        self._originals, self._altered = originals, altered

    async def judge(self, work: Work, workspace: Workspace, say: Say, merged: bool = False) -> Judgement:
        """Run the check, compare its result with the one at the base, and look for objections to it."""
        await self._runner.prepare(work, workspace)
        checked = await self._run_check(work, workspace, say, merged)
        first = checked.ran.known
        # Rerun before anything is concluded from a failure: otherwise an agent would look for the bug of a flaky test.
        checked.ran, checked.flaky = await self._rerun_failing(checked)
        await self._runner.require_commands(work, checked.ran, checked.known)
        judgement = await self._make_verdict(checked)
        if judgement.verdict.ruling == "passed":
            # The next task starts from this very tree: the result is its baseline.
            self._runner.baselines.know(work.task.tree, work.check, first)
        return judgement

    async def _run_check(self, work: Work, workspace: Workspace, say: Say, merged: bool) -> CheckedWork:
        """Run the check on the task's tree, beside that at the base and, with two processors, the original tests."""
        run, task = work.run, work.task
        self._runner.at_tree(work, task.base)
        under_way = self._runner.once(work, task.tree, say)
        question = None if merged else await self._originals.make_question(work, run.base or task.base)
        changed = question.changed if question is not None else ()
        if question is not None and await self._is_asked_later(work, question):
            question = None
        if question is not None and (os.cpu_count() or 1) > 1:
            self._runner.at_tree(work, question.tree)
        ran = await asyncio.shield(under_way)
        if ran.finished.exit_status != 0 or not ran.report.passed:
            ran = replace(ran, gone=tuple(await workspace.list_others(task.tree)))
        known = await self._runner.at_tree(work, task.base)
        return CheckedWork(
            run, task, work.check, say=say, merged=merged, question=question, changed=changed, ran=ran, known=known
        )

    async def _is_asked_later(self, work: Work, question: Question) -> bool:
        """Whether the original tests are left to the goal, whose verdict runs them by the same check: for a step that
        only adds tests, and does not change those of an earlier step."""
        same = work.check.command in (work.run.plan.goal.test_command, self._runner.goal_command)
        if work.task.id == GOAL or not question.only_adds or not same:
            return False
        earlier = work.task.base != question.base
        own = await self._originals.make_question(work, work.task.base) if earlier else None
        return own is None or own.only_adds

    async def _make_verdict(self, work: CheckedWork) -> Judgement:
        reason, passed = await self._rule_on_run(work)
        ruling, why, found = await self._find_objection(work) if passed else _FAILED
        ran, known, reason, doubt = work.ran, work.known, why or reason, ""
        if ruling == "passed":
            doubt = work.doubt or (SILENT if work.known.falls_silent(work.ran.known) else "")
            doubt = doubt or ("" if is_given(work.run, work.check) else await self._find_doubt(work))
            reason += await self._describe_outside(work) + rulings.describe_limits(work.ran.report, doubt)
        failed, aside = ruling == "failed", _find_aside(work)
        if rest := found[LISTED:]:  # Disagreements that are not listed count too: allowing the work allows them all.
            found = (*found[:LISTED], Disagreement(f"{len(rest)} other tests", said="they fail too"))
        verdict = Verdict(
            ruling,
            reason,
            work.check.command,
            work.check.why,
            ran.finished.exit_status,
            ran.finished.seconds,
            tree=work.task.tree,
            how=ran.report.how,
            passed=ran.report.passed,
            failed=ran.report.failed - len(aside),
            skipped=ran.report.skipped,
            failures=rulings.list_failures(ran, known.report, work.flaky, aside),
            flaky=work.flaky,
            changed=work.changed,
            disagreements=found,
            fixed=() if failed or work.merged else await self._find_fixed(work),
            added=() if failed else rulings.find_added(ran.report, known.report)[:LISTED],
            canary=work.canary,
            doubt=doubt,
        )
        shown, cut = cut_middle(ran.text.rstrip("\n"), work.task.rules.shown)
        cases = [{"id": case.id, "outcome": case.outcome, "seconds": case.seconds} for case in ran.report.cases]
        output, tests = ran.finished.output if cut else None, msgspec.json.encode(cases) if cases else None
        return Judgement(replace(verdict, output=shown), output, tests)

    async def _rule_on_run(self, work: CheckedWork) -> tuple[str, bool]:
        """Decide whether the run itself passed: without failures or, if these are accepted, only with earlier ones."""
        ran, known, task = work.ran, work.known, work.task
        lost = await self._find_lost(work)
        reason, passed = rulings.decide_ruling(work.check, ran, known, lost, worked=is_for_agents(task.step))
        # Somebody else's change is not blamed for older failures.
        accepts = task.rules.accept_failing or bool(task.step.given)
        if not passed and (why := rulings.explain_acceptance(ran, known, lost, accepts, _find_aside(work))):
            return why, True
        return reason, passed

    async def _find_objection(self, work: CheckedWork) -> _Answer:
        """Find the first objection to a check that passed, the cheap ones first: original tests that fail on the new
        code, tests of an earlier step that no longer run, and tests that pass whatever they expect."""
        run, task = work.run, work.task
        if work.merged:
            return "passed", "", ()
        if work.question is not None:
            work.say("test files changed: running the original tests against the new code")
            if found := await self._originals.list_disagreements(work, work.question, work.ran.report):
                if task.step.may_edit_tests or all(task.rules.checks.allows(one.test, one.path) for one in found):
                    return "passed", "", found
                return "needs_approval", rulings.describe_disagreement(found), found
        # Dropped tests come after the original ones: a test that they cover is not missing, wherever it is now.
        if run.base and run.base != task.base and not task.step.may_edit_tests:
            older = await self._runner.at_tree(work, run.base)
            if dropped := rulings.find_dropped(work.ran.report, work.known.report, older.report):
                return "failed", dropped, ()
        why = await self._altered.ask(work)
        return ("failed", f"the check passed, but {why}", ()) if why else ("passed", "", ())

    async def _find_fixed(self, work: CheckedWork) -> tuple[str, ...]:
        """Find tests that the person had before the run and that pass because of this work."""
        was = await self._runner.at_tree(work, work.run.base or work.task.base)
        now = work.ran.known if work.question is None else await self._runner.at_tree(work, work.question.tree)
        return original_tests.find_fixed(was, now)[:LISTED]

    async def _find_doubt(self, work: CheckedWork) -> str:
        """Say why a check that nobody named proves nothing: it was not seen to fail at the base or else at the work."""
        base = work.run.base or work.task.base
        seen = await self._altered.believe(work, base, await self._runner.at_tree(work, base), work.say)
        there = seen.kind in ("nothing", "unknown")
        return (await self._altered.believe(work, work.task.tree, work.ran.known, work.say) if there else seen).doubt

    async def _describe_outside(self, work: CheckedWork) -> str:
        """Name the changed product files that the person did not name, where they named some."""
        task, named = work.task, [path.removesuffix(ADDS) for path in work.task.step.files]
        if not named or work.merged:
            return ""
        changed = [one.path for one in await self._workspaces.changes(task.base, task.tree)]
        own = tuple(f"{path.rstrip('/')}/" for path in named)
        outside = [path for path in changed if test_files.is_product(path) and not f"{path}/".startswith(own)]
        return f"; outside its task's files it changes {', '.join(outside)}" if outside else ""

    async def _find_lost(self, work: CheckedWork) -> str:
        """Find tests that ran at the base and do not run now. Skipped if the original tests run: they include these."""
        task, command, ran, known = work.task, work.check.command, work.ran, work.known
        if task.step.may_edit_tests or work.question is not None or known.falls_silent(ran.known):
            return ""
        before = await self._texts.of(task.base, command)
        changed = {change.path for change in await self._workspaces.changes(task.base, task.tree)}
        files = {original_tests.find_file(case.id) for case in known.report.cases}
        same = {path for path in files - changed if path in before}
        if not rulings.find_lost(ran.report, known.report, same):
            return ""
        # The number of tests may already vary at the base: only a test that runs there twice can be lost.
        again = await self._runner.in_fresh_checkout(work, task.base)
        return rulings.find_lost(ran.report, known.report, same, again.report)

    # ── flaky tests ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _rerun_failing(self, work: CheckedWork) -> tuple[CheckRun, tuple[str, ...]]:
        """Rerun failing tests once, alone; if all of them pass then, rerun the whole check. Only that second whole run
        can pass in place of the first: a verdict never rests on part of a check."""
        task, check, ran, failing = work.task, work.check, work.ran, [case.id for case in work.ran.report.failing]
        command = narrow(check.command, check.runner, failing) if 0 < len(failing) <= RERUN_MOST else None
        if command is None or ran.finished.exit_status is None:
            return ran, ()
        alone = await self._runner.in_fresh_checkout(work.with_command(command), task.tree, work.say)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        unproven = rulings.find_unproven(flaky, work.known.report)
        flaky = tuple(id for id in flaky if id not in unproven)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        again = await self._runner.in_fresh_checkout(work, task.tree, work.say)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    # ── beside the verdict ────────────────────────────────────────────────────────────────────────────────────────

    async def regressions(self, work: Work, before: Sequence[str], say: Say) -> tuple[Failure, ...]:
        now = await self._runner.at_tree(work, work.task.tree, say)
        if not now.red:  # A check that cannot run or does not finish shows nothing here.
            return ()
        found: dict[str, None] = {}
        for tree in before:
            if not found or len(found) < len(now.report.failing):
                found |= dict.fromkeys(rulings.find_broken(now, await self._runner.at_tree(work, tree, say)))
        if not found:
            return ()
        # The work passed its own check, so that a failure by chance must not count: the tests have to fail twice.
        again = await self._runner.in_fresh_checkout(work, work.task.tree, say)
        still = {case.id: case for case in again.report.failing}
        if again.finished.exit_status == 0 or (still and not still.keys() & found.keys()):
            return ()
        kept = [id for id in found if id in still or not still][: rulings.SHOWN_FAILURES]
        return tuple(Failure(id, "regression", still[id].message if id in still else now.said) for id in kept)


def rule_without_check(task: Task) -> Verdict:
    if task.step.requires_testing and is_for_agents(task.step):
        return Verdict("not_verified", NOT_FOUND, tree=task.tree)
    why = ONLY_COMMANDS if task.step.requires_testing else "no check was required"
    return Verdict("passed", why, tree=task.tree)


def _find_aside(work: CheckedWork) -> set[str]:
    """Find the tests that cannot run here: they could not at the base either, for the same reason."""
    goal = f"{work.run.plan.goal.instructions}\n{work.task.step.instructions}"
    return still_aside(work.known.aside, goal, work.known.report.failing, work.ran.report.failing)
