"""`bough report`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "report",
    short_help="Show the evidence for each requirement of the goal.",
    epilog=example("bough report", "bough report amber-heron --json"),
)
@run_argument
@in_dir
@as_json("As a JSON object.")
def command(run: str | None, folder: Path, as_json: bool) -> int:
    """Show the evidence for each requirement of the goal.

    One block per requirement of RUN (default: the latest): the tasks that cover it with their verdicts, commits and
    tests, and the probes written by examiners who did not see the work being done.

    \b
    proven                     a probe passes, or your own check that failed before
    refuted                    a probe fails that the goal asks for
    tested only by its author  its own tests pass; nothing independent confirms it
    not shown                  there is no evidence for it

    Exit status: 0 when nothing is refuted, else 3.
    """
    return wait_for(_report(run, folder, as_json))


async def _report(run: str | None, folder: Path, as_json: bool) -> int:
    from bough.app import journal
    from bough.interfaces.terminal.evidence import closing_lines, show_evidence
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.tree import heading

    async with journal(folder) as opened:
        name = await opened.find(run)
        table = await opened.evidence(name)
        found = await opened.view(name)
    status = 3 if table.refuted else 0
    if as_json:
        import msgspec

        rows = [msgspec.to_builtins(row) for row in table.rows]
        print_json({"run": name, "status": found.status, "requirements": rows, "notes": list(table.notes)})
        return status
    page = paper()
    for line in heading(found, found.status, None):
        page.line(*line)
    page.line("")
    if not table.rows:
        page.paragraph(text=f"{name} was not read into requirements: it is from an older bough, or has not begun.")
        return status
    show_evidence(page, table, whole=True)
    closing = closing_lines(table)
    if closing:
        page.line("")
    for spans in closing:
        page.line(*spans)
    return status
