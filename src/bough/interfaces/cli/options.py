"""What commands have in common: options, arguments, and how they open the project."""

import gc
import os
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from bough import app

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


PROTOCOLS = click.Choice(["auto", "tools", "text"])
POSITIVE = click.FloatRange(0, min_open=True)


def option(
    name: str, metavar: str | None, help: str, type: Any = None, *, to: str = "", **more: Any
) -> Callable[[F], F]:
    """Add an option with a value. `to`: the parameter that gets the value, if its name differs."""
    return click.option(*filter(None, (name, to)), metavar=metavar, help=help, type=type, **more)


def flag(name: str, help: str, to: str = "", **more: Any) -> Callable[[F], F]:
    """Add an option without a value."""
    return click.option(*filter(None, (name, to)), is_flag=True, help=help, **more)


def dir_option(command: F) -> F:
    """Add `--dir D`, the project, and `--store URL`, where its journal is."""
    command = option(
        "--store",
        "URL",
        "The journal in PostgreSQL: postgresql://USER@HOST/DATABASE (default: in the project's .bough).",
        expose_value=False,
        # The variable holds for this process and for those that it starts.
        callback=lambda ctx, option, value: os.environ.update(BOUGH_STORE=value) if value else None,
    )(command)
    return option(
        "--dir",
        "D",
        "The project, or a folder in it.",
        click.Path(path_type=Path),
        to="folder",
        default=".",
        show_default=True,
    )(command)


def json_option(help: str) -> Callable[[F], F]:
    return flag("--json", help, "as_json")


def run_argument(command: F) -> F:
    """Add `[RUN]`, which is a run's name, its beginning, or `latest`, and `--dir D`."""
    return click.argument("run", required=False, shell_complete=complete_run)(dir_option(command))


