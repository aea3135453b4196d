"""Makes commands from the table of operations: their arguments, options, help, `--json` and printed result."""

import shlex
from collections.abc import Awaitable, Callable
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from bough import app
from bough.core.errors import ClaimHeld
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.printing import print_json
from bough.operations import OPERATIONS
from bough.operations.table import OperationResult

METAVARS = {
    "task": "T",
    "restore": "N",
    "branch": "NAME",
    "labels": "L",
    "goal": "ITEM",
    "before": "ITEM",
    "at": "TIME",
    "check": "CMD",
    "max_size": "SIZE",
    "older_than": "AGE",
    "reason": "TEXT",
    "runs": "RUN",
    "say": "TEXT",
    "to": "POINT",
}
NAMES = {"labels": "--label", "allow": "--deny"}
"""The options whose names differ from their arguments: one that can be repeated, and one that turns something off."""
Before = Callable[..., Awaitable[dict[str, Any] | None]]


async def _ask_about_edges(opened: "app.Session", run: str, **given: Any) -> dict[str, Any]:
    from bough.interfaces.cli.execution import confirm_edges
    from bough.views.vocabulary import DONE

    taken = "partial" in given or (await opened.view(run)).status in DONE
    return {"edges": await confirm_edges(opened, run)} if taken and not {"edges", "branch"} & {*given} else {}


ASKING: dict[str, Before] = {"apply": _ask_about_edges}


def draw_command(name: str, before: Before | None = None) -> click.Command:
    """Make the command of an operation. `before`: a function that asks the person at the terminal, and returns further
    arguments, or None if they do not want the operation."""
    made, before = OPERATIONS[name], before or ASKING.get(name)
    texts = [one for one in made.arguments if not one[3]]
    keys = {key for key, *_ in made.arguments}

    async def command(folder: Path, as_json: bool = False, apply: bool = False, **said: Any) -> int:
        place = said.pop("name" if made.of == "list" else "run", None)
        given = {key: said.pop(key) for key in [*said] if key in keys}
        given = {key: value for key, value in given.items() if value not in (None, False, ())}
        if made.of == "run" and place and texts and not given:
            raise click.UsageError(f"name the RUN first: bough {name} latest {shlex.quote(place)}")
        arguments = made.read(given, texts=True)
        choices = app.Choices(**said)
        async with app.open_session(folder, create=made.begins, choices=choices) as opened:
            found = await made.find(opened, place)
            asked = await before(opened, *found, **arguments) if before is not None and not as_json else {}
            if asked is None:
                return 0
            result = await made.do(opened, *found, **arguments, **asked)
            if made.resumes and result.next:
                from bough.adapters.stores.liveness import describe_worker
                from bough.interfaces.cli.execution import make_display
                from bough.interfaces.cli.run import resume_run

                (display := make_display(as_json)).notice(result.said)
                try:
                    return await resume_run(opened, found[0], display, choices, apply, as_json)
                except ClaimHeld as held:  # Another process was faster: it uses the answer.
                    display.notice(f"Answered: {describe_worker(held.holder)} continues {found[0]}.")
                    return 0
        print_operation(result, as_json)
        return result.exit_status

    if made.resumes:
        command = cli.run_options(command)
    elif made.json:
        command = cli.json_option(made.json)(command)
    if made.of == "list":
        command = cli.list_option(command)
    for key, kind, default, about in reversed(made.arguments):
        if about and default is True:
            command = click.option(NAMES[key], key, flag_value="false", help=about)(command)
        elif about:
            command = _draw_option(key, kind, about)(command)
    command = cli.dir_option(command)
    for key, kind, default, _ in reversed(texts):  # An argument without an explanation is positional.
        command = _draw_argument(key, kind, required=default is Parameter.empty and made.of != "run")(command)
    if made.of == "run":  # If a text follows, the run must be named.
        command = click.argument("run", required=bool(texts), shell_complete=cli.complete_run)(command)
    drawn: click.Command = cli.bough_command(*made.examples, cls=DrawnCommand, help=made.about)(command)
    return drawn


def _draw_option(key: str, kind: Any, about: str) -> Callable[[Any], Any]:
    name = NAMES.get(key, f"--{key.replace('_', '-')}")
    if kind is bool:
        return cli.flag(name, about)
    return cli.option(name, METAVARS.get(key, key.upper()), about, to=key, multiple=get_origin(kind) is tuple)


def _draw_argument(key: str, kind: Any, *, required: bool) -> Callable[[Any], Any]:
    if get_origin(kind) is Literal:
        return click.argument(key, type=click.Choice(get_args(kind)), required=required)
    several = bool({*get_args(kind)} - {str})
    metavar = f"{METAVARS[key]}{'...' * several}" if key in METAVARS and key != "task" else None
    return click.argument(key, metavar=metavar, nargs=-1 if several else 1, required=required)


def add_drawn(group: click.Group, **before: Before) -> None:
    """Add to a group the commands of the operations that belong below it."""
    for made in OPERATIONS.values():
        above, _, below = made.command.partition(" ")
        if above == group.name:
            group.add_command(draw_command(made.name, before.get(made.name)), below)


class DrawnCommand(cli.BoughCommand):
    """A command that answers an unknown option with the operation's own error, which is the same in all interfaces."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            words, key = ctx.command_path.partition(" ")[2], error.option_name.strip("-").replace("-", "_")
            made = next(made for made in OPERATIONS.values() if words in (made.command, made.name))
            if key not in {one for one, *_ in made.arguments}:
                made.read({key: ""})
            raise


def print_operation(result: OperationResult, as_json: bool) -> None:
    from bough.interfaces.terminal.output import make_output, print_changes

    if as_json:
        print_json(result.facts)
        return
    follow = f" {result.next.capitalize()} it with `bough {result.next} {result.facts['run']}`." if result.next else ""
    page = make_output()
    if "\n" in result.said:  # `said` is a list with one entry per line, or the text of a file: do not wrap its lines.
        page.text(result.said)
    else:
        page.paragraph(text=f"{result.said}{follow}")
    if commands := result.facts.get("commands"):
        page.line("")
        page.text("\n".join(f"  {line}" for line in commands), "bold")
    if files := result.facts.get("files"):
        print_changes(page, files)
