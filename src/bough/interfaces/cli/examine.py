"""`bough examine`"""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.errors import UsageError
from bough.interfaces.cli.options import bough_command, dir_option, flag, judging_options, option

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import Display, TerminalOutput

GOAL_LINES = 12
"""Lines of the goal that are shown before anything is spent."""
MOST_CHECKS = 40
"""Runs of the check in which parts of the change are taken out."""
CASE_LINES = 8
"""Lines of what a failing case printed."""


@bough_command(
    'bough examine --goal "Totals round half up"',
    "bough examine fix-totals --max-cost 1",
    "bough examine main..fix-totals --check 'pytest -q'",
    "bough examine '#123'",
)
@click.argument("what", required=False, default="")
@dir_option
@option("--goal", "TEXT", "What the change should achieve (default: its commit messages).", default="")
@option("--goal-file", "F", "Read that from a file; `-` is standard input.")
@option("--issue", "N", "Read that from an issue, with your own `gh`.", click.IntRange(1))
@option("--base", "REF", "What the change is compared with (default: where the branch left main).", default="")
@option("--check", "CMD", "The command that has to pass (default: the tests bough finds).")
@option("--receipt", "F", "Write what was shown to a file that anybody can run again: see `bough receipt`.")
@flag("--needless", f"Unless it is refuted, find what nothing that was asked needs: at most {MOST_CHECKS} checks.")
@judging_options
async def command(
    what: str,
    folder: Path,
    goal: str,
    goal_file: str | None,
    issue: int | None,
    base: str,
    check: str | None,
    receipt: str | None,
    needless: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Judge a change that anybody made.

    WHAT is a branch, a range A..B, a commit, a patch file or a pull request ('#123', with your own `gh`); without it,
    your uncommitted changes. What it should achieve comes from --goal, or else from its commit messages; you see that
    before it costs anything.

    The check runs on the files without and with the change. Then an examiner, who sees only what was asked and what
    the code offers, writes cases; bough runs them on both sides. Nobody repairs anything, and nothing of yours is
    changed: the code runs in private copies, in the sandbox.

    It is a run like any other: `bough show`, `report`, `resume` and `serve` know it, and
    `bough run --continue RUN "…"` has what was refuted repaired.

    Exit status: 0 proven, 3 refuted, 5 not shown, 8 needs your word (`bough approve`); 4 budget spent, 6 stopped, 7
    model unavailable, 2 wrong usage or the check cannot run here, 1 internal error.
    """
    from bough.app.known_projects import remember_project
    from bough.interfaces.cli.consent_prompt import warn_ignored
    from bough.interfaces.cli.execution import finish_run, make_display, retry_on_quota, run_to_end
    from bough.services.examine import choose_goal, examine, find_change, find_request, take_change
    from bough.trust.remotes import run_theirs

    choices = app.Choices(**chosen)
    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored) as opened:
        remember_project(opened.root)
        said = _read_goal(goal, goal_file, issue, opened.root)
        asked = re.fullmatch(r"#(\d+)", what)
        change = (
            await find_request(opened, asked[1], base, partial(run_theirs, root=opened.root))
            if asked
            else await find_change(opened, what, base)
        )
        wanted, where = choose_goal(change, said)
        trees = await take_change(opened, change)
        display = make_display(as_json)
        if not as_json:
            _print_goal(wanted, where, trees.says)
        work = retry_on_quota(
            opened, display, choices, lambda watch: examine(opened, trees, wanted, check, choices, watch)
        )
        outcome = await run_to_end(opened, display, work)
        if needless and outcome.status in ("completed", "not_proven"):
            await _find_needless(opened, outcome.run, choices, display)
        status = await finish_run(opened, outcome, apply=False, as_json=as_json)
        if receipt is not None and (await opened.run(outcome.run)).end is not None:
            from bough.interfaces.cli.receipt import write_receipt

            await write_receipt(opened, outcome.run, receipt, quiet=as_json)
        return status


async def _find_needless(opened: app.Session, name: str, choices: app.Choices, display: Display) -> None:
    from bough.services.needless import find_needless

    display.notice(f"Taking parts of the change out, one after the other: at most {MOST_CHECKS} checks.")
    try:
        await find_needless(opened, name, choices, MOST_CHECKS)
    except UsageError as error:
        display.notice(str(error))


def _read_goal(goal: str, file: str | None, issue: int | None, root: Path) -> str:
    """What the person says that the change is for; empty: nothing."""
    named = [name for name, value in (("--goal", goal), ("--goal-file", file), ("--issue", issue)) if value]
    if len(named) > 1:
        raise click.UsageError(f"{named[0]} and {named[1]} are mutually exclusive")
    if issue:
        from bough.trust.remotes import run_theirs

        wanted = ("gh", "issue", "view", str(issue), "--json", "title,body", "--jq", '.title + "\\n\\n" + .body')
        return run_theirs(wanted, root, timeout=120)
    if file is None:
        return goal
    from bough.interfaces.cli.run import read_goal

    if not (text := read_goal(None, file, "examine").strip()):
        raise UsageError(f"{'Standard input' if file == '-' else file} is empty: say what the change should achieve.")
    return text


def _print_goal(goal: str, where: str, says: str) -> None:
    from bough.interfaces.terminal.output import make_output

    page = make_output()
    page.paragraph(text=f"Examining {says}. What it should achieve, {where}:")
    lines = goal.splitlines()
    for line in lines[:GOAL_LINES]:
        page.text(f"  {line}")
    if len(lines) > GOAL_LINES:
        page.line((f"  … and {len(lines) - GOAL_LINES} more lines", "dim"))
    page.line("")
    page.flush()


async def print_examined(opened: app.Session, name: str, page: TerminalOutput) -> None:
    """The evidence, and the cases that refute the change, each as a file that the person can run."""
    from bough.core.acceptance.examination import list_failing_probes
    from bough.core.acceptance.verdict import Check
    from bough.core.verdict.case_programs import UNSEEN, make_command, make_file
    from bough.core.verdict.registry import recognise
    from bough.interfaces.terminal.evidence import render_closing, render_evidence
    from bough.trust.files import Place

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
        page.line((f"    {aside}cp {copied} && {line}", "bold"))
