"""Judge: what the runs of a check come to.

A verdict is `passed` only when a whole run of the check ended with exit status 0, at least one test ran where tests can
be counted, and no test that ran at the base fails or is gone without having been asked. Where anything on the test side
changed since the run's base, the original tests are asked too, beside the check: the test side of the base is restored
around the new code. When they disagree, the verdict is `needs_approval`, and says test by test what they expected.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.tools.text import head_and_tail
from bough.adapters.verifiers import canary as canaries
from bough.adapters.verifiers import protected, rulings, testside
from bough.adapters.verifiers.advice import advise
from bough.adapters.verifiers.baseline import CRASHED, Known
from bough.adapters.verifiers.command import reason_of
from bough.adapters.verifiers.evidence import reader
from bough.adapters.verifiers.installed import forged_runners
from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.projects import file_check
from bough.adapters.verifiers.protected import file_of
from bough.adapters.verifiers.renames import in_new_names
from bough.adapters.verifiers.rulings import Ran
from bough.adapters.verifiers.run import Runner, Say
from bough.adapters.verifiers.runners import narrow
from bough.adapters.verifiers.texts import Over, Same, Texts
from bough.core.acceptance import Check, Disagreement, Failure, Remark, Verdict
from bough.core.ids import GOAL
from bough.core.run import Run
from bough.core.task import Task
from bough.core.workflow.keys import for_agents
from bough.ports import Judgement, Workspace, Workspaces

NOT_FOUND = "finished, not verified: no check was found (give one with --check CMD, or have tests written)"
ONLY_COMMANDS = "only commands ran, and all ended well; there is no check beside them"
RERUN_MOST = 20
"""More failing tests than this are not flaky: they are not run again."""
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
    def __init__(self, workspaces: Workspaces, texts: Texts, runner: Runner) -> None:
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner

    async def judge(self, run: Run, task: Task, check: Check | None, workspace: Workspace, say: Say) -> Judgement:
        if not task.step.requires_testing:
            return Judgement(Verdict("passed", "no check was required", tree=task.tree))
        if check is None and not for_agents(task.step):
            return Judgement(Verdict("passed", ONLY_COMMANDS, tree=task.tree))
        if check is None:
            return Judgement(Verdict("not_verified", NOT_FOUND, tree=task.tree))
        self._runner.at(run, task, check, task.base)
        under_way = asyncio.create_task(self._runner.here(check, task, workspace, say))
        try:
            question = await self._question(run, task, check, run.base or task.base)
            if question is not None and (os.cpu_count() or 1) > 1:
                self._runner.at(run, task, check, question.tree)
            ran = await under_way
        finally:
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)
        judgement = await self._verdict(run, task, check, ran, question, workspace, say)
        if judgement.verdict.ruling == "passed":
            # The next task starts from this very tree: what was seen here is its baseline.
            self._runner.baselines.know(task.tree, check, ran.known())
        return judgement

    async def _verdict(
        self, run: Run, task: Task, check: Check, ran: Ran, question: Question | None, workspace: Workspace, say: Say
    ) -> Judgement:
        ran, flaky = await self._again(run, check, ran, task, workspace, say)
        known = await self._runner.at(run, task, check, task.base)
        lost = await self._lost(run, task, check, ran, known, question)
        reason, passed = rulings.ruling(check, ran, known, lost, worked=for_agents(task.step))
        if not passed and task.rules.accept_failing and (why := rulings.accepted(ran, known, lost)):
            reason, passed = why, True
        if passed and (wrong := await self._not_the_tree(check, ran, known, task, workspace)):
            reason, passed = wrong, False
        found: tuple[Disagreement, ...] = ()
        if passed and question is not None:
            say("files of the test side were changed: the original tests are asked about the new code")
            found = await self._disagreements(run, task, check, question)
        if passed and not found and (dropped := await self._dropped(run, task, check, ran, known)):
            reason, passed = dropped, False
        remarks = await self._advice(task, check)
        canary = ""
        if passed and not found and (question is not None or remarks):
            canary, hollow = await self._canary(run, task, check, ran, known, question)
            reason, passed = (hollow, False) if hollow else (reason, True)
        if passed and not found and (broken := await self._broken_elsewhere(run, task, check, say)) is not None:
            reason, ran, known = broken
            passed = False
        mended = await self._mended(run, task, check, ran, question) if passed else ()
        allowed = not found or _allowed(task, found)
        verdict = Verdict(
            "failed" if not passed else "passed" if allowed else "needs_approval",
            reason if allowed else rulings.disagreement(found),
            check.command,
            check.why,
            ran.finished.exit_status,
            ran.finished.seconds,
            tree=task.tree,
            how=ran.report.how,
            passed=ran.report.passed,
            failed=ran.report.failed,
            skipped=ran.report.skipped,
            failures=rulings.failures(ran, known.report, flaky, reader(workspace)),
            flaky=flaky,
            changed=question.changed if question is not None else (),
            disagreements=_listed(found),
            mended=mended[:LISTED],
            added=rulings.added(ran.report, known.report)[:LISTED] if passed else (),
            advice=remarks,
            canary=canary,
        )
        return _with_output(verdict, ran, task)

    async def _lost(self, run: Run, task: Task, check: Check, ran: Ran, known: Known, question: Question | None) -> str:
        """Tests that ran at the base and do not run now. Where the original tests are asked, they answer for these."""
        if task.step.may_edit_tests or question is not None:
            return ""
        before = await self._texts.of(task.base, check.command)
        after = await self._texts.of(task.tree, check.command)
        same = Same(before, after)
        if not rulings.lost(ran.report, known.report, same):
            return ""
        # How many tests there are may be left to chance at the base already: only what runs there twice can be lost.
        again = await self._runner.apart(run, task, check, task.base)
        return rulings.lost(ran.report, known.report, same, again.report)

    async def _not_the_tree(self, check: Check, ran: Ran, known: Known, task: Task, workspace: Workspace) -> str:
        """Something else than the tree was tested; empty: it was the tree."""
        if other := sorted({*ran.rewritten} - {*known.rewritten}):
            return (
                f"the check passed, but with something else in the place of {other[0]}, which was changed while it ran"
            )
        texts = await self._texts.of(task.tree, check.command)
        tracked = frozenset(await self._workspaces.paths(task.tree))
        forged = await asyncio.to_thread(forged_runners, workspace.root, tracked, texts)
        return f"the check passed, but {forged[0]}" if forged else ""

    async def _broken_elsewhere(self, run: Run, task: Task, check: Check, say: Say) -> tuple[str, Ran, Known] | None:
        """Tests of a project that needs this one, which passed at the run's base and do not now. Asked once, of the
        whole work."""
        for other in check.dependents if task.id == GOAL else ():
            theirs = replace(check, command=other.command, runner=other.runner, dependents=())
            before = await self._runner.at(run, task, theirs, run.base or task.base)
            if before.exit_status != 0:
                continue  # It says nothing here: its own environment may be missing.
            say(f"the tests of {other.folder}/, which needs this project, are asked too")
            now = await self._runner.apart(run, task, theirs, task.tree, say)
            if now.finished.exit_status != 0:
                why = f"the check passed, but not that of {other.folder}/, which needs this project"
                return f"{why}: {reason_of(now.finished)}", now, before
        return None

    async def _mended(self, run: Run, task: Task, check: Check, ran: Ran, question: Question | None) -> tuple[str, ...]:
        """Tests that the person had before the run, which pass by this work: nobody who did it has written them."""
        was = await self._runner.at(run, task, check, run.base or task.base)
        now = ran.known() if question is None else await self._runner.at(run, task, check, question.tree)
        return protected.mended(was, now)

    async def regressions(
        self, run: Run, task: Task, check: Check, before: Sequence[str], say: Say
    ) -> tuple[Failure, ...]:
        """Tests that passed at one of the earlier trees and fail at the task's, twice. A check that cannot be run or
        does not come to its end says nothing here."""
        now = await self._runner.at(run, task, check, task.tree, say)
        if not now.exit_status or now.exit_status >= CRASHED or now.lacking:
            return ()
        found: dict[str, None] = {}
        for tree in before:
            found |= dict.fromkeys(rulings.broken(now, await self._runner.at(run, task, check, tree, say)))
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

    async def _question(self, run: Run, task: Task, check: Check, base: str) -> Question | None:
        """None: nothing on the test side changed since that base."""
        changes = await self._workspaces.changes(base, task.tree)
        if not changes:
            return None
        before: Mapping[str, str] = await self._texts.of(base, check.command)
        after = await self._texts.of(task.tree, check.command)
        if data := [change.path for change in changes if testside.data(change.path)]:
            before = Over(before, await self._workspaces.texts(base, data))
        known = self._runner.baselines.look(base, check)
        reported = {file_of(case.id) for case in known.report.cases} if known is not None else set[str]()
        side = await asyncio.to_thread(testside.restored, changes, before, after, check.command, reported)
        if not side.changed:
            return None
        renamed = await asyncio.to_thread(in_new_names, before, after, side.paths)
        tree = await self._workspaces.graft(task.tree, base, side.paths, {**side.texts, **renamed})
        return Question(base, tree, side.changed, Over(renamed, before), after)

    async def _disagreements(self, run: Run, task: Task, check: Check, question: Question) -> tuple[Disagreement, ...]:
        """Original tests that do not pass on the new code: the run's base's, and those that earlier steps wrote."""
        found = await self._asked(run, task, check, question)
        if task.base != question.base and (own := await self._question(run, task, check, task.base)) is not None:
            older = {case.id for case in (await self._runner.at(run, task, check, question.base)).report.cases}
            theirs = await self._asked(run, task, check, own)
            found += tuple(replace(one, own=True) for one in theirs if one.test not in older)
        return found or await self._beside(run, task, check)

    async def _beside(self, run: Run, task: Task, check: Check) -> tuple[Disagreement, ...]:
        """Tests of the task's base that the work changed, and that its check does not run: each file by itself."""
        question = await self._question(run, task, check, task.base)
        known = await self._runner.at(run, task, check, task.base)
        if question is None or not known.report.cases:
            return ()
        ids = [case.id for case in known.report.cases]
        old = {*await self._workspaces.paths(run.base)} if run.base else set[str]()
        look = Look([*question.before], question.before.get)
        found: tuple[Disagreement, ...] = ()
        for path in question.changed:
            runs = path in question.before and testside.test_file(path)
            if not runs or any(canaries.belongs(id, path) for id in ids) or (alone := file_check(path, look)) is None:
                continue
            theirs = await self._asked(run, task, alone, question)
            found += tuple(replace(one, own=path not in old) for one in theirs)
        return found

    async def _asked(self, run: Run, task: Task, check: Check, question: Question) -> tuple[Disagreement, ...]:
        known = await self._runner.at(run, task, check, question.base)
        if not protected.says_something(known):
            return ()
        then = await self._runner.at(run, task, check, question.tree)
        found = protected.disagreements(known, then)
        if found and not protected.for_certain(known, found) and len(found) <= RERUN_MOST:
            # Not by chance: what passes when it is run again, in another fresh checkout, is flaky.
            named = narrow(check.command, check.runner, list(found)) if protected.THE_CHECK not in found else None
            again = await self._runner.apart(run, task, replace(check, command=named or check.command), question.tree)
            passing = {case.id for case in again.report.cases if case.outcome == "passed"}
            found = {id: one for id, one in found.items() if id not in passing}
            if protected.THE_CHECK in found and not protected.disagreements(known, again.known()):
                found = {}
        shown = (protected.with_expectations(one, question.before, question.after) for one in found.values())
        return tuple(shown)

    async def _dropped(self, run: Run, task: Task, check: Check, ran: Ran, known: Known) -> str:
        """Tests that an earlier step of this run wrote, which no longer run."""
        if not run.base or run.base == task.base or task.step.may_edit_tests:
            return ""
        older = await self._runner.at(run, task, check, run.base)
        return rulings.dropped(ran.report, known.report, older.report)

    # ── the canary ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _advice(self, task: Task, check: Check) -> tuple[Remark, ...]:
        before = await self._texts.of(task.base, check.command)
        after = await self._texts.of(task.tree, check.command)
        return await asyncio.to_thread(advise, before, after)

    async def _canary(
        self, run: Run, task: Task, check: Check, ran: Ran, known: Known, question: Question | None
    ) -> tuple[str, str]:
        """What came of the tests that carry the claim once the values that they expect are wrong; and the reason why
        they prove nothing, when they do not."""
        after = await self._texts.of(task.tree, check.command)
        tests = rulings.carrying(ran.report, known.report)[:RERUN_MOST]
        mended = bool(tests) and any(case.id == tests[0] for case in known.report.failing)
        ground = task.tree
        texts: Mapping[str, str] = after
        if mended and question is not None:
            ground, texts = question.tree, Over(question.before, after)
        script = "" if ran.report.cases else canaries.script_in(check.command, texts)
        if not protected.says_something(known) and canaries.assert_nothing(texts, tests):
            return "", f"the check passed, but {tests[0]} asserts nothing about the code"
        wrong, done = await asyncio.to_thread(canaries.made_wrong, texts, tests, script)
        if not done:
            return canaries.not_asked(texts, tests), ""
        tree = await self._workspaces.graft(ground, ground, (), wrong)
        names = sorted({protected.plain(id) for id in done})
        alone = narrow(check.command, check.runner, names) if not script else None
        again = await self._runner.apart(run, task, replace(check, command=alone or check.command), tree)
        passing = rulings.all_passing(again.report, names)
        if not again.report.cases and again.finished.exit_status == 0:
            passing = [script or protected.THE_CHECK]
        if passing:
            return "", f"the check passed, but {passing[0]} passes with wrong expected values too: it proves nothing"
        return f"{len(done)} tests fail, as they should, when the values they expect are made wrong", ""

    # ── flaky tests ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _again(
        self, run: Run, check: Check, ran: Ran, task: Task, workspace: Workspace, say: Say
    ) -> tuple[Ran, tuple[str, ...]]:
        """Failing tests are run once more, alone; when all of them pass then, the whole check is. Only that second
        whole run can pass in place of the first: a verdict never rests on part of a check."""
        failing = [case.id for case in ran.report.failing]
        command = narrow(check.command, check.runner, failing) if 0 < len(failing) <= RERUN_MOST else None
        if command is None or ran.finished.exit_status is None:
            return ran, ()
        alone = await self._runner.here(replace(check, command=command), task, workspace, say)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        baseline = self._runner.at(run, task, check, task.base)
        unproven = rulings.unproven(flaky, (await baseline).report) if flaky else ()
        if unproven:
            sometimes = await self._sometimes(run, task, check, unproven)
            flaky = tuple(id for id in flaky if id not in unproven or id in sometimes)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        again = await self._runner.here(check, task, workspace, say)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    async def _sometimes(self, run: Run, task: Task, check: Check, ids: Collection[str]) -> set[str]:
        """Tests that failed at the base and pass there when they are run again: those were flaky before the work."""
        command = narrow(check.command, check.runner, list(ids))
        if command is None:
            return set()
        alone = await self._runner.apart(run, task, replace(check, command=command), task.base)
        return {case.id for case in alone.report.cases if case.outcome == "passed"}


def _allowed(task: Task, found: tuple[Disagreement, ...]) -> bool:
    """Somebody said in advance that these tests may change."""
    checks = task.rules.checks
    return task.step.may_edit_tests or all(checks.allows(one.test, one.path) for one in found)


def _listed(found: tuple[Disagreement, ...]) -> tuple[Disagreement, ...]:
    """The rest counts too: who allows the work allows them all."""
    rest = found[LISTED:]
    return (
        (*found[:LISTED], Disagreement(f"{len(rest)} other tests", said="they do not pass either")) if rest else found
    )


def _with_output(verdict: Verdict, ran: Ran, task: Task) -> Judgement:
    shown, cut = head_and_tail(ran.text.rstrip("\n"), task.rules.shown)
    cases = [{"id": case.id, "outcome": case.outcome, "seconds": case.seconds} for case in ran.report.cases]
    return Judgement(
        replace(verdict, output=shown),
        ran.finished.output if cut else None,
        msgspec.json.encode(cases) if cases else None,
    )
