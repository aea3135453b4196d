"""`bough report`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import dir_option, format_example, json_option, print_json, run_argument, run_to_end


@click.command(
    "report",
    short_help="Show the evidence for each requirement of the goal.",
    epilog=format_example("bough report", "bough report amber-heron --json"),
)
@run_argument
@dir_option
@json_option("As a JSON object.")
def command(run: str | None, folder: Path, as_json: bool) -> int:
    """Show the evidence for each requirement of the goal.

    One block per requirement of RUN (default: the latest): the tasks that cover it with their verdicts, commits and
    tests, and the probes written by examiners who did not see the work being done.

    \b
    proven                     a probe, or your own check that failed before, passes
    refuted                    a probe that the goal asks for fails
    tested only by its author  its own tests pass; nothing independent confirms it
    not shown                  no evidence

    Exit status: 0 when nothing is refuted, else 3.
    """
    return run_to_end(_report(run, folder, as_json))


async def _report(run: str | None, folder: Path, as_json: bool) -> int:
    from bough.app import open_journal
    from bough.interfaces.cli.targets import find_standing
    from bough.interfaces.terminal.evidence import print_evidence, render_closing
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_heading

    async with open_journal(folder) as opened:
        name = await opened.find(run)
        table = await opened.evidence(name)
        found = await opened.view(name)
        standing, _ = await find_standing(opened, found)
    status = 3 if table.refuted else 0
    if as_json:
        import msgspec

        rows = [msgspec.to_builtins(row) for row in table.rows]
        print_json({"run": name, "status": standing, "requirements": rows, "notes": list(table.notes)})
        return status
    page = make_output()
    for line in render_heading(found, standing, None):
        page.line(*line)
    page.line("")
    if not table.rows:
        page.paragraph(text=f"{name} has no requirements: an older version of bough wrote it, or it has not started.")
        return status
    print_evidence(page, table, whole=True)
    closing = render_closing(table)
    if closing:
        page.line("")
    for spans in closing:
        page.line(*spans)
    return status
