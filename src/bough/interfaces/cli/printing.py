"""What commands print: data for a program, sentences for a person."""

from __future__ import annotations

import sys
from functools import partial


def print_json(document: object, indent: int = 2) -> None:
    import msgspec

    from bough.views.formatting import escape_json

    sys.stdout.write(escape_json(msgspec.json.format(msgspec.json.encode(document), indent=indent)) + "\n")


print_json_line = partial(print_json, indent=-1)


def print_result(as_json: bool, sentence: str, **facts: object) -> None:
    """What a command did: the facts for a program, or a sentence for a person."""
    from bough.interfaces.terminal.output import make_output

    if as_json:
        print_json(facts)
    else:
        make_output().paragraph(text=sentence)
