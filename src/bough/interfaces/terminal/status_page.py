"""The status of a run and of one of its tasks, on one page."""

import time
from collections.abc import Sequence
from typing import Any

from bough.core.acceptance.evidence_table import Table
from bough.core.acceptance.verdict import Verdict
from bough.interfaces.terminal.evidence import render_closing, render_evidence
from bough.interfaces.terminal.output import Span, TerminalOutput, print_advice, print_changes, print_report
from bough.interfaces.terminal.run_tree import ICONS, render_heading
from bough.interfaces.terminal.run_tree import render_table as tree_table
from bough.ports import FileChange
from bough.views import vocabulary as v
from bough.views.formatting import first_sentence, one_line, pad, pluralize
from bough.views.next_steps import list_next_steps
from bough.views.run_view import RunView
from bough.views.task_rows import TaskRow, describe_progress, describe_trouble

LABEL = 9
EVIDENCE = 8
"""The most lines of a failing check's output that are shown."""


def print_status(
    page: TerminalOutput,
    run: RunView,
    status: str,
    holder: str | None,
    drawn: Sequence[TaskRow],
    detail: Any,
    changes: Sequence[FileChange],
    table: Table | None = None,
) -> None:
    page.lines(render_heading(run, status, time.time() if holder else None))
    page.line("")
    _print_state(page, drawn, holder, detail.halt.message if detail.halt else "")
    _print_verdict(page, detail.acceptance.verdict, detail.step.test_command or "")
    if detail.acceptance.claim:
        _print_fact(page, "claim", (one_line(detail.acceptance.claim), "dim"))
    _print_fact(
        page, "files", pluralize(len(changes), "file") + " changed so far" if changes else "none changed so far"
    )
    print_changes(page, changes, indent=LABEL)
    for number, note in enumerate(detail.talk.notes):
        dead = "dead end: " if note.kind == "dead_end" else ""
        _print_fact(page, "" if number else "notes", f"{dead}{one_line(note.text)}")
    if len(drawn) > 1:
        page.line("")
        page.lines(tree_table(drawn, page.width))
    if table is not None and table.rows:
        page.line("")
        page.line(("requirements", "dim"))
        page.lines(render_evidence(table, page.width))
    asked = [("the question", run.question)] if run.question else []
    asked += [("a command is waiting for your approval", line) for line in run.held.values() if holder]
    for what, text in asked:
        page.line("")
        page.line((what, "dim"))
        print_report(page, text)
    if report := drawn[0].task.report:
        page.line("")
        print_report(page, report)
    page.line("")
    print_advice(page, list_next_steps(run, status, bool(changes)))
    page.lines(render_closing(table) if table is not None and status in v.OVER else ())


def _print_state(page: TerminalOutput, drawn: Sequence[TaskRow], holder: str | None, message: str) -> None:
    row, progress = drawn[0], describe_progress(drawn)
    task = row.task
    style = v.STATE_STYLES.get(task.state, "")
    done = f" ({progress})" if progress else ""
    _print_fact(page, "task", (one_line(task.path), "bold"), f"  {first_sentence(task.title)}{done}")
    why = f": {one_line(task.why)}" if task.why else ""
    _print_fact(page, "state", (f"{ICONS[task.state]} {v.describe_state(task.state)}", style), why)
    if task.halted:
        page.paragraph((pad("halted", LABEL), "dim"), text=f"{v.describe_status(task.halted)}: {message}", indent=LABEL)
    if task.attempt:
        repairs = f", repair {task.repairs}" if task.repairs else ""
        role = f" ({v.ROLES.get(task.role, task.role)}{repairs})" if task.role else ""
        _print_fact(page, "attempt", f"{task.attempt}{role}")
    if said := describe_trouble(task):
        _print_fact(page, "ladder", (said, "yellow"))
    if task.started_at:
        own = "" if row.leaf else f", {row.spend.rounds} of them its own"
        if task.worker:
            _print_fact(page, "worker", one_line(task.worker))
        _print_fact(page, "rounds", f"{row.subtree.rounds} of {task.limits.rounds}{own}")
    if task.tokens_by_role:
        _print_fact(page, "tokens", v.describe_roles(task.tokens_by_role))
    if holder:
        _print_fact(page, "worker", one_line(holder))
        _print_fact(page, "doing", one_line(task.doing) or "between effects")


def _print_verdict(page: TerminalOutput, verdict: Verdict | None, command: str) -> None:
    if verdict is None:
        _print_fact(page, "check", (f"has not run: {one_line(command)}" if command else "has not run", "dim"))
        return
    tree = f"  on tree {verdict.tree[:10]}" if verdict.tree else ""
    _print_fact(page, "check", (one_line(v.describe_evidence(verdict)), v.choose_style(verdict)), (tree, "dim"))
    if verdict.found:
        page.line((f"{' ' * LABEL}from {one_line(verdict.found)}", "dim"))
    for line in v.list_shortcomings(verdict, EVIDENCE):
        page.line((" " * LABEL + line, "dim"))


def _print_fact(page: TerminalOutput, label: str, *spans: Span | str) -> None:
    page.line((pad(label, LABEL), "dim"), *spans)
