"""`bough pause`"""

from __future__ import annotations

from pathlib import Path

from bough.interfaces.cli.options import bough_command, dir_option, json_option, print_result, run_argument


@bough_command("bough pause", "bough pause amber-heron", "bough resume amber-heron")
@run_argument
@dir_option
@json_option("As a JSON object: the run, and who was asked.")
async def command(run: str | None, folder: Path, as_json: bool) -> None:
    """Pause a live run.

    RUN (default: the latest) pauses after its current effect (a model call, a tool, a check), and its process ends with
    exit status 6; `bough runs` lists it as paused. `bough resume` continues where it left off, now or in a week. If RUN
    is not running, this says so; that is not an error.
    """
    from bough.adapters.stores.liveness import describe_worker
    from bough.app import open_session, run_messages
    from bough.views.vocabulary import STATUS_WORDS

    async with open_session(folder) as opened:
        name = await opened.find(run)
        holder = await run_messages.pause_run(opened, name)
        status, _ = await opened.standing(await opened.view(name))
    asked = describe_worker(holder) if holder else None
    said = f"{name} pauses after its current effect. Resume it with `bough resume {name}`."
    idle = f"{name} is not running ({STATUS_WORDS[status]}): nothing to pause."
    print_result(as_json, said if asked else idle, run=name, status=status, asked=asked)
