"""`bough rewind`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.core.ids import GOAL
from bough.interfaces.cli.drawn import DrawnCommand, print_operation
from bough.interfaces.cli.options import bough_command, json_option, option, run_argument, task_argument
from bough.interfaces.cli.printing import print_json
from bough.operations import OPERATIONS
from bough.views.formatting import format_clock, pad


@bough_command(*OPERATIONS["rewind"].examples, cls=DrawnCommand)
@run_argument
@task_argument
@option("--to", "POINT", "The point to continue from; 0: before the first.")
@option("--say", "TEXT", "What to do differently; passed to a fresh agent.", default="")
@json_option("As JSON: the points, or the point it was rewound to.")
async def command(run: str | None, task: str | None, folder: Path, to: str | None, say: str, as_json: bool) -> None:
    """Rewind a run to an earlier point.

    Without --to, lists the points of TASK (default: the goal) that RUN (default: the latest) can be rewound to: the
    ends of its rounds and, for a task with smaller steps, the ends of those steps. With --to, every task of the run
    returns to its state at that moment, and `bough resume` continues from there: what was finished by then is kept,
    what started later starts over. Later events stay in the journal but no longer count, except for their cost. Your
    own files are not touched.
    """
    if say and to is None:
        raise click.UsageError("--say needs --to POINT: `bough rewind` lists the points")
    from bough.interfaces.terminal.output import make_output

    given = {"to": to, "say": say} if to is not None else {}
    arguments = OPERATIONS["rewind"].read(given, texts=True) if given else {}
    async with app.open_session(folder) as opened:
        name, path = await opened.find_task(run, task)
        if arguments:
            print_operation(await OPERATIONS["rewind"].does(opened, name, task=path or GOAL, **arguments), as_json)
            return
        points = await opened.points(name, path or GOAL)
    if as_json:
        listed = [
            {"round": number, "happened": point.words, "tree": point.tree, "at": point.at}
            for number, point in enumerate(points)
        ]
        print_json({"run": name, "task": path or GOAL, "points": listed})
        return
    page = make_output()
    if not points:
        page.paragraph(text=f"{name} has not started: nothing to rewind.")
        return
    room = len(str(len(points) - 1))
    word = "point" if any(point.has_steps for point in points) else "round"
    for number, point in enumerate(points):
        when = f"  {format_clock(point.at)}  {point.tree[:10]}  "
        page.line((f"{word} {pad(str(number), room, right=True)}", "bold"), (when, "dim"), point.words)
    page.line("")
    target = f"{name} {path}" if path else name
    page.paragraph(text=f"`bough rewind {target} --to POINT` rewinds the run to that moment.")
