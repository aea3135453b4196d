"""The settings of an agent that is not bough's own."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

OWN = "bough"
"""The name of bough's own agent where an outside one could be named."""
MODEL = "agent:"
"""The prefix of an outside agent used as a model: then it answers bough's own questions too."""


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An outside agent. Rejected in a repository's file."""

    command: str | None = None
    """The command that starts it, speaking the Agent Client Protocol on its standard input and output."""
    network: str | None = None
    """What it, and every command it runs, can reach: off, loopback, registries, allow:HOST,… or on."""
    env: tuple[str, ...] = ()
    """Variables of yours, including its key, that it and every command that it runs can see."""
    mode: str | None = None
    """The agent's mode to use where bough confines it."""
    home: tuple[str, ...] = ()
    """Files and folders of your home (`~/.claude`) of which it and every command that it runs see a copy."""


def list_answering(models: Iterable[str | None]) -> set[str]:
    """List the outside agents among the models."""
    return {name.removeprefix(MODEL) for name in models if name and name.startswith(MODEL)}


def title_of(agent: str) -> str:
    """Return an outside agent's name for people; for a command line, that is the name of its program."""
    program = agent.split(" ", 1)[0]
    return agent if program == agent else program.rpartition("/")[2]
