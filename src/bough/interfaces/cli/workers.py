"""`bough workers`"""

from __future__ import annotations

from pathlib import Path

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, json_option
from bough.interfaces.cli.printing import print_json


@bough_command("bough workers", "bough workers --store postgresql://bough@db/bough --json")
@dir_option
@json_option("As a JSON list.")
async def command(folder: Path, as_json: bool) -> None:
    """List the workers of a shared journal and what they do.

    For each: slots in use, tags, version, uptime, time since its last heartbeat, and the tasks it is running.
    """
    from bough.interfaces.terminal.output import make_output
    from bough.services.worker_service import list_waiting, list_workers, require_shared_journal
    from bough.views.formatting import count_cells, format_duration, one_line, pad

    require_shared_journal(folder)
    async with app.open_journal(folder) as opened:
        found = await list_workers(opened.store)
        waiting = await list_waiting(opened.store)
    if as_json:
        print_json(found)
        return
    page = make_output()
    if not found:
        page.paragraph(text="No workers are running: start one with `bough worker --store …`.")
        return
    heading = ("worker", "slots", "tags", "version", "up", "heartbeat", "works on")
    rows = [
        (
            one_line(each.name),
            f"{len({task for _, task in each.tasks})}/{each.slots}"
            + (" draining" if each.draining else "")
            + (" set aside" if each.trouble else "")
            + ("" if each.silent < each.lease else " silent"),
            " ".join(each.tags) or "–",
            one_line(each.version),
            format_duration(each.up),
            f"{format_duration(each.silent)} ago",
            ", ".join(f"{run} {task}" for run, task in each.tasks) or "–",
        )
        for each in found
    ]
    widths = [max(count_cells(row[n]) for row in (heading, *rows)) for n in range(len(heading))]
    for number, row in enumerate((heading, *rows)):
        text = "  ".join(pad(cell, width, False) for cell, width in zip(row, widths, strict=True))
        page.line((text.rstrip(), "dim" if number == 0 else ""))
    for each in found:
        if each.trouble:
            page.paragraph(
                text=f"{each.name} is set aside until it or a run is started again: {one_line(each.trouble)}"
            )
    for run, text in waiting:
        page.paragraph(text=f"{run}: {one_line(text)}", style="yellow")
