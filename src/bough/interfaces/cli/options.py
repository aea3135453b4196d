"""What commands have in common: options, arguments, opening the project, printing."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def dir_option(command: F) -> F:
    """`--dir D`, and where its journal is"""
    command = click.option(
        "--store",
        metavar="URL",
        expose_value=False,
        # For this process and those it starts.
        callback=lambda ctx, option, value: os.environ.update(BOUGH_STORE=value) if value else None,
        help="The journal in PostgreSQL: postgresql://USER@HOST/DATABASE (default: in the project's .bough).",
    )(command)
    return click.option(
        "--dir",
        "folder",
        metavar="D",
        default=".",
        show_default=True,
        type=click.Path(path_type=Path),
        help="The project, or a folder in it.",
    )(command)


def json_option(help: str) -> Callable[[F], F]:
    """`--json`"""
    return click.option("--json", "as_json", is_flag=True, help=help)


def run_argument(command: F) -> F:
    """`[RUN]`: a name, the beginning of one, or `latest`."""
    return click.argument("run", required=False, shell_complete=complete_run)(command)


def complete_run(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The project's runs whose names start with `incomplete`, newest first. Errors are not shown to a shell."""
    from bough.app import open_journal
    from bough.core.errors import BoughError

    async def names() -> list[str]:
        async with open_journal(ctx.params.get("folder") or ".") as opened:
            return await opened.store.runs()

    try:
        return [name for name in reversed(run_to_end(names())) if name.startswith(incomplete)]
    except (BoughError, OSError):
        return []


def task_argument(command: F) -> F:
    return click.argument("task", required=False)(command)


