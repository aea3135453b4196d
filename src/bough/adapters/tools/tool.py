"""Defines a tool: its name, its description for the model, the structure of its arguments, and its function (`act`)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from bough.core.rules import Rules
from bough.ports import Sandbox, ToolResult, WorkFolder


class Refusal(Exception):
    """A tool call cannot be run. The text tells the model what is wrong, and what to do instead."""

    def __init__(self, message: str, fault: bool = False) -> None:
        """Make a refusal. `fault`: the call itself is malformed, whatever the state of the workspace."""
        super().__init__(message)
        self.fault = fault


class Bench(Struct, frozen=True):
    """What a tool's function may use during one call."""

    workspace: WorkFolder
    rules: Rules
    sandbox: Sandbox
    progress: Callable[[str], None]


class Tool(Struct, frozen=True):
    name: str
    description: str
    arguments: type[Struct]
    example: str
    """The arguments of a correct call, as JSON."""
    act: Callable[[Any, Bench], Awaitable[ToolResult]]
    writes: bool = False


A = TypeVar("A", bound=Struct)


def run_in_thread(act: Callable[[A, Bench], ToolResult]) -> Callable[[A, Bench], Awaitable[ToolResult]]:
    """Return an async version of a tool's function, which runs it in a thread so that it does not block the loop."""

    async def threaded(arguments: A, bench: Bench) -> ToolResult:
        return await asyncio.to_thread(act, arguments, bench)

    return threaded
