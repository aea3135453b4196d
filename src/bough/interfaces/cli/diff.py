"""`bough diff`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bough.interfaces.cli.options import dir_option, format_example, run_argument, run_to_end


@click.command(
    "diff",
    short_help="Show what a run changed.",
    epilog=format_example("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch"),
)
@run_argument
@dir_option
@click.option("--stat", is_flag=True, help="Only the files and their line counts.")
def command(run: str | None, folder: Path, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch.
    """
    run_to_end(_diff(run, folder, stat))


async def _diff(run: str | None, folder: Path, stat: bool) -> None:
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
