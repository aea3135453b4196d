"""Proves a task by evidence: finds its check, runs it in the task's workspace, reads what it said, and holds that
against the base and against what was done to the tests.

A verdict is `passed` only when a whole run of the check ended with exit status 0, at least one test ran where tests can
be counted, no test that ran at the base fails, is skipped or is gone, and nothing was done to the tests, neither before
the check nor while it ran. It says what the tree does and nothing else: whatever lies about in the workspace besides
(ignored files, bytecode, temporary files) is gone before the check runs, but for installed packages.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.adapters.tools.text import clean, head_and_tail
from bough.adapters.verifiers import rulings
from bough.adapters.verifiers.bare import lay_bare
from bough.adapters.verifiers.baseline import Baselines, Known
from bough.adapters.verifiers.command import to_argv
from bough.adapters.verifiers.discover import discover
from bough.adapters.verifiers.look import within
from bough.adapters.verifiers.reading import Progress, counting, read_lines, readable, report
from bough.adapters.verifiers.rulings import Ran, Read
from bough.adapters.verifiers.runners import instrument, refused, rerun
from bough.core import tamper
from bough.core.acceptance import Check, Report, Tampering, Verdict
from bough.core.ids import GOAL
from bough.core.rules import Rules
from bough.core.run import Run
from bough.core.state import Task
from bough.core.tamper.files import test_file
from bough.ports import Finished, Judgement, Sandbox, Workspace, Workspaces

NOT_FOUND = "finished, not verified: no check was found (give one with --check CMD, or have tests written)"
BASELINE = "@baseline"
KEPT_TREES = 4
RERUN_MOST = 20
"""More failing tests than this are not flaky: they are not run again."""

READ_MOST = 2_000_000
LARGEST_REPORT = 64 * 1024 * 1024

Say = Callable[[str], None]


class ProjectVerifier:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, home: Path) -> None:
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._baselines = Baselines(home / "baselines")
        self._begun: set[asyncio.Task[None]] = set()
        self._sweeping: dict[str, asyncio.Task[None]] = {}
        self._texts: dict[str, dict[str, str]] = {}

    async def find(self, task: Task) -> Check | None:
        """The check that the base has stands: what the agent writes cannot put another one in its place. One that is
        named after the task may still come, and pytest for unittest, whose tests it runs too."""
        if not task.step.requires_testing:
            return None
        if task.step.test_command:
            return discover(task.step, task.id, (), (await self._watched(task.base)).get)
        base, own = await self._found(task, task.base)
        now, own_now = await self._found(task, task.tree) if task.tree != task.base else (base, own)
        if base is None or now is None:
            return base or now
        wider = base.runner == "unittest" and now.runner == "pytest"
        return now if wider or (own and not own_now) else base

    async def _found(self, task: Task, tree: str) -> tuple[Check | None, bool]:
        """The check in a tree, and whether it is the project's own."""
        paths, read = await self._workspaces.paths(tree), (await self._watched(tree)).get
        found = discover(task.step, task.id, paths, read)
        return found, found == discover(task.step, GOAL, paths, read)

    # ── the base ────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, run: Run, task: Task) -> None:
        begun = asyncio.create_task(self._begin(run, task))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)

    async def _begin(self, run: Run, task: Task) -> None:
        await self._swept(run)
        check = await self.find(replace(task, tree=task.base))
        if check is not None:
            await asyncio.wait([self._baseline(run, task, check)])

    def _baseline(self, run: Run, task: Task, check: Check) -> asyncio.Task[Known]:
        async def measure() -> Known:
            await self._swept(run)
            # A checkout for each check: another one may be under way at the same base.
            name = f"{task.id}{BASELINE}-{hashlib.sha256(check.command.encode()).hexdigest()[:8]}"
            workspace = await self._workspaces.open(run.name, name, task.base, run.folder)
            try:
                return (await self._run(check, task, task.base, workspace, lambda line: None)).known()
            finally:
                await self._workspaces.discard(run.name, name)

        return self._baselines.begin(task.base, check, measure)

    async def _swept(self, run: Run) -> None:
        """Checkouts that an earlier life of bough was measuring in are gone: whoever needs that baseline makes his own.
        Shielded, since the one who comes first does it for all."""
        if run.name not in self._sweeping:
            self._sweeping[run.name] = asyncio.create_task(self._workspaces.sweep(run.name, BASELINE))
        await asyncio.shield(self._sweeping[run.name])

    async def close(self) -> None:
        await asyncio.gather(*self._sweeping.values(), return_exceptions=True)
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
            return _tampered(task, check, done, "the tests were tampered with")
        baseline = self._baseline(run, task, check)
        ran = await self._run(check, task, task.tree, workspace, progress)
        ran, flaky = await self._again(check, ran, task, workspace, progress)
        if ran.changed and not task.step.may_edit_tests:
            return _tampered(task, check, ran.changed, "the tests were changed while they ran")
        before, after = await self._watched(task.base), await self._watched(task.tree)
        same = {path for path, text in before.items() if after.get(path) == text}
        judgement = self._judgement(task, check, ran, await baseline, same, flaky, done, _reader(workspace))
        if judgement.verdict.ruling == "passed":
            # The next task starts from this very tree: what was seen here is its baseline.
            self._baselines.know(task.tree, check, ran.known())
        return judgement

    async def _tampering(self, task: Task, check: Check) -> list[Tampering]:
        if task.tree == task.base:
            return []
        before, after = await asyncio.gather(self._watched(task.base), self._watched(task.tree))
        done = await asyncio.to_thread(tamper.inspect, before, after, check.command)
        return done or await self._hollow(task, check, before, after)

    async def _hollow(
        self, task: Task, check: Check, before: Mapping[str, str], after: Mapping[str, str]
    ) -> list[Tampering]:
        """Where nothing was there to prove the task by, the tests that were written for it have to assert something: a
        test that could be emptied and nobody would call it weaker does not."""
        if task.step.test_command or (await self._found(task, task.base))[0] is not None:
            return []
        new = {path: text for path, text in after.items() if path not in before and path.endswith(".py")}
        emptied = {path: _emptied(text) for path, text in new.items() if test_file(path)}
        weaker = await asyncio.to_thread(tamper.inspect, new, {**new, **emptied}, check.command)
        if weaker or not emptied:
            return []
        return [Tampering(path, 1, "the new tests assert nothing about the code") for path in sorted(emptied)]

    async def _watched(self, tree: str) -> dict[str, str]:
        """The tests of a tree, their configuration, and whatever else says how they are run."""
        if tree not in self._texts:
            paths = await self._workspaces.paths(tree)
            watched = [path for path in paths if tamper.watched(path)]
            self._texts[tree] = await self._workspaces.texts(tree, watched)
            while len(self._texts) > KEPT_TREES:
                del self._texts[next(iter(self._texts))]
        return self._texts[tree]

    async def _run(self, check: Check, task: Task, tree: str, workspace: Workspace, progress: Say) -> Ran:
        """The check once, whole, in a workspace that holds just the tree."""
        await workspace.restore(tree)
        paths = await self._workspaces.paths(tree)
        gone = await asyncio.to_thread(lay_bare, workspace.root, workspace.scratch, paths)
        workspace.folder.mkdir(parents=True, exist_ok=True)
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        command, env = instrument(check.command, check.runner, path, {})
        # What was found was found from the top; what the step says is meant from where the person stood.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        finished = await self._sandboxed(within(at, command), env, check, workspace, task.rules, progress)
        text = await asyncio.to_thread(clean, finished.output)
        if refused(text, finished.exit_status):
            finished = await self._sandboxed(within(at, check.command), {}, check, workspace, task.rules, progress)
            text = await asyncio.to_thread(clean, finished.output)
        root = str(workspace.root)
        body = await asyncio.to_thread(_report_at, path)
        read = _relative(await asyncio.to_thread(report, body, text, finished.exit_status, check.runner, root))
        closed = await asyncio.to_thread(read_lines, text, check.runner, root) is not None
        before = await self._watched(tree)
        after = await asyncio.to_thread(_on_disk, workspace, before)
        changed = await asyncio.to_thread(tamper.inspect, before, after, check.command)
        return Ran(finished, read, readable(text, check.runner), closed, tuple(changed), tuple(gone))

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
        alone = await self._run(replace(check, command=command), task, task.tree, workspace, progress)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        again = await self._run(check, task, task.tree, workspace, progress)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    def _judgement(
        self,
        task: Task,
        check: Check,
        ran: Ran,
        baseline: Known,
        same: Collection[str],
        flaky: tuple[str, ...],
        done: tuple[Tampering, ...],
        read: Read,
    ) -> Judgement:
        shown, cut = head_and_tail(ran.text.rstrip("\n"), task.rules.shown)
        lost = "" if task.step.may_edit_tests else rulings.lost(ran.report, baseline.report, same)
        reason, passed = rulings.ruling(check, ran, baseline, lost)
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
            failures=rulings.failures(ran, baseline.report, flaky, read),
            flaky=flaky,
            tampering=done,
        )
        cases = [{"id": case.id, "outcome": case.outcome, "seconds": case.seconds} for case in ran.report.cases]
        return Judgement(verdict, ran.finished.output if cut else None, msgspec.json.encode(cases) if cases else None)


