"""`bough apply`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "apply",
    short_help="Bring a run's changes into your files.",
    epilog=example("bough diff amber-heron", "bough apply amber-heron"),
)
@run_argument
@in_dir
@click.option("--partial", is_flag=True, help="Also when the run is not completed: its work is not verified.")
@as_json("As a JSON object: the run and the files.")
def command(run: str | None, folder: Path, partial: bool, as_json: bool) -> None:
    """Bring a run's changes into your files.

    Refused as a whole, naming the files, when one that RUN (default: the latest) changed is no longer as it was when
    the run began; then nothing is written. Your index and your branches stay as they are. Refused too while the run
    is being carried out.
    """
    wait_for(_apply(run, folder, partial, as_json))


async def _apply(run: str | None, folder: Path, partial: bool, as_json: bool) -> None:
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
        changes = await opened.apply(found.name)
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
