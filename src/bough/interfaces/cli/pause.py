"""`bough pause`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "pause",
    short_help="Pause a live run.",
    epilog=example("bough pause", "bough pause amber-heron", "bough resume amber-heron"),
)
@run_argument
@in_dir
@as_json("As a JSON object: the run, and who was asked.")
def command(run: str | None, folder: Path, as_json: bool) -> None:
    """Pause a live run.

    RUN (default: the latest) pauses after its current effect (a model call, a tool, a check), and its process ends with
    exit status 6; `bough runs` lists it as paused. `bough resume` continues where it left off, now or in a week. If RUN
    is not running, this says so; that is not an error.
    """
    wait_for(_pause(run, folder, as_json))


async def _pause(run: str | None, folder: Path, as_json: bool) -> None:
    from bough.adapters.stores.workers import in_words
    from bough.app import session, talk
    from bough.interfaces.cli.targets import standing
    from bough.interfaces.terminal.lines import STATUS_WORDS
    from bough.interfaces.terminal.paper import paper

    async with session(folder) as opened:
        name = await opened.find(run)
        holder = await talk.pause(opened, name)
        status, _ = await standing(opened, await opened.view(name))
    if as_json:
        print_json({"run": name, "status": status, "asked": in_words(holder) if holder else None})
    elif holder:
        paper().paragraph(text=f"{name} pauses after its current effect. `bough resume {name}` goes on with it.")
    else:
        paper().paragraph(text=f"{name} is not running ({STATUS_WORDS[status]}): there is nothing to pause.")
