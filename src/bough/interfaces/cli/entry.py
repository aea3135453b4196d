"""Runs a command line and returns its exit status.

Every failure is reported as one sentence on standard error and by its exit status; a traceback is shown only on
request. Only the named command is loaded, so `bough --help` starts at once."""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from bough import __version__
from bough.core.errors import BoughError, explain_refusal

GROUPS = {
    "Begin": "demo doctor check run examine plan workflow backlog",
    "Watch": "runs show status report log stats serve export",
    "Take the work": "diff apply undo pr verify receipt recheck approve",
    "Talk to it": "say answer pause stop resume rewind",
    "Keep house": "rm prune trust config hooks completion",
    "Connect": "acp mcp worker workers",
}
"""The commands by purpose, as in the help. An operation that names a group is added at the group's end."""
COMMANDS = " ".join(GROUPS.values()).split()
_SHARED = {
    "begin": "demo doctor check plan",
    "watch": "runs show status report stats diff export",
    "house": "trust config completion",
    "run": "resume",
    "connect": "acp mcp serve worker workers",
    "evidence": "examine receipt recheck",
}
HOMES = {name: (module, name) for module, names in _SHARED.items() for name in names.split()}
"""The module and the function of commands that share a module; each other command is `command` of its own module."""

ABOUT = """\b
bough works on a goal in your repository with language models.
It works in a private copy and calls a task done only when a check that bough ran has passed.
Stop or kill it at any time: it resumes where it left off.
"""
FIRST = "The five to begin with: demo, run, show, diff, apply."
INTERRUPTED = 6
OPERATION = r'(?ms)^@operation\((.*?)^async def (\w+)\(.*?^    """([^"\n]*)'
COMMAND = r'(?s)def {}\((?:(?!\ndef |\nasync def |\n@).)*?\n    """([^"\n]*)'
COMPLETE = "_BOUGH_COMPLETE"
"""The variable by which a shell requests completions: `bash_complete`, `zsh_source` …"""


class CommandGroup(click.Group):
    """Knows all commands by name, and loads a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in list_groups().values() for name in commands]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name not in self.list_commands(ctx):
            return None
        module, function = HOMES.get(name, (name, "command"))
        if Path(__file__).with_name(f"{module}.py").exists():
            command: click.Command = getattr(import_module(f"bough.interfaces.cli.{module}"), function)
        else:  # The command is made from the operation of that name.
            from bough.interfaces.cli.drawn import draw_command

            command = draw_command(name)
        command.name, command.short_help = name, (command.help or "").partition("\n")[0]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from bough.core.textual.spelling import suggest_word

            close = suggest_word(args[0], self.list_commands(ctx))
            hint = f"did you mean `bough {close}`?" if close else "`bough --help` lists them."
            raise click.UsageError(f"There is no command `{args[0]}`: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{FIRST}\n")
        groups = list_groups()
        room = max(len(name) for commands in groups.values() for name in commands)
        for title, commands in groups.items():
            with formatter.section(title):
                # Align the texts of all groups in one column.
                formatter.write_dl([(f"{name:{room}}", about) for name, about in commands.items()])


def list_groups() -> dict[str, dict[str, str]]:
    """List every command under its heading, with the first line of its help, which is read from the source files:
    importing all commands would take longer than most commands do."""
    here = Path(__file__).parent
    groups = {title: dict.fromkeys(names.split(), "") for title, names in GROUPS.items()}
    drawn = {}
    for name, group, about in read_operations(here.parents[1] / "operations"):
        drawn[name] = about
        if group:
            groups.setdefault(group, {})[name] = about
    for commands in groups.values():
        for name in commands:
            module, function = HOMES.get(name, (name, "command"))
            own = here / f"{module}.py"
            said = re.search(COMMAND.format(function), own.read_text("utf-8")) if own.exists() else None
            commands[name] = said[1] if said else drawn[name]
    return groups


def read_operations(folder: Path) -> list[tuple[str, str, str]]:
    """Read the name, the group and the first line of the help of each operation in the source files of a folder."""
    sources = [file.read_text("utf-8") for file in sorted(folder.glob("*.py"))]
    found = [one for source in sources for one in re.findall(OPERATION, source)]
    return [(name, "".join(re.findall(r'\bgroup="([^"]+)"', how)), about) for how, name, about in found]


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    help=ABOUT,
    epilog='\b\nExample:\n  bough run "Make the tests pass" --check "pytest -q" --model anthropic:claude-sonnet-4-5',
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, option, value: ctx.obj.update(traceback=True) if value else None,
    help="Show where in bough an error happened.",
)
@click.version_option(__version__, prog_name="bough", message="%(prog)s %(version)s")
@click.pass_context
def bough(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        formatter = ctx.make_formatter()
        formatter.write(ABOUT.removeprefix("\b\n"))
        bough.format_commands(ctx, formatter)
        formatter.write("\n`bough COMMAND --help` shows details and an example.\n")
        click.echo(formatter.getvalue(), nl=False)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit status."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if COMPLETE in os.environ:  # The shell asks for completions of a word, or for the completion script.
        from click.shell_completion import shell_complete

        status: int = shell_complete(bough, {}, "bough", COMPLETE, os.environ[COMPLETE])
    else:
        status = _run_command(list(arguments))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # The reader of the output is gone.
            stream.flush()
    return status


def _open_streams() -> None:
    """Open standard streams that are closed: otherwise the next opened file would get their number, and our output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue
            opened = os.open(os.devnull, os.O_RDWR)  # `open` takes the lowest free number, which is `number`.
            setattr(sys, name, os.fdopen(opened, "r" if number == 0 else "w"))


def _run_command(arguments: list[str]) -> int:
    wishes: dict[str, bool] = {}
    try:
        with bough.make_context("bough", arguments, obj=wishes) as ctx:
            status: Any = bough.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        return 0  # A reader that has seen enough (`bough log | head`) is no error.
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as raised:  # noqa: BLE001 (the last resort: it is reported, with its exit status)
        refused = isinstance(raised, OSError) and explain_refusal(raised, str(raised.filename or ""), "do that")
        error = refused or raised
        if wishes.get("traceback"):
            sys.excepthook(type(raised), raised, raised.__traceback__)
        else:
            from bough.views.formatting import one_line

            with suppress(OSError):  # If nobody can read it, the exit status still reports the failure.
                print(f"bough: {one_line(_describe_error(error))}", file=sys.stderr)
        if isinstance(error, BoughError):
            return error.exit_status
        return error.exit_code if isinstance(error, click.ClickException) else 1
    return status if isinstance(status, int) else 0


def _describe_error(error: Exception) -> str:
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "bough"
        message = error.format_message()
        return message if message.endswith(("?", "them.")) else f"{message.rstrip('.')}: see `{path} --help`."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, BoughError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return "Out of memory (or `ulimit -v` is too low): give bough more memory, then try again."
    said = str(error) or "no message"
    return f"internal error: {type(error).__name__}: {said} (this is a bug; `bough --traceback …` shows where)."
