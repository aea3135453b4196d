"""`bough diff`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import example, in_dir, run_argument, wait_for


@click.command(
    "diff",
    short_help="Show what a run changed.",
    epilog=example("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch"),
)
@run_argument
@in_dir
@click.option("--stat", is_flag=True, help="Only the files and their line counts.")
def command(run: str | None, folder: Path, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch.
    """
    wait_for(_diff(run, folder, stat))


async def _diff(run: str | None, folder: Path, stat: bool) -> None:
    import sys

    from bough.app import session
    from bough.interfaces.terminal.changes import diff_lines
    from bough.interfaces.terminal.paper import paper

    async with session(folder) as opened:
        name = await opened.find(run)
        diff = await opened.diff(name, stat)
    page = paper()
    if not diff.strip():
        sys.stderr.write(f"{name} has changed nothing so far.\n")
    elif sys.stdout.isatty():
        diff_lines(page, diff)
    else:
        # A patch has to stay what it is, byte for byte: file names and contents may hold anything.
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8", "surrogateescape"))
