"""`bough answer`"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, option, run_options


@bough_command('bough answer amber-heron "Leave Windows out of it."', "bough status amber-heron")
@click.argument("run")
@click.argument("text", default="")
@dir_option
@option("--task", "TASK", "Which task's question, when several have one.", default="")
@run_options
async def command(run: str, text: str, folder: Path, task: str, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Answer a run's question and resume it.

    A run that has tried everything asks you: at the terminal or, with --ask-later, by waiting without a process (exit
    status 5); `bough status` shows the question. The answer is saved, then the run resumes with it; a run that is
    asking at another terminal resumes there. Exit status: as for `bough run`.
    """
    if not text.strip():
        raise click.UsageError(f"name the RUN first: bough answer latest {shlex.quote(run)}")
    from bough.interfaces.cli.execution import make_display
    from bough.interfaces.cli.resume import continue_run
    from bough.operations import OPERATIONS

    display, choices = make_display(as_json), app.Choices(**chosen)
    async with app.open_session(folder, choices=choices) as opened:
        name = await opened.find(run)
        done = await OPERATIONS["answer"].does(opened, name, text=text, task=task)
        if not done.next:
            display.notice(done.said)
            return 0
        return await continue_run(opened, name, display, choices, apply, as_json)
