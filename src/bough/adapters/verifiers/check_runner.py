"""Run: a check in a workspace that holds one tree and nothing else, read into a report; and at other trees, in
checkouts of their own.

Everything in a workspace besides the tree (ignored files, bytecode, temporary files) is removed before a check runs,
except for installed packages.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from bough.adapters.tools.output_text import decode_output
from bough.adapters.verifiers import original_tests, rulings
from bough.adapters.verifiers.baseline import Baseline, Baselines
from bough.adapters.verifiers.cases import strip_root
from bough.adapters.verifiers.check_artifacts import has_completed, load_report, read_altered
from bough.adapters.verifiers.check_command import to_argv
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.verifiers.missing import is_manifest
from bough.adapters.verifiers.project_files import run_in_folder
from bough.adapters.verifiers.report_reader import make_readable, read_closing_lines, read_results
from bough.adapters.verifiers.rulings import Ran
from bough.adapters.verifiers.runners import Progress, count_progress, has_refused, instrument
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Check
from bough.core.journal.run_fold import Run
from bough.core.rules import Rules
from bough.core.tree.task import Task
from bough.ports import Finished, Sandbox, Workspace, Workspaces

BASELINE = "@baseline"
OWNED = b"is now a copy that belongs to this workspace: run the command again."
HEAD_START = 0.7
"""Seconds in which a check has the processor to itself, while it loads: concurrent work can wait that long."""

Say = Callable[[str], None]
Seen = tuple[Mapping[str, str], list[str]]
"""What a check must leave alone, and what it may not have left alone."""


class CheckRunner:
    def __init__(
        self, sandbox: Sandbox, workspaces: Workspaces, texts: Texts, home: Path, door: CheckEnvironment
    ) -> None:
        self._door = door
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._texts = texts
        self._sweeping: dict[str, asyncio.Task[None]] = {}
        self.baselines = Baselines(home / "baselines", door.surroundings)

    async def here(self, check: Check, task: Task, workspace: Workspace, say: Say) -> Ran:
        """The check once, whole, on the task's tree in its own workspace."""
        # Exact: file watches can miss a write through a hard link, and a verdict must not rest on that.
        await workspace.restore(task.tree, exact=True)
        gone = await self._clear_workspace(task.tree, workspace)
        return await self._run_check(check, task, task.tree, workspace, say, gone)

    async def apart(self, run: Run, task: Task, check: Check, tree: str, say: Say = lambda line: None) -> Ran:
        """The check on some tree, in a fresh checkout."""
        await self.swept(run)
        name = f"{task.id}{BASELINE}-{secrets.token_hex(4)}"
        try:
            workspace = await self._workspaces.open(run.name, name, tree, run.folder)
            gone = await self._clear_workspace(tree, workspace)  # it was just created: there is nothing to restore
            return await self._run_check(check, task, tree, workspace, say, gone)
        finally:
            await self._workspaces.discard(run.name, name)

    def at(self, run: Run, task: Task, check: Check, tree: str, say: Say = lambda line: None) -> asyncio.Task[Baseline]:
        """The check's result at a tree: known from before, or measured alongside other work."""

        async def measure() -> Baseline:
            ran = await self.apart(run, task, check, tree, say)
            if ran.finished.exit_status == 0:
                return ran.known()
            paths = await self._workspaces.paths(tree)
            texts = await self._workspaces.texts(tree, [path for path in paths if is_manifest(path)])
            return self._door.examined(ran, texts, paths)

        return self.baselines.begin(tree, check, measure)

    async def swept(self, run: Run) -> None:
        """Checkouts in which a bough process that has ended was measuring are gone: whoever needs that baseline makes
        their own. Shielded, since the first caller does it for all."""
        if run.name not in self._sweeping:
            self._sweeping[run.name] = asyncio.create_task(self._workspaces.sweep(run.name, BASELINE))
        await asyncio.shield(self._sweeping[run.name])

    async def close(self) -> None:
        await asyncio.gather(*self._sweeping.values(), return_exceptions=True)
        await self.baselines.close()

    async def _clear_workspace(self, tree: str, workspace: Workspace) -> list[str]:
        """Make the workspace hold the files of the tree and no others; returns those removed."""
        gone = await workspace.clear(tree)
        workspace.folder.mkdir(parents=True, exist_ok=True)
        await workspace.furnish()
        return gone

    async def _run_check(
        self, check: Check, task: Task, tree: str, workspace: Workspace, say: Say, gone: list[str]
    ) -> Ran:
        texts = await self._texts.of(tree, check.command)
        await workspace.mark()
        # A fresh name each time, so that a report which the agent or an earlier check left is never taken for this one.
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        command, env = instrument(check.command, check.runner, path, {})
        # A discovered check runs from the top; the step's own, from the person's folder.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        loading = asyncio.get_running_loop().call_later(
            HEAD_START, load_module, "bough.adapters.verifiers.report_reader"
        )
        try:
            finished = await self._run_before(check, workspace, task.rules, say)
            finished = finished or await self._run_sandboxed(
                run_in_folder(at, command), env, check, workspace, task.rules, say
            )
            if OWNED in finished.output:  # It was denied writing to what is by now its own copy.
                finished = await self._run_sandboxed(run_in_folder(at, command), env, check, workspace, task.rules, say)
        finally:
            loading.cancel()
        text = await asyncio.to_thread(decode_output, finished.output)
        # An old or wrapped runner may not know the report option. That is not the project's failure, so it runs as
        # written.
        if has_refused(text, finished.exit_status):
            finished = await self._run_sandboxed(
                run_in_folder(at, check.command), {}, check, workspace, task.rules, say
            )
            text = await asyncio.to_thread(decode_output, finished.output)
        seen: Seen = (texts, await workspace.list_altered())
        return await asyncio.to_thread(_read_run, check, finished, text, path, workspace, seen, gone)

    async def _run_before(self, check: Check, workspace: Workspace, rules: Rules, say: Say) -> Finished | None:
        """What has to run before every check; how it ended when it failed."""
        if not self._door.before:
            return None
        done = await self._run_sandboxed(self._door.before, {}, check, workspace, rules, say)
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
            env={**self._door.env, **env},
        )


def _read_run(
    check: Check, finished: Finished, text: str, path: Path, workspace: Workspace, seen: Seen, gone: list[str]
) -> Ran:
    root, shown = str(workspace.root), make_readable(text, check.runner)
    return Ran(
        finished,
        read_results(load_report(path), text, finished.exit_status, check.runner, root),
        shown,
        closed=read_closing_lines(text, check.runner, root) is not None,
        refuted=original_tests.hash_refutation(strip_root(shown, root)),
        rewritten=rulings.find_rewritten(*read_altered(workspace, *seen)),
        ended=has_completed(path),
        gone=tuple(gone),
    )


def load_module(module: str) -> None:
    """Load what is needed after a check while it runs: its patterns take longer than anything else around a check."""
    asyncio.get_running_loop().run_in_executor(None, import_module, module)
