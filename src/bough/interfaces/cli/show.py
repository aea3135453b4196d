"""`bough show`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "show",
    short_help="Show a run as a tree: states, rounds, checks, cost.",
    epilog=example("bough show", "bough show amber-heron --depth 1", "bough show amb --flat", "bough show amb --json"),
)
@run_argument
@in_dir
@click.option("--depth", metavar="N", type=click.IntRange(0), help="At most N levels below the goal.")
@click.option("--flat", is_flag=True, help="Only the leaves, each with its full path.")
@as_json("As a JSON object: the run and its tasks.")
def command(run: str | None, folder: Path, depth: int | None, flat: bool, as_json: bool) -> None:
    """Show a run as a tree: states, rounds, checks, cost.

    RUN is a run's name, its beginning, or `latest` (the default). For each task: its state, the rounds used and granted
    (including the tasks below it; `own` excludes them), the result of its check, and its cost; `in all` includes the
    tasks below it, even those that --depth hides.
    """
    wait_for(_show(run, folder, depth, flat, as_json))


async def _show(run: str | None, folder: Path, depth: int | None, flat: bool, as_json: bool) -> None:
    from bough.app import journal
    from bough.interfaces.cli.targets import standing
    from bough.interfaces.terminal.tree import rows

    async with journal(folder) as opened:
        found = await opened.view(await opened.find(run))
        status, holder = await standing(opened, found)
    if as_json:
        from bough.interfaces.cli.facts import run_facts, task_facts

        tasks = [task_facts(row) for row in rows(found, depth=depth, flat=flat)]
        print_json({**run_facts(found, status, holder), "tasks": tasks})
        return

    import time

    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.tree import heading, table

    page = paper()
    for line in heading(found, status, time.time() if holder else None):
        page.line(*line)
    page.line("")
    for line in table(found, page.width, rows(found, depth=depth, flat=flat)):
        page.line(*line)
