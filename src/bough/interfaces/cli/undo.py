"""`bough undo`"""

from __future__ import annotations

from bough import app
from bough.interfaces.cli.options import bough_command, json_option, open_run
from bough.interfaces.cli.printing import print_json


@bough_command("bough undo", "bough undo amber-heron")
@open_run
@json_option("As a JSON object: the run and the files.")
async def command(opened: app.Session, name: str, as_json: bool) -> None:
    """Remove an applied run's changes from your files.

    The files that `bough apply` changed are restored; what you changed in them since is kept where it can be merged,
    otherwise nothing is written. A commit made by `--commit` stays: use `git revert` for it.
    """
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes
    from bough.views.formatting import pluralize

    changes = await opened.undo(name)
    if as_json:
        print_json({"run": name, "files": changes})
        return
    page = make_output()
    page.paragraph(text=f"Undid {name} in your files: {pluralize(len(changes), 'file')}.")
    print_changes(page, changes)
