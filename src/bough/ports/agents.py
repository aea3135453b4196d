"""The interfaces to an outside agent (a program other than bough's own agent): start it, talk to it, listen to it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from bough.core.messages import Call, Stop, Usage

if TYPE_CHECKING:
    from bough.core.rules import Rules
    from bough.ports import ToolResult, WorkFolder


class TurnProgress(Struct, frozen=True):
    """What an outside agent has said and started since the last report."""

    text: str
    """What the agent has said since the last report."""
    calls: tuple[Call, ...]
    """The agent's actions as tool calls, with its own ids."""
    writes: frozenset[str] = frozenset()
    """Ids of the calls that may change the workspace."""
    usage: Usage = Usage()
    """The tokens that the agent has reported since the last report."""
    cost: float | None = None


class TurnEnd(Struct, frozen=True):
    text: str
    stop: Stop = "end"
    usage: Usage = Usage()
    cost: float | None = None


class Talk(Protocol):
    """A conversation with a running outside agent. Methods raise `TransientError` if it does not respond."""

    async def say(self, text: str) -> None:
        """Send a text, which starts a new turn. A turn that has not ended is cancelled first."""

    async def heard(self, patience: float) -> TurnProgress | TurnEnd:
        """Wait for the agent's next actions or the end of its turn. `patience`: seconds of silence to tolerate."""

    async def results(self, calls: Sequence[Call], patience: float) -> "list[ToolResult]":
        """Return the results of these calls, once all are finished or the agent has started something else."""

    async def close(self) -> None:
        """End the agent and everything that it started."""


class OutsideAgent(Protocol):
    """A program that works in a workspace with its own model and tools."""

    name: str

    async def start(self, workspace: "WorkFolder", rules: "Rules", progress: Callable[[str], None]) -> Talk:
        """Start the agent. Raises `RequestRefused` if it is unavailable here, `TransientError` if it ends at once."""
