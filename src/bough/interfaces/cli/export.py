"""`bough export`"""

from __future__ import annotations

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, flag, option, run_argument
from bough.interfaces.cli.printing import write_output


@bough_command("bough export --html", "bough export amber-heron --html --output review.html", "bough export --json")
@run_argument
@flag("--html", "As a self-contained page: RUN.html.", "as_html")
@flag("--json", "The same data as JSON, on standard output.", "as_json")
@option("--output", "F", "Write it there instead; `-` is standard output.")
async def command(run: str | None, folder: Path, as_html: bool, as_json: bool, output: str | None) -> None:
    """Write a run to one file, to read or attach.

    The page is a snapshot of the dashboard: the tree, the timeline, every conversation, all changes, checks and
    evidence. It opens offline in any browser and loads nothing. Keys are redacted as in the journal; the output of
    models, files and commands is included, so review it before you publish it.
    """
    if as_html == as_json:
        raise click.UsageError("pass --html or --json")
    import msgspec

    from bough.interfaces.web.export import export_run, render_page
    from bough.views.formatting import escape_json

    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        data = await export_run(opened, name)
    body = render_page(data, f"{name} · bough") if as_html else escape_json(msgspec.json.encode(data)).encode() + b"\n"
    target = output or (f"{name}.html" if as_html else "-")
    write_output(target, body)
    if target != "-":
        click.echo(f"Wrote {name} to {target} ({len(body) / 1e6:.1f} MB).")
