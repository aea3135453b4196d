"""`bough lessons`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option
from bough.interfaces.cli.printing import print_json


@bough_command("bough lessons", "bough lessons --forget 3", "bough lessons --promote 2")
@dir_option
@option("--forget", "N", "Forget a lesson: no run is told any more.", int)
@option("--promote", "N", "Write a lesson into AGENTS.md, for every agent.", int)
@flag("--all", "Also those that were retired, and why.", "everything")
@json_option("As a JSON list.")
async def command(folder: Path, forget: int | None, promote: int | None, everything: bool, as_json: bool) -> None:
    """Show what runs proved about this repository.

    With `bough run --lessons` (or [backlog] lessons = true) a finished run leaves what it proved: the check that works,
    the set-up that it needed, a test on which a goal was given up, what you answered. Later runs are told those whose
    files or check they touch, in at most 1,000 tokens. A lesson that a verdict contradicts is retired.
    """
    import msgspec

    from bough.app.earlier_runs import forget_lesson, load_lessons, promote_lesson
    from bough.core.errors import NotFound
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import format_moment

    for number, act, said in ((forget, forget_lesson, "Forgotten"), (promote, promote_lesson, "Written to AGENTS.md")):
        if number is not None:
            async with app.open_session(folder) as opened:
                done = await act(opened, number)
            click.echo(f"{said}: {done.lesson.says}.")
    if forget is not None or promote is not None:
        return
    try:
        async with app.open_journal(folder) as journal:
            kept = await load_lessons(journal)
    except NotFound:  # bough has not been used here
        kept = {}
    shown = [one for one in kept.values() if everything or not one.retired]
    if as_json:
        print_json([{**msgspec.to_builtins(one), "says": one.lesson.says} for one in shown])
        return
    page = make_output()
    if not shown:
        page.paragraph(text="There are no lessons yet: `bough run --lessons` keeps what a run proves.")
    for one in shown:
        gone = f" (retired: {one.retired})" if one.retired else ""
        source = f" – {one.lesson.run}, {format_moment(one.at)}{gone}"
        page.paragraph((f"{one.number:>3}  ", "dim"), text=f"{one.lesson.says}{source}", indent=5)
