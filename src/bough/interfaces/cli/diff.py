"""`bough diff`"""

from __future__ import annotations

import sys

from bough import app
from bough.interfaces.cli.options import bough_command, flag, open_run


@bough_command("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch")
@open_run
@flag("--stat", "Only the files and their line counts.")
async def command(opened: app.Session, name: str, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch.
    """
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_diff

    diff = await opened.diff(name, stat)
    if not diff.strip():
        sys.stderr.write(f"{name} has changed nothing so far.\n")
    elif sys.stdout.isatty():
        print_diff(make_output(), diff)
    else:
        # A patch must stay exact, byte for byte: file names and contents may hold anything.
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8", "surrogateescape"))
