"""Where a run and one of its tasks stand, on one page."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bough.core.acceptance import Verdict
from bough.core.evidence import Table
from bough.interfaces.terminal.changes import change_lines
from bough.interfaces.terminal.evidence import closing_lines, show_evidence
from bough.interfaces.terminal.lines import ROLES, STATE_STYLES, STATUS_WORDS, state_words
from bough.interfaces.terminal.next import advice_lines, next_steps
from bough.interfaces.terminal.paper import Paper, Span
from bough.interfaces.terminal.reports import report_lines
from bough.interfaces.terminal.tree import ICONS, Row, heading, progress_words, stuck_words
from bough.interfaces.terminal.tree import table as tree_table
from bough.interfaces.terminal.verdicts import evidence, ruling_style, shortcomings
from bough.interfaces.terminal.words import count, first_sentence, many, one_line, pad
from bough.interfaces.views import RunView, TaskView
from bough.ports import Change
from bough.views.details import TaskDetail

LABEL = 9
EVIDENCE = 8
"""Lines of a failing check's output that are shown."""


def status_page(
    page: Paper,
    run: RunView,
    status: str,
    holder: str | None,
    drawn: Sequence[Row],
    detail: TaskDetail,
    changes: Sequence[Change],
    table: Table | None = None,
) -> None:
    for line in heading(run, status, time.time() if holder else None):
        page.line(*line)
    page.line("")
    _state(page, drawn, holder, detail.halted)
    _verdict(page, detail.verdict, detail.command)
    if detail.claim:
        _fact(page, "claim", (one_line(detail.claim), "dim"))
    _fact(page, "files", many(len(changes), "file") + " changed so far" if changes else "none changed so far")
    change_lines(page, changes, indent=LABEL)
    for number, note in enumerate(detail.notes):
        dead = "dead end: " if note.kind == "dead_end" else ""
        _fact(page, "" if number else "notes", f"{dead}{one_line(note.text)}")
    _below(page, run, drawn)
    if table is not None and table.rows:
        page.line("")
        page.line(("what the goal asks", "dim"))
        show_evidence(page, table)
    if run.question:
        page.line("")
        page.line(("the question", "dim"))
        report_lines(page, run.question)
    for command in run.held.values() if holder else ():
        page.line("")
        page.line(("a command waits for your yes", "dim"))
        report_lines(page, command)
    if report := drawn[0].task.report:
        page.line("")
        report_lines(page, report)
    page.line("")
    advice_lines(page, next_steps(run, status, bool(changes)))
    over = status in ("completed", "not_verified", "failed")
    for spans in closing_lines(table) if table is not None and over else ():
        page.line(*spans)


def _state(page: Paper, drawn: Sequence[Row], holder: str | None, message: str) -> None:
    row, progress = drawn[0], progress_words(drawn)
    task = row.task
    style = STATE_STYLES.get(task.state, "")
    done = f" ({progress})" if progress else ""
    _fact(page, "task", (one_line(task.path), "bold"), f"  {first_sentence(task.title)}{done}")
    why = f": {one_line(task.why)}" if task.why else ""
    _fact(page, "state", (f"{ICONS[task.state]} {state_words(task.state)}", style), why)
    if task.halted:
        words = f"{STATUS_WORDS.get(task.halted, task.halted)}: {message}"
        page.paragraph((pad("halted", LABEL), "dim"), text=words, indent=LABEL)
    if task.attempt:
        repairs = f", repair {task.repairs}" if task.repairs else ""
        role = f" ({ROLES.get(task.role, task.role)}{repairs})" if task.role else ""
        _fact(page, "attempt", f"{task.attempt}{role}")
    if said := stuck_words(task):
        _fact(page, "ladder", (said, "yellow"))
    if task.started_at:
        own = "" if row.leaf else f", {row.spend.rounds} of them its own"
        if task.worker:
            _fact(page, "worker", one_line(task.worker))
        _fact(page, "rounds", f"{row.subtree.rounds} of {task.limits.rounds}{own}")
    if task.tokens_by_role:
        parts = (f"{count(tokens)} {ROLES.get(role, role.replace('_', ' '))}" for role, tokens in by_size(task))
        _fact(page, "tokens", ", ".join(parts))
    if holder:
        _fact(page, "worker", one_line(holder))
        _fact(page, "doing", one_line(task.doing) or "between two effects")


def by_size(task: TaskView) -> list[tuple[str, int]]:
    """Roles with what they used, the most first."""
    return sorted(task.tokens_by_role.items(), key=lambda each: -each[1])


def _below(page: Paper, run: RunView, drawn: Sequence[Row]) -> None:
    if len(drawn) > 1:
        page.line("")
        for line in tree_table(run, page.width, drawn):
            page.line(*line)


def _verdict(page: Paper, verdict: Verdict | None, command: str) -> None:
    if verdict is None:
        _fact(page, "check", (f"has not run: {one_line(command)}" if command else "has not run", "dim"))
        return
    tree = f"  on tree {verdict.tree[:10]}" if verdict.tree else ""
    _fact(page, "check", (one_line(evidence(verdict)), ruling_style(verdict)), (tree, "dim"))
    if verdict.found:
        page.line((f"{' ' * LABEL}from {one_line(verdict.found)}", "dim"))
    for line in shortcomings(verdict, EVIDENCE):
        page.line((" " * LABEL + line, "dim"))


def _fact(page: Paper, label: str, *spans: Span | str) -> None:
    page.line((pad(label, LABEL), "dim"), *spans)
