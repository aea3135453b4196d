"""Outside agents that bough knows by name: their commands, their services, and their settings."""

import shlex
from collections.abc import Mapping

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.settings.sections import AgentSettings


class KnownAgent(Struct, frozen=True):
    command: str
    hosts: str
    key: str
    """The environment variable that holds the agent's key."""
    install: str
    mode: str = ""
    """The mode in which the agent asks for nothing and confines nothing: bough's sandbox confines it, and sandboxes do
    not nest. Used only if there is a sandbox."""


KNOWN: dict[str, KnownAgent] = {
    "claude": KnownAgent(
        "claude-agent-acp",
        "allow:api.anthropic.com,console.anthropic.com",
        "ANTHROPIC_API_KEY",
        "npm install -g @agentclientprotocol/claude-agent-acp",
    ),
    "codex": KnownAgent(
        "codex-acp",
        "allow:api.openai.com,chatgpt.com,auth.openai.com",
        "OPENAI_API_KEY",
        "npm install -g @agentclientprotocol/codex-acp",
        "agent-full-access",
    ),
    "gemini": KnownAgent(
        "gemini --acp",
        "allow:generativelanguage.googleapis.com,cloudcode-pa.googleapis.com,oauth2.googleapis.com",
        "GEMINI_API_KEY",
        "npm install -g @google/gemini-cli",
    ),
    "goose": KnownAgent(
        "goose acp",
        "allow:api.openai.com,api.anthropic.com",
        "OPENAI_API_KEY",
        "npm install -g @aaif/goose",
    ),
    "opencode": KnownAgent(
        "opencode acp",
        "allow:api.openai.com,api.anthropic.com,opencode.ai,models.dev",
        "OPENAI_API_KEY",
        "npm install -g opencode-ai",
    ),
}


class AgentSetup(Struct, frozen=True):
    """The command and environment of an agent on this machine."""

    argv: tuple[str, ...]
    network: str
    env: tuple[str, ...]
    home: tuple[str, ...]
    mode: str
    advice: str


def choose_agent(
    name: str, configured: Mapping[str, AgentSettings], network: str = "", env: tuple[str, ...] = ()
) -> AgentSetup:
    """Choose the set-up of an agent. `network` and `env`: the person's choices for this run. An unknown name is taken
    as a command."""
    own, known = configured.get(name, AgentSettings()), KNOWN.get(name)
    line = own.command or (known.command if known else name)
    try:
        argv = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"The agent `{name}` cannot be started as `{line}`: {error}.") from None
    if not argv:
        raise UsageError("The agent's command is empty: pass claude, codex, gemini, goose, opencode or a command line.")
    reach = network or own.network or (known.hosts if known else "off")
    mode = own.mode if own.mode is not None else known.mode if known else ""
    advice = "See docs/guides/other-agents.md for what an agent needs."
    if known:
        advice = (
            f"Install it with `{known.install}`; give it its key with --agent-env {known.key}, or in your own "
            f"settings (`bough config`): [agents.{name}] env, home or network."
        )
    return AgentSetup(argv, reach, (*own.env, *env), own.home, mode, advice)
