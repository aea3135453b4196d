"""Printing JSON, and reading and writing the files that a person names."""

from __future__ import annotations

import sys
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
