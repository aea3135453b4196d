"""Wrappers that let an effect start only while the run is still held.

Promise: a process that was away (stopped, suspended, cut off) while another took its run over does nothing more in the
run's name: it calls no model, starts no command, touches no file of a workspace.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, cast

from bough.ports import Model, Sandbox, Tools, Workspaces
from bough.ports.steering import Fence


def fence_model(model: Model, fence: Fence) -> Model:
    return cast(Model, _Fenced(model, fence, "ask"))


def fence_tools(tools: Tools, fence: Fence) -> Tools:
    return cast(Tools, _Fenced(tools, fence, "run"))


def fence_sandbox(sandbox: Sandbox, fence: Fence) -> Sandbox:
    return cast(Sandbox, _Fenced(sandbox, fence, "run", "serve", "sweep"))


def fence_workspaces(workspaces: Workspaces, fence: Fence) -> Workspaces:
    return cast(Workspaces, _FencedWorkspaces(workspaces, fence, "reserve", "discard", "sweep", "merge"))


class _Fenced:
    """Passes everything through; the named methods cross the fence first."""

    def __init__(self, target: Any, fence: Fence, *methods: str) -> None:
        self._target, self._fence, self._methods = target, fence, methods

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name not in self._methods:
            return method

        @wraps(method)
        async def fenced(*args: Any, **kwargs: Any) -> Any:
            await self._fence.cross()
            return await method(*args, **kwargs)

        return fenced


class _FencedWorkspaces(_Fenced):
    async def open(self, *args: Any, **kwargs: Any) -> Any:
        await self._fence.cross()
        return _Fenced(await self._target.open(*args, **kwargs), self._fence, "snapshot", "restore", "checkpoint")
