"""`bough approve`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, option, run_argument, run_options
from bough.interfaces.cli.printing import print_json, print_result


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
    from bough.interfaces.cli.execution import make_display
    from bough.interfaces.cli.resume import resume_run

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
        if answer is None and plan is None:
            live = await opened.holder(name) is not None
            kind = await _find_kind(opened, name, task) if live else "tests"
            if kind == "tests":
                display = make_display(as_json)
                tests = await opened.rule_on_changes(name, allow=not deny, say=say, task=task)
                display.notice(f"{'Not allowed' if deny else 'Allowed'}: {', '.join(tests)}")
                return 0 if live else await resume_run(opened, name, display, app.Choices(**chosen), apply, as_json)
            answer = ("no" if deny else "yes") if kind == "command" else None
            plan = "yes" if not deny else "change" if say else "no"
        if answer is not None:
            await _answer_command(opened, name, answer, say, as_json, task)
        else:
            await _answer_plan(opened, name, str(plan), say, file or "", as_json, task)
    return 0


async def _find_kind(opened: app.Session, name: str, task: str) -> str:
    """What a live run asks. Of several things, the person has to choose one."""
    from bough.app.run_messages import list_waiting
    from bough.core.errors import UsageError

    asked = [each for each in await list_waiting(opened, name, task=task) if each.kind != "question"]
    if not asked:
        raise UsageError(f"{name} is running, and nothing of it is waiting for your approval.")
    if len(asked) > 1:
        listed = ", ".join(f"{each.kind} of {each.task}" for each in asked)
        raise UsageError(f"Several things of {name} wait for you ({listed}): choose one with --task.")
    return asked[0].kind


async def _answer_command(opened: app.Session, name: str, answer: str, say: str, as_json: bool, task: str) -> None:
    from bough.app import run_messages

    if answer == "show":
        held = [each.question for each in await run_messages.list_waiting(opened, name, "command", task)]
        if as_json:
            print_json({"run": name, "commands": held})
        else:
            click.echo("\n".join(held) if held else f"{name} has no command waiting for approval.")
        return
    line = await run_messages.rule_on_command(opened, name, answer == "yes", say, task=task)
    said = f"{'Allowed' if answer == 'yes' else 'Not allowed'}: {line}"
    print_result(as_json, said, run=name, command=line, says=answer)


async def _answer_plan(
    opened: app.Session, name: str, says: str, wish: str, file: str, as_json: bool, task: str
) -> None:
    from bough.app.run_messages import find_proposal, read_own_plan, rule_on_plan
    from bough.core.workflow.writing import write_workflow
    from bough.ports import Approval

    waiting, plan = await find_proposal(opened, name, task)
    if says == "show":
        text = write_workflow(plan)  # To edit.
        if as_json:
            print_json({"run": name, "task": waiting.task, "plan": text})
        else:
            click.echo(text, nl=False)
        return
    if says == "own":
        try:
            approval = read_own_plan(plan, Path(file).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{file} cannot be read: {error}") from None
    else:
        approval = Approval(says, wish)  # type: ignore[arg-type]
    await rule_on_plan(opened, name, waiting, approval)
    said = f"Answered: {name} continues with the plan of {waiting.task}."
    print_result(as_json, said, run=name, task=waiting.task, says=says)
