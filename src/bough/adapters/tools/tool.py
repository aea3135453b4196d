"""The parts of a tool: a name, a description for the model, a structure for its arguments, and an act."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from bough.core.rules import Rules
from bough.ports import Sandbox, ToolResult, WorkFolder


class Refusal(Exception):
    """A call that cannot run. Its text is for the model: what is wrong, and what to do instead."""

    def __init__(self, message: str, fault: bool = False) -> None:
        """Make a refusal. `fault`: the call itself was unusable, whatever the state of the workspace."""
        super().__init__(message)
        self.fault = fault


class Bench(Struct, frozen=True):
    """The means of a tool while it runs one call."""

    workspace: WorkFolder
    rules: Rules
    sandbox: Sandbox
    progress: Callable[[str], None]


class Tool(Struct, frozen=True):
    name: str
    description: str
    arguments: type[Struct]
    example: str
    """A correct call's arguments, as JSON."""
    act: Callable[[Any, Bench], Awaitable[ToolResult]]
    writes: bool = False


A = TypeVar("A", bound=Struct)


def run_in_thread(act: Callable[[A, Bench], ToolResult]) -> Callable[[A, Bench], Awaitable[ToolResult]]:
    """Run an act on files in a thread, so that it does not block others."""

    async def threaded(arguments: A, bench: Bench) -> ToolResult:
        return await asyncio.to_thread(act, arguments, bench)

    return threaded
