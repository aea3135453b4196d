"""`bough report`"""

from __future__ import annotations

from bough import app
from bough.interfaces.cli.options import bough_command, flag, json_option, look_at_run
from bough.interfaces.cli.printing import print_json


@bough_command("bough report", "bough report --full", "bough report amber-heron --json")
@look_at_run
@flag("--full", "The whole text of each requirement, with all evidence.")
@flag("--markdown", "For the text of a pull request: at most 60 lines, the rest folded.")
@json_option("As a JSON object.")
async def command(opened: app.Journal, name: str, full: bool, markdown: bool, as_json: bool) -> int:
    """Show the evidence for each requirement of the goal.

    One line per requirement of RUN (default: the latest). With --full also where to read how it is met, the tasks that
    cover it with their verdicts, commits and tests, the probes written by examiners who did not see the work being
    done, and what in the goal is not a demand.

    \b
    proven                     your check, a test you had or a probe fails without the work and passes with it
    refuted                    a probe that the goal asks for fails
    tested only by its author  only tests of its author fail without the work
    not shown                  nothing shows that the work made the difference
    nothing to run             documents, comments, or the form of the code; the check still passes
    superseded                 a later message of yours asks for something else
    dropped                    an answer or a message of yours drops it

    Exit status: 0 when nothing is refuted, else 3.
    """
    from bough.interfaces.terminal.evidence import render_closing, render_evidence
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_heading
    from bough.views.vocabulary import render_totals

    table = await opened.evidence(name)
    found = await opened.view(name)
    standing, _ = await opened.standing(found)
    status = 3 if table.refuted else 0
    if as_json:
        more = {"notes": table.notes, "background": table.background, "accepted_by": table.accepted}
        parts = {"needless": table.needless} if table.needless is not None else {}
        print_json({"run": name, "status": standing, "requirements": table.rows, **more, **parts})
        return status
    if markdown:
        from bough.views.markdown import render_report

        print(render_report(found, standing, table), end="")
        return status
    page = make_output()
    page.lines(render_heading(found, standing, None))
    page.line("")
    if not table.rows:
        page.paragraph(text=f"{name} has no requirements: an older version of bough wrote it, or it has not started.")
        return status
    page.line(render_totals(table))
    page.lines(render_evidence(table, page.width, whole=full))
    goal = next(iter(found.tasks.values()), None)
    if goal is not None and goal.verdict is not None and goal.verdict.unseen:
        page.paragraph(text=goal.verdict.unseen)
    closing = render_closing(table, page.width)
    if closing:
        page.line("")
    page.lines(closing)
    return status
