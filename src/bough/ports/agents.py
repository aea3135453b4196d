"""The roles around an agent that is not bough's own: starting it, talking to it and listening to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from bough.core.messages import Call, Stop, Usage

if TYPE_CHECKING:
    from bough.core.rules import Rules
    from bough.ports import ToolResult, WorkFolder


class TurnProgress(Struct, frozen=True):
    """An outside agent has started something."""

    text: str
    """Its text since the last report."""
    calls: tuple[Call, ...]
    """Its actions as bough's calls; ids are the agent's own."""
    writes: frozenset[str] = frozenset()
    """Ids of those that may change the workspace."""
    usage: Usage = Usage()
    """The usage it has reported since then."""
    cost: float | None = None


class TurnEnded(Struct, frozen=True):
    """An outside agent has ended its turn."""

    text: str
    stop: Stop = "end"
    usage: Usage = Usage()
    cost: float | None = None


class Talk(Protocol):
    """A conversation with a running outside agent. Raises `TransientError` if it is gone or no longer responds."""

    async def say(self, text: str) -> None:
        """Start a turn; a current one is cancelled first."""

    async def heard(self, patience: float) -> TurnProgress | TurnEnded:
        """Return its next action; `patience`: seconds of silence to tolerate."""

    async def results(self, calls: Sequence[Call], patience: float) -> list[ToolResult]:
        """Return the results of those calls, once all are finished or something else has started."""

    async def close(self) -> None:
        """End it, with everything it started."""


class OutsideAgent(Protocol):
    """An agent that is not bough's own. It works in a workspace with its own tools."""

    name: str

    async def start(self, workspace: WorkFolder, rules: Rules, progress: Callable[[str], None]) -> Talk:
        """Start it. Raises `Refused` if it is unavailable here, `TransientError` if it ends at once."""
