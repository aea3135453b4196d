"""Asks the person for permissions that only they can give, and warns about ignored settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click


def ask_consent(folder: Path, wishes: Mapping[str, str]) -> bool | None:
    """Ask whether to allow what the repository's settings ask for; None: no answer."""
    from bough.services.permission_store import SETTINGS

    return ask_permission(folder, SETTINGS, wishes)


def ask_permission(folder: Path, name: str, wants: Mapping[str, str]) -> bool | None:
    """Ask one question: whether to allow all that the repository's settings ask for, or a run or goal that the person
    did not begin on this machine. Return None if they do not answer (Ctrl-D), so that the question stays open."""
    from bough.app.config import find_default
    from bough.services.permission_store import SETTINGS, shorten_value
    from bough.views.formatting import one_line

    own, where = f"The settings in {folder} ask for more than the defaults:", "here"
    if name != SETTINGS:
        own, where = f"{name} was not begun by you on this machine. It asks for:", "on this machine"
    click.echo(own)
    for want, value in wants.items():
        usual = f"  (default: {find_default(want)})" if name == SETTINGS else ""
        click.echo(f"  {one_line(want.partition(' ')[0])} = {one_line(shorten_value(value))}{usual}")
    while True:
        click.echo(f"Allow that {where}, from now on? [y]es, [N]o: ", nl=False)
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
