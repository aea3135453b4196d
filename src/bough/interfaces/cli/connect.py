"""Commands that connect bough to browsers, agents, editors and other machines."""

import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from bough import app
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.printing import print_json, print_json_line, warn_ignored


@cli.bough_command("bough serve", "bough serve --open", "bough serve --all --port 8300")
@cli.dir_option
@cli.flag("--all", "The runs of every project you have used bough in.", "everything")
@cli.option("--port", "N", "Default: the last port used here, or any.", click.IntRange(0, 65535))
@cli.option("--host", "ADDRESS", "Where to listen.", default="127.0.0.1", show_default=True)
@cli.flag("--open", "Open the page in your browser.", "browse")
@cli.json_option("The address as a JSON object on one line.")
@cli.option("--until", "PID", "End when the process with this number has ended.", int, hidden=True)
def serve(
    folder: Path, everything: bool, port: int | None, host: str, browse: bool, as_json: bool, until: int | None
) -> int:
    """Show the runs in a browser, live, and steer them there.

    Prints an address with a random token in it. Anyone with the address can read and steer the runs, so keep it
    private; requests without the token are rejected. Only programs on this machine can reach it unless you pass --host;
    the traffic is then unencrypted, so use a network you trust or a tunnel.

    Every start makes a new token: pages opened with an earlier one lose access. Ctrl-C stops it; the runs continue.
    Needs the extra `web`: without it, this command says how to install it."""
    from bough.installed import needing

    with needing("The dashboard", "web", "starlette", "uvicorn"):
        from bough.interfaces.web.startup import find_address, serve
    cli.enable_gc()
    address = find_address(folder, everything=everything, host=host, port=port, passing=until is not None)
    return serve(address, browse=browse, as_json=as_json, until=until)


@cli.bough_command("bough acp", "bough acp --model anthropic:claude-sonnet-4-5")
@cli.option("--model", "M", "The model of the runs it starts (default: as in your settings).")
@cli.option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
@cli.option("--jobs", "N", "Agents that may work at once.", click.IntRange(1, 64))
async def acp(**chosen: Any) -> None:
    """Run as an agent in your editor over the Agent Client Protocol.

    Zed, JetBrains, Neovim and others start it and talk to it on standard input and output. Your first message is the
    goal: bough works on it in a private copy of the folder, shows its plan, tool calls and checks, and asks before it
    changes your files. Your next message answers its question, resumes a paused or interrupted run, or follows up on a
    finished one. Sessions can be reloaded after a crash or a restart.

    Needs the extra `acp`: without it, this command says how to install it."""
    from bough.installed import needing

    with needing("`bough acp`", "acp", "acp"):
        import acp

        from bough.interfaces.acp import Agent
    cli.enable_gc()
    # `Agent` implements only some of the protocol's methods; the library answers the others.
    await acp.run_agent(cast("acp.Agent", Agent(app.Choices(**chosen))))


@cli.bough_command("bough mcp --dir ~/project", "claude mcp add bough -- bough mcp --dir ~/project")
@cli.dir_option
@cli.option("--model", "M", "The model of the runs it starts (default: as in your settings).")
@cli.option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
def mcp(folder: Path, model: str | None, base_url: str | None) -> None:
    """Serve bough to other agents over the Model Context Protocol.

    Speaks the protocol on standard input and output to the agent or editor that starts it. Its tools start,
    watch, answer and apply runs and examine changes, in this project only; bough://runs, bough://runs/RUN and
    bough://runs/RUN/report are resources. Models, keys, sandbox, network and limits stay yours: they come from your
    settings. A run continues when the agent ends.

    Needs the extra `mcp`: without it, this command says how to install it."""
    from bough.installed import needing

    with needing("`bough mcp`", "mcp", "mcp", "mcp_types"):
        from bough.interfaces.mcp import Commands, make_server
    cli.enable_gc()
    choices = [*(("--model", model) if model else ()), *(("--base-url", base_url) if base_url else ())]
    make_server(Commands(folder.resolve(), choices)).run("stdio")


