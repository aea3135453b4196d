"""`bough diff`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bough.interfaces.cli.options import bough_command, dir_option, run_argument


@bough_command("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch")
@run_argument
@dir_option
@click.option("--stat", is_flag=True, help="Only the files and their line counts.")
async def command(run: str | None, folder: Path, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch.
    """
    from bough.app import open_session
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_diff

    async with open_session(folder) as opened:
        name = await opened.find(run)
        diff = await opened.diff(name, stat)
    page = make_output()
    if not diff.strip():
        sys.stderr.write(f"{name} has changed nothing so far.\n")
    elif sys.stdout.isatty():
        print_diff(page, diff)
    else:
        # A patch must stay exact, byte for byte: file names and contents may hold anything.
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8", "surrogateescape"))
