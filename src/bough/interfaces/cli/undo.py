"""`bough undo`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for


@click.command(
    "undo",
    short_help="Remove an applied run's changes from your files.",
    epilog=example("bough undo", "bough undo amber-heron"),
)
@run_argument
@in_dir
@as_json("As a JSON object: the run and the files.")
def command(run: str | None, folder: Path, as_json: bool) -> None:
    """Remove an applied run's changes from your files.

    The files that `bough apply` changed are restored; what you changed in them since is kept where it can be merged,
    otherwise nothing is written. A commit made by `--commit` stays: use `git revert` for it.
    """
    wait_for(_undo(run, folder, as_json))


async def _undo(run: str | None, folder: Path, as_json: bool) -> None:
    from bough.app import session
    from bough.interfaces.terminal.changes import change_lines
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.words import many

    async with session(folder) as opened:
        name = await opened.find(run)
        changes = await opened.undo(name)
    if as_json:
        print_json({"run": name, "files": [{"kind": change.kind, "path": change.path} for change in changes]})
        return
    page = paper()
    page.paragraph(text=f"Took {name} back out of your files: {many(len(changes), 'file')}.")
    change_lines(page, changes)
