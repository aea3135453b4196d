"""The evidence of a run as Markdown, for the text of a pull request."""

from __future__ import annotations

from bough.core.acceptance.evidence_table import Evidence, Table
from bough.core.ids import GOAL
from bough.core.textual.cleaning import clean_markdown, escape_text
from bough.views.formatting import one_line
from bough.views.run_view import RunView
from bough.views.vocabulary import describe_evidence, describe_status, list_shortcomings

SHOWN = 20
"""Requirements before the rest is folded."""
FAILING = 8


def render_report(run: RunView, status: str, table: Table) -> str:
    """What came of it, each requirement with the files that meet it and what shows it, and what fails."""
    goal = run.tasks.get(GOAL)
    lines = [f"### bough: {describe_status(status, run.accepted, run.examines)}", ""]
    if goal is not None and goal.verdict is not None:
        verdict = goal.verdict
        lines += [
            clean_markdown(one_line(describe_evidence(verdict))),
            "",
            clean_markdown(one_line(verdict.reason)),
            "",
        ]
        lines += [f"- {clean_markdown(one_line(text))}" for text in list_shortcomings(verdict, FAILING)]
    failing = [case for row in table.rows for case in row.probes if case.outcome == "failed"]
    for case in dict.fromkeys((case.name, case.says) for case in failing[:FAILING]):
        lines.append(f"- **{clean_markdown(case[0])} fails**: {clean_markdown(one_line(case[1]))}")
    head = ["", "| | requirement | | shown by | files |", "| --- | --- | --- | --- | --- |"]
    lines += [*head, *map(_render_row, table.rows[:SHOWN])] if table.rows else []
    if rest := table.rows[SHOWN:]:
        lines += ["", f"<details><summary>{len(rest)} more</summary>", *head, *map(_render_row, rest), "", "</details>"]
    if run.rechecked:
        lines += ["", f"Checked again: {clean_markdown(run.rechecked)}."]
    return escape_text("\n".join([*lines, "", f"Run `{run.name}`."])) + "\n"


def _render_row(row: Evidence) -> str:
    by = ", ".join(row.shown.by) if row.shown is not None else ""
    files = ", ".join(dict.fromkeys(path for proof in row.proofs for path in proof.files[:3]))
    cells = (str(row.requirement.number), row.requirement.whole, row.standing, by or row.cases, files)
    return f"| {' | '.join(clean_markdown(one_line(cell)).replace('|', chr(92) + '|') for cell in cells)} |"
