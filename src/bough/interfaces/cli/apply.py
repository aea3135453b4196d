"""`bough apply`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, json_option, option, run_argument
from bough.interfaces.cli.printing import print_json, print_result


@bough_command("bough diff amber-heron", "bough apply amber-heron", "bough apply --with-probes")
@run_argument
@flag("--partial", "Apply even if the run is not completed; its work is not proven.")
@flag("--edges", "Also apply what takes effect on its own: hooks, CI, programs, links out.")
@flag("--commit", "Commit the changes, with the evidence as trailers.")
@flag("--hooks", "With --commit: run your repository's hooks, filters and signing.")
@option("--branch", "NAME", "Commit to a new branch from HEAD; your files stay unchanged.")
@flag("--steps", "With --commit or --branch: one commit per step.")
@flag("--with-probes", "Also add the probes that passed, as tests.")
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
    from bough.core.errors import UsageError
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes
    from bough.views.formatting import pluralize
    from bough.views.vocabulary import STATUS_WORDS

    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        found = await opened.view(name)
        status, holder = await opened.standing(found)
        if found.status != "completed" and holder is None and not partial:
            raise UsageError(
                f"{name} is not completed ({STATUS_WORDS[status]}), so its work is not proven: review it with "
                f"`bough diff {name}`, or apply it anyway with `bough apply {name} --partial`."
            )
        if branch:
            made = await opened.branch(name, branch, steps=steps, with_probes=with_probes)
            said = f"{name} is on the branch {branch} ({made[:10]}); your files are unchanged."
            print_result(as_json, said, run=name, branch=branch, commit=made)
            return
        edges = edges or (not as_json and await confirm_edges(opened, name))
        changes = await opened.apply(name, edges, commit, steps=steps, with_probes=with_probes, hooks=hooks)
        applied = (await opened.run(name)).application
        made = applied.commit if applied is not None else ""
    if as_json:
        print_json({"run": name, "status": found.status, "files": changes, "commit": made})
        return
    unverified = "" if found.status == "completed" else " (not proven)"
    committed = f", committed as {made[:10]}" if made else ""
    said = f"Applied {name}{unverified}: {pluralize(len(changes), 'file')} changed{committed}."
    page = make_output()
    page.paragraph(text=said if changes else f"{name} changed nothing: nothing to apply.")
    print_changes(page, changes)


async def confirm_edges(session: app.Session, run: str) -> bool:
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
