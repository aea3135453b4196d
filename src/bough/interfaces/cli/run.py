"""`bough run`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough.interfaces.cli.options import example, for_carrying_out, in_dir, wait_for

if TYPE_CHECKING:
    from bough.app import Choices
    from bough.core.plan import Step


@click.command(
    "run",
    short_help="Carry out a goal in a private workspace.",
    epilog=example(
        'bough run "Make the tests pass" --check "pytest -q" --model anthropic:claude-sonnet-4-5',
        "bough run --file goal.md --check 'make test' --rounds 60 --max-cost 2",
    ),
)
@click.argument("goal", required=False)
@in_dir
@click.option("--file", "file", metavar="F", help="Read the goal from a file; `-` is standard input.")
@click.option("--check", metavar="CMD", help="The command that proves the goal (default: the tests that are found).")
@click.option(
    "--max-depth",
    metavar="N",
    type=click.IntRange(0, 3),
    help="How deep the tree may grow below the goal (0: the goal is never split; default: 3).",
)
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), help="Agents that may work at once (default: 1).")
@click.option("--flat", is_flag=True, default=None, help="Begin it as one piece of work, without a plan.")
@click.option("--yes", is_flag=True, help="Take the plan that is proposed, without asking.")
@for_carrying_out
@click.option("--apply", "apply", is_flag=True, help="When it is completed, bring the changes into your files.")
def command(
    goal: str | None,
    folder: Path,
    file: str | None,
    check: str | None,
    apply: bool,
    yes: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Carry out a goal in a private workspace.

    A fast model estimates how big the goal is; a large one is planned first, and you are asked about the plan. Then
    models work on copies of the project with real tools; your files stay as they are until you say `bough apply`.
    bough itself runs the check and calls the goal done only when it passes; when it fails, the failure goes back for
    repair, up to three times.

    Ctrl-C stops after the current effect, twice stops now; `bough resume` goes on, also after a crash.

    Exit status: 0 completed and verified, 3 gave up, 4 budget spent, 5 finished but not verified, 6 stopped, 7 the
    model was not to be had; 2 wrong usage, 1 an internal error.
    """
    from bough.app import Choices
    from bough.core.plan import goal_step

    step = goal_step(read_goal(goal, file, "run"), check=check)
    return wait_for(_run(step, folder, Choices(**chosen), apply, yes, as_json))


def read_goal(goal: str | None, file: str | None, name: str) -> str:
    """The goal of a command, given in words or as a file."""
    if (goal is None) == (file is None):
        both = "GOAL and --file are both given: say it once" if goal is not None else "no goal is given"
        raise click.UsageError(f"{both}; write `bough {name} GOAL`, or `bough {name} --file F`")
    if goal is not None:
        return goal
    try:
        return sys.stdin.read() if file == "-" else Path(str(file)).read_text("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{file} is not a text file in UTF-8") from None
    except OSError as error:
        raise click.UsageError(f"the goal cannot be read from {file}: {error.strerror}") from None


async def _run(step: Step, folder: Path, choices: Choices, apply: bool, yes: bool, as_json: bool) -> int:
    from bough.app import session
    from bough.interfaces.cli.carry import carry, make_display
    from bough.interfaces.cli.ending import ending
    from bough.interfaces.cli.person import somebody_there

    display = make_display(as_json)
    async with session(folder, create=True) as opened:
        asked = None if as_json or yes or not somebody_there() else step
        outcome = await carry(opened, display, lambda watch: opened.start(step, choices, watch), asked)
        return await ending(opened, outcome, apply=apply, as_json=as_json)