def complete_run(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """List the project's runs whose names start with `incomplete`, newest first; errors give an empty list."""
    from bough.core.errors import BoughError

    async def names() -> list[str]:
        async with app.open_journal(ctx.params.get("folder") or ".") as opened:
            return await opened.store.runs()

    try:
        return [name for name in reversed(run_to_end(names())) if name.startswith(incomplete)]
    except (BoughError, OSError):
        return []


list_option = option("--list", "NAME", "Which backlog.", to="name", default="backlog", show_default=True)


task_argument = click.argument("task", required=False)


def open_run(command: F, opens: str = "open_session") -> F:
    """Add `[RUN]` and `--dir D`, and call the command with the opened project and the run's full name."""

    @wraps(command)
    async def opening(run: str | None, folder: Path, **said: Any) -> Any:
        async with getattr(app, opens)(folder) as opened:
            return await command(opened, await opened.find(run), **said)

    return run_argument(cast(F, opening))


look_at_run = partial(open_run, opens="open_journal")
"""Do the same as `open_run`, but open only the project's journal."""


class BoughCommand(click.Command):
    """A command whose function may be a coroutine."""

    def invoke(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        with click.core.augment_usage_errors(ctx):  # Usage errors then name this command, as for plain functions.
            return run_to_end(result) if isinstance(result, Coroutine) else result


class BoughGroup(click.Group):
    """A group of commands whose functions may be coroutines, too."""

    command_class = BoughCommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


def bough_command(*examples: str, cls: type[click.Command] = BoughCommand, **more: Any) -> Callable[[Any], Any]:
    """Make a command with examples of its use. Its name is that of its file."""
    return click.command(cls=cls, epilog=format_example(*examples), **more)


def format_example(*lines: str) -> str:
    """Return the examples as an epilog whose lines click does not wrap."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def add_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Add several options at once, in the order in which help lists them."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


model_option = option(
    "--model",
    "M",
    "provider:model, e.g. anthropic:claude-sonnet-4-5 or ollama:qwen3; append @URL for another endpoint; "
    "or the name of a preset in your settings.",
)
_own_models = add_options(
    model_option,
    option("--fast-model", "M", "For pruning, summaries and estimates (default: --model)."),
    option("--strong-model", "M", "For the last repair and for stuck work (default: --model)."),
    option(
        "--fallback-model",
        "M",
        "Who answers while a model is unavailable, overloaded or out of quota; repeat it for an order.",
        multiple=True,
    ),
    option("--base-url", "URL", "Any OpenAI-compatible endpoint."),
    option(
        "--protocol",
        None,
        "How models act: tool calls, blocks in their text, or auto-detected (auto, the default).",
        PROTOCOLS,
    ),
)
_trust = flag(
    "--trust-config", "Let this folder's settings raise limits, choose models and start MCP servers, from now on."
)
_models = add_options(
    _own_models,
    option(
        "--agent",
        "A",
        "Which agent does the work instead of bough's own: claude, codex, gemini, goose, opencode, or a "
        "command that speaks the Agent Client Protocol.",
    ),
    option("--strong-agent", "A", "The agent for the last repair and for stuck work."),
    option(
        "--agent-env",
        "NAME",
        "A variable to pass to the agent, such as its key; the commands it runs see it too.",
        multiple=True,
    ),
    option(
        "--agent-network",
        "WHAT",
        "Hosts the agent and its commands can reach (default: its vendor's; for a custom command: off).",
    ),
    _trust,
)
_record = option(
    "--record", "FILE", "Record the model's answers; replay:FILE plays them back.", click.Path(path_type=Path)
)
model_options = add_options(_models, _record, json_option("The plan as JSON."))
"""The options that choose models, for commands that run nothing."""
sandbox_options = add_options(
    option(
        "--sandbox",
        "MODE",
        "How commands are confined (default: auto; none: they have all your permissions).",
        click.Choice(("auto", "namespaces", "landlock", "none")),
    ),
    option("--network", "WHAT", "What commands can reach: off (default), loopback, registries, allow:HOST,… or on."),
)
setup_option = option(
    "--setup", "CMD", "Run this in each private copy before its check, to install what the project needs (`npm ci`)."
)
checks_option = option(
    "--checks",
    "N",
    "Checks that may run at once, however many agents work (default: one per processor).",
    click.IntRange(1, 1000),
)


def _limits(each: str = "", cost: str = "Limit on cost in US dollars") -> Callable[[F], F]:
    return add_options(
        option("--rounds", "N", f"Limit on rounds{each}.", click.IntRange(1)),
        option(
            "--max-tokens",
            "N",
            f"Limit on tokens{each} (default: 150,000 per round; 0: no limit).",
            click.IntRange(0),
            to="tokens",
        ),
        option(
            "--max-cost",
            "USD",
            f"{cost}; needs a known price for every model ([prices] in bough.toml).",
            POSITIVE,
            to="cost",
        ),
        flag("--allow-unpriced", "Let --max-cost ignore calls without a known price."),
        option("--max-minutes", "N", f"Limit on minutes of work{each}.", POSITIVE, to="minutes"),
    )


def work_options(each: str = "", cost: str = "Limit on cost in US dollars") -> Callable[[F], F]:
    """Add the options of one run, or of every run of a backlog. `each`: words that say whose limits these are."""
    return add_options(
        _models,
        _limits(each, cost),
        sandbox_options,
        setup_option,
        checks_option,
        flag("--accept-failing", "Tests that fail before the work may still fail after it; no others may."),
        click.option(
            "--workers/--no-workers",
            default=None,
            help="Run tasks on the workers of --store, or here (default: on workers if there are any).",
        ),
        _record,
        json_option("One event per line, as it happens."),
    )


run_options = add_options(
    work_options(),
    flag("--wait-for-quota", "When the model's quota is exhausted, wait until it resets, then resume."),
    flag("--ask-later", "If stuck with nobody at the terminal, wait for `bough answer` instead of giving up."),
    flag("--apply", "Apply the changes to your files when the run completes."),
)
"""The options of a command that starts or resumes a run."""
judging_options = add_options(
    _own_models,
    _trust,
    _limits(),
    sandbox_options,
    setup_option,
    checks_option,
    _record,
    json_option("One event per line, as it happens."),
    flag("--wait-for-quota", "When the model's quota is exhausted, wait until it resets, then resume."),
)
"""The options of a run that only judges work, without agents."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    import asyncio

    return asyncio.run(work)


def enable_gc() -> None:
    """Enable garbage collection, for long-running commands, except for what is already loaded."""
    # What is loaded stays until the end: without `freeze` every full collection would traverse it again, for 9 ms.
    gc.freeze()
    gc.enable()
