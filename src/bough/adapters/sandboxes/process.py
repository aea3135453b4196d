"""Runs commands as processes of their own that end with their call, together with all they started.

Promises, with or without confinement: nothing is left when `run` returns or is cancelled, nor soon after bough itself
is killed; a background process that holds the output open does not hold the call; no more than `limit` bytes are
read; the environment is the scrubbed one. What a command may write is for Landlock to say, where there is one.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from bough.adapters.sandboxes import kernel
from bough.adapters.sandboxes.crew import Command, Crew
from bough.adapters.sandboxes.env import own_sources
from bough.adapters.sandboxes.landlock import Landlock, landlock_abi
from bough.core.errors import UsageError, WorkspaceError
from bough.ports import Finished, Workspace

MARK = "BOUGH_WORKSPACE"
"""The variable that marks a workspace's processes, by which a later life of bough finds those of an earlier one."""

Mode = Literal["auto", "landlock", "none"]


def make_sandbox(mode: Mode, env: Mapping[str, str], writable: Sequence[Path] = ()) -> ProcessSandbox:
    """The sandbox of that kind; `auto` is the strongest there is here, and its `confines` says what it came to.

    `env` is what every command's environment starts from (see `make_env`); `writable` names what commands may write
    to beside the workspace when they are confined.
    """
    abi = landlock_abi()
    if mode == "landlock" and not abi:
        raise UsageError(
            "This system has no Landlock, so commands cannot be confined: set the sandbox's mode to auto or none to go "
            "on without, or use a Linux kernel of version 5.13 or later that has it switched on."
        )
    confined = mode != "none" and abi > 0
    return ProcessSandbox(env, Landlock(abi, env.get("HOME"), writable) if confined else None)


class ProcessSandbox:
    """Commands run with the person's own rights, less what Landlock takes from them."""

    def __init__(self, env: Mapping[str, str], landlock: Landlock | None = None) -> None:
        self.confines = landlock is not None
        """Whether commands are kept from writing outside of their workspace."""
        self._env = dict(env)
        self._landlock = landlock
        self._crew = Crew()

    def start(self) -> None:
        """Be ready for commands: otherwise the first one waits until a Python has started."""
        self._crew.start()

    async def run(
        self,
        argv: Sequence[str],
        *,
        workspace: Workspace,
        timeout: float,
        limit: int,
        progress: Callable[[str], None] = lambda line: None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        begun = time.monotonic()
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        request = json.dumps(self._request(argv, workspace, env or {})).encode()
        with Command(self._crew, len(request), limit, progress) as command:
            await command.send(request)
            killed = await command.attend(timeout)
            report = await command.report()
            if not report:
                await self.sweep(workspace)
                killed = killed or "because the process that watches over it was ended"
            await command.drain()
        status, output = _outcome(argv, workspace, report, bytes(command.output))
        return Finished(None if killed else status, output, time.monotonic() - begun, killed)

    async def sweep(self, workspace: Workspace) -> None:
        await asyncio.to_thread(_end_marked, _mark(workspace))

    def _request(self, argv: Sequence[str], workspace: Workspace, env: Mapping[str, str]) -> dict[str, Any]:
        own = {"TMPDIR": str(workspace.scratch), "PWD": str(workspace.folder), MARK: _mark(workspace)}
        return {
            "argv": list(argv),
            "env": {**self._env, **own_sources(workspace.root), **env, **own},
            "cwd": str(workspace.folder),
            "writable": self._landlock.writable(workspace) if self._landlock else None,
            "abi": self._landlock.abi if self._landlock else 0,
        }


def _outcome(argv: Sequence[str], workspace: Workspace, report: dict[str, Any], output: bytes) -> tuple[int, bytes]:
    """Exit status and output, as a shell would give them: 127 not found, 126 not runnable, 128 + n for signal n."""
    step, number = report.get("failed"), report.get("errno")
    if step is None:
        status = int(report.get("status", 0))
        return (status if status >= 0 else 128 - status), output
    if step != "exec":
        what = {"folder": "its folder cannot be entered", "confine": "it cannot be confined"}.get(step, "it failed")
        raise WorkspaceError(f"No command can run in {workspace.folder}, because {what}: {report['why']}.")
    if number in (errno.ENOENT, errno.ENOTDIR):
        return 127, os.fsencode(f"{argv[0]}: command not found\n")
    if number == errno.E2BIG:
        return 126, b"The command line is too long for the system: put the text into a file and run that.\n"
    return 126, os.fsencode(f"{argv[0]}: {report['why']}\n")


def _mark(workspace: Workspace) -> str:
    return os.path.realpath(workspace.root)


def _end_marked(mark: str) -> None:
    """Kill what has the mark in its environment until nothing has. Where there is no /proc, nothing is seen."""
    wanted = b"\0" + os.fsencode(f"{MARK}={mark}") + b"\0"
    for _ in range(100):
        marked = [pid for pid in kernel.processes() if pid != os.getpid() and wanted in _environment(pid)]
        if not marked:
            return
        for pid in marked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _environment(pid: int) -> bytes:
    try:
        return b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return b""
