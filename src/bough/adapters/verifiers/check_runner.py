"""Run: a check in a fresh checkout that holds one tree and nothing else, read into a report.

Every check of every verdict runs in such a checkout, never where an agent works. So they look alike: names, times, git
and temporary files are of the same kind whatever the tree is (the work, its base, the original tests, wrong
expectations), and what is tested cannot tell which one it is in. Installed packages are lent by the task's workspace.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.tools.output_text import decode_output
from bough.adapters.verifiers.baselines import Baselines
from bough.adapters.verifiers.check_artifacts import has_completed, load_report, read_altered, touch_files
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Check
from bough.core.errors import SetupFailed
from bough.core.journal.run_fold import Run
from bough.core.rules import Rules
from bough.core.shell_syntax import split_argv
from bough.core.tree.task import Task
from bough.core.verdict import original_tests, rulings
from bough.core.verdict.check_run import CRASHED, Baseline, CheckRun, strip_root
from bough.core.verdict.missing import Base, find_missing, names_dependencies
from bough.core.verdict.project_files import run_in_folder
from bough.core.verdict.registry import (
    count_progress,
    has_refused,
    instrument,
    make_readable,
    read_closing_lines,
    read_results,
)
from bough.core.verdict.runner import Progress
from bough.ports import Finished, Sandbox, Workspace, Workspaces

BASELINE = "@baseline"
OWNED = b"is now a copy that belongs to this workspace: run the command again."
KEPT = 12
"""Results of checks that are kept, with their output, in case a later verdict is about the same tree."""

Say = Callable[[str], None]
Seen = tuple[Mapping[str, str], list[str]]
"""What a check must leave alone, and what it may not have left alone."""


class Work(Struct, eq=False):
    """What a check is run for: a task of a run, and its check."""

    run: Run
    task: Task
    check: Check

    def with_command(self, command: str | None, runner: str | None = None) -> Work:
        """The same with another command of the same check; None: with its own."""
        check, runner = self.check, self.check.runner if runner is None else runner
        return Work(self.run, self.task, replace(check, command=command or check.command, runner=runner))


class _Key(NamedTuple):
    """What determines the result of a check within a run."""

    run: str
    tree: str
    command: str
    in_folder: bool
    """It runs where the person stands, not at the top."""
    lender: Path | None


class CheckRunner:
    def __init__(
        self, sandbox: Sandbox, workspaces: Workspaces, texts: Texts, home: Path, environment: CheckEnvironment
    ) -> None:
        self._environment = environment
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._texts = texts
        self._sweeping: dict[str, asyncio.Task[None]] = {}
        self._results: dict[_Key, asyncio.Task[CheckRun]] = {}
        self._lenders: dict[tuple[str, str], Path] = {}
        """Workspaces with packages of their own, by run and task."""
        self.baselines = Baselines(home / "baselines", environment.surroundings)

    async def prepare(self, work: Work, workspace: Workspace) -> None:
        """Lend the packages that were installed in the task's workspace to its checks from now on; called before each
        verdict. They are in no tree, so what an earlier verdict's checks said with them is forgotten."""
        key = work.run.name, work.task.id
        self._lenders.pop(key, None)
        if await workspace.lends(work.task.tree):
            self._lenders[key] = workspace.root
            self._results = {key: one for key, one in self._results.items() if key.lender != workspace.root}

    def _find_lender(self, work: Work, tree: str) -> Path | None:
        run, task = work.run, work.task
        return self._lenders.get((run.name, task.id)) if tree not in (run.base, task.base) else None

    def once(self, work: Work, tree: str, say: Say = lambda line: None) -> asyncio.Task[CheckRun]:
        """The check on some tree: run now, or its result when it has already run on that tree in this run."""
        in_folder, lender = bool(work.task.step.test_command), self._find_lender(work, tree)
        key = _Key(work.run.name, tree, work.check.command, in_folder, lender)
        known = self._results.get(key)
        if known is None or (known.done() and not _may_be_reused(known)):
            known = self._results[key] = asyncio.create_task(self.in_fresh_checkout(work, tree, say))
            for old in [key for key, one in self._results.items() if one.done()][:-KEPT]:
                del self._results[old]
        return known

    async def in_fresh_checkout(self, work: Work, tree: str, say: Say = lambda line: None) -> CheckRun:
        """The check on some tree, whether or not it has already run there: what fails by chance may pass now."""
        async with self.checkout(work, tree) as workspace:
            return await self._run_check(work, tree, workspace, say)

    @asynccontextmanager
    async def checkout(self, work: Work, tree: str) -> AsyncIterator[Workspace]:
        """A fresh checkout of some tree, like every other one in which a check of this task runs."""
        run, task = work.run, work.task
        await self.sweep(run)
        name = f"{task.id}{BASELINE}-{secrets.token_hex(4)}"
        start, lender = run.base or task.base, self._find_lender(work, tree)
        try:
            workspace = await self._workspaces.open(run.name, name, tree, run.folder, start=start, lender=lender)
            await workspace.clear(tree)
            workspace.folder.mkdir(parents=True, exist_ok=True)
            await workspace.furnish()
            # A reused checkout has older files: what differs between trees would show by its times what was put back.
            changed = await self._workspaces.changes(start, task.tree)
            await asyncio.to_thread(touch_files, workspace, [change.path for change in changed])
            yield workspace
        finally:
            await self._workspaces.discard(run.name, name)

    def at_tree(self, work: Work, tree: str, say: Say = lambda line: None) -> asyncio.Task[Baseline]:
        """The check's result at a tree: known from before, or measured alongside other work."""

        async def measure() -> Baseline:
            ran = await asyncio.shield(self.once(work, tree, say))
            if ran.finished.exit_status == 0:
                return ran.known()
            paths = await self._workspaces.paths(tree)
            texts = await self._workspaces.texts(tree, [path for path in paths if names_dependencies(path)])
            return self._environment.examined(ran, work.check, Base(texts, paths, work.task.step.instructions))

        if self._find_lender(work, tree) is not None:
            return asyncio.create_task(measure())
        return self.baselines.begin(tree, work.check, measure)

    async def require_commands(self, work: Work, ran: CheckRun, known: Baseline) -> None:
        """Raise `SetupFailed` for a missing command that only the end of a check needs (a linter after the tests). It
        shows when all tests pass, which they did not at the base: it is no bug of the work, and no hunter could repair
        it."""
        if known.exit_status == 0 or ran.report.failing or not ran.report.passed or self._environment.remedies is None:
            return
        base = Base({}, await self._workspaces.paths(work.task.base), work.task.step.instructions)
        lacks = find_missing(ran.finished.exit_status, work.check.command, ran.text, ran.report, base)
        if lacks is not None and lacks.kind == "command":
            raise SetupFailed(f"All tests pass, but {lacks}. {self._environment.remedies.for_missing(lacks, base)}")

    async def sweep(self, run: Run) -> None:
        """Checkouts in which a bough process that has ended was measuring are gone: whoever needs that baseline makes
        their own. Shielded, since the first caller does it for all."""
        if run.name not in self._sweeping:
            self._sweeping[run.name] = asyncio.create_task(self._workspaces.sweep(run.name, BASELINE))
        await asyncio.shield(self._sweeping[run.name])

    async def close(self) -> None:
        for result in self._results.values():
            result.cancel()
        await asyncio.gather(*self._sweeping.values(), *self._results.values(), return_exceptions=True)
        await self.baselines.close()

    async def _run_check(self, work: Work, tree: str, workspace: Workspace, say: Say) -> CheckRun:
        check, task = work.check, work.task
        texts = await self._texts.of(tree, check.command)
        await workspace.mark()
        # A fresh name each time, so that a report which the agent or an earlier check left is never taken for this one.
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        command, env = instrument(check.command, check.runner, str(path), {})
        # A discovered check runs from the top; the step's own, from the person's folder.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        finished = await self._run_before(check, workspace, task.rules, say)
        finished = finished or await self._run_sandboxed(
            run_in_folder(at, command), env, check, workspace, task.rules, say
        )
        if OWNED in finished.output:  # It was denied writing to what is by now its own copy.
            finished = await self._run_sandboxed(run_in_folder(at, command), env, check, workspace, task.rules, say)
        text = await asyncio.to_thread(decode_output, finished.output)
        # An old or wrapped runner may not know the report option. That is not the project's failure, so it runs as
        # written.
        if has_refused(text, finished.exit_status):
            finished = await self._run_sandboxed(
                run_in_folder(at, check.command), {}, check, workspace, task.rules, say
            )
            text = await asyncio.to_thread(decode_output, finished.output)
        seen: Seen = (texts, await workspace.list_altered())
        return await asyncio.to_thread(_read_run, check, finished, text, path, workspace, seen)

    async def _run_before(self, check: Check, workspace: Workspace, rules: Rules, say: Say) -> Finished | None:
        """What has to run before every check; how it ended when it failed."""
        if not self._environment.before:
            return None
        done = await self._run_sandboxed(self._environment.before, {}, check, workspace, rules, say)
        return done if done.exit_status != 0 else None

    async def _run_sandboxed(
        self, command: str, env: dict[str, str], check: Check, workspace: Workspace, rules: Rules, say: Say
    ) -> Finished:
        so_far = Progress()

        def tell(line: str) -> None:
            nonlocal so_far
            so_far = count_progress(so_far, line, check.runner)
            say(str(so_far) if so_far.done else line)

        return await self._sandbox.run(
            to_argv(command),
            workspace=workspace,
            timeout=rules.check_timeout,
            limit=rules.kept,
            progress=tell,
            env={**self._environment.env, **env},
        )


def _may_be_reused(done: asyncio.Task[CheckRun]) -> bool:
    """A check that did not end by itself, or could not start, may do so the next time."""
    if done.cancelled() or done.exception() is not None:
        return False
    status = done.result().finished.exit_status
    return status is not None and status < CRASHED


def _read_run(check: Check, finished: Finished, text: str, path: Path, workspace: Workspace, seen: Seen) -> CheckRun:
    root, shown = str(workspace.root), make_readable(text, check.runner)
    return CheckRun(
        finished,
        read_results(load_report(path), text, finished.exit_status, check.runner, root),
        shown,
        closed=read_closing_lines(text, check.runner, root) is not None,
        refuted=original_tests.hash_refutation(strip_root(shown, root)),
        rewritten=rulings.find_rewritten(*read_altered(workspace, *seen)),
        ended=has_completed(path),
    )


def to_argv(command: str) -> list[str]:
    """A command line as its words; as one line for a shell when it needs one."""
    return split_argv(command) or [shutil.which("bash") or "sh", "-c", command]
