"""`bough workers`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, wait_for


@click.command(
    "workers",
    short_help="List the workers of a shared journal and what they do.",
    epilog=example("bough workers", "bough workers --store postgresql://bough@db/bough --json"),
)
@in_dir
@as_json("As a JSON list.")
def command(folder: Path, as_json: bool) -> None:
    """List the workers of a shared journal and what they do.

    For each: slots in use, tags, version, uptime, time since its last heartbeat, and the tasks it is running.
    """
    wait_for(_workers(folder, as_json))


async def _workers(folder: Path, as_json: bool) -> None:
    import msgspec

    from bough.app import journal
    from bough.app.worker import workers_of
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.words import cells, duration, one_line, pad

    async with journal(folder) as opened:
        found = await workers_of(opened.store)
    if as_json:
        print_json([msgspec.to_builtins(each) for each in found])
        return
    page = paper()
    if not found:
        page.paragraph(text="No worker is there: start one with `bough worker --store …`.")
        return
    heading = ("worker", "slots", "tags", "version", "up", "heartbeat", "works on")
    rows = [
        (
            one_line(each.name),
            f"{len({task for _, task in each.tasks})}/{each.slots}" + (" draining" if each.draining else ""),
            " ".join(each.tags) or "–",
            one_line(each.version),
            duration(each.up),
            f"{duration(each.silent)} ago",
            ", ".join(f"{run} {task}" for run, task in each.tasks) or "–",
        )
        for each in found
    ]
    widths = [max(cells(row[n]) for row in (heading, *rows)) for n in range(len(heading))]
    for number, row in enumerate((heading, *rows)):
        text = "  ".join(pad(cell, width, False) for cell, width in zip(row, widths, strict=True))
        page.line((text.rstrip(), "dim" if number == 0 else ""))
