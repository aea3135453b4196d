"""`bough mcp`"""

from __future__ import annotations

from pathlib import Path

from bough.interfaces.cli.options import bough_command, dir_option, enable_gc, option


@bough_command("bough mcp --dir ~/project", "claude mcp add bough -- bough mcp --dir ~/project")
@dir_option
@option("--model", "M", "The model of the runs it starts (default: as in your settings).")
@option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
def command(folder: Path, model: str | None, base_url: str | None) -> None:
    """Serve bough to other agents over the Model Context Protocol.

    Speaks the protocol on standard input and output to the agent or editor that starts it. Its tools start,
    watch, answer and apply runs and examine changes, in this project only; bough://runs, bough://runs/RUN and
    bough://runs/RUN/report are resources. Models, keys, sandbox, network and limits stay yours: they come from your
    settings. A run continues when the agent ends.

    Needs the extra `mcp`: without it, this command says how to install it.
    """
    from bough.installed import needing

    with needing("`bough mcp`", "mcp", "mcp", "mcp_types"):
        from bough.interfaces.mcp import Commands, make_server
    enable_gc()
    choices = [*(("--model", model) if model else ()), *(("--base-url", base_url) if base_url else ())]
    make_server(Commands(folder.resolve(), choices)).run("stdio")
