"""`bough check`"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bough import app
from bough.interfaces.cli.options import (
    bough_command,
    dir_option,
    flag,
    json_option,
    model_option,
    option,
    sandbox_options,
    setup_option,
)
from bough.interfaces.cli.printing import print_json

NOT_FOUND = 5
SCOUT = (
    "The manifests, task files and CI lines here do not say how this project is tested. `bough check --scout` lets a "
    "model look and tries what it proposes (it needs a model: `--model M`, or `[models] main` in your settings)."
)


@bough_command("bough check", "bough check --check 'pytest -q' --dir packages/web", "bough check --scout --model M")
@dir_option
@option("--check", "CMD", "Try this command instead of the one bough finds.")
@sandbox_options
@setup_option
@flag("--cached", "Show the last result on these files, with its age; run nothing.")
@flag(
    "--scout", "Where the project's own files leave the check unclear, let a model look for it (ten requests at most)."
)
@model_option
@json_option("As a JSON object.")
async def command(folder: Path, check: str | None, cached: bool, scout: bool, as_json: bool, **chosen: Any) -> int:
    """Run the project's check as bough finds it, before any work.

    Shows which check a run would use, why, in which environment, and whether it passes on your files now. It runs
    every time, in a private checkout as in a run; only --cached shows the last result instead. Your files are only
    read. A model is called only with --scout; a check that it finds is tried, kept for this project and shown from then
    on.

    Exit status: 0 passes, 1 fails, 2 cannot start (something is missing), 5 no check found.
    """
    from bough.core import events as e
    from bough.core.planning.plan import build_goal_step
    from bough.interfaces.terminal.banner import print_failing, render_banner
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import format_duration

    page, choices = make_output(), app.Choices(**chosen)

    def recorded(record: e.Record) -> None:
        if not as_json:
            page.lines(render_banner(record, ""))
            page.flush()

    async with app.open_session(folder, create=True, choices=choices) as opened:
        step, watch = build_goal_step("Go.", check=check), app.RunObserver(recorded=recorded)
        found, at = await opened.check(step, choices, watch, cached=cached, scout=scout)
    if as_json:
        print_json(found)
    else:
        if cached and at:
            for event in (e.BaseStarted(found.command, found.why, found.environment), found):
                recorded(e.Record(0, "", "", 0, at, event))
            page.line((f"  {format_duration(time.time() - at)} ago", "dim"))
        elif cached:
            page.line(("No result is kept for these files as they are: run `bough check`.", ""))
        print_failing(page, found)
        if not cached and not scout and not check and (found.absent or not found.command):
            page.paragraph("  ", text=SCOUT, indent=2)
        page.flush()
    if not found.command:
        return NOT_FOUND
    if found.lacking:
        return 2
    return 0 if found.exit_status == 0 and not found.failed else 1
