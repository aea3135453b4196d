"""`bough plan`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, model_options, option
from bough.interfaces.cli.printing import print_json


@bough_command(
    'bough plan "Add undo and redo to the editor" --model anthropic:claude-sonnet-4-5',
    "bough plan --file goal.md --save plan.toml && bough run --workflow plan.toml",
)
@click.argument("goal", required=False)
@dir_option
@option("--file", "F", "Read the goal from a file; `-` is standard input.")
@option("--check", "CMD", "The command that proves the goal (default: the tests bough finds).")
@option("--max-depth", "N", "How deep the plan may be below the goal (default: 3).", click.IntRange(1, 3))
@option("--save", "F", "Write it as a workflow, to edit and run.", click.Path(path_type=Path, dir_okay=False))
@model_options
async def command(
    goal: str | None,
    folder: Path,
    file: str | None,
    check: str | None,
    save: Path | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Plan a goal without running it.

    A fast model estimates the size of the goal; if it is more than one piece of work, a planner splits it into steps,
    each with acceptance criteria and a check. The steps of a phase are planned when it starts. Nothing is run, and
    nothing in the project changes.
    """
    from bough.core.planning.plan import build_goal_step, count_leaves
    from bough.interfaces.cli.consent_prompt import ask_consent, warn_ignored
    from bough.interfaces.cli.run import read_goal
    from bough.interfaces.terminal.output import is_interactive, make_output
    from bough.interfaces.terminal.plan_tree import print_plan
    from bough.views.formatting import format_usage, pluralize

    step = build_goal_step(read_goal(goal, file, "plan"), check=check)
    choices = app.Choices(**chosen)
    ask = ask_consent if is_interactive() and not as_json else None
    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored, ask=ask) as opened:
        planned = await opened.plan(step, choices, app.RunObserver())
    if save is not None:
        from bough.core.workflow.writing import write_workflow

        save.write_text(write_workflow(planned.plan), encoding="utf-8")
    if as_json:
        print_json(planned)
        return
    whole, estimate = planned.plan.goal, planned.estimate
    if estimate is not None and estimate.reason:
        click.echo(f"{estimate.reason}\n")
    for refused in planned.refused:
        click.echo(f"A plan was rejected: {refused}")
    print_plan(make_output(), planned.plan, planned.requirements)
    steps = pluralize(count_leaves(whole), "piece") + " of work" if whole.steps else "one piece of work"
    click.echo(f"\n{steps}; planning used {format_usage(planned.spend)}.")
    click.echo(f"Written to {save}: `bough run --workflow {save}` runs it." if save else "")
