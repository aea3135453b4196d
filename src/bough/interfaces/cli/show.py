"""`bough show`"""

from __future__ import annotations

import time
from pathlib import Path

import click

from bough.interfaces.cli.options import bough_command, dir_option, json_option, print_json, run_argument


@bough_command("bough show", "bough show amber-heron --depth 1", "bough show amb --flat", "bough show amb --json")
@run_argument
@dir_option
@click.option("--depth", metavar="N", type=click.IntRange(0), help="At most N levels below the goal.")
@click.option("--flat", is_flag=True, help="Only the leaves, each with its full path.")
@json_option("As a JSON object: the run and its tasks.")
async def command(run: str | None, folder: Path, depth: int | None, flat: bool, as_json: bool) -> None:
    """Show a run as a tree: states, rounds, checks, cost.

    RUN is a run's name, its beginning, or `latest` (the default). For each task: its state, the rounds used and granted
    (including the tasks below it; `own` excludes them), the result of its check, and its cost; `total` includes the
    tasks below it, even those that --depth hides.
    """
    from bough.app import open_journal
    from bough.views.task_rows import list_rows

    async with open_journal(folder) as opened:
        found = await opened.view(await opened.find(run))
        status, holder = await opened.standing(found)
        waiting = await opened.waiting(found.name) if holder else ""
    if as_json:
        from bough.views.json_output import run_to_dict, task_to_dict

        tasks = [task_to_dict(row) for row in list_rows(found, depth=depth, flat=flat)]
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
    page.lines(render_table(list_rows(found, depth=depth, flat=flat), page.width))