def _tampered(task: Task, check: Check, done: tuple[Tampering, ...], what: str) -> Judgement:
    more = f" (and {len(done) - 1} more)" if len(done) > 1 else ""
    reason = f"{what}: {done[0].path}: {done[0].what}{more}"
    return Judgement(Verdict("tampered", reason, check.command, check.why, tree=task.tree, tampering=done))


def _emptied(text: str) -> str:
    """Python with nothing left in its functions; text that is no Python stays."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
    return ast.unparse(tree)


def _report_at(path: Path) -> bytes | None:
    """The report, unless it is something that no runner writes: the tests' own code could have made it."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return path.read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_REPORT else None


_ABOVE = re.compile(r"^(?:[^:]*/)?\.bough/work/[^/]+/[^/]+/")


def _relative(read: Report) -> Report:
    """With test ids as seen from the workspace, also where pytest takes settings in a folder above it for its root."""
    return replace(read, cases=tuple(replace(case, id=_ABOVE.sub("", case.id)) for case in read.cases))


def _on_disk(workspace: Workspace, texts: Mapping[str, str]) -> dict[str, str]:
    """The same files as they are now."""
    found = {}
    for path in texts:
        with suppress(OSError):
            place = workspace.root / path
            body = os.fsencode(place.readlink()) if place.is_symlink() else place.read_bytes()
            found[path] = body.decode(errors="replace")
    return found


def _reader(workspace: Workspace) -> Read:
    """Reads files of the workspace that a trace names; the trace is untrusted, so nothing outside of it."""
    root = workspace.root.resolve()

    def read(path: str) -> str | None:
        place = (root / path).resolve()
        if not place.is_relative_to(root) or not place.is_file() or place.stat().st_size > READ_MOST:
            return None
        return place.read_text(errors="replace")

    return read
