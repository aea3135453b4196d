"""`bough show`"""

from __future__ import annotations

import time

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, json_option, look_at_run, option
from bough.interfaces.cli.printing import print_json


@bough_command("bough show", "bough show amber-heron --depth 1", "bough show amb --flat", "bough show amb --json")
@look_at_run
@option("--depth", "N", "At most N levels below the goal.", click.IntRange(0))
@flag("--flat", "Only the leaves, each with its full path.")
@json_option("As a JSON object: the run and its tasks.")
async def command(opened: app.Journal, name: str, depth: int | None, flat: bool, as_json: bool) -> None:
    """Show a run as a tree: states, rounds, checks, cost.

    RUN is a run's name, its beginning, or `latest` (the default). For each task: its state, the rounds used and granted
    (including the tasks below it; `own` excludes them), the result of its check, and its cost; `total` includes the
    tasks below it, even those that --depth hides.
    """
    from bough.views.task_rows import list_rows

    found = await opened.view(name)
    status, holder = await opened.standing(found)
    waiting = await opened.waiting(name) if holder else ""
    rows = list_rows(found, depth=depth, flat=flat)
    if as_json:
        from bough.views.json_output import run_to_dict, task_to_dict

        tasks = [task_to_dict(row) for row in rows]
        print_json({**run_to_dict(found, status, holder), "waiting": waiting or None, "tasks": tasks})
        return

    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_heading, render_table
    from bough.views.formatting import one_line

    page = make_output()
    page.lines(render_heading(found, status, time.time() if holder else None))
    if waiting:
        page.paragraph(text=one_line(waiting), style="yellow")
    page.line("")
    page.lines(render_table(rows, page.width))
