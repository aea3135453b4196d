"""`bough pause`"""

from __future__ import annotations

from bough import app
from bough.interfaces.cli.options import bough_command, json_option, open_run
from bough.interfaces.cli.stop import print_request


@bough_command("bough pause", "bough pause amber-heron", "bough resume amber-heron")
@open_run
@json_option("As a JSON object: the run, and who was asked.")
async def command(opened: app.Session, name: str, as_json: bool) -> None:
    """Pause a live run.

    RUN (default: the latest) pauses after its current effect (a model call, a tool, a check), and its process ends with
    exit status 6; `bough runs` lists it as paused. `bough resume` continues where it left off, now or in a week. If RUN
    is not running, this says so; that is not an error.
    """
    from bough.app.run_messages import pause_run

    said = f"{name} pauses after its current effect. Resume it with `bough resume {name}`."
    await print_request(opened, name, await pause_run(opened, name), said, "pause", as_json)
