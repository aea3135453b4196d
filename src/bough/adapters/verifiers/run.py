"""Run: a check in a workspace that holds one tree and nothing else, read into a report; and at other trees, in
checkouts of their own.

Whatever lies about in a workspace besides the tree (ignored files, bytecode, temporary files) is gone before a check
runs, but for installed packages.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from bough.adapters.tools.text import clean
from bough.adapters.verifiers import protected, rulings
from bough.adapters.verifiers.bare import lay_bare
from bough.adapters.verifiers.baseline import Baselines, Known
from bough.adapters.verifiers.cases import without_root
from bough.adapters.verifiers.command import to_argv
from bough.adapters.verifiers.door import Door
from bough.adapters.verifiers.evidence import Mark, came_to_its_end, marks, report_at, rewritten_on_disk
from bough.adapters.verifiers.look import within
from bough.adapters.verifiers.missing import is_manifest
from bough.adapters.verifiers.rulings import Ran
from bough.adapters.verifiers.runners import instrument, refused
from bough.adapters.verifiers.texts import Texts
from bough.core.acceptance import Check
from bough.core.rules import Rules
from bough.core.run import Run
from bough.core.task import Task
from bough.ports import Finished, Sandbox, Workspace, Workspaces

BASELINE = "@baseline"
OWNED = b"is now a copy that belongs to this workspace: run the command again."
HEAD_START = 0.7
"""Seconds in which a check has the processor to itself, while it loads: what is done beside it can wait so long."""

Say = Callable[[str], None]
Seen = tuple[Mapping[str, str], Mapping[str, Mark | None]]
"""What a check must leave alone: texts, and marks on disk."""


class Runner:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, texts: Texts, home: Path, door: Door) -> None:
        self._door = door
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._texts = texts
        self._sweeping: dict[str, asyncio.Task[None]] = {}
        self.baselines = Baselines(home / "baselines", door.surroundings)

    async def here(self, check: Check, task: Task, workspace: Workspace, say: Say) -> Ran:
        """The check once, whole, on the task's tree in its own workspace."""
        await workspace.restore(task.tree, exact=True)
        gone = await self._cleared(task.tree, workspace)
        return await self._ran(check, task, task.tree, workspace, say, gone)

    async def apart(self, run: Run, task: Task, check: Check, tree: str, say: Say = lambda line: None) -> Ran:
        """The check on some tree, in a fresh checkout."""
        await self.swept(run)
        name = f"{task.id}{BASELINE}-{secrets.token_hex(4)}"
        try:
            workspace = await self._workspaces.open(run.name, name, tree, run.folder)
            gone = await self._cleared(tree, workspace)  # it was made just now: there is nothing to restore
            return await self._ran(check, task, tree, workspace, say, gone)
        finally:
            await self._workspaces.discard(run.name, name)

    def at(self, run: Run, task: Task, check: Check, tree: str, say: Say = lambda line: None) -> asyncio.Task[Known]:
        """What the check says at a tree: known from before, or found out beside whatever else is done."""

        async def measure() -> Known:
            ran = await self.apart(run, task, check, tree, say)
            if ran.finished.exit_status == 0:
                return ran.known()
            paths = await self._workspaces.paths(tree)
            texts = await self._workspaces.texts(tree, [path for path in paths if is_manifest(path)])
            return self._door.examined(ran, texts, paths)

        return self.baselines.begin(tree, check, measure)

    async def swept(self, run: Run) -> None:
        """Checkouts that an earlier life of bough was measuring in are gone: whoever needs that baseline makes his own.
        Shielded, since the one who comes first does it for all."""
        if run.name not in self._sweeping:
            self._sweeping[run.name] = asyncio.create_task(self._workspaces.sweep(run.name, BASELINE))
        await asyncio.shield(self._sweeping[run.name])

    async def close(self) -> None:
        await asyncio.gather(*self._sweeping.values(), return_exceptions=True)
        await self.baselines.close()

    async def _cleared(self, tree: str, workspace: Workspace) -> list[str]:
        """A workspace that has the files of the tree, without any others; returns those."""
        paths = await self._workspaces.paths(tree)
        gone = await asyncio.to_thread(lay_bare, workspace.root, workspace.scratch, paths)
        workspace.folder.mkdir(parents=True, exist_ok=True)
        await workspace.furnish()
        return gone

    async def _ran(self, check: Check, task: Task, tree: str, workspace: Workspace, say: Say, gone: list[str]) -> Ran:
        texts = await self._texts.of(tree, check.command)
        seen: Seen = (texts, await asyncio.to_thread(marks, workspace, texts))
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        command, env = instrument(check.command, check.runner, path, {})
        # What was found was found from the top; what the step says is meant from where the person stood.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        loading = asyncio.get_running_loop().call_later(HEAD_START, load, "bough.adapters.verifiers.reading")
        try:
            finished = await self._before(check, workspace, task.rules, say)
            finished = finished or await self._sandboxed(within(at, command), env, check, workspace, task.rules, say)
            if OWNED in finished.output:  # It was denied to write to what is a copy of its own by now.
                finished = await self._sandboxed(within(at, command), env, check, workspace, task.rules, say)
        finally:
            loading.cancel()
        text = await asyncio.to_thread(clean, finished.output)
        if refused(text, finished.exit_status):
            finished = await self._sandboxed(within(at, check.command), {}, check, workspace, task.rules, say)
            text = await asyncio.to_thread(clean, finished.output)
        return await asyncio.to_thread(_read, check, finished, text, path, workspace, seen, gone)

    async def _before(self, check: Check, workspace: Workspace, rules: Rules, say: Say) -> Finished | None:
        """What has to run before every check; how it ended when it failed."""
        if not self._door.before:
            return None
        done = await self._sandboxed(self._door.before, {}, check, workspace, rules, say)
        return done if done.exit_status != 0 else None

    async def _sandboxed(
        self, command: str, env: dict[str, str], check: Check, workspace: Workspace, rules: Rules, say: Say
    ) -> Finished:
        from bough.adapters.verifiers.runners import Progress, counting

        so_far = Progress()

        def tell(line: str) -> None:
            nonlocal so_far
            so_far = counting(so_far, line, check.runner)
            say(str(so_far) if so_far.done else line)

        return await self._sandbox.run(
            to_argv(command),
            workspace=workspace,
            timeout=rules.check_timeout,
            limit=rules.kept,
            progress=tell,
            env={**self._door.env, **env},
        )


def _read(
    check: Check, finished: Finished, text: str, path: Path, workspace: Workspace, seen: Seen, gone: list[str]
) -> Ran:
    from bough.adapters.verifiers.reading import read_lines, readable, report

    root, shown = str(workspace.root), readable(text, check.runner)
    return Ran(
        finished,
        report(report_at(path), text, finished.exit_status, check.runner, root),
        shown,
        closed=read_lines(text, check.runner, root) is not None,
        refuted=protected.refuted(without_root(shown, root)),
        rewritten=rulings.rewritten(*rewritten_on_disk(workspace, *seen)),
        ended=came_to_its_end(path),
        gone=tuple(gone),
    )


def load(module: str) -> None:
    """What is needed after a check is loaded while it runs: its patterns take longer than all else around a check."""
    asyncio.get_running_loop().run_in_executor(None, import_module, module)
