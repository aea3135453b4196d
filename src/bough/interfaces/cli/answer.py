"""`bough answer`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bough.interfaces.cli.options import bough_command, dir_option, run_options


@bough_command('bough answer amber-heron "Leave Windows out of it."', "bough status amber-heron")
@click.argument("run")
@click.argument("text")
@dir_option
@click.option("--task", default="", metavar="TASK", help="Which task's question, when several have one.")
@run_options
async def command(run: str, text: str, folder: Path, task: str, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Answer a run's question and resume it.

    A run that has tried everything asks you: at the terminal or, with --ask-later, by waiting without a process (exit
    status 5); `bough status` shows the question. The answer is saved, then the run resumes with it; a run that is
    asking at another terminal resumes there. Exit status: as for `bough run`.
    """
    from bough.adapters.stores.liveness import describe_worker
    from bough.app import Choices, open_session, run_messages
    from bough.interfaces.cli.display import make_display
    from bough.interfaces.cli.resume import resume_run

    display, choices = make_display(as_json), Choices(**chosen)
    async with open_session(folder, choices=choices) as opened:
        name = await opened.find(run)
        holder = await run_messages.answer_question(opened, name, text, task=task)
        if holder:
            display.notice(f"Answered: {describe_worker(holder)} continues {name}.")
            return 0
        return await resume_run(opened, name, display, choices, apply, as_json)
