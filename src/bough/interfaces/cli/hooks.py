"""The command `bough hooks`."""

import os
import shlex
import sys
from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.drawn import add_drawn
from bough.interfaces.cli.options import BoughGroup, dir_option, format_example, json_option
from bough.interfaces.cli.printing import print_json


@click.group("hooks", cls=BoughGroup, epilog=format_example("bough hooks list", "bough hooks test needs_you"))
def command() -> None:
    """List and try your hooks: what bough starts when something happens.

    Hooks are commands in your own settings (`bough config` says where); a repository cannot set any. Each gets the
    event as JSON on standard input and a sentence in $BOUGH_MESSAGE, which others may have written: quote it.
    """


@command.command("list", epilog=format_example("bough hooks list"))
@dir_option
@json_option("As a JSON object.")
def list_(folder: Path, as_json: bool) -> None:
    """List your hooks and the last calls for this project."""
    from msgspec.structs import asdict

    from bough.app.config import find_person_file, load_hooks
    from bough.app.journal import find_project_root
    from bough.interfaces.terminal.output import make_output
    from bough.services.hooks import BEFORE, EVENTS, Outbox
    from bough.views.formatting import format_moment, last_line, one_line

    hooks, calls = asdict(load_hooks(os.environ)), Outbox(find_project_root(folder)).read_log()
    if as_json:
        print_json({"hooks": hooks, "calls": calls[-50:]})
        return
    page = make_output()
    chosen = {name: value for name in ("notify", *EVENTS, *BEFORE) if (value := hooks[name])}
    if not chosen:
        page.paragraph(text=f'You have no hooks: write `notify = "COMMAND"` into {find_person_file(os.environ)}.')
    for name, value in chosen.items():
        page.line((f"{name}  ", "bold"), value if isinstance(value, str) else shlex.join(value))
    for call in calls[-10:]:
        said = call.failure or "done" + (f": {last_line(call.out)}" if call.out.strip() else "")
        style = "yellow" if call.failure else "dim"
        page.line((f"{format_moment(call.at)}  ", "dim"), f"{call.event}  ", (one_line(said), style))


add_drawn(command)


@command.command("deliver", hidden=True)
@dir_option
async def deliver(folder: Path) -> None:
    """Deliver notices until the process that started this one closes standard input."""
    from bough.services.hooks import NoticeDelivery
    from bough.services.question_links import make_links

    async with app.open_journal(folder) as journal:
        await NoticeDelivery(journal, make_links(journal.root)).run(sys.stdin.fileno())
