"""`bough answer`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough.interfaces.cli.options import example, for_carrying_out, in_dir, wait_for

if TYPE_CHECKING:
    from bough.app import Choices


@click.command(
    "answer",
    short_help="Answer a run's question and resume it.",
    epilog=example('bough answer amber-heron "Leave Windows out of it."', "bough status amber-heron"),
)
@click.argument("run")
@click.argument("text")
@in_dir
@for_carrying_out
@click.option("--apply", "apply", is_flag=True, help="Apply the changes to your files when the run completes.")
def command(run: str, text: str, folder: Path, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Answer a run's question and resume it.

    A run that has tried everything asks you: at the terminal or, with --ask-later, by waiting without a process (exit
    status 5); `bough status` shows the question. The answer is saved, then the run resumes with it; a run that is
    asking at another terminal resumes there. Exit status: as for `bough run`.
    """
    from bough.app import Choices

    return wait_for(_answer(run, text, folder, Choices(**chosen), apply, as_json))


async def _answer(run: str, text: str, folder: Path, choices: Choices, apply: bool, as_json: bool) -> int:
    from bough.adapters.stores.workers import in_words
    from bough.app import session, talk
    from bough.interfaces.cli.carry import make_display
    from bough.interfaces.cli.resume import go_on

    display = make_display(as_json)
    async with session(folder, choices=choices) as opened:
        name = await opened.find(run)
        holder = await talk.answer(opened, name, text)
        if holder:
            display.notice(f"Answered: {in_words(holder)} goes on with {name}.")
            return 0
        return await go_on(opened, name, display, choices, apply, as_json)
