"""`bough apply`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough.interfaces.cli.options import (
    bough_command,
    dir_option,
    json_option,
    print_json,
    print_result,
    print_sentence,
    run_argument,
)

if TYPE_CHECKING:
    from bough.app import Session


@bough_command("bough diff amber-heron", "bough apply amber-heron", "bough apply --with-probes")
@run_argument
@dir_option
@click.option("--partial", is_flag=True, help="Apply even if the run is not completed; its work is not proven.")
@click.option("--edges", is_flag=True, help="Also apply what takes effect on its own: hooks, CI, programs, links out.")
@click.option("--commit", is_flag=True, help="Commit the changes, with the evidence as trailers.")
@click.option("--hooks", is_flag=True, help="With --commit: run your repository's hooks, filters and signing.")
@click.option("--branch", metavar="NAME", help="Commit to a new branch from HEAD; your files stay unchanged.")
@click.option("--steps", is_flag=True, help="With --commit or --branch: one commit per step.")
@click.option("--with-probes", is_flag=True, help="Also add the probes that passed, as tests.")
@json_option("As a JSON object: the run and the files.")
async def command(
    run: str | None,
    folder: Path,
    partial: bool,
    edges: bool,
    commit: bool,
    hooks: bool,
    branch: str | None,
    steps: bool,
    with_probes: bool,
    as_json: bool,
) -> None:
    """Apply a run's changes to your files.

    What you changed since RUN (default: the latest) started is merged with it line by line. If both changed the same
    lines, nothing is written and the conflicting files are listed. Without --commit and --branch your index and
    branches stay unchanged. A run that is still running cannot be applied. `bough undo` reverts an apply.

    Changes that take effect before you run anything (hooks, CI, editor tasks, .envrc, a conftest.py in a new place, new
    programs, links that lead out of the project, bough.toml) are listed, and you are asked about them; without a
    terminal, pass --edges to accept them.
    """
    if commit and branch:
        raise click.UsageError("--commit and --branch are mutually exclusive")
    if hooks and (steps or not commit):
        raise click.UsageError("--hooks needs --commit and cannot be combined with --steps")
    if steps and not (commit or branch):
        raise click.UsageError("--steps needs --commit or --branch")
    if steps and commit and with_probes:
        raise click.UsageError("--steps --commit cannot be combined with --with-probes: use --branch")
    from bough.app import open_session
    from bough.core.errors import UsageError
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes
    from bough.views.formatting import pluralize
    from bough.views.vocabulary import STATUS_WORDS

    async with open_session(folder) as opened:
        found = await opened.view(await opened.find(run))
        status, holder = await opened.standing(found)
        if found.status != "completed" and holder is None and not partial:
            raise UsageError(
                f"{found.name} is not completed ({STATUS_WORDS[status]}), so its work is not proven: review it with "
                f"`bough diff {found.name}`, or apply it anyway with `bough apply {found.name} --partial`."
            )
        if branch:
            made = await opened.branch(found.name, branch, steps=steps, with_probes=with_probes)
            said = f"{found.name} is on the branch {branch} ({made[:10]}); your files are unchanged."
            print_result(as_json, said, run=found.name, branch=branch, commit=made)
            return
        edges = edges or (not as_json and await confirm_edges(opened, found.name))
        changes = await opened.apply(found.name, edges, commit, steps=steps, with_probes=with_probes, hooks=hooks)
        applied = (await opened.run(found.name)).application
        made = applied.commit if applied is not None else ""
    if as_json:
        files = [{"kind": change.kind, "path": change.path} for change in changes]
        print_json({"run": found.name, "status": found.status, "files": files, "commit": made})
        return
    if not changes:
        print_sentence(f"{found.name} changed nothing: nothing to apply.")
        return
    unverified = "" if found.status == "completed" else " (not proven)"
    committed = f", committed as {made[:10]}" if made else ""
    print_sentence(f"Applied {found.name}{unverified}: {pluralize(len(changes), 'file')} changed{committed}.")
    print_changes(make_output(), changes)


async def confirm_edges(session: Session, run: str) -> bool:
    """Whether the person accepts changes that take effect on their own, if there are any and a person can be asked."""
    from bough.interfaces.terminal.output import is_interactive, make_output
    from bough.views.formatting import one_line

    if not is_interactive() or not (found := await session.edges(run)):
        return False
    page = make_output()
    page.paragraph(text=f"Some changes of {run} take effect on their own:")
    for edge in found:
        page.line(f"  {one_line(edge.path)}  {one_line(edge.why)}")
    page.flush()
    return click.confirm("Apply them too?", default=False)
