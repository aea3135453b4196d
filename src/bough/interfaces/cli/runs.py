"""`bough runs`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, wait_for

NEWEST = 20


@click.command(
    "runs",
    short_help="List the runs of this project.",
    epilog=example("bough runs", "bough runs --all --json"),
)
@in_dir
@click.option("--all", "everything", is_flag=True, help=f"Not only the newest {NEWEST}.")
@as_json("As a JSON list.")
def command(folder: Path, everything: bool, as_json: bool) -> None:
    """List the runs of this project.

    The newest is last. A run is `interrupted` when it is unfinished and no process is running it: `bough resume`
    continues it.
    """
    wait_for(_runs(folder, everything, as_json))


async def _runs(folder: Path, everything: bool, as_json: bool) -> None:
    from bough.app import journal
    from bough.core.errors import NotFound
    from bough.interfaces.cli.facts import run_facts
    from bough.interfaces.cli.targets import standing
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.runs import runs_table

    names: list[str] = []
    found = []
    try:
        async with journal(folder) as opened:
            names = await opened.store.runs()
            for name in names if everything else names[-NEWEST:]:
                run = await opened.view(name)
                found.append((run, *await standing(opened, run)))
    except NotFound:
        found = []  # bough has not been used here: that is no run, and no error
    if as_json:
        print_json([run_facts(*entry) for entry in found])
        return
    page = paper()
    if not found:
        page.paragraph(text="There are no runs here yet: start one with `bough run GOAL`.")
        return
    for line in runs_table([(run, status) for run, status, _ in found], page.width):
        page.line(*line)
    if len(names) > len(found):
        page.line((f"{len(names) - len(found)} older ones are left out: `bough runs --all` lists them.", "dim"))
