"""`bough verify`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, json_option, option, run_argument
from bough.interfaces.cli.printing import print_json, print_result

NOT_PROVEN = 5


@bough_command("bough verify", "bough verify amber-heron --check 'pytest -q tests/test_report.py'")
@run_argument
@option("--check", "CMD", "The command that proves it, instead of the run's own.", default="")
@flag("--accept-failing", "Tests that failed before the work may still fail; no others may.")
@flag("--accept", "Take work that is finished and not proven as it is, in your name.")
@option("--reason", "TEXT", "With --accept: why; it is recorded.", default="")
@json_option("The verdict as a JSON object.")
async def command(
    run: str | None, folder: Path, check: str, accept_failing: bool, accept: bool, reason: str, as_json: bool
) -> int:
    """Check a run's work again, or accept it.

    The check (the run's own, or the one you give) runs on the run's result in a fresh checkout, as strictly as before.
    The new verdict becomes the result of a finished run; no model is called, and nothing is changed. Work that was not
    proven is completed if the check also fails without the work.

    With --accept nothing runs: the work counts as completed because you say so, and the journal, the report and
    `bough pr` say that it was you.

    Exit status: 0 if it passes, else 5.
    """
    if accept and (check or accept_failing):
        raise click.UsageError("--accept runs no check: it cannot be combined with --check or --accept-failing")
    if reason and not accept:
        raise click.UsageError("--reason needs --accept")
    from bough.interfaces.terminal.output import make_output
    from bough.views.vocabulary import choose_style, describe_verdict, list_shortcomings

    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        if accept:
            said = await opened.accept(name, reason.strip())
            print_result(as_json, f"{name} is {said}.", run=name, accepted=said)
            return 0
        choices = app.Choices(check=check, accept_failing=accept_failing)
        verdict = (await opened.verify(name, choices, app.RunObserver())).verdict
        ended = (await opened.run(name)).end
    if as_json:
        print_json(verdict)
    else:
        page = make_output()
        page.paragraph(text=describe_verdict(verdict), style=choose_style(verdict))
        page.paragraph("  ", text=verdict.reason, indent=2)
        for line in list_shortcomings(verdict, 5):
            page.line("  ", (line, "dim"))
    end = ended.end if ended is not None else None
    return 0 if end == "completed" or (end is None and verdict.ruling == "passed") else NOT_PROVEN
