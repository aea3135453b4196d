"""`bough stop`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "stop",
    short_help="Ask a live run to stop.",
    epilog=example("bough stop", "bough stop amber-heron --now"),
)
@run_argument
@in_dir
@click.option("--now", is_flag=True, help="Interrupt the current effect; nothing that is finished is lost.")
@as_json("As a JSON object: the run, and who was asked.")
def command(run: str | None, folder: Path, now: bool, as_json: bool) -> None:
    """Ask a live run to stop.

    It stops after the current effect (a model call, a tool, a check), or at once with --now; either way `bough resume`
    continues it. If RUN (default: the latest) is not running, this says so; that is not an error.
    """
    wait_for(_stop(run, folder, now, as_json))


async def _stop(run: str | None, folder: Path, now: bool, as_json: bool) -> None:
    from bough.adapters.stores.workers import in_words
    from bough.app import session
    from bough.interfaces.cli.targets import standing
    from bough.interfaces.terminal.lines import STATUS_WORDS
    from bough.interfaces.terminal.paper import paper

    async with session(folder) as opened:
        name = await opened.find(run)
        holder = await opened.stop(name, now)
        status, _ = await standing(opened, await opened.view(name))
    if as_json:
        print_json({"run": name, "status": status, "asked": in_words(holder) if holder else None})
    elif holder:
        when = "now" if now else "after its current effect"
        paper().paragraph(
            text=f"Asked {in_words(holder)} to stop {name} {when}. `bough resume {name}` goes on with it."
        )
    else:
        paper().paragraph(text=f"{name} is not running ({STATUS_WORDS[status]}): there is nothing to stop.")
