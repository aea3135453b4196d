"""Checkouts that are set up before they are used: a set-up command has run in them, and their services are up.

Wraps other workspaces. A service lives as long as its checkout, and at most as long as bough.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from bough.adapters.workspaces.surroundings import free_port
from bough.core.errors import SetupFailed
from bough.core.services import DATA_FOLDER, Service
from bough.ports import Finished, Mount, Sandbox, Workspace, Workspaces

LIMIT = 20_000_000
SHOWN = 2_000
"""Characters of a failed set-up's output that are told."""
LISTENS = "exec 3<>/dev/tcp/127.0.0.1/$PORT"
"""For bash: whether somebody listens there, as the commands of the checkout see it."""
EVER = 10.0**8
"""Seconds: a service is ended by whoever started it."""


class Furnished:
    """A checkout with its set-up done. All else is the inner one's."""

    def __init__(self, inner: Workspace, owner: FurnishedWorkspaces) -> None:
        self._inner = inner
        self._owner = owner
        self.root, self.folder, self.scratch = inner.root, inner.folder, inner.scratch
        self.mounts = inner.mounts
        self.env: Mapping[str, str] = inner.env
        self.services: list[asyncio.Task[Finished]] = []

    async def own(self, mount: Mount) -> bool:
        return await self._inner.own(mount)

    async def furnish(self) -> None:
        await self._inner.furnish()
        await self._owner.set_up(self)

    async def snapshot(self) -> str:
        return await self._inner.snapshot()

    async def restore(self, tree: str) -> None:
        await self._inner.restore(tree)

    async def checkpoint(self, tree: str, message: str) -> str:
        return await self._inner.checkpoint(tree, message)


class FurnishedWorkspaces:
    def __init__(
        self,
        inner: Workspaces,
        sandbox: Sandbox,
        setup: str | None,
        services: Mapping[str, Service],
        timeout: float,
    ) -> None:
        self._inner = inner
        self._sandbox = sandbox
        self._setup = setup
        self._services = services
        self._timeout = timeout
        self._open: dict[tuple[str, str], Furnished] = {}

    def __getattr__(self, name: str) -> Any:
        """All that is about trees, not checkouts."""
        return getattr(self._inner, name)

    async def open(
        self, run: str, task: str, tree: str, folder: str, sides: Mapping[str, str] | None = None
    ) -> Workspace:
        opened = Furnished(await self._inner.open(run, task, tree, folder, sides), self)
        earlier = self._open.get((run, task))
        if earlier is not None:
            opened.services, opened.env = earlier.services, earlier.env
        else:
            await self._start_services(opened)
        self._open[run, task] = opened
        await self.set_up(opened)
        return opened

    async def discard(self, run: str, task: str) -> None:
        await self._end_services(self._open.pop((run, task), None))
        await self._inner.discard(run, task)

    async def close(self) -> None:
        for opened in list(self._open.values()):
            await self._end_services(opened)

    async def set_up(self, workspace: Furnished) -> None:
        if self._setup:
            await self._once(workspace, self._setup, "[workspace] setup", {}, self._timeout)

    # ── services ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _start_services(self, workspace: Furnished) -> None:
        for name, service in self._services.items():
            port, data = free_port(), workspace.scratch / DATA_FOLDER / name
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir(parents=True)
            own = {"PORT": str(port), "DATA": str(data)}
            if service.before:
                await self._once(workspace, service.before, f"[services.{name}] before", own, service.timeout)
            running = asyncio.create_task(self._command(workspace, service.run, own, EVER))
            workspace.services.append(running)
            try:
                await self._until_ready(workspace, name, service, running, own)
            except BaseException:
                await self._end_services(workspace)
                raise
            given = {key: value.replace("$PORT", str(port)) for key, value in service.env.items()}
            workspace.env = {**workspace.env, f"{name.upper().replace('-', '_')}_PORT": str(port), **given}

    async def _until_ready(
        self, workspace: Furnished, name: str, service: Service, running: asyncio.Task[Finished], own: Mapping[str, str]
    ) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + service.timeout
        while loop.time() < end:
            if running.done():
                said = running.result().output.decode(errors="replace").strip()[-SHOWN:]
                raise SetupFailed(
                    f"The service {name} ended before it was ready ({service.run}): {said or 'it said nothing'}"
                )
            tried = await self._command(workspace, service.ready or LISTENS, own, service.timeout)
            if tried.exit_status == 0:
                return
            await asyncio.sleep(0.1)
        raise SetupFailed(f"The service {name} is not ready after {service.timeout:g} s ([services.{name}] timeout).")

    async def _end_services(self, workspace: Furnished | None) -> None:
        for running in workspace.services if workspace is not None else ():
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        if workspace is not None:
            workspace.services = []
            shutil.rmtree(workspace.scratch / DATA_FOLDER, ignore_errors=True)

    async def _once(
        self, workspace: Furnished, command: str, what: str, env: Mapping[str, str], timeout: float
    ) -> None:
        done = await self._command(workspace, command, env, timeout)
        if done.exit_status != 0:
            how = f"was killed {done.killed}" if done.killed else f"ended with exit status {done.exit_status}"
            said = done.output.decode(errors="replace").strip()[-SHOWN:]
            raise SetupFailed(f"{what} ({command}) {how}: {said or 'it said nothing'}")

    async def _command(self, workspace: Furnished, command: str, env: Mapping[str, str], timeout: float) -> Finished:
        argv: Sequence[str] = [shutil.which("bash") or "sh", "-c", command]
        where = cast(Workspace, workspace)
        return await self._sandbox.run(argv, workspace=where, timeout=timeout, limit=LIMIT, env=env)
