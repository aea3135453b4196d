"""`bough-optimise planner`"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough import app
from bough.core.errors import BoughError
from bough.interfaces.cli.options import bough_command, dir_option, json_option, option
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.core.budget.limits import Spend
    from bough_optimise.planner import Comparison

CALLS = 40


@bough_command("bough-optimise planner", "bough-optimise planner --model anthropic:MODEL --calls 100")
@click.argument("what", type=click.Choice(["planner"]))
@dir_option
@option("--model", "M", "The model to optimise for (default: as for a run).")
@option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
@option(
    "--calls",
    "N",
    "Model calls the search may make for each prompt.",
    click.IntRange(min=4),
    default=CALLS,
    show_default=True,
)
@json_option("The comparison as JSON.")
async def command(what: str, folder: Path, model: str | None, base_url: str | None, calls: int, as_json: bool) -> int:
    """Learn better planning prompts from the runs of this project.

    Optimises two prompts: the gate, which estimates the size of a goal, and the planner, which splits it into steps.
    DSPy searches for guidance whose answers better match what your completed runs actually took: rounds, steps and
    changed files. The plain and the optimised prompt are then compared on held-out runs, and the comparison is printed.
    Better guidance is saved in .bough/optimised.json; runs use it only once you set `prompts = "optimised"` under
    [planning] in bough.toml.

    This calls the model, which may cost money.
    """
    from bough_optimise.planner import optimise_planner

    def tell(words: str) -> None:
        if not as_json:
            sys.stdout.write(f"{words} …\n")
            sys.stdout.flush()

    choices = app.Choices(model=model, base_url=base_url)
    async with app.open_session(folder, choices=choices) as opened:
        found, spend = await optimise_planner(opened, choices, calls, tell)
    if as_json:
        print_json({"comparisons": [_table(each) for each in found], "calls": spend.rounds, "tokens": spend.tokens})
    else:
        sys.stdout.write("\n" + "\n".join(_lines(found, spend)) + "\n")
    return 0


def _table(found: "Comparison") -> dict[str, object]:
    plain, optimised = found.means
    return {
        "helper": found.helper,
        "model": found.model,
        "learned_from": found.learned_from,
        "compared_on": found.compared_on,
        "plain": round(plain, 3),
        "optimised": round(optimised, 3),
        "better": found.better,
        "guidance": found.guidance,
        "why_not": found.why_not,
    }


def _lines(found: "list[Comparison]", spend: "Spend") -> list[str]:
    from bough.views.formatting import format_money, pluralize

    lines = []
    for each in found:
        if each.why_not:
            lines.append(f"{each.helper}: not optimised: {each.why_not}.")
            continue
        plain, optimised = each.means
        runs = f"on {pluralize(len(each.compared_on), 'held-out run')}"
        lines.append(f"{each.helper}: plain {plain:.2f}, optimised {optimised:.2f} of 1, {runs} ({each.model})")
        for run, before, after in zip(each.compared_on, each.plain, each.optimised, strict=True):
            lines.append(f"  {run:<24} {before:.2f} → {after:.2f}")
        if not each.better:
            lines.append("  The plain prompt stays: nothing scored better.")
    cost = "" if spend.unpriced else f" · {format_money(spend.cost)}"
    lines.append(f"{pluralize(spend.rounds, 'call')} · {spend.tokens:,} tokens{cost}")
    if any(each.better for each in found):
        lines.append(
            'Saved in .bough/optimised.json. Runs use it once `prompts = "optimised"` is set under [planning].'
        )
    return lines


def main() -> None:
    try:
        sys.exit(command.main(prog_name="bough-optimise", standalone_mode=False))
    except BoughError as error:
        click.echo(f"bough-optimise: {error}", err=True)
        sys.exit(error.exit_status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
