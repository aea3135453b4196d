"""`bough apply`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for

if TYPE_CHECKING:
    from bough.app import Session


@click.command(
    "apply",
    short_help="Bring a run's changes into your files.",
    epilog=example("bough diff amber-heron", "bough apply amber-heron"),
)
@run_argument
@in_dir
@click.option("--partial", is_flag=True, help="Also when the run is not completed: its work is not verified.")
@click.option("--edges", is_flag=True, help="Also what takes effect by itself: hooks, CI, new programs, links out.")
@as_json("As a JSON object: the run and the files.")
def command(run: str | None, folder: Path, partial: bool, edges: bool, as_json: bool) -> None:
    """Bring a run's changes into your files.

    Refused as a whole, naming the files, when one that RUN (default: the latest) changed is no longer as it was when
    the run began; then nothing is written. Your index and your branches stay as they are. Refused too while the run
    is being carried out.

    Changes that take effect before you run anything (hooks, CI, editor tasks, .envrc, a conftest.py at a new place, new
    programs, links that lead out, bough.toml) are listed and you are asked; without a terminal, --edges says yes.
    """
    wait_for(_apply(run, folder, partial, edges, as_json))


async def consents(session: Session, run: str) -> bool:
    """Whether the person takes what takes effect by itself, when there is such and somebody is there to ask."""
    from bough.interfaces.terminal.paper import paper, somebody_there
    from bough.interfaces.terminal.words import one_line

    if not somebody_there() or not (found := await session.edges(run)):
        return False
    page = paper()
    page.paragraph(text=f"Some changes of {run} take effect by themselves:")
    for edge in found:
        page.line(f"  {one_line(edge.path)}  {one_line(edge.why)}")
    page.flush()
    return click.confirm("Apply them too?", default=False)


async def _apply(run: str | None, folder: Path, partial: bool, edges: bool, as_json: bool) -> None:
    from bough.app import session
    from bough.core.errors import UsageError
    from bough.interfaces.cli.targets import standing
    from bough.interfaces.terminal.changes import change_lines
    from bough.interfaces.terminal.lines import STATUS_WORDS
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.words import many

    async with session(folder) as opened:
        found = await opened.view(await opened.find(run))
        status, holder = await standing(opened, found)
        if found.status != "completed" and holder is None and not partial:
            raise UsageError(
                f"{found.name} is not completed ({STATUS_WORDS[status]}), so its work is not verified: look at it with "
                f"`bough diff {found.name}`, and take it as it is with `bough apply {found.name} --partial`."
            )
        changes = await opened.apply(found.name, edges or (not as_json and await consents(opened, found.name)))
    if as_json:
        files = [{"kind": change.kind, "path": change.path} for change in changes]
        print_json({"run": found.name, "status": found.status, "files": files})
        return
    page = paper()
    if not changes:
        page.paragraph(text=f"{found.name} changed nothing: there is nothing to apply.")
        return
    unverified = "" if found.status == "completed" else " (not verified)"
    page.paragraph(text=f"Applied {found.name}{unverified}: {many(len(changes), 'file')} in your files now.")
    change_lines(page, changes)
