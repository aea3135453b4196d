"""`bough stop`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import bough_command, dir_option, json_option, print_result, run_argument


@bough_command("bough stop", "bough stop amber-heron --now")
@run_argument
@dir_option
@click.option("--now", is_flag=True, help="Interrupt the current effect; nothing that is finished is lost.")
@json_option("As a JSON object: the run, and who was asked.")
async def command(run: str | None, folder: Path, now: bool, as_json: bool) -> None:
    """Ask a live run to stop.

    It stops after the current effect (a model call, a tool, a check), or at once with --now; either way `bough resume`
    continues it. If RUN (default: the latest) is not running, this says so; that is not an error.
    """
    from bough.adapters.stores.liveness import describe_worker
    from bough.app import open_session
    from bough.views.vocabulary import STATUS_WORDS

    async with open_session(folder) as opened:
        name = await opened.find(run)
        holder = await opened.stop(name, now)
        status, _ = await opened.standing(await opened.view(name))
    asked = describe_worker(holder) if holder else None
    when = "now" if now else "after its current effect"
    said = f"Asked {asked} to stop {name} {when}. Resume it with `bough resume {name}`."
    idle = f"{name} is not running ({STATUS_WORDS[status]}): nothing to stop."
    print_result(as_json, said if asked else idle, run=name, status=status, asked=asked)
