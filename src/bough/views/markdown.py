"""The evidence of a run as Markdown, for the text of a pull request; long parts are folded."""

from bough.core.acceptance.evidence_table import Evidence, Table
from bough.core.ids import GOAL
from bough.core.textual.cleaning import clean_markdown_line
from bough.views.formatting import name_some
from bough.views.run_view import RunView
from bough.views.vocabulary import describe_evidence, describe_needless, describe_status, list_shortcomings

SHOWN = 20
"""The number of requirements shown before the rest is folded."""
FAILING = 8
PLACES = 3
"""The most code locations named for a requirement, and the most needless parts of a change shown unfolded."""


def render_report(run: RunView, status: str, table: Table) -> str:
    """Render the outcome, the failures, and each requirement with its evidence and where to read how it is met."""
    goal = run.tasks.get(GOAL)
    lines = [f"### bough: {describe_status(status, run.accepted, run.examines)}", ""]
    if goal is not None and goal.verdict is not None:
        verdict = goal.verdict
        lines += [clean_markdown_line(describe_evidence(verdict)), "", clean_markdown_line(verdict.reason), ""]
        lines += [f"- {clean_markdown_line(text)}" for text in list_shortcomings(verdict, FAILING)]
    failing = [case for row in table.rows for case in row.probes if case.outcome == "failed"]
    told = dict.fromkeys((case.name, case.says) for case in failing[:FAILING])
    lines += [f"- **{clean_markdown_line(name)} fails**: {clean_markdown_line(says)}" for name, says in told]
    lines += ["", *render_table(table, run.rechecked), "", f"Run `{run.name}`."]
    return "\n".join(lines) + "\n"


def render_table(table: Table, rechecked: str) -> list[str]:
    """Render a row per requirement, in the order of the table, with its evidence and where to read how it is met; then
    the parts of the change that no requirement needs. `rechecked`: the result of checking again; empty: none."""
    head = ["| | requirement | | shown by | read |", "| --- | --- | --- | --- | --- |"]
    rows = [_render_row(row) for row in table.rows]
    lines = [*head, *rows[:SHOWN]] if rows else []
    if rest := rows[SHOWN:]:
        lines += fold(f"{len(rest)} more", [*head, *rest])
    parts = [f"- {clean_markdown_line(text)}" for text, _ in describe_needless(table.needless)]
    lines += ["", *parts[:PLACES]] if parts else []
    if rest := parts[PLACES:]:
        lines += fold(f"{len(rest)} more", rest)
    return [*lines, "", f"Checked again: {clean_markdown_line(rechecked)}."] if rechecked else lines


def fold(title: str, lines: list[str]) -> list[str]:
    return ["", f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _render_row(row: Evidence) -> str:
    by = ", ".join(row.shown.by) if row.shown is not None else ""
    read = name_some(row.read, PLACES)
    cells = (str(row.requirement.number), row.requirement.whole, row.standing, by or row.cases, read)
    return f"| {' | '.join(clean_markdown_line(cell) for cell in cells)} |"
