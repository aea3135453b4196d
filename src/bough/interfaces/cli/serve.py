"""`bough serve`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import bough_command, dir_option, enable_gc, flag, json_option, option


@bough_command("bough serve", "bough serve --open", "bough serve --all --port 8300")
@dir_option
@flag("--all", "The runs of every project you have used bough in.", "everything")
@option("--port", "N", "Default: the last port used here, or any.", click.IntRange(0, 65535))
@option("--host", "ADDRESS", "Where to listen.", default="127.0.0.1", show_default=True)
@flag("--open", "Open it in your browser.", "browse")
@json_option("The address as a JSON object on one line.")
@option("--until", "PID", "End when that process has ended.", int, hidden=True)
def command(
    folder: Path,
    everything: bool,
    port: int | None,
    host: str,
    browse: bool,
    as_json: bool,
    until: int | None,
) -> int:
    """Show the runs in a browser, live, and steer them there.

    Prints an address with a random token in it. Anyone with the address can read and steer the runs, so keep it
    private; requests without the token are rejected. Only programs on this machine can reach it unless you pass --host;
    the traffic is then unencrypted, so use a network you trust or a tunnel.

    Every start makes a new token: pages opened with an earlier one lose access. Ctrl-C stops it; the runs continue.
    Needs the extra `web`: without it, this command says how to install it.
    """
    from bough.installed import needing

    with needing("The dashboard", "web", "starlette", "uvicorn"):
        from bough.interfaces.web.startup import find_address, serve
    enable_gc()
    address = find_address(folder, everything=everything, host=host, port=port, passing=until is not None)
    return serve(address, browse=browse, as_json=as_json, until=until)
