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
import secrets
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.adapters.tools.text import clean, head_and_tail
from bough.adapters.verifiers import old_tests, rulings
from bough.adapters.verifiers.bare import lay_bare
from bough.adapters.verifiers.baseline import Baselines, Known
from bough.adapters.verifiers.cases import without_root
from bough.adapters.verifiers.command import to_argv
from bough.adapters.verifiers.discover import discover
from bough.adapters.verifiers.evidence import Mark, came_to_its_end, lay_out, marks, on_disk, reader, report_at
from bough.adapters.verifiers.installed import forged_runners
from bough.adapters.verifiers.look import within
from bough.adapters.verifiers.rulings import Ran, Read
from bough.adapters.verifiers.runners import instrument, refused, rerun
from bough.core import tamper
from bough.core.acceptance import Check, Tampering, Verdict
from bough.core.ids import GOAL
from bough.core.rules import Rules
from bough.core.run import Run
from bough.core.tamper.files import test_file
from bough.core.task import Task
from bough.core.workflow.keys import for_agents
from bough.ports import Finished, Judgement, Sandbox, Workspace, Workspaces

NOT_FOUND = "finished, not verified: no check was found (give one with --check CMD, or have tests written)"
ONLY_COMMANDS = "only commands ran, and all ended well; there is no check beside them"
BASELINE = "@baseline"
KEPT_TEXTS = 8
HEAD_START = 0.7
"""Seconds in which a check has the processor to itself, while it loads: what is done beside it can wait so long."""
RERUN_MOST = 20
"""More failing tests than this are not flaky: they are not run again."""

Say = Callable[[str], None]
Seen = tuple[Mapping[str, str], Mapping[str, Mark | None]]
"""The tests, their configuration and whatever else is watched: texts, and marks on disk."""


