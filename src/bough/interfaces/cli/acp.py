"""`bough acp`"""

from __future__ import annotations

from typing import Any, cast

import click

from bough import app
from bough.interfaces.cli.options import bough_command, enable_gc, option


@bough_command("bough acp", "bough acp --model anthropic:claude-sonnet-4-5")
@option("--model", "M", "The model of its runs (default: as in your settings).")
@option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
@option("--jobs", "N", "Agents that may work at once.", click.IntRange(1, 64))
async def command(**chosen: Any) -> None:
    """Run as an agent in your editor over the Agent Client Protocol.

    Zed, JetBrains, Neovim and others start it and talk to it on standard input and output. Your first message is the
    goal: bough works on it in a private copy of the folder, shows its plan, tool calls and checks, and asks before it
    changes your files. Your next message answers its question, resumes a paused or interrupted run, or follows up on a
    finished one. Sessions can be reloaded after a crash or a restart.

    Needs the extra `acp`: without it, this command says how to install it.
    """
    from bough.installed import needing

    with needing("`bough acp`", "acp", "acp"):
        import acp

        from bough.interfaces.acp import Agent
    enable_gc()
    # `Agent` implements only some of the protocol's methods; the library answers the others.
    await acp.run_agent(cast("acp.Agent", Agent(app.Choices(**chosen))))
