"""`bough demo`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough import app
from bough.interfaces.cli.options import bough_command, json_option, option

if TYPE_CHECKING:
    from bough.services.demo import Demo


@bough_command("bough demo", "bough demo project", "bough demo backlog --dir /tmp/try-bough")
@click.argument("name", required=False)
@option(
    "--dir",
    "D",
    "A new folder for the demo (default: a temporary one). It is not removed.",
    click.Path(path_type=Path),
    to="folder",
)
@json_option("One event per line, as it happens.")
async def command(name: str | None, folder: Path | None, as_json: bool) -> int:
    """Watch a whole run with a recorded model: no key, no network.

    The files, the edits, the workspace and the tests are real, and bough itself runs them; only the model's answers are
    replayed from a recording.

    `fix` (the default) is one task: some tests fail, and a probe finds what their repair forgot. `project` builds a
    program in three phases, two agents at a time: one makes a mistake that a bug hunter repairs, one gets stuck and its
    task is replanned. `backlog` works through five goals: three are done and proven, one conflicts with another, one is
    given up.
    """
    from bough.services.demo import BACKLOG, find, own_environment, unpack

    demo = find(name)
    project, recording = unpack(demo, folder)
    with own_environment():
        async with app.open_session(project, create=True) as opened:
            status = await (_run_night if name == BACKLOG else _run)(opened, demo, project, recording, as_json)
    if not as_json:
        commands = "show, bough report, bough log, bough diff, bough apply"
        nightly = "backlog report, bough diff, git log night, bough serve"
        click.echo(f"\nLook around: cd {project}, then bough {nightly if name == BACKLOG else commands}.")
    return status


async def _run(opened: app.Session, demo: Demo, project: Path, recording: Path, as_json: bool) -> int:
    from bough.core.planning.plan import build_goal_step
    from bough.interfaces.cli.execution import finish_run, make_display, run_to_end
    from bough.services.demo import recorded_model

    display = make_display(as_json)
    notice = f"The model is a recording; everything else is real, in {project}."
    if as_json:
        display.notice(notice)
    else:
        display.announce([[(notice, "yellow")]])
    model = recorded_model(recording)
    choices = app.Choices(model=model, fast_model=model, strong_model=model, flat=demo.flat, jobs=demo.jobs)
    step = build_goal_step(demo.goal, check=demo.check)
    outcome = await run_to_end(display, lambda watch: opened.start(step, choices, watch))
    return await finish_run(opened, outcome, apply=False, as_json=as_json)


async def _run_night(opened: app.Session, demo: Demo, project: Path, recording: Path, as_json: bool) -> int:
    from bough.core.backlog.reading import read_list
    from bough.interfaces.cli.backlog_run import watch_night
    from bough.services.backlog import add_goals, load_backlog
    from bough.services.demo import LIST, RecordedNight
    from bough.services.night import NightPlan
    from bough.trust.files import Place

    click.echo(f"The model is a recording; everything else is real, in {project}.", err=as_json)
    entries = read_list(Place(project, LIST).text(), LIST)
    model = RecordedNight(recording, {name: entry.goal for name, entry in entries})
    choices = app.Choices(model=model, fast_model=model, strong_model=model, flat=True, max_depth=0)
    await add_goals(opened, await load_backlog(opened), entries)
    return await watch_night(opened, NightPlan("backlog", demo.jobs, together="night", ask=False), choices, as_json)
