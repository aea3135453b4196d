"""Repository settings that go beyond the defaults: the question about them, and the warning when they are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click


def ask_consent(folder: Path, wishes: Mapping[str, str]) -> bool | None:
    """One question for all of them; no answer (Ctrl-D) leaves it open."""
    from bough.config import find_default
    from bough.views.formatting import one_line

    click.echo(f"The settings in {folder} ask for more than the defaults:")
    for name, value in wishes.items():
        click.echo(f"  {one_line(name)} = {one_line(value)}  (default: {find_default(name)})")
    while True:
        click.echo("Allow that here, from now on? [y]es, [N]o: ", nl=False)
        try:
            said = input().strip().lower()
        except EOFError:
            click.echo()
            return None
        if said[:1] in ("", "n", "y"):
            return said[:1] == "y"
        click.echo("Please answer y or n.")


def warn_ignored(ignored: Mapping[str, str]) -> None:
    from bough.views.formatting import one_line

    listed = ", ".join(f"{one_line(name)} = {one_line(value)}" for name, value in ignored.items())
    click.echo(f"bough: Settings of this repository are ignored ({listed}): allow them with --trust-config.", err=True)
