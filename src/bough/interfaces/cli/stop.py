"""`bough stop`"""

from __future__ import annotations

from bough import app
from bough.interfaces.cli.options import bough_command, flag, json_option, open_run
from bough.interfaces.cli.printing import print_result


@bough_command("bough stop", "bough stop amber-heron --now")
@open_run
@flag("--now", "Interrupt the current effect; nothing that is finished is lost.")
@json_option("As a JSON object: the run, and who was asked.")
async def command(opened: app.Session, name: str, now: bool, as_json: bool) -> None:
    """Ask a live run to stop.

    It stops after the current effect (a model call, a tool, a check), or at once with --now; either way `bough resume`
    continues it. If RUN (default: the latest) is not running, this says so; that is not an error.
    """
    asked = await opened.stop(name, now)
    when = "now" if now else "after its current effect"
    said = f"Asked {asked} to stop {name} {when}. Resume it with `bough resume {name}`."
    await print_request(opened, name, asked, said, "stop", as_json)


async def print_request(opened: app.Session, name: str, asked: str | None, said: str, what: str, as_json: bool) -> None:
    """What was asked of a run, or that nobody runs it."""
    from bough.views.vocabulary import STATUS_WORDS

    status, _ = await opened.standing(await opened.view(name))
    idle = f"{name} is not running ({STATUS_WORDS[status]}): nothing to {what}."
    print_result(as_json, said if asked else idle, run=name, status=status, asked=asked)
