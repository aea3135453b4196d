"""The end of `bough run` and `bough resume`: apply if requested, and say how it ended."""

from __future__ import annotations

from contextlib import suppress

from bough.app import Session
from bough.core.errors import BoughError, WorkspaceError
from bough.core.ids import GOAL
from bough.core.verdict.texts import FileChange
from bough.interfaces.terminal.evidence import render_closing
from bough.interfaces.terminal.output import make_output
from bough.interfaces.terminal.parts import print_advice, print_changes, print_report, print_stat
from bough.interfaces.terminal.run_tree import STATUS_ICONS
from bough.views.formatting import format_duration, format_spend, pluralize
from bough.views.next_steps import list_next_steps
from bough.views.run_view import Outcome
from bough.views.vocabulary import (
    OVER,
    STATUS_STYLES,
    choose_style,
    describe_status,
    describe_verdict,
    list_shortcomings,
)


async def finish_run(session: Session, outcome: Outcome, *, apply: bool, as_json: bool) -> int:
    """Return the exit status. A refused `--apply` is reported after the summary: the run itself is still completed."""
    changes: list[FileChange] = []
    refusal: BoughError | None = None
    if apply and outcome.completed:
        from bough.interfaces.cli.apply import confirm_edges

        try:
            changes = await session.apply(outcome.run, not as_json and await confirm_edges(session, outcome.run))
        except BoughError as error:
            refusal = error
    if not as_json:
        # When nobody reads the summary, the exit status still says how it ended.
        with suppress(OSError):
            await _print_summary(session, outcome, changes)
    if refusal is not None:
        raise refusal
    return outcome.exit_status


async def _print_summary(session: Session, outcome: Outcome, changes: list[FileChange]) -> None:
    """How it ended, from its verdicts and its journal, never from what the model says about it."""
    stat = ""
    with suppress(WorkspaceError):  # a summary without the files is still a summary
        stat = await session.diff(outcome.run, stat=True) if outcome.tree else ""
    run, page = await session.view(outcome.run), make_output()
    if not page.terminal:
        page.line("")  # on a terminal the live tree was here
    style = STATUS_STYLES.get(run.status, "yellow")
    icon = STATUS_ICONS.get(run.status, "○")
    page.line((f"{icon} {describe_status(run.status)}", style), f"  {run.name}")
    goal = run.tasks.get(GOAL)
    verdict = goal.verdict if goal else None
    if verdict is not None:
        page.paragraph("  ", text=describe_verdict(verdict), indent=2, style=choose_style(verdict))
        for line in list_shortcomings(verdict, 3):
            page.line("    ", (line, "dim"))
    report = goal.report if goal and run.status == "failed" else ""
    if run.status != "completed" and not report and run.summary and not (verdict and run.summary == verdict.reason):
        page.paragraph("  ", text=run.summary, indent=2)
    print_stat(page, stat)
    page.line((f"  {format_spend(run.spend)} · {format_duration(run.elapsed())}", "dim"))
    if report:
        page.line("")
        print_report(page, report)
    steps = list_next_steps(run, run.status, bool(stat.strip()))
    if steps:
        page.line("")
    print_advice(page, steps)
    if run.status in OVER and (closing := render_closing(await session.evidence(outcome.run), page.width)):
        page.line("")
        page.lines(closing)
    if changes:
        page.line("")
        page.line(f"Applied: {pluralize(len(changes), 'file')} changed.")
        print_changes(page, changes)
    page.flush()
