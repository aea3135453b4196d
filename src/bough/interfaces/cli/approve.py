"""`bough approve`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, option, run_argument, run_options
from bough.interfaces.cli.printing import print_json


@bough_command("bough approve", "bough approve amber-heron --deny --say 'Keep round() as it is.'")
@run_argument
@flag("--deny", "Do not allow it: the agent is told and continues.")
@option("--task", "TASK", "Which task's, when several wait.", default="")
@option("--say", "TEXT", "Message to the agent (--deny) or the planner (--plan).", default="")
@option(
    "--plan",
    None,
    "Answer a live run that asks about its plan. no: run it without a plan; change: with --say; own: with --file.",
    click.Choice(["show", "yes", "no", "change", "own"]),
)
@option(
    "--command",
    None,
    "Answer a live run that asks before a command ([approve]). no: say what to do instead with --say.",
    click.Choice(["show", "yes", "no"]),
    to="answer",
)
@option("--file", "F", "Your own steps for --plan own, as --plan show prints them.")
@run_options
async def command(
    run: str | None,
    folder: Path,
    deny: bool,
    task: str,
    say: str,
    plan: str | None,
    answer: str | None,
    file: str | None,
    apply: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Approve or deny what a run asks about: tests, a plan, a command.

    A run waits for you (exit status 8) when the original tests do not pass on the new code and nothing in the goal
    demands that they change. `bough status` shows each test: what it expected before and what it expects now. The run
    resumes with your answer.

    A live run that asks at another terminal, in an editor or on the dashboard's page can be answered here as well: it
    continues there, and the first answer counts. Without --plan or --command, this answers whatever it asks.
    """
    from bough.interfaces.cli.drawn import print_operation
    from bough.interfaces.cli.execution import make_display
    from bough.interfaces.cli.resume import continue_run
    from bough.operations import OPERATIONS

    if answer is not None and (plan is not None or deny or file or (say and answer != "no")):
        raise click.UsageError("--command takes only --say, and only with `--command no`")
    if plan is not None and ((plan == "own") != bool(file) or (plan == "change") != bool(say) or deny):
        raise click.UsageError("--plan own needs --file F, --plan change needs --say TEXT; neither takes --deny")
    if file and plan is None:
        raise click.UsageError("--file needs --plan own")
    if say and not deny and answer is None and plan is None:
        raise click.UsageError("--say needs --deny")
    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        if "show" in (answer, plan):
            await _show_waiting(opened, name, task, "command" if answer else "plan", as_json)
            return 0
        if answer is None and plan is None:
            live = await opened.holder(name) is not None
            kind = await _find_kind(opened, name, task) if live else "tests"
            if kind == "tests":
                display = make_display(as_json)
                done = await OPERATIONS["approve"].does(opened, name, allow=not deny, say=say, task=task)
                display.notice(done.said)
                return 0 if live else await continue_run(opened, name, display, app.Choices(**chosen), apply, as_json)
            answer = ("no" if deny else "yes") if kind == "command" else None
            plan = "yes" if not deny else "change" if say else "no"
        if answer is not None:
            done = await OPERATIONS["command"].does(opened, name, allow=answer == "yes", say=say, task=task)
        else:
            text = _read_steps(file) if file else say
            done = await OPERATIONS["plan"].does(opened, name, says=plan, task=task, text=text)
    print_operation(done, as_json)
    return 0


def _read_steps(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from None


async def _find_kind(opened: app.Session, name: str, task: str) -> str:
    """What a live run asks. Of several things, the person has to choose one."""
    from bough.core.errors import UsageError
    from bough.services.run_messages import list_waiting

    asked = [each for each in await list_waiting(opened, name, task=task) if each.kind != "question"]
    if not asked:
        raise UsageError(f"{name} is running, and nothing of it is waiting for your approval.")
    if len(asked) > 1:
        listed = ", ".join(f"{each.kind} of {each.task}" for each in asked)
        raise UsageError(f"Several things of {name} wait for you ({listed}): choose one with --task.")
    return asked[0].kind


async def _show_waiting(opened: app.Session, name: str, task: str, kind: str, as_json: bool) -> None:
    from bough.core.workflow.writing import write_workflow
    from bough.services.run_messages import find_proposal, list_waiting

    if kind == "command":
        held = [each.question for each in await list_waiting(opened, name, "command", task)]
        facts: dict[str, Any] = {"commands": held}
        text = "\n".join(held) if held else f"{name} has no command waiting for approval."
    else:
        waiting, plan = await find_proposal(opened, name, task)
        text = write_workflow(plan).rstrip("\n")  # To edit.
        facts = {"task": waiting.task, "plan": f"{text}\n"}
    if as_json:
        print_json({"run": name, **facts})
    else:
        click.echo(text)
