"""Proves a task by evidence: finds its check, runs it in the task's workspace, reads what it said, and holds that
against the base and against what was done to the tests.

A verdict is `passed` only when a whole run of the check ended with exit status 0, at least one test ran where tests can
be counted, no test that passed at the base fails, is skipped or is gone, and nothing was done to the tests.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.adapters.tools.text import clean, head_and_tail
from bough.adapters.verifiers.baseline import Baselines
from bough.adapters.verifiers.command import reason_of, to_argv
from bough.adapters.verifiers.discover import discover
from bough.adapters.verifiers.reading import Progress, counting, read_lines, readable, report, trim
from bough.adapters.verifiers.runners import instrument, refused, rerun
from bough.core import tamper
from bough.core.acceptance import Case, Check, Failure, FailureKind, Report, Tampering, Verdict
from bough.core.rules import Rules
from bough.core.run import Run
from bough.core.state import Task
from bough.ports import Finished, Judgement, Sandbox, Workspace, Workspaces

NOT_FOUND = "finished, not verified: no check was found (give one with --check CMD, or have tests written)"
BASELINE = "@baseline"
SHOWN_FAILURES = 10
KEPT_TREES = 4
RERUN_MOST = 20
"""More failing tests than this are not flaky: they are not run again."""

READ_MOST = 2_000_000

Say = Callable[[str], None]
Read = Callable[[str], str | None]


@dataclass(frozen=True)
class Ran:
    """One whole run of a check."""

    finished: Finished
    report: Report
    text: str
    closed: bool
    """The output has the runner's closing lines."""

    @property
    def failing(self) -> list[Case]:
        return [case for case in self.report.cases if case.outcome in ("failed", "error")]


class ProjectVerifier:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, home: Path) -> None:
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._baselines = Baselines(home / "baselines")
        self._begun: set[asyncio.Task[None]] = set()
        self._texts: dict[str, dict[str, str]] = {}

    async def find(self, task: Task) -> Check | None:
        return await self._find(task, task.tree)

    async def _find(self, task: Task, tree: str) -> Check | None:
        if not task.step.requires_testing:
            return None
        if task.step.test_command:
            return discover(task.step, task.id, (), lambda path: None)
        return discover(task.step, task.id, await self._workspaces.paths(tree), (await self._watched(tree)).get)

    # ── the base ────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, run: Run, task: Task) -> None:
        begun = asyncio.create_task(self._begin(run, task))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)

    async def _begin(self, run: Run, task: Task) -> None:
        check = await self._find(task, task.base)
        if check is not None:
            await asyncio.wait([self._baseline(run, task, check)])

    def _baseline(self, run: Run, task: Task, check: Check) -> asyncio.Task[Report]:
        async def measure() -> Report:
            name = f"{task.id}{BASELINE}"
            workspace = await self._workspaces.open(run.name, name, task.base, run.folder)
            try:
                return (await self._run(check, workspace, task.rules, lambda line: None)).report
            finally:
                await self._workspaces.discard(run.name, name)

        return self._baselines.begin(task.base, check, measure)

    async def close(self) -> None:
        for begun in self._begun:
            begun.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._baselines.close()

    # ── the verdict ─────────────────────────────────────────────────────────────────────────────────────────────

    async def judge(self, run: Run, task: Task, check: Check | None, workspace: Workspace, progress: Say) -> Judgement:
        if not task.step.requires_testing:
            return Judgement(Verdict("passed", "no check was required", tree=task.tree))
        if check is None:
            return Judgement(Verdict("not_verified", NOT_FOUND, tree=task.tree))
        done = tuple(await self._tampering(task, check))
        if done and not task.step.may_edit_tests:
            reason = f"the tests were tampered with: {done[0].path}: {done[0].what}"
            more = f" (and {len(done) - 1} more)" if len(done) > 1 else ""
            verdict = Verdict("tampered", reason + more, check.command, check.why, tree=task.tree, tampering=done)
            return Judgement(verdict)
        baseline = self._baseline(run, task, check)
        ran = await self._run(check, workspace, task.rules, progress)
        ran, flaky = await self._again(check, ran, task, workspace, progress)
        judgement = self._judgement(task, check, ran, await baseline, flaky, done, _reader(workspace))
        if judgement.verdict.ruling == "passed":
            # The next task starts from this very tree: what was seen here is its baseline.
            self._baselines.know(task.tree, check, ran.report)
        return judgement

    async def _tampering(self, task: Task, check: Check) -> list[Tampering]:
        if task.tree == task.base:
            return []
        before, after = await asyncio.gather(self._watched(task.base), self._watched(task.tree))
        return await asyncio.to_thread(tamper.inspect, before, after, check.command)

    async def _watched(self, tree: str) -> dict[str, str]:
        """The tests of a tree, their configuration, and whatever else says how they are run."""
        if tree not in self._texts:
            paths = await self._workspaces.paths(tree)
            watched = [path for path in paths if tamper.watched(path)]
            self._texts[tree] = await self._workspaces.texts(tree, watched)
            while len(self._texts) > KEPT_TREES:
                del self._texts[next(iter(self._texts))]
        return self._texts[tree]

    async def _run(self, check: Check, workspace: Workspace, rules: Rules, progress: Say) -> Ran:
        """The check once, whole, in a checkout that holds just the tree."""
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        command, env = instrument(check.command, check.runner, path, {})
        finished = await self._sandboxed(command, env, check, workspace, rules, progress)
        text = await asyncio.to_thread(clean, finished.output)
        if refused(text, finished.exit_status):
            finished = await self._sandboxed(check.command, {}, check, workspace, rules, progress)
            text = await asyncio.to_thread(clean, finished.output)
        body = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        root = str(workspace.root)
        read = await asyncio.to_thread(report, body, text, finished.exit_status, check.runner, root)
        closed = await asyncio.to_thread(read_lines, text, check.runner, root) is not None
        return Ran(finished, read, readable(text, check.runner), closed)

    async def _sandboxed(
        self, command: str, env: dict[str, str], check: Check, workspace: Workspace, rules: Rules, progress: Say
    ) -> Finished:
        so_far = Progress()

        def tell(line: str) -> None:
            nonlocal so_far
            so_far = counting(so_far, line, check.runner)
            progress(str(so_far) if so_far.done else line)

        return await self._sandbox.run(
            to_argv(command), workspace=workspace, timeout=rules.check_timeout, limit=rules.kept, progress=tell, env=env
        )

    async def _again(
        self, check: Check, ran: Ran, task: Task, workspace: Workspace, progress: Say
    ) -> tuple[Ran, tuple[str, ...]]:
        """Failing tests are run once more, alone; when all of them pass then, the whole check is. Only that second
        whole run can pass in place of the first: a verdict never rests on part of a check."""
        failing = [case.id for case in ran.failing]
        command = rerun(check.command, check.runner, failing) if 0 < len(failing) <= RERUN_MOST else None
        if command is None or ran.finished.exit_status is None:
            return ran, ()
        await workspace.restore(task.tree)
        alone = await self._run(replace(check, command=command), workspace, task.rules, progress)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        await workspace.restore(task.tree)
        again = await self._run(check, workspace, task.rules, progress)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    def _judgement(
        self,
        task: Task,
        check: Check,
        ran: Ran,
        baseline: Report,
        flaky: tuple[str, ...],
        done: tuple[Tampering, ...],
        read: Read,
    ) -> Judgement:
        shown, cut = head_and_tail(ran.text.rstrip("\n"), task.rules.shown)
        lost = _lost(ran.report, baseline) if not task.step.may_edit_tests else ""
        reason, passed = _ruling(check, ran, lost)
        verdict = Verdict(
            "passed" if passed else "failed",
            reason,
            check.command,
            check.why,
            ran.finished.exit_status,
            ran.finished.seconds,
            shown,
            tree=task.tree,
            how=ran.report.how,
            passed=ran.report.passed,
            failed=ran.report.failed,
            skipped=ran.report.skipped,
            failures=_failures(ran, baseline, flaky, read),
            flaky=flaky,
            tampering=done,
        )
        cases = [{"id": case.id, "outcome": case.outcome, "seconds": case.seconds} for case in ran.report.cases]
        return Judgement(verdict, ran.finished.output if cut else None, msgspec.json.encode(cases) if cases else None)


