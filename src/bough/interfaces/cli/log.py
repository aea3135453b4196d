"""The command `bough log`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough import app
from bough.interfaces.cli.options import bough_command, enable_gc, flag, json_option, run_argument, task_argument
from bough.interfaces.cli.printing import print_json_line

if TYPE_CHECKING:
    from bough.core.events import Record

POLL = 0.3


@bough_command("bough log", "bough log amber-heron buffer --rounds", "bough log --follow --json | jq .event.event")
@run_argument
@task_argument
@flag("--follow", "Keep printing until the run ends or stops.")
@flag("--rounds", "The conversation: prompts, answers, tool calls and results.")
@json_option("One event per line, as stored in the journal.")
async def command(run: str | None, task: str | None, folder: Path, follow: bool, rounds: bool, as_json: bool) -> None:
    """Show what happened, event by event.

    RUN is a run's name, its beginning, or `latest` (the default); TASK is a path as shown by `bough show`: that task
    and everything below it (default: the whole run). A task path alone refers to the latest run.
    """
    if rounds and as_json:
        raise click.UsageError("--rounds and --json are mutually exclusive")
    tell = _make_printer(rounds, as_json)
    async with app.open_journal(folder) as opened:
        name, path = await opened.find_task(run, task)
        if follow:
            enable_gc()
            await _follow(opened, name, path, tell)
            return
        for record in await _read(opened, name, path):
            tell(record)


def _make_printer(rounds: bool, as_json: bool) -> "Callable[[Record], None]":
    if as_json:
        return print_json_line
    from bough.interfaces.terminal.output import format_line, make_output
    from bough.views.event_lines import EventFormatter

    page = make_output()
    if rounds:
        from bough.interfaces.terminal.plain_display import Conversation

        return Conversation(page).tell
    teller = EventFormatter()
    return lambda record: page.line(*format_line(record, teller.tell(record)))


async def _read(opened: "app.Journal", name: str, path: str | None, since: int = 0) -> "list[Record]":
    """Read the events of a task and of everything below it; of the whole run if `path` is None."""
    from bough.core.ids import CONTROL, GOAL, RUN

    records = await opened.store.read(name, since=since)
    if path is None:
        return records
    if path == GOAL:
        return [record for record in records if record.task not in (RUN, CONTROL)]
    return [record for record in records if record.task == path or record.task.startswith(f"{path}/")]


async def _follow(opened: "app.Journal", name: str, path: str | None, tell: "Callable[[Record], None]") -> None:
    import asyncio

    since = 0
    while True:
        # Ask whether a process works on the run before reading, not after: otherwise what it writes between the reading
        # and its end would be missed.
        live = await opened.holder(name) is not None
        for record in await _read(opened, name, path, since):
            since = record.seq
            tell(record)
        sys.stdout.flush()
        if not live:
            return
        await asyncio.sleep(POLL)
