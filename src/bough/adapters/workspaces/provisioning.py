"""Wraps workspaces so that in each checkout the set-up command has run, and its services are running.

A service runs as long as its checkout exists, and at most as long as bough.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.adapters.workspaces.surroundings import find_free_port
from bough.core.errors import SetupFailed
from bough.core.settings.sections import ENDING, Service
from bough.ports import CommandResult, Sandbox, WorkFolder, Workspace, Workspaces
from bough.trust.programs import make_shell_argv

LIMIT = 20_000_000
SHOWN = 2_000
"""The most characters of a failed set-up's output that are shown."""
LISTENS = "exec 3<>/dev/tcp/127.0.0.1/$PORT"
"""A bash command that succeeds if something listens on the port, as seen by the commands of the checkout."""


class ProvisionedWorkspace:
    """A checkout that has been set up. Calls that are not defined here go to the wrapped checkout."""

    def __init__(self, inner: Workspace, owner: "ProvisionedWorkspaces") -> None:
        self._inner = inner
        self._owner = owner
        self.root, self.folder, self.scratch, self.mounts = inner.root, inner.folder, inner.scratch, inner.mounts
        self.env: Mapping[str, str] = inner.env
        self.services: list[asyncio.Task[CommandResult]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def furnish(self) -> None:
        await self._inner.furnish()
        await self._owner.set_up(self)


class ProvisionedWorkspaces(Struct, eq=False):
    """Workspaces whose checkouts are set up. Calls that are not defined here go to the wrapped workspaces."""

    _inner: Workspaces
    _sandbox: Sandbox
    _setup: str | None
    _services: Mapping[str, Service]
    _timeout: float
    _open: dict[tuple[str, str], ProvisionedWorkspace] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def open(self, run: str, task: str, *args: Any, **kwargs: Any) -> Workspace:
        opened = ProvisionedWorkspace(await self._inner.open(run, task, *args, **kwargs), self)
        earlier = self._open.get((run, task))
        if earlier is not None:
            opened.services, opened.env = earlier.services, earlier.env
        else:
            try:
                for name, service in self._services.items():
                    await self._start_service(opened, name, service)
            except BaseException:
                await self._end_services(opened)
                raise
        self._open[run, task] = opened
        await self.set_up(opened)
        return opened

    async def discard(self, run: str, task: str) -> None:
        await self._end_services(self._open.pop((run, task), None))
        await self._inner.discard(run, task)

    async def close(self) -> None:
        for opened in list(self._open.values()):
            await self._end_services(opened)

    async def set_up(self, workspace: ProvisionedWorkspace) -> None:
        if self._setup:
            await self._run_once(workspace, self._setup, "The set-up", {}, self._timeout)

    async def _start_service(self, workspace: ProvisionedWorkspace, name: str, service: Service) -> None:
        # A service has a separate folder, because the checkout's temporary files are removed before every check.
        port, data = find_free_port(), _service_folder(workspace) / name
        beside = PlainFolder(workspace.root, workspace.folder, data, workspace.mounts, workspace.env)
        disk.remove(bytes(data))
        data.mkdir(parents=True)
        own = {"PORT": str(port), "DATA": str(data)}
        if service.before:
            await self._run_once(beside, service.before, f"[services.{name}] before", own, service.timeout)
        running = await self._sandbox.serve(make_shell_argv(service.run), workspace=beside, limit=LIMIT, env=own)
        workspace.services.append(running)
        end = time.monotonic() + service.timeout
        while True:
            if running.done():
                said = _quote(running.result())
                raise SetupFailed(f"The service {name} ended before it was ready ({service.run}): {said}")
            if (await self._command(beside, service.ready or LISTENS, own, service.timeout)).exit_status == 0:
                break
            if time.monotonic() > end:
                raise SetupFailed(
                    f"The service {name} is not ready after {service.timeout:g} s ([services.{name}] timeout)."
                )
            await asyncio.sleep(0.1)
        given = {key: value.replace("$PORT", str(port)) for key, value in service.env.items()}
        workspace.env = {**workspace.env, f"{name.upper().replace('-', '_')}_PORT": str(port), **given}

    async def _end_services(self, workspace: ProvisionedWorkspace | None) -> None:
        if workspace is None or not self._services:
            return
        for running in workspace.services:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        workspace.services = []
        await asyncio.to_thread(disk.remove, bytes(_service_folder(workspace)))

    async def _run_once(
        self, workspace: WorkFolder, command: str, what: str, env: Mapping[str, str], timeout: float
    ) -> None:
        done = await self._command(workspace, command, env, timeout)
        if done.exit_status != 0:
            how = f"was killed {done.killed}" if done.killed else f"ended with exit status {done.exit_status}"
            raise SetupFailed(f"{what} ({command}) {how}: {_quote(done)}")

    async def _command(self, place: WorkFolder, command: str, env: Mapping[str, str], timeout: float) -> CommandResult:
        argv = make_shell_argv(command)
        return await self._sandbox.run(argv, workspace=place, timeout=timeout, limit=LIMIT, env=env)


def _quote(done: CommandResult) -> str:
    return done.output.decode(errors="replace").strip()[-SHOWN:] or "no output"


def _service_folder(workspace: ProvisionedWorkspace) -> Path:
    return workspace.scratch.with_name(f"{workspace.scratch.name}{ENDING}")