def _failures(ran: Ran, baseline: Report, flaky: tuple[str, ...], read: Read) -> tuple[Failure, ...]:
    before = {case.id: case.outcome for case in baseline.cases}
    return tuple(
        Failure(case.id, _kind(case.id, before, flaky), trim(case, read)) for case in ran.failing[:SHOWN_FAILURES]
    )


def _reader(workspace: Workspace) -> Read:
    """Reads files of the workspace that a trace names; the trace is untrusted, so nothing outside of it."""
    root = workspace.root.resolve()

    def read(path: str) -> str | None:
        place = (root / path).resolve()
        if not place.is_relative_to(root) or not place.is_file() or place.stat().st_size > READ_MOST:
            return None
        return place.read_text(errors="replace")

    return read


def _kind(id: str, before: Mapping[str, str], flaky: tuple[str, ...]) -> FailureKind:
    if id in flaky:
        return "flaky"
    match before.get(id):
        case "passed":
            return "regression"
        case "failed" | "error":
            return "pre-existing"
        case _:
            return "new"


def _lost(now: Report, baseline: Report) -> str:
    """Tests that passed at the base and no longer count: skipped, or fewer than there were."""
    if "exit status" in (now.how, baseline.how):
        return ""
    outcomes = {case.id: case.outcome for case in now.cases}
    skipped = [case.id for case in baseline.cases if case.outcome == "passed" and outcomes.get(case.id) == "skipped"]
    if skipped:
        return f"{skipped[0]} passed at the base and is skipped now"
    ran, ran_before = now.passed + now.failed, baseline.passed + baseline.failed
    if ran < ran_before:
        return f"only {ran} tests ran, where {ran_before} ran at the base"
    return ""


def _quiet(command: str) -> bool:
    """The closing line may well be missing: it is switched off, or goes elsewhere."""
    return any(sign in command for sign in ("-qq", "--no-summary", "--quiet", "|", ">"))


def _ruling(check: Check, ran: Ran, lost: str) -> tuple[str, bool]:
    """Why the check passed or did not, in one sentence, and whether it did."""
    finished, read = ran.finished, ran.report
    if finished.exit_status != 0:
        counts = f" ({read.failed} of {read.failed + read.passed} tests failed)" if read.failed else ""
        return reason_of(finished) + counts, False
    if read.failed:
        return f"the check ended with exit status 0, but {read.failed} tests failed", False
    if read.how == "exit status" and check.runner:
        return f"{check.runner} ended with exit status 0 without saying what it ran: it did not get to its end", False
    if check.runner == "pytest" and not ran.closed and not _quiet(check.command):
        return "pytest left a report, but ended without its closing line: it did not get to its end", False
    if read.how != "exit status" and not read.passed:
        return "the check ended with exit status 0, but no test ran", False
    if lost:
        return lost, False
    said = f"{read.passed} tests passed" if read.how != "exit status" else "exit status 0, single tests not known"
    return f"the check passed ({said}, {finished.seconds:.1f} s)", True