@cli.bough_command(
    "bough worker --store postgresql://bough@db/bough --slots 4",
    "bough worker --store postgresql://bough@db/bough --tag gpu --tag node20",
    "bough worker --store postgresql://bough@db/bough --drain",
)
@cli.dir_option
@cli.option("--slots", "N", "Tasks at once.", click.IntRange(1, 256), default=1, show_default=True)
@cli.option("--tag", "TAG", "A tag that the worker offers, for steps with `runs_on = [TAG]`.", to="tags", multiple=True)
@cli.option("--name", "NAME", "The worker's name (default: the machine and the folder).")
@cli.option("--lease", "S", "Heartbeat timeout in seconds.", click.FloatRange(1, 3600))
@cli.flag("--trust-config", "Let this folder's bough.toml raise limits and choose models.")
@cli.checks_option
@cli.sandbox_options
@cli.json_option("What the worker does, as one JSON object per line.")
@cli.flag("--drain", "Let the worker of this folder (or --name) finish its tasks, then exit.")
def worker(
    folder: Path,
    slots: int,
    tags: tuple[str, ...],
    name: str | None,
    lease: float | None,
    as_json: bool,
    drain: bool,
    **chosen: Any,
) -> int:
    """Run tasks of runs that share a journal in PostgreSQL.

    Start any number on any number of machines, each in its own folder: an empty one, or a clone of the project whose
    environment (`.venv`, `node_modules`) its tasks then use. Files come through the store. Keys, sandbox and
    `[workspace] setup` belong to this machine; models, limits and checks to the run. Outside agents, variables, a
    network, a set-up and endpoints that a run asks for beyond your own settings are refused, and the run is told,
    unless [worker] in your settings allows them.

    Ctrl-C or SIGTERM drains it: it takes no more tasks and exits when it has finished the current ones; a second signal
    stops it at once, and other workers take over its tasks, as after a crash. To upgrade, drain it and start the new
    version."""
    from bough.core.errors import StoreError

    cli.enable_gc()
    say = partial(_say, as_json)
    while True:
        try:
            cli.run_to_end(_worker(folder, slots, tags, name, lease, app.Choices(**chosen), say, drain))
            return 0
        except StoreError as error:  # The database server may be restarting: wait for it.
            if drain:
                raise
            say(f"{error} Retrying.")
            time.sleep(2.0)


async def _worker(
    folder: Path,
    slots: int,
    tags: tuple[str, ...],
    name: str | None,
    lease: float | None,
    choices: "app.Choices",
    say: Callable[[str], None],
    drain: bool,
) -> None:
    import asyncio

    from bough.services.worker_service import Serving, drain_worker, make_worker_name
    from bough.views.formatting import pluralize

    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored) as opened:
        called = name or make_worker_name(folder)
        if drain:
            await drain_worker(opened, called)
            say(f"{called} takes no more tasks and exits when its current ones are finished")
            return
        serving = Serving(opened, called, slots, tags, say, lease)

        def stop() -> None:
            if stopped:
                serving.end()
                return
            stopped.append(True)
            say("draining: finishing the current tasks; repeat to stop at once")
            serving.drain()

        stopped: list[bool] = []
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        say(f"worker {called}: {pluralize(slots, 'slot')}{', tags ' + ' '.join(tags) if tags else ''}")
        if await serving.serve() == "lost":
            # Start a new process, because threads of this one may still be waiting for the server.
            say("the worker or the server was unresponsive for too long: restarting")
            sys.stdout.flush()
            restart(folder)


def restart(folder: Path) -> None:
    """Start the same command again, in place of this process. Add `--dir`, because it starts in another folder."""
    from bough.trust.programs import become_own

    become_own(folder, [*sys.argv[1:], "--dir", str(folder.absolute())])


def _say(as_json: bool, text: str) -> None:
    from bough.views.formatting import one_line

    if as_json:
        print_json_line({"at": round(time.time(), 3), "says": text})
    else:
        click.echo(f"{time.strftime('%H:%M:%S')}  {one_line(text)}")
    sys.stdout.flush()


@cli.bough_command("bough workers", "bough workers --store postgresql://bough@db/bough --json")
@cli.dir_option
@cli.json_option("As a JSON list.")
async def workers(folder: Path, as_json: bool) -> None:
    """List the workers of a shared journal and what they do.

    For each: slots in use, tags, version, uptime, time since its last heartbeat, and the tasks it is running."""
    from bough.interfaces.terminal.output import make_output
    from bough.services.worker_service import list_waiting, list_workers, require_shared_journal
    from bough.views.formatting import count_cells, format_duration, one_line, pad

    require_shared_journal(folder)
    async with app.open_journal(folder) as opened:
        found = await list_workers(opened.store)
        waiting = await list_waiting(opened.store)
    if as_json:
        print_json(found)
        return
    page = make_output()
    if not found:
        page.paragraph(text="No workers are running: start one with `bough worker --store …`.")
        return
    heading = ("worker", "slots", "tags", "version", "up", "heartbeat", "works on")
    rows = [
        (
            one_line(each.name),
            f"{len({task for _, task in each.tasks})}/{each.slots}"
            + (" draining" if each.draining else "")
            + (" set aside" if each.trouble else "")
            + ("" if each.silent < each.lease else " silent"),
            " ".join(each.tags) or "–",
            one_line(each.version),
            format_duration(each.up),
            f"{format_duration(each.silent)} ago",
            ", ".join(f"{run} {task}" for run, task in each.tasks) or "–",
        )
        for each in found
    ]
    widths = [max(count_cells(row[n]) for row in (heading, *rows)) for n in range(len(heading))]
    for number, row in enumerate((heading, *rows)):
        text = "  ".join(pad(cell, width, False) for cell, width in zip(row, widths, strict=True))
        page.line((text.rstrip(), "dim" if number == 0 else ""))
    for each in found:
        if each.trouble:
            page.paragraph(
                text=f"{each.name} is set aside until it or a run is started again: {one_line(each.trouble)}"
            )
    for run, text in waiting:
        page.paragraph(text=f"{run}: {one_line(text)}", style="yellow")
