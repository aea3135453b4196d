"""Prints JSON, reads and writes the files that a person names, and asks for permissions that only they can give."""

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click

LONGEST = 16 << 20
"""The most bytes of a file that `read_given` accepts."""


def print_json(document: object, indent: int = 2) -> None:
    import msgspec

    from bough.views.formatting import escape_json

    sys.stdout.write(escape_json(msgspec.json.format(msgspec.json.encode(document), indent=indent)) + "\n")


print_json_line = partial(print_json, indent=-1)


def write_output(target: str, body: bytes) -> None:
    """Write a file; `-` is standard output."""
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        return
    try:
        Path(target).write_bytes(body)
    except OSError as error:
        raise click.UsageError(f"cannot write {target}: {error.strerror}") from None


def require_folder(target: str) -> None:
    """Refuse a file to write in a folder that does not exist, before anything costs."""
    if not Path(target).absolute().parent.is_dir():
        raise click.UsageError(f"cannot write {target}: there is no such folder")


def read_given(file: str) -> str:
    """Read a file, which may be a pipe; `-` is standard input."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as given:
            body = given.read(LONGEST + 1)
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}") from None
    if len(body) > LONGEST:
        raise click.UsageError(f"{file} has more than {LONGEST >> 20} MB: that is no goal and no list of goals")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{file} is not a text file in UTF-8") from None


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
