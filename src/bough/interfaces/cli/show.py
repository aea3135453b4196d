"""`bough show`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, hurry, in_dir, print_json, run_argument, wait_for


@click.command(
    "show",
    short_help="Show a run as a tree: states, rounds, checks, cost.",
    epilog=example("bough show", "bough show amber-heron", "bough show amb --json"),
)
@run_argument
@in_dir
@as_json("As a JSON object: the run and its tasks.")
def command(run: str | None, folder: Path, as_json: bool) -> None:
    """Show a run as a tree: states, rounds, checks, cost.

    RUN is a run's name, the beginning of one, or `latest` (the default). For each task: its state, the rounds used and
    granted, what came of its check, and what it cost; `in all` counts the tasks below it too.
    """
    hurry()
    wait_for(_show(run, folder, as_json))


async def _show(run: str | None, folder: Path, as_json: bool) -> None:
    from bough.app import journal
    from bough.interfaces.cli.targets import standing

    async with journal(folder) as opened:
        found = await opened.view(await opened.find(run))
        status, holder = await standing(opened, found)
    if as_json:
        from bough.interfaces.cli.facts import run_facts, tree_facts

        print_json({**run_facts(found, status, holder), "tasks": tree_facts(found)})
        return

    import time

    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.tree import heading, table

    page = paper()
    for line in heading(found, status, time.time() if holder else None):
        page.line(*line)
    page.line("")
    for line in table(found, page.width):
        page.line(*line)
