"""`bough prune`"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option
from bough.interfaces.cli.printing import print_json

DAY = 86_400.0
UNITS = {"h": 3_600.0, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}
SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def _make_parser(units: Mapping[str, float], usual: str) -> Callable[..., float | None]:
    """Reads a number with a unit: `30d`, `2G`."""

    def read(ctx: click.Context, option: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]?)(?:i?b)?", value.strip().lower())
        if found is None or (found[2] or usual) not in units:
            raise click.BadParameter(f"{value!r}: pass a number and one of {', '.join(filter(None, units))}")
        return float(found[1]) * units[found[2] or usual]

    return read


@bough_command("bough prune --dry-run", "bough prune --older-than 2w", "bough prune --max-size 2G")
@dir_option
@option(
    "--older-than",
    "AGE",
    "Runs that ended longer ago: 12h, 30d, 2w, 6m, 1y (default: 30d, unless --max-size is given).",
    to="age",
    callback=_make_parser(UNITS, "d"),
)
@option(
    "--max-size",
    "SIZE",
    "Remove the oldest until .bough is at most this size: 500M, 2G.",
    to="size",
    callback=_make_parser(SIZES, ""),
)
@flag("--unfinished", "Also runs that could be resumed.")
@flag("--dry-run", "Only list them.")
@json_option("As a JSON object: the runs, and bytes before and after.")
async def command(
    folder: Path, age: float | None, size: float | None, unfinished: bool, dry_run: bool, as_json: bool
) -> None:
    """Remove old runs.

    By age, by the size of .bough, or both. Runs that can still be resumed are kept, and so are live ones. Applied
    changes stay in your files; unapplied work is removed with its run.
    """
    age = 30 * DAY if age is None and size is None else age
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import pluralize

    async with app.open_session(folder) as opened:
        before = opened.size()
        candidates = await _list_candidates(opened, unfinished)
        now = time.time()
        chosen = [name for name, ended in candidates if age is not None and now - ended > age]
        left = [name for name, _ in candidates if name not in chosen]
        killed: list[str] = []
        if not dry_run:
            killed = await opened.clear_inspections()
            for name in chosen:
                await opened.remove(name)
            await opened.tidy()
        while size is not None and not dry_run and left and opened.size() > size:
            chosen.append(left.pop(0))
            await opened.remove(chosen[-1])
            await opened.tidy()
    after = opened.size()
    if as_json:
        print_json({"runs": chosen, "removed": not dry_run, "before": before, "after": after})
        return
    page = make_output()
    if killed:
        page.paragraph(text=f"Removed what {pluralize(len(killed), 'killed check')} left behind.")
    if not chosen and not killed:
        page.paragraph(text=f"Nothing to remove: .bough uses {_format_size(before)}.")
    elif chosen and dry_run:
        page.paragraph(text=f"Would remove {pluralize(len(chosen), 'run')}: {', '.join(chosen)}.")
    elif chosen:
        page.paragraph(
            text=(
                f"Removed {pluralize(len(chosen), 'run')}: .bough uses {_format_size(after)}, down from "
                f"{_format_size(before)}."
            )
        )


def _format_size(size: int) -> str:
    return f"{size / 10**9:.1f} GB" if size >= 10**9 else f"{size / 10**6:.1f} MB"


async def _list_candidates(opened: app.Session, unfinished: bool) -> list[tuple[str, float]]:
    """Runs that are not live, with the time of their end, oldest first."""
    from bough.core.errors import NewerRun
    from bough.core.ids import RUN

    found = []
    for name in await opened.store.runs():
        try:
            over = (await opened.run(name)).end is not None
        except NewerRun:  # whether it is over is for that bough to say
            continue
        if (over or unfinished) and not await opened.holder(name):
            found.append((name, (await opened.store.read(name, RUN))[-1].at))
    return sorted(found, key=lambda each: each[1])
