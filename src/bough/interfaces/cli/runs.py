"""`bough runs`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option
from bough.interfaces.cli.printing import print_json

NEWEST = 20


@bough_command("bough runs", "bough runs --all --json")
@dir_option
@flag("--all", f"Not only the newest {NEWEST}.", "everything")
@json_option("As a JSON list.")
async def command(folder: Path, everything: bool, as_json: bool) -> None:
    """List the runs of this project.

    The newest is last. A run is `interrupted` when it is unfinished and no process is running it: `bough resume`
    continues it.
    """
    from bough.core.errors import NewerRun, NotFound
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_runs
    from bough.views.formatting import pluralize
    from bough.views.json_output import run_to_dict

    names: list[str] = []
    newer: list[str] = []
    found = []
    try:
        async with app.open_journal(folder) as opened:
            names = await opened.store.runs()
            for name in names if everything else names[-NEWEST:]:
                try:
                    run = await opened.view(name)
                    found.append((run, *await opened.standing(run)))
                except NewerRun as error:
                    newer.append(str(error))
    except NotFound:
        found = []  # bough has not been used here: that is an empty list, not an error
    for said in newer:
        click.echo(f"bough: {said}", err=True)
    if as_json:
        print_json([run_to_dict(*entry) for entry in found])
        return
    page = make_output()
    if not found and not newer:
        page.paragraph(text="There are no runs here yet: start one with `bough run GOAL`.")
        return
    page.lines(render_runs([(run, status) for run, status, _ in found], page.width) if found else ())
    if len(names) > len(found) + len(newer):
        hidden = pluralize(len(names) - len(found) - len(newer), "older run")
        page.line((f"{hidden} not shown: `bough runs --all` lists all.", "dim"))
