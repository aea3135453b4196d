"""`bough stop`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import dir_option, format_example, json_option, print_json, run_argument, run_to_end


@click.command(
    "stop",
    short_help="Ask a live run to stop.",
    epilog=format_example("bough stop", "bough stop amber-heron --now"),
)
@run_argument
@dir_option
@click.option("--now", is_flag=True, help="Interrupt the current effect; nothing that is finished is lost.")
@json_option("As a JSON object: the run, and who was asked.")
def command(run: str | None, folder: Path, now: bool, as_json: bool) -> None:
    """Ask a live run to stop.

    It stops after the current effect (a model call, a tool, a check), or at once with --now; either way `bough resume`
    continues it. If RUN (default: the latest) is not running, this says so; that is not an error.
    """
    run_to_end(_stop(run, folder, now, as_json))


async def _stop(run: str | None, folder: Path, now: bool, as_json: bool) -> None:
    from bough.adapters.stores.liveness import describe_worker
    from bough.app import open_session
    from bough.interfaces.terminal.output import make_output
    from bough.views.vocabulary import STATUS_WORDS

    async with open_session(folder) as opened:
        name = await opened.find(run)
        holder = await opened.stop(name, now)
        status, _ = await opened.standing(await opened.view(name))
    if as_json:
        print_json({"run": name, "status": status, "asked": describe_worker(holder) if holder else None})
    elif holder:
        when = "now" if now else "after its current effect"
        make_output().paragraph(
            text=f"Asked {describe_worker(holder)} to stop {name} {when}. Resume it with `bough resume {name}`."
        )
    else:
        make_output().paragraph(text=f"{name} is not running ({STATUS_WORDS[status]}): nothing to stop.")
