"""How a run ended: from its verdicts and its journal, never from what the model says about it."""

from __future__ import annotations

from bough.core.acceptance.evidence_table import Table
from bough.core.ids import GOAL
from bough.interfaces.terminal.evidence import render_closing
from bough.interfaces.terminal.output import TerminalOutput
from bough.interfaces.terminal.parts import print_advice, print_report, print_stat
from bough.interfaces.terminal.run_tree import STATUS_ICONS
from bough.views.formatting import format_duration, format_spend
from bough.views.next_steps import list_next_steps
from bough.views.run_view import RunView
from bough.views.verdict_text import choose_style, describe_verdict, list_shortcomings
from bough.views.vocabulary import OVER, STATUS_STYLES, describe_status


def print_summary(page: TerminalOutput, run: RunView, stat: str, table: Table | None = None) -> None:
    """What stays on the screen. `stat` says which files changed and how much, as git does."""
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
    if table is not None and run.status in OVER:
        closing = render_closing(table, page.width)
        if closing:
            page.line("")
        for spans in closing:
            page.line(*spans)
