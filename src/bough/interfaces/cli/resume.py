"""`bough resume`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bough import app
from bough.interfaces.cli.options import bough_command, option, run_argument, run_options

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import Display


@bough_command("bough resume", "bough resume amber-heron --rounds 80")
@run_argument
@option("--check", "CMD", "The command that proves the goal from now on.", default="")
@run_options
async def command(run: str | None, folder: Path, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Resume a run that was stopped or interrupted.

    It continues with the first unfinished action (a model call, a tool, a check); nothing that is finished is done
    again. Models, limits and --network are those it started with unless given here; what it has spent is never reset. A
    run that is already running is refused, naming the process; for a finished run, the summary is shown. If you did not
    begin the run on this machine, you are asked about its agents, variables, network, set-up, models and rounds, or
    allow them with the same options here; else it stays halted. Exit status: 8 then, else as for `bough run`.
    """
    from bough.interfaces.cli.execution import make_display

    display, choices = make_display(as_json), app.Choices(**chosen)
    async with app.open_session(folder, choices=choices) as opened:
        name = await opened.find(run)
        return await resume_run(opened, name, display, choices, apply, as_json)


async def resume_run(
    opened: app.Session, name: str, display: Display, choices: app.Choices, apply: bool, as_json: bool
) -> int:
    """Resume a run, show it on the display, and return the exit status."""
    from bough.adapters.stores.liveness import describe_worker, is_alive, is_stopped
    from bough.core.errors import ClaimHeld
    from bough.core.ids import RUN
    from bough.interfaces.cli.consent_prompt import ask_permission
    from bough.interfaces.cli.execution import finish_run, retry_on_quota, run_to_end
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.permissions import allow_run, list_wants
    from bough.views.run_view import LIVE_KINDS

    holder = await opened.store.holder(name, RUN)
    if holder and is_alive(holder):
        # Claiming the run would fail too, but only after everything else has been checked.
        way = f"watch it with `bough log {name} --follow`, or stop it first with `bough stop {name}`"
        if is_stopped(holder):
            way = "resume it with `fg`, or end it with `kill -9` and try again"
        raise ClaimHeld(f"{name} is already running in {describe_worker(holder)}: {way}.", holder)
    for record in await opened.store.read(name, kinds=LIVE_KINDS):
        display.seen(record)
    if (await opened.run(name)).end is not None:
        display.notice(f"{name} is finished: nothing to resume. `bough rewind {name}` reopens it.")
        return await finish_run(opened, await opened.outcome(name), apply=apply, as_json=as_json)
    asks = "here" if not as_json and is_interactive() else ""
    stored = await opened.run(name)
    wants = await list_wants(opened, stored, choices) if asks else {}
    if wants and (said := ask_permission(opened.root, name, wants)) is not None:
        allow_run(opened, stored, wants, said)
    work = retry_on_quota(opened, display, choices, lambda watch: opened.resume(name, choices, watch))
    outcome = await run_to_end(display, work, asks=asks)
    return await finish_run(opened, outcome, apply=apply, as_json=as_json)
