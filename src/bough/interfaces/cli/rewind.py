"""`bough rewind`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough.interfaces.cli.options import (
    bough_command,
    dir_option,
    json_option,
    print_json,
    print_result,
    run_argument,
    task_argument,
)

if TYPE_CHECKING:
    from bough.views.details import Point


@bough_command(
    "bough rewind",
    "bough rewind amber-heron --to 3",
    "bough rewind amber-heron buffer/insert-line --to 0",
    'bough rewind amber-heron --to 3 --say "Use a table, not recursion"',
    "bough resume amber-heron",
)
@run_argument
@task_argument
@dir_option
@click.option("--to", metavar="POINT", type=click.IntRange(0), help="The point to continue from; 0: before the first.")
@click.option("--say", metavar="TEXT", default="", help="What to do differently; passed to a fresh agent.")
@json_option("As JSON: the points, or the point it was rewound to.")
async def command(run: str | None, task: str | None, folder: Path, to: int | None, say: str, as_json: bool) -> None:
    """Rewind a run to an earlier point.

    Without --to, lists the points of TASK (default: the goal) that RUN (default: the latest) can be rewound to: the
    ends of its rounds and, for a task with smaller steps, the ends of those steps. With --to, every task of the run
    returns to its state at that moment, and `bough resume` continues from there: what was finished by then is kept,
    what started later starts over. Later events stay in the journal but no longer count, except for their cost. Your
    own files are not touched.
    """
    if say and to is None:
        raise click.UsageError("--say needs --to POINT: `bough rewind` lists the points")
    from bough.app import open_session
    from bough.core.ids import GOAL

    async with open_session(folder) as opened:
        name, path = await opened.find_task(run, task)
        if to is None:
            _print_points(name, path, await opened.points(name, path or GOAL), as_json)
            return
        rewound = await opened.rewind(name, to, path or GOAL, say)
    where = f"point {to} of {path or GOAL}: {rewound.words}"
    said = f"Rewound {name} to {where}. `bough resume {name}` continues from there."
    print_result(as_json, said, run=name, task=path or GOAL, round=to, tree=rewound.tree)


def _print_points(name: str, path: str | None, points: list[Point], as_json: bool) -> None:
    from bough.core.ids import GOAL
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import format_clock, pad

    if as_json:
        listed: list[dict[str, Any]] = [
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
