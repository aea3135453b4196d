"""The command line as a page for the documents, made from the commands' own help."""

from __future__ import annotations

import click

from bough.interfaces.cli.entry import COMMANDS, bough

WIDTH = 100


def reference() -> str:
    parts = ["# Command line", "", "What `bough COMMAND --help` says, for reading in one go.", ""]
    settings = {**bough.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    top = click.Context(bough, info_name="bough", **settings)
    for name in COMMANDS:
        command = bough.get_command(top, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=top, max_content_width=WIDTH, terminal_width=WIDTH)
        parts += [f"## bough {name}", "", "```", command.get_help(inner).rstrip(), "```", ""]
    return "\n".join(parts).rstrip() + "\n"
