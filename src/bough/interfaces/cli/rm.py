"""`bough rm`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, complete_run, dir_option, flag, json_option
from bough.interfaces.cli.printing import print_result


@bough_command("bough rm amber-heron", "bough rm amber-heron teal-finch --yes")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@dir_option
@flag("--yes", "Also work that was never applied, without asking.")
@json_option("As a JSON object: the runs that were removed.")
async def command(runs: tuple[str, ...], folder: Path, yes: bool, as_json: bool) -> None:
    """Remove runs, with their work.

    Their events, checkouts and contents are deleted; applied changes stay in your files. You are asked about work that
    was never applied; without a terminal, pass --yes. A live run is not removed: stop it first.
    """
    from bough.core.errors import UsageError
    from bough.interfaces.terminal.output import is_interactive
    from bough.views.formatting import pluralize

    async with app.open_session(folder) as opened:
        names = list(dict.fromkeys([await opened.find(run) for run in runs]))
        unapplied = [name for name in names if not (await opened.run(name)).applied and await opened.diff(name, True)]
        if unapplied and not yes:
            listed = ", ".join(unapplied)
            if not is_interactive() or as_json:
                raise UsageError(f"The work of {listed} was never applied: pass --yes to remove it anyway.")
            if not click.confirm(f"The work of {listed} was never applied. Delete it permanently?", default=False):
                return
        for name in names:
            await opened.remove(name)
        await opened.tidy()
    said = f"Removed {names[0] if len(names) == 1 else pluralize(len(names), 'run')}."
    print_result(as_json, said, removed=names)
