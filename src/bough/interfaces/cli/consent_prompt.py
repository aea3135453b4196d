"""What only the person allows: the questions about it, and the warning when settings are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click


def ask_consent(folder: Path, wishes: Mapping[str, str]) -> bool | None:
    """One question for all of them; no answer (Ctrl-D) leaves it open."""
    from bough.app.config import find_default
    from bough.services.permission_store import shorten_value
    from bough.views.formatting import one_line

    click.echo(f"The settings in {folder} ask for more than the defaults:")
    for name, value in wishes.items():
        click.echo(f"  {one_line(name)} = {one_line(shorten_value(value))}  (default: {find_default(name)})")
    return _ask("Allow that here, from now on?")


def ask_permission(folder: Path, name: str, wants: Mapping[str, str]) -> bool | None:
    """The same as `ask_consent`, about a run or a goal that the person did not begin on this machine."""
    from bough.services.permission_store import SETTINGS, shorten_value
    from bough.views.formatting import one_line

    if name == SETTINGS:
        return ask_consent(folder, wants)
    click.echo(f"{name} was not begun by you on this machine. It asks for:")
    for want, value in wants.items():
        click.echo(f"  {want.partition(' ')[0]} = {one_line(shorten_value(value))}")
    return _ask("Allow that on this machine, from now on?")


def _ask(question: str) -> bool | None:
    while True:
        click.echo(f"{question} [y]es, [N]o: ", nl=False)
        try:
            said = input().strip().lower()
        except EOFError:
            click.echo()
            return None
        if said[:1] in ("", "n", "y"):
            return said[:1] == "y"
        click.echo("Please answer y or n.")


def warn_ignored(ignored: Mapping[str, str]) -> None:
    from bough.services.permission_store import shorten_value
    from bough.views.formatting import one_line

    listed = ", ".join(f"{one_line(name)} = {one_line(shorten_value(value))}" for name, value in ignored.items())
    click.echo(f"bough: Settings of this repository are ignored ({listed}): allow them with --trust-config.", err=True)
