"""How a run ended, made of verdicts and of what is in the journal, never of what the model said about it."""

from __future__ import annotations

from bough.core.evidence import Table
from bough.core.ids import GOAL
from bough.interfaces.terminal.changes import stat_lines
from bough.interfaces.terminal.evidence import closing_lines
from bough.interfaces.terminal.lines import STATUS_STYLES, STATUS_WORDS
from bough.interfaces.terminal.next import advice_lines, next_steps
from bough.interfaces.terminal.paper import Paper
from bough.interfaces.terminal.reports import report_lines
from bough.interfaces.terminal.tree import STATUS_ICONS
from bough.interfaces.terminal.verdicts import ruling_style, shortcomings, verdict_words
from bough.interfaces.terminal.words import duration, spent
from bough.interfaces.views import RunView


def summary(page: Paper, run: RunView, stat: str, table: Table | None = None) -> None:
    """What stays on the screen. `stat` says which files changed and how much, as git does."""
    style = STATUS_STYLES.get(run.status, "yellow")
    icon = STATUS_ICONS.get(run.status, "○")
    page.line((f"{icon} {STATUS_WORDS.get(run.status, run.status)}", style), f"  {run.name}")
    goal = run.tasks.get(GOAL)
    verdict = goal.verdict if goal else None
    if verdict is not None:
        page.paragraph("  ", text=verdict_words(verdict), indent=2, style=ruling_style(verdict))
        for line in shortcomings(verdict, 3):
            page.line("    ", (line, "dim"))
    report = goal.report if goal and run.status == "failed" else ""
    if run.status != "completed" and not report and run.summary and not (verdict and run.summary == verdict.reason):
        page.paragraph("  ", text=run.summary, indent=2)
    stat_lines(page, stat)
    page.line((f"  {spent(run.spend)} · {duration(run.elapsed())}", "dim"))
    if report:
        page.line("")
        report_lines(page, report)
    steps = next_steps(run, run.status, bool(stat.strip()))
    if steps:
        page.line("")
    advice_lines(page, steps)
    if table is not None and run.status in ("completed", "not_verified", "failed"):
        closing = closing_lines(table)
        if closing:
            page.line("")
        for spans in closing:
            page.line(*spans)
