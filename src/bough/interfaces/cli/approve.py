"""`bough approve`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough.interfaces.cli.options import example, for_carrying_out, in_dir, run_argument, wait_for

if TYPE_CHECKING:
    from bough.app import Choices


@click.command(
    "approve",
    short_help="Allow or deny that a run changes existing tests.",
    epilog=example("bough approve", "bough approve amber-heron --deny --say 'Keep round() as it is.'"),
)
@run_argument
@in_dir
@click.option("--deny", is_flag=True, help="Do not allow it: the agent is told, and goes on.")
@click.option("--say", default="", metavar="TEXT", help="What the agent hears with --deny.")
@for_carrying_out
@click.option("--apply", "apply", is_flag=True, help="When it is completed, bring the changes into your files.")
def command(run: str | None, folder: Path, deny: bool, say: str, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Allow or deny that a run changes existing tests.

    A run waits for you (exit status 5) when tests as they were before it do not pass on the new code and nothing in
    the goal demands that. `bough status` shows each test with what it expected and what it expects now. The run is
    resumed with your answer.
    """
    from bough.app import Choices

    if say and not deny:
        raise click.UsageError("--say goes with --deny: what is allowed needs no words")
    return wait_for(_approve(run, folder, not deny, say, Choices(**chosen), apply, as_json))


async def _approve(
    run: str | None, folder: Path, allow: bool, say: str, choices: Choices, apply: bool, as_json: bool
) -> int:
    from bough.app import session
    from bough.interfaces.cli.carry import make_display
    from bough.interfaces.cli.resume import go_on

    display = make_display(as_json)
    async with session(folder) as opened:
        name = await opened.find(run)
        tests = await opened.rule_on_changes(name, allow=allow, say=say)
        display.notice(f"{'Allowed' if allow else 'Not allowed'}: {', '.join(tests)}")
        return await go_on(opened, name, display, choices, apply, as_json)
