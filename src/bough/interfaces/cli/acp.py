"""`bough acp`"""

from __future__ import annotations

from typing import cast

import click

from bough.interfaces.cli.options import enable_gc, format_example


@click.command(
    "acp",
    short_help="Run as an agent in your editor over the Agent Client Protocol.",
    epilog=format_example("bough acp", "bough acp --model anthropic:claude-sonnet-4-5"),
)
@click.option("--model", metavar="M", help="The model of its runs (default: as in your settings).")
@click.option("--base-url", metavar="URL", help="Any OpenAI-compatible endpoint.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), help="Agents that may work at once.")
def command(model: str | None, base_url: str | None, jobs: int | None) -> None:
    """Run as an agent in your editor over the Agent Client Protocol.

    Zed, JetBrains, Neovim and others start it and talk to it on standard input and output. Your first message is the
    goal: bough works on it in a private copy of the folder, shows its plan, tool calls and checks, and asks before it
    changes your files. Your next message answers its question, resumes a paused or interrupted run, or follows up on a
    finished one. Sessions can be reloaded after a crash or a restart.

    Needs the extra `acp`: without it, this command says how to install it.
    """
    import asyncio

    from bough.app import Choices
    from bough.installed import lacking

    try:
        import acp

        from bough.interfaces.acp import Agent
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "acp":
            raise
        raise lacking("`bough acp`", "acp") from None
    enable_gc()
    chosen = {"model": model, "base_url": base_url, "jobs": jobs}
    choices = Choices(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    # It implements only some of the protocol's methods; the library answers the others.
    asyncio.run(acp.run_agent(cast("acp.Agent", Agent(choices))))
