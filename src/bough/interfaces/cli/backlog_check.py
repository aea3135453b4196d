"""`bough backlog check`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, list_option, model_options
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.core.backlog.state import Backlog
    from bough.core.budget.limits import Spend


@bough_command("bough backlog check", "bough backlog check --fast-model openai:gpt-5-mini --json")
@dir_option
@list_option
@model_options
async def check(folder: Path, name: str, as_json: bool, **chosen: Any) -> int:
    """Review the goals before `bough backlog run` begins.

    A fast model reads each goal once and reports goals that are vague, contradictory, duplicate or too large; bough
    itself reports needs that are missing and goals without a check. At a terminal you can answer at once: your answer
    is added to the goal. The cost counts towards the limit of the next night (`bough backlog run`), which begins with
    the same review at a terminal, unless --no-review.

    Exit status: 0 when nothing was found, 8 when something waits for your answer.
    """
    from bough.core.errors import NotFound
    from bough.interfaces.cli.consent_prompt import ask_consent, warn_ignored
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.backlog import load_backlog
    from bough.services.backlog_review import review_goals
    from bough.services.permissions import list_barred

    choices, asks = app.Choices(**chosen), is_interactive() and not as_json
    async with app.open_session(
        folder, choices=choices, tell=warn_ignored, ask=ask_consent if asks else None
    ) as opened:
        backlog = await load_backlog(opened, name)
        if not backlog.items:
            raise NotFound(f"The backlog {name} is empty: add a goal with `bough backlog add GOAL`.")
        for goal, why in (await list_barred(opened, backlog)).items():
            click.echo(f"{goal} is not read: {why}", err=True)
        backlog, spend = await review_goals(opened, backlog, choices)
        left = await tell_findings(opened, backlog, spend, asks=asks, quiet=as_json)
    if as_json:
        print_json({"findings": left, "spend": spend})
    return 8 if left else 0


async def tell_findings(
    opened: app.Session, backlog: Backlog, spend: Spend, *, asks: bool, quiet: bool = False
) -> dict[str, Any]:
    """Show the findings, and, if `asks`, let the person answer them. Return the unanswered findings, by goal."""
    from msgspec import to_builtins
    from msgspec.structs import replace

    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import edit_goal
    from bough.services.backlog_review import add_answer
    from bough.views.formatting import first_sentence, format_usage, one_line, pluralize

    found = {item.name: item for item in backlog.items.values() if item.findings and not item.dropped and not item.run}
    left: dict[str, Any] = {}
    out = make_output()
    if not quiet and spend.rounds:
        said = pluralize(len(found), "goal") if found else "nothing"
        out.paragraph(text=f"The goals were read ({format_usage(spend)}): {said} to look at.")
    for item in found.values():
        goal, open_ = item.entry.goal, []
        if not quiet:
            out.line((item.name, "bold"), f"  {first_sentence(item.entry.title)}")
        for one in item.findings or ():
            if not quiet:
                out.line(("  ", ""), (one.kind, "yellow"), f": {one_line(one.says)}")
                out.flush()
            answer = ""
            if asks and one.question:
                answer = click.prompt(f"  {one_line(one.question)} (Enter: leave it)", default="", show_default=False)
            goal = add_answer(goal, one.question, answer) if answer.strip() else goal
            open_ += [] if answer.strip() else [to_builtins(one)]
        if goal != item.entry.goal:
            await edit_goal(opened, backlog, item, replace(item.entry, goal=goal))
        left |= {item.name: open_} if open_ else {}
    return left
