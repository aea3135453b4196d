"""Commands drawn from the table of operations: arguments, options, help, `--json` and what is printed."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from inspect import Parameter
from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import (
    BoughCommand,
    bough_command,
    complete_run,
    dir_option,
    flag,
    json_option,
    option,
)
from bough.interfaces.cli.printing import print_json
from bough.operations import OPERATIONS
from bough.operations.table import OperationResult

METAVARS = {"task": "T", "restore": "N", "branch": "NAME"}
Before = Callable[..., Awaitable[dict[str, Any]]]


def draw_command(name: str, before: Before | None = None) -> click.Command:
    """The command of an operation on a run. `before`: what a person at the terminal is asked; arguments that follow."""
    made = OPERATIONS[name]
    texts = [(key, default) for key, _, default, about in made.arguments if not about]

    async def command(run: str | None, folder: Path, as_json: bool, **said: Any) -> None:
        given = {key: value for key, value in said.items() if value not in (None, False)}
        if run and texts and not given:
            raise click.UsageError(f"name the RUN first: bough {name} latest {shlex.quote(run)}")
        arguments = made.read(given, texts=True)
        async with app.open_session(folder) as opened:
            found = await opened.find(run)
            if before is not None and not as_json:
                arguments |= await before(opened, found, **arguments)
            result = await made.does(opened, found, **arguments)
        print_operation(result, as_json)

    command.__doc__ = made.about
    command = json_option(made.json)(command)
    for key, kind, _, about in reversed(made.arguments):
        if about and kind is bool:
            command = flag(f"--{key.replace('_', '-')}", about)(command)
        elif about:
            command = option(f"--{key}", METAVARS.get(key, key.upper()), about)(command)
    command = dir_option(command)
    for key, default in reversed(texts):  # What needs no explanation is an argument; then the run has to be named, too.
        command = click.argument(key, required=default is Parameter.empty)(command)
    command = click.argument("run", required=bool(texts), shell_complete=complete_run)(command)
    drawn: click.Command = bough_command(*made.examples, cls=DrawnCommand)(command)
    return drawn


class DrawnCommand(BoughCommand):
    """A wrong option is a wrong argument of the operation: every face says the same of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            made, key = OPERATIONS[self.name or ""], error.option_name.strip("-").replace("-", "_")
            if key not in {one for one, *_ in made.arguments}:
                made.read({key: ""})
            raise


def print_operation(result: OperationResult, as_json: bool) -> None:
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes

    if as_json:
        print_json(result.facts)
        return
    follow = f" {result.next.capitalize()} it with `bough {result.next} {result.facts['run']}`." if result.next else ""
    page = make_output()
    page.paragraph(text=f"{result.said}{follow}")
    if commands := result.facts.get("commands"):
        page.line("")
        page.lines([[(f"  {line}", "bold")] for line in commands])
    if files := result.facts.get("files"):
        print_changes(page, files)
