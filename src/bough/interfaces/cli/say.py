"""`bough say`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, json_option, option
from bough.interfaces.cli.printing import print_result


@bough_command(
    'bough say amber-heron "Keep the old flag working too."',
    'bough say latest --task buffer/insert-line "The tests are in spec/, not in tests/."',
)
@click.argument("run")
@click.argument("text", default="")
@dir_option
@option("--task", "T", "Only this task and those below it (default: all at work).", default="")
@option("--restore", "N", "Let requirement N count again that a message has replaced.", int)
@json_option("As a JSON object: the run and the process that runs it.")
async def command(run: str, text: str, folder: Path, task: str, restore: int | None, as_json: bool) -> None:
    """Send a message to a run's agents.

    Every agent working on RUN (a name, its beginning, or `latest`) sees TEXT before its next round; agents that start
    later on the same tasks see it from the start. An agent that calls itself done before it has seen the message keeps
    working. RUN does not have to be running: the message is delivered when it resumes. If RUN is waiting for an answer,
    TEXT is the answer.

    What TEXT demands becomes a requirement of the goal: one step owns it, examiners see it, and `bough report` lists
    it, with the requirements that it replaces. --restore undoes such a replacement.
    """
    if bool(text.strip()) == (restore is not None):
        raise click.UsageError("give either a TEXT or --restore N")
    from bough.app import run_messages

    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        if restore is not None:
            holder = await run_messages.restore_requirement(opened, name, restore)
        else:
            holder = await run_messages.say_to_run(opened, name, text, task)
    if restore is not None:
        said = f"Requirement {restore} of {name} counts again."
    elif holder:
        whom = f"the agents at {task} of {name}" if task else f"the agents of {name}"
        said = f"Sent: {whom} will see it before their next round."
    else:
        said = f"Saved. {name} is not running: its agents read it when you resume it (`bough resume {name}`)."
    print_result(as_json, said, run=name, task=task or None, holder=holder)
