"""`bough export`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bough.interfaces.cli.options import example, in_dir, run_argument, wait_for


@click.command(
    "export",
    short_help="Write a run as one file, to read or to attach.",
    epilog=example(
        "bough export --html", "bough export amber-heron --html --output review.html", "bough export --json"
    ),
)
@run_argument
@in_dir
@click.option("--html", "as_html", is_flag=True, help="As a self-contained page: RUN.html.")
@click.option("--json", "as_json", is_flag=True, help="The same data as JSON, on standard output.")
@click.option("--output", metavar="F", help="Write it there instead; `-` is standard output.")
def command(run: str | None, folder: Path, as_html: bool, as_json: bool, output: str | None) -> None:
    """Write a run as one file, to read or to attach.

    The page is a snapshot of the dashboard: the tree, the timeline, every conversation, all changes, checks and
    evidence. It opens offline in any browser and loads nothing. Keys are redacted as in the journal; the output of
    models, files and commands is included, so review it before you publish it.
    """
    if as_html == as_json:
        raise click.UsageError("give --html or --json")
    wait_for(_export(run, folder, as_html, output))


async def _export(run: str | None, folder: Path, as_html: bool, output: str | None) -> None:
    import msgspec

    from bough.app import session
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.words import json_text
    from bough.interfaces.web.export import exported, page

    async with session(folder) as opened:
        name = await opened.find(run)
        data = await exported(opened, name)
    body = page(data, f"{name} · bough") if as_html else json_text(msgspec.json.encode(data)).encode() + b"\n"
    target = output or (f"{name}.html" if as_html else "-")
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        return
    try:
        Path(target).write_bytes(body)
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}") from None
    paper().paragraph(text=f"Wrote {name} to {target} ({len(body) / 1e6:.1f} MB).")
