"""`bough examine`"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.errors import UsageError
from bough.core.ids import GOAL
from bough.interfaces.cli.options import bough_command, dir_option, flag, judging_options, option
from bough.interfaces.cli.printing import read_given, warn_ignored
from bough.operations import OPERATIONS

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import TerminalOutput
    from bough.views.run_view import Outcome

MADE = OPERATIONS["examine"]
ABOUT = {key: about for key, _, _, about in MADE.arguments}

CASE_LINES = 8
"""The most lines of a failing case's output that are shown."""


@bough_command(*MADE.examples, help=MADE.about)
@click.argument("what", required=False, default="")
@dir_option
@option("--goal", "TEXT", ABOUT["goal"], default="")
@option("--goal-file", "F", "Read that from a file; `-` is standard input.")
@option("--issue", "N", "Read that from an issue, with your own `gh`.", click.IntRange(1))
@option("--base", "REF", ABOUT["base"], default="")
@option("--check", "CMD", ABOUT["check"], default="")
@option("--receipt", "F", "Write what was shown to a file that anybody can run again: see `bough receipt`.")
@flag("--needless", ABOUT["needless"])
@judging_options
async def command(
    folder: Path,
    goal: str,
    goal_file: str | None,
    issue: int | None,
    receipt: str | None,
    as_json: bool,
    what: str,
    base: str,
    check: str,
    needless: bool,
    **chosen: Any,
) -> int:
    from bough.interfaces.cli.execution import finish_run, make_display, retry_on_quota, run_to_end
    from bough.interfaces.terminal.output import make_output

    display, choices, page = make_display(as_json), app.Choices(**chosen), make_output()

    def tell(text: str) -> None:
        if as_json:
            display.notice(text)
            return
        for line in text.splitlines():
            page.text(line)
        page.flush()

    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored) as opened:

        async def attend(work: Any) -> "Outcome":
            return await run_to_end(display, retry_on_quota(opened, display, choices, work))

        said = _read_goal(goal, goal_file, issue, opened.root)
        asked = {"what": what, "goal": said, "base": base, "check": check, "needless": needless}
        name = (await MADE.does(opened, choices, attend, tell, **asked)).facts["run"]
        status = await finish_run(opened, await opened.outcome(name), apply=False, as_json=as_json)
        if receipt is not None and (await opened.run(name)).end is not None:
            from bough.interfaces.cli.receipt import write_receipt

            await write_receipt(opened, name, receipt, quiet=as_json)
        return status


def _read_goal(goal: str, file: str | None, issue: int | None, root: Path) -> str:
    """Return what the person says the change should achieve; empty: they did not say."""
    named = [name for name, value in (("--goal", goal), ("--goal-file", file), ("--issue", issue)) if value]
    if len(named) > 1:
        raise click.UsageError(f"{named[0]} and {named[1]} are mutually exclusive")
    if issue:
        from bough.trust.remotes import run_theirs

        wanted = ("gh", "issue", "view", str(issue), "--json", "title,body", "--jq", '.title + "\\n\\n" + .body')
        return run_theirs(wanted, root, timeout=120)
    if file and not (goal := read_given(file).strip()):
        raise UsageError(f"{'Standard input' if file == '-' else file} is empty: say what the change should achieve.")
    return goal


async def print_examined(opened: "app.Session", name: str, page: "TerminalOutput") -> None:
    """Print the evidence, and the cases that refute the change, each as a file that the person can run."""
    from bough.core.acceptance.examination import list_failing_probes
    from bough.core.acceptance.verdict import Check
    from bough.core.verdict.case_programs import UNSEEN, make_command, make_file
    from bough.core.verdict.registry import recognise
    from bough.interfaces.terminal.evidence import render_closing, render_evidence
    from bough.trust.files import Place

    if not await opened.store.read(name, GOAL, kinds=("TaskCreated",)):
        return  # The run ended before it examined anything.
    table, task = await opened.evidence(name), await opened.task(name)
    if table.rows:
        page.line("")
        page.lines(render_evidence(table, page.width))
        page.lines(render_closing(table, page.width) if not table.refuted else ())
    check = task.acceptance.verdict.command if task.acceptance.verdict is not None else ""
    for probe in list_failing_probes(task):
        place = Place(opened.home, f"cases/{name}/{probe.path}")
        place.make_parents()
        place.write(make_file(probe).encode())
        line = make_command(probe, Check(check, "", recognise(check))).removeprefix(UNSEEN)
        page.line("")
        page.paragraph(text=f"{probe.name} fails: {probe.says}", style="red")
        for printed in task.examination.results[probe.name].output.splitlines()[-CASE_LINES:]:
            page.text(f"    {printed}", "dim")
        page.paragraph("  ", text="To see it fail, where the change is checked out:", indent=2)
        folder, _, _ = probe.path.rpartition("/")
        aside = f"mkdir -p {shlex.quote(folder)} && " if folder else ""
        copied = " ".join(map(shlex.quote, (f".bough/{place.name}", probe.path)))
        page.text(f"    {aside}cp {copied} && {line}", "bold")
