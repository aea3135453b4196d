"""`bough undo`"""

from __future__ import annotations

from pathlib import Path

from bough.interfaces.cli.options import bough_command, dir_option, json_option, print_json, run_argument


@bough_command("bough undo", "bough undo amber-heron")
@run_argument
@dir_option
@json_option("As a JSON object: the run and the files.")
async def command(run: str | None, folder: Path, as_json: bool) -> None:
    """Remove an applied run's changes from your files.

    The files that `bough apply` changed are restored; what you changed in them since is kept where it can be merged,
    otherwise nothing is written. A commit made by `--commit` stays: use `git revert` for it.
    """
    from bough.app import open_session
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes
    from bough.views.formatting import pluralize

    async with open_session(folder) as opened:
        name = await opened.find(run)
        changes = await opened.undo(name)
    if as_json:
        print_json({"run": name, "files": [{"kind": change.kind, "path": change.path} for change in changes]})
        return
    page = make_output()
    page.paragraph(text=f"Undid {name} in your files: {pluralize(len(changes), 'file')}.")
    print_changes(page, changes)
