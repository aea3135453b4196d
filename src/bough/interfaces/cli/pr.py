"""`bough pr`"""

from __future__ import annotations

import shlex
from pathlib import Path

from bough import app
from bough.core.acceptance.evidence_table import Evidence
from bough.core.conversation.text_fitting import fence_text
from bough.core.errors import UsageError
from bough.interfaces.cli.options import bough_command, flag, json_option, open_run, option
from bough.interfaces.cli.printing import print_json


@bough_command("bough pr", "bough pr amber-heron --branch fix-totals")
@open_run
@option("--branch", "NAME", "The branch (default: bough/RUN).")
@flag("--steps", "One commit per step.")
@flag("--partial", "Even if the run is not completed; its work is not proven.")
@json_option("As a JSON object: the run, the branch, its commit and the file with the description.")
async def command(
    opened: app.Session, name: str, branch: str | None, steps: bool, partial: bool, as_json: bool
) -> None:
    """Put a run's work on a branch, with a description for a pull request.

    The branch starts at HEAD; your files stay unchanged. The description (the goal, the check and its verdict, the
    evidence for each requirement, the files) is written to .bough/pr-RUN.md, and the commands for `git push`, `gh` and
    `glab` are printed: nothing is pushed.
    """
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import first_sentence
    from bough.views.vocabulary import describe_status

    status = (await opened.view(name)).status
    if status != "completed" and not partial:
        raise UsageError(
            f"{name} is not completed ({describe_status(status)}), so its work is not proven: "
            f"review it with `bough diff {name}`, accept it with `bough verify {name} --accept`, or pass --partial."
        )
    branch = branch or f"bough/{name}"
    made = await opened.branch(name, branch, steps=steps)
    path, goal = await write_description(opened, name)
    if as_json:
        print_json({"run": name, "branch": branch, "commit": made, "description": str(path)})
        return
    page = make_output()
    page.paragraph(text=f"{name} is on the branch {branch} ({made[:10]}); the description is in {path}.")
    title = shlex.quote(first_sentence(goal))
    page.line("")
    page.line((f"  git push -u origin {branch}", "bold"))
    page.line((f"  gh pr create --head {branch} --title {title} --body-file {path}", "bold"))
    page.line((f'  glab mr create -s {branch} --title {title} --description "$(cat {path})"', "bold"))


async def write_description(opened: app.Session, name: str) -> tuple[Path, str]:
    """Write what a pull request for a run says: its evidence, not a model's words. Returns the file and the goal."""
    from bough.core.textual.cleaning import clean_markdown, escape_text
    from bough.interfaces.terminal.evidence import render_totals
    from bough.trust.files import Place
    from bough.views.vocabulary import describe_evidence

    state, task = await opened.run(name), await opened.task(name)
    stat = await opened.diff(name, stat=True)
    goal = escape_text(state.plan.goal.instructions.strip())
    verdict = task.acceptance.verdict
    said = describe_evidence(verdict) if verdict is not None else "not verified: no check ran"
    reason = ["", clean_markdown(verdict.reason)] if verdict is not None else []
    parts = [clean_markdown(goal), "## Evidence", "\n".join([f"- {said}", *reason])]
    table = await opened.evidence(name)
    if table.accepted:
        parts.append(f"**Not proven**: accepted by {table.accepted}.")
    if table.rows:
        asked = [
            f"{render_totals(table)}.\n",
            "| | requirement | | cases |",
            "| --- | --- | --- | --- |",
            *(_render_row(row) for row in table.rows),
        ]
        parts.append("\n".join(asked))
    parts += ["## Changes", fence_text(escape_text(stat.strip())), f"Made by bough (run `{name}`)."]
    path = opened.home / f"pr-{name}.md"
    Place(opened.home, path.name).write(("\n\n".join(parts) + "\n").encode())
    return path, goal


def _render_row(row: Evidence) -> str:
    one = row.requirement
    text = " ".join(one.whole.split()).replace("|", "\\|")
    return f"| {one.number} | {text} | {row.standing} | {row.cases} |"