class BoughCommand(click.Command):
    """A command whose function may be a coroutine."""

    def invoke(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        with click.core.augment_usage_errors(ctx):  # As click does for functions: the error names this command's help.
            return run_to_end(result) if isinstance(result, Coroutine) else result


class BoughGroup(click.Group):
    """Commands below one command; their functions may be coroutines, too."""

    command_class = BoughCommand


def bough_command(*examples: str, cls: type[click.Command] = BoughCommand) -> Callable[[Callable[..., Any]], Any]:
    """A command with examples of its use. Its name and its line in the list are in `entry`."""
    return click.command(cls=cls, epilog=format_example(*examples))


def format_example(*lines: str) -> str:
    """An epilog that keeps its lines."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def add_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options at once, in the order in which help lists them."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_models = add_options(
    click.option(
        "--model",
        metavar="M",
        help="provider:model, e.g. anthropic:claude-sonnet-4-5 or ollama:qwen3; append @URL for another endpoint; "
        "or the name of a preset in your settings.",
    ),
    click.option("--fast-model", metavar="M", help="For pruning, summaries and estimates (default: --model)."),
    click.option("--strong-model", metavar="M", help="For the last repair and for stuck work (default: --model)."),
    click.option("--base-url", metavar="URL", help="Any OpenAI-compatible endpoint."),
    click.option(
        "--protocol",
        type=click.Choice(["auto", "tools", "text"]),
        help="How models act: tool calls, blocks in their text, or auto-detected (auto, the default).",
    ),
    click.option(
        "--agent",
        metavar="A",
        help="Which agent does the work instead of bough's own: claude, codex, gemini, goose, opencode, or a "
        "command that speaks the Agent Client Protocol.",
    ),
    click.option("--strong-agent", metavar="A", help="The agent for the last repair and for stuck work."),
    click.option(
        "--agent-env",
        metavar="NAME",
        multiple=True,
        help="A variable to pass to the agent, such as its key; the commands it runs see it too.",
    ),
    click.option(
        "--agent-network",
        metavar="WHAT",
        help="Hosts the agent and its commands can reach (default: its vendor's; for a custom command: off).",
    ),
    click.option(
        "--trust-config",
        is_flag=True,
        help="Let this folder's settings raise limits, choose models and start MCP servers, from now on.",
    ),
)
_record = click.option(
    "--record",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Record the model's answers; replay:FILE plays them back.",
)
model_options = add_options(_models, _record, json_option("The plan as JSON."))
"""The options that choose models, for commands that run nothing."""
sandbox_options = add_options(
    click.option(
        "--sandbox",
        metavar="MODE",
        type=click.Choice(("auto", "namespaces", "landlock", "none")),
        help="How commands are confined (default: auto; none: they have all your permissions).",
    ),
    click.option(
        "--network",
        metavar="WHAT",
        help="What commands can reach: off (default), loopback, registries, allow:HOST,… or on.",
    ),
)
setup_option = click.option(
    "--setup",
    metavar="CMD",
    help="Run this in each private copy before its check, to install what the project needs (`npm ci`).",
)
checks_option = click.option(
    "--checks",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Checks that may run at once, however many agents work (default: one per processor).",
)


def work_options(each: str = "", cost: str = "Limit on cost in US dollars") -> Callable[[F], F]:
    """How one run works, or every run of a night (`each`: whose limits these are)."""
    return add_options(
        _models,
        click.option("--rounds", metavar="N", type=click.IntRange(1), help=f"Limit on rounds{each}."),
        click.option(
            "--max-tokens",
            "tokens",
            metavar="N",
            type=click.IntRange(0),
            help=f"Limit on tokens{each} (default: 150,000 per round; 0: no limit).",
        ),
        click.option(
            "--max-cost",
            "cost",
            metavar="USD",
            type=click.FloatRange(0, min_open=True),
            help=f"{cost}; needs a known price for every model ([prices] in bough.toml).",
        ),
        click.option("--allow-unpriced", is_flag=True, help="Let --max-cost ignore calls without a known price."),
        click.option(
            "--max-minutes",
            "minutes",
            metavar="N",
            type=click.FloatRange(0, min_open=True),
            help=f"Limit on minutes of work{each}.",
        ),
        sandbox_options,
        setup_option,
        checks_option,
        click.option(
            "--accept-failing",
            is_flag=True,
            help="Tests that fail before the work may still fail after it; no others may.",
        ),
        click.option(
            "--workers/--no-workers",
            default=None,
            help="Run tasks on the workers of --store, or here (default: on workers if there are any).",
        ),
        click.option(
            "--lessons/--no-lessons",
            default=None,
            help="Tell runs what earlier ones proved, and keep what they prove (default: no): see `bough lessons`.",
        ),
        _record,
        json_option("One event per line, as it happens."),
    )


run_options = add_options(
    work_options(),
    click.option(
        "--wait-for-quota",
        is_flag=True,
        help="When the model's quota is exhausted, wait until it resets, then resume.",
    ),
    click.option(
        "--ask-later",
        is_flag=True,
        help="If stuck with nobody at the terminal, wait for `bough answer` instead of giving up.",
    ),
    click.option("--apply", is_flag=True, help="Apply the changes to your files when the run completes."),
)
"""How a run works, when it starts or resumes."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    import asyncio

    return asyncio.run(work)


def enable_gc() -> None:
    """Enable garbage collection in a long-running command, except for what is already loaded."""
    # What is loaded stays until the end: without this every full collection would go through it again, for 9 ms.
    gc.freeze()
    gc.enable()


def print_sentence(text: str) -> None:
    from bough.interfaces.terminal.output import make_output

    make_output().paragraph(text=text)


def print_result(as_json: bool, sentence: str, **facts: object) -> None:
    """What a command did: the facts for a program, or a sentence for a person."""
    if as_json:
        print_json(facts)
    else:
        print_sentence(sentence)


def print_json(document: object) -> None:
    import msgspec

    from bough.views.formatting import escape_json

    sys.stdout.write(escape_json(msgspec.json.format(msgspec.json.encode(document), indent=2)) + "\n")


def print_json_line(document: object) -> None:
    import msgspec

    from bough.views.formatting import escape_json

    sys.stdout.write(escape_json(msgspec.json.encode(document)) + "\n")