class ProjectVerifier:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, home: Path) -> None:
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._baselines = Baselines(home / "baselines")
        self._begun: set[asyncio.Task[None]] = set()
        self._texts: dict[tuple[str, str], dict[str, str]] = {}
        """By tree and command."""
        self._sweeping: dict[str, asyncio.Task[None]] = {}

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

    def before(self, task: Task, check: Check) -> str:
        known = self._baselines.look(task.base, check)
        return rulings.before(known) if known is not None else ""

    def _baseline(self, run: Run, task: Task, check: Check) -> asyncio.Task[Known]:
        async def measure() -> Known:
            return (await self._at_base(run, task, check)).known()

        return self._baselines.begin(task.base, check, measure)

    async def _at_base(self, run: Run, task: Task, check: Check) -> Ran:
        await self._swept(run)
        return await self._apart(run, task, check, task.base)

    async def _apart(self, run: Run, task: Task, check: Check, tree: str, back: old_tests.Back | None = None) -> Ran:
        """A check in a checkout of its own, which holds a tree but for files that are put back as they were."""
        name = f"{task.id}{BASELINE}-{secrets.token_hex(4)}"
        workspace = await self._workspaces.open(run.name, name, tree, run.folder)
        try:
            gone = await self._cleared(tree, workspace)  # it was made just now: there is nothing to restore
            await asyncio.to_thread(lay_out, workspace.root, back or {})
            seen = await self._seen(check, task, tree, workspace)
            return await self._ran(check, task, workspace, lambda line: None, gone, seen)
        finally:
            await self._workspaces.discard(run.name, name)

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
        if check is None and not for_agents(task.step):
            return Judgement(Verdict("passed", ONLY_COMMANDS, tree=task.tree))
        if check is None:
            return Judgement(Verdict("not_verified", NOT_FOUND, tree=task.tree))
        baseline = self._baseline(run, task, check)
        try:
            ran, done = await self._run_beside_the_gate(task, check, workspace, progress)
        except _Caught as caught:
            return _tampered(task, check, caught.done, "the tests were tampered with")
        ran, flaky = await self._again(run, check, ran, baseline, task, workspace, progress)
        if ran.changed and not task.step.may_edit_tests:
            return _tampered(task, check, ran.changed, "the tests were changed while they ran")
        if anew := sorted({*ran.rewritten} - {*(await baseline).rewritten}):
            done = tuple(Tampering(path, 0, "the check ran with something else in its place") for path in anew)
            return _tampered(task, check, done, "the code was changed while it was tested")
        before = await self._watched(task.base, check.command)
        after = await self._watched(task.tree, check.command, task.base)
        same = {path for path, text in before.items() if after.get(path) == text}
        judgement = self._judgement(task, check, ran, await baseline, same, flaky, done, reader(workspace))
        if judgement.verdict.ruling != "passed":
            return judgement
        if bent := await self._bent(run, task, check, before, after, await baseline, progress):
            return _tampered(task, check, bent, "the tests were changed, and not only the code")
        # The next task starts from this very tree: what was seen here is its baseline.
        self._baselines.know(task.tree, check, ran.known())
        return judgement

    async def _run_beside_the_gate(
        self, task: Task, check: Check, workspace: Workspace, progress: Say
    ) -> tuple[Ran, tuple[Tampering, ...]]:
        """The gate looks while the check runs, which the sandbox confines whatever was done to it. What the gate
        finds ends the check, unless it is allowed."""
        # Not to be cut short: the workspace would be left as neither the one tree nor the other.
        watched = self._watched(task.tree, check.command, task.base)
        bare, texts = await asyncio.gather(self._bare(task.tree, workspace), watched)
        seen = await self._seen(check, task, task.tree, workspace)
        under_way = asyncio.create_task(self._ran(check, task, workspace, progress, bare, seen))
        try:
            await asyncio.wait([under_way], timeout=HEAD_START)
            tracked = frozenset(await self._workspaces.paths(task.tree))
            forged = await asyncio.to_thread(forged_runners, workspace.root, tracked, texts)
            done = (*forged, *await self._tampering(task, check))
            _load("bough.core.tamper.as_before")
            if done and not task.step.may_edit_tests:
                raise _Caught(done)
            return await under_way, done
        finally:
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)

    async def _bent(
        self,
        run: Run,
        task: Task,
        check: Check,
        before: Mapping[str, str],
        after: Mapping[str, str],
        baseline: Known,
        progress: Say,
    ) -> tuple[Tampering, ...]:
        """Tests of the base that fail on the work once they are put back as they were."""
        back = tamper.put_back(before, after, check.command)
        ids = old_tests.asked_again(baseline, back, after)
        if task.step.may_edit_tests or not ids:
            return ()
        narrow = rerun(check.command, check.runner, list(ids)) if len(ids) <= RERUN_MOST else None
        alone = replace(check, command=narrow or check.command)
        progress("tests were changed: those of the base are run on the new code")

        async def bent() -> dict[str, Tampering]:
            return old_tests.bent(baseline, await self._apart(run, task, alone, task.tree, back), ids, back)

        if not (found := await bent()):
            return ()
        # Not by chance, and not because they are run without the others.
        again = await bent()
        as_now = await self._apart(run, task, alone, task.tree)
        failing = {case.id for case in as_now.report.failing}
        return tuple(one for id, one in found.items() if id in again and id not in failing)

    async def _tampering(self, task: Task, check: Check) -> list[Tampering]:
        if task.tree == task.base:
            return []
        before = await self._watched(task.base, check.command)
        after = await self._watched(task.tree, check.command, task.base)
        changed = (change.path for change in await self._workspaces.changes(task.base, task.tree))
        data = tamper.read_by_tests((path for path in changed if path not in before and path not in after), before)
        if data:
            before = {**before, **await self._workspaces.texts(task.base, data)}
            after = {**after, **await self._workspaces.texts(task.tree, data)}
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

    async def _watched(self, tree: str, command: str = "", base: str = "") -> dict[str, str]:
        """The tests of a tree, their configuration, whatever else says how they are run, and what the command names.
        With a base whose texts are known, only what differs from it is read."""
        if (tree, command) in self._texts:
            return self._texts[tree, command]
        known = dict(self._texts.get((tree, ""), {}))
        if not known and (base, command) in self._texts:
            known = dict(self._texts[base, command])
            changes = await self._workspaces.changes(base, tree)
            for change in changes:
                known.pop(change.path, None)
            paths = [change.path for change in changes if change.kind != "D"]
        else:
            paths = await self._workspaces.paths(tree)
        wanted = [path for path in paths if path not in known and tamper.watched(path, command)]
        known |= await self._workspaces.texts(tree, wanted) if wanted else {}
        self._texts[tree, command] = known
        while len(self._texts) > KEPT_TEXTS:
            del self._texts[next(iter(self._texts))]
        return known

    async def _run(self, check: Check, task: Task, tree: str, workspace: Workspace, progress: Say) -> Ran:
        """The check once, whole, in a workspace that holds just the tree."""
        bare = await self._bare(tree, workspace)
        seen = await self._seen(check, task, tree, workspace)
        return await self._ran(check, task, workspace, progress, bare, seen)

    async def _bare(self, tree: str, workspace: Workspace) -> list[str]:
        """The workspace with the tree and nothing else; what was removed for it."""
        await workspace.restore(tree)
        return await self._cleared(tree, workspace)

    async def _cleared(self, tree: str, workspace: Workspace) -> list[str]:
        """A workspace that has the files of the tree, without any others."""
        paths = await self._workspaces.paths(tree)
        gone = await asyncio.to_thread(lay_bare, workspace.root, workspace.scratch, paths)
        workspace.folder.mkdir(parents=True, exist_ok=True)
        return gone

    async def _seen(self, check: Check, task: Task, tree: str, workspace: Workspace) -> Seen:
        """What the check must leave alone, as it is before."""
        texts = await self._watched(tree, check.command, task.base)
        return texts, await asyncio.to_thread(marks, workspace, texts)

    async def _ran(
        self, check: Check, task: Task, workspace: Workspace, progress: Say, gone: list[str], seen: Seen
    ) -> Ran:
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        command, env = instrument(check.command, check.runner, path, {})
        # What was found was found from the top; what the step says is meant from where the person stood.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        loading = asyncio.get_running_loop().call_later(HEAD_START, _load, "bough.adapters.verifiers.reading")
        try:
            finished = await self._sandboxed(within(at, command), env, check, workspace, task.rules, progress)
        finally:
            loading.cancel()
        from bough.adapters.verifiers.reading import read_lines, readable, report

        text = await asyncio.to_thread(clean, finished.output)
        if refused(text, finished.exit_status):
            finished = await self._sandboxed(within(at, check.command), {}, check, workspace, task.rules, progress)
            text = await asyncio.to_thread(clean, finished.output)
        root = str(workspace.root)
        body = await asyncio.to_thread(report_at, path)
        read = await asyncio.to_thread(report, body, text, finished.exit_status, check.runner, root)
        closed = await asyncio.to_thread(read_lines, text, check.runner, root) is not None
        after = await asyncio.to_thread(on_disk, workspace, *seen)
        changed = await asyncio.to_thread(tamper.inspect, seen[0], after, check.command)
        shown = readable(text, check.runner)
        return Ran(
            finished,
            read,
            shown,
            closed,
            tuple(changed),
            old_tests.refuted(without_root(shown, root)),
            rulings.rewritten(seen[0], after),
            await asyncio.to_thread(came_to_its_end, path),
            tuple(gone),
        )

    async def _sandboxed(
        self, command: str, env: dict[str, str], check: Check, workspace: Workspace, rules: Rules, progress: Say
    ) -> Finished:
        from bough.adapters.verifiers.counting import Progress, counting

        so_far = Progress()

        def tell(line: str) -> None:
            nonlocal so_far
            so_far = counting(so_far, line, check.runner)
            progress(str(so_far) if so_far.done else line)

        return await self._sandbox.run(
            to_argv(command), workspace=workspace, timeout=rules.check_timeout, limit=rules.kept, progress=tell, env=env
        )

    async def _again(
        self,
        run: Run,
        check: Check,
        ran: Ran,
        baseline: asyncio.Task[Known],
        task: Task,
        workspace: Workspace,
        progress: Say,
    ) -> tuple[Ran, tuple[str, ...]]:
        """Failing tests are run once more, alone; when all of them pass then, the whole check is. Only that second
        whole run can pass in place of the first: a verdict never rests on part of a check."""
        failing = [case.id for case in ran.report.failing]
        command = rerun(check.command, check.runner, failing) if 0 < len(failing) <= RERUN_MOST else None
        if command is None or ran.finished.exit_status is None:
            return ran, ()
        alone = await self._run(replace(check, command=command), task, task.tree, workspace, progress)
        passing = {case.id for case in alone.report.cases if case.outcome == "passed"}
        flaky = tuple(id for id in failing if id in passing)
        unproven = rulings.unproven(flaky, (await baseline).report) if flaky else ()
        if unproven:
            sometimes = await self._sometimes(run, task, check, unproven)
            flaky = tuple(id for id in flaky if id not in unproven or id in sometimes)
        if len(flaky) < len(failing) or task.rules.strict:
            return ran, flaky
        again = await self._run(check, task, task.tree, workspace, progress)
        return (again, flaky) if again.finished.exit_status == 0 else (ran, flaky)

    async def _sometimes(self, run: Run, task: Task, check: Check, ids: tuple[str, ...]) -> set[str]:
        """Tests that failed at the base and pass there when they are run again: those were flaky before the work."""
        command = rerun(check.command, check.runner, list(ids))
        if command is None:
            return set()
        alone = await self._at_base(run, task, replace(check, command=command))
        return {case.id for case in alone.report.cases if case.outcome == "passed"}

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
        reason, passed = rulings.ruling(check, ran, baseline, lost, worked=for_agents(task.step))
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


class _Caught(Exception):
    """The gate found something while the check was running."""

    def __init__(self, done: tuple[Tampering, ...]) -> None:
        self.done = done


def _load(module: str) -> None:
    """What is needed after a check is loaded while it runs: its patterns take longer than all else around a check."""
    asyncio.get_running_loop().run_in_executor(None, import_module, module)


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
