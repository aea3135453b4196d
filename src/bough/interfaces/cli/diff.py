"""`bough diff`"""

from __future__ import annotations

import sys

from bough import app
from bough.interfaces.cli.options import bough_command, flag, open_run
from bough.interfaces.cli.printing import write_output

STYLES = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


@bough_command("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch")
@open_run
@flag("--stat", "Only the files and their line counts.")
async def command(opened: app.Session, name: str, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch.
    """
    from bough.interfaces.terminal.output import make_output

    diff = await opened.diff(name, stat)
    if not diff.strip():
        sys.stderr.write(f"{name} has changed nothing so far.\n")
    elif sys.stdout.isatty():
        page = make_output()
        for line in diff.splitlines():
            page.text(line, next((style for start, style in STYLES if line.startswith(start)), ""))
    else:
        # A patch must stay exact, byte for byte: file names and contents may hold anything.
        write_output("-", diff.encode("utf-8", "surrogateescape"))
