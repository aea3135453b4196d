"""`bough stats`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough import app
from bough.interfaces.cli.options import bough_command, json_option, run_argument
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.views.stats import Stats


@bough_command("bough stats", "bough stats amber-heron --json")
@run_argument
@json_option("The numbers as JSON.")
async def command(run: str | None, folder: Path, as_json: bool) -> int:
    """Show statistics: tasks, repairs, checks, time.

    For all runs of the project, or for one. Warns when the numbers suggest a change.
    """
    from bough.views.stats import KINDS, compute_stats

    async with app.open_journal(folder) as opened:
        names = [await opened.find(run)] if run is not None else await opened.store.runs()
        records = [record for name in names for record in await opened.store.read(name, kinds=KINDS)]
    made = compute_stats(records)
    if as_json:
        print_json(made)
    else:
        click.echo("\n".join(_render_lines(made, len(names))))
    return 0


def _render_lines(made: Stats, runs: int) -> list[str]:
    from bough.views.formatting import format_count, format_money, pluralize
    from bough.views.vocabulary import PATTERNS, RUNGS, describe_roles

    lines = [
        (
            f"{_format_part(made.completed, made.tasks)} tasks completed, in {pluralize(runs, 'run')} and "
            f"{pluralize(made.rounds, 'round')}"
        ),
        f"{_format_part(made.repaired, made.repairs)} repairs by bug hunters made the check pass",
        f"{_format_part(made.checks_not_found, made.checks)} tasks had no check",
        f"{_format_share(made.check_seconds, made.seconds)} of {made.seconds:.0f} s in checks",
        (
            f"{pluralize(made.disagreed, 'verdict')} that disagree with the original tests, "
            f"{pluralize(made.flaky, 'flaky test')}"
        ),
    ]
    if made.merges:
        without = f"{made.merged_without_model} of those resolved without a model"
        lines.append(f"{pluralize(made.merges, 'merge')}, {made.conflicts} with conflicts, {without}")
        price = f", {format_money(made.merge_cost)}" if made.merge_cost else ""
        rounds, tokens = pluralize(made.merge_rounds, "round"), f"{format_count(made.merge_tokens)} tokens"
        lines.append(f"merging took {made.merge_seconds:.0f} s, {rounds} and {tokens}{price}")
    if made.tokens_by_role:
        lines.append(f"tokens by role: {describe_roles(made.tokens_by_role)}")
    for what, counts, words in (("stuck work", made.signals, PATTERNS), ("rungs taken", made.rungs, RUNGS)):
        if said := [f"{words[name]} {format_times(counts[name])}" for name in words if name in counts]:
            lines.append(f"{what}: {', '.join(said)}")
    for tier, share in sorted(made.tiers.items()):
        cost = f", {share.cost:.2f} USD" if share.cost else ""
        times = f"the check passed {format_times(share.won)} after its work"
        won = "" if tier == "helpers" else f", {times if share.won else 'its work never passed a check'}"
        who = tier if tier == "helpers" else f"{tier} model"
        lines.append(f"{who}: {pluralize(share.rounds, 'round')}, {share.tokens:,} tokens{cost}{won}")
    if made.pruned:
        lines.append(f"{made.pruned:,} tokens pruned from conversations")
    if made.compacted:
        lines.append(f"{made.compacted:,} tokens saved by compaction")
    return lines + [f"! {warning}" for warning in made.warnings]


def format_times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _format_part(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({_format_share(part, whole)})" if whole else "")


def _format_share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
