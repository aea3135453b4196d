"""`bough stats`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough.interfaces.cli.options import as_json, example, in_dir, print_json, run_argument, wait_for

if TYPE_CHECKING:
    from bough.interfaces.stats import Stats


@click.command(
    "stats",
    short_help="Show statistics: tasks, repairs, checks, time.",
    epilog=example("bough stats", "bough stats amber-heron --json"),
)
@run_argument
@in_dir
@as_json("The numbers as JSON.")
def command(run: str | None, folder: Path, as_json: bool) -> int:
    """Show statistics: tasks, repairs, checks, time.

    For all runs of the project, or for one. Warns when the numbers suggest a change.
    """
    return wait_for(_stats(run, folder, as_json))


async def _stats(run: str | None, folder: Path, as_json: bool) -> int:
    from bough.app import journal
    from bough.interfaces.stats import KINDS, stats

    async with journal(folder) as opened:
        names = [await opened.find(run)] if run is not None else await opened.store.runs()
        records = [record for name in names for record in await opened.store.read(name, kinds=KINDS)]
    made = stats(records)
    if as_json:
        print_json(made)
    else:
        click.echo("\n".join(_lines(made, len(names))))
    return 0


def _lines(made: Stats, runs: int) -> list[str]:
    from bough.interfaces.terminal.lines import PATTERNS, ROLES, RUNGS
    from bough.interfaces.terminal.words import count, many, money

    lines = [
        f"{_of(made.completed, made.tasks)} tasks completed, in {many(runs, 'run')} and {many(made.rounds, 'round')}",
        f"{_of(made.repaired, made.repairs)} repairs by bug hunters made the check pass",
        f"{_of(made.checks_not_found, made.checks)} tasks had no check",
        f"{_share(made.check_seconds, made.seconds)} of {made.seconds:.0f} s in checks",
        f"{many(made.disagreed, 'verdict')} with which original tests disagreed, {many(made.flaky, 'flaky test')}",
    ]
    if made.merges:
        without = f"{made.merged_without_model} of those without a model"
        lines.append(f"{many(made.merges, 'merge')}, {made.conflicts} with conflicts, {without}")
        price = f", {money(made.merge_cost)}" if made.merge_cost else ""
        rounds, tokens = many(made.merge_rounds, "round"), f"{count(made.merge_tokens)} tokens"
        lines.append(f"merging took {made.merge_seconds:.0f} s, {rounds} and {tokens}{price}")
    if made.tokens_by_role:
        ordered = sorted(made.tokens_by_role.items(), key=lambda each: -each[1])
        counted = ", ".join(f"{count(tokens)} {ROLES.get(role, role.replace('_', ' '))}" for role, tokens in ordered)
        lines.append(f"tokens by role: {counted}")
    if made.signals:
        counted = ", ".join(
            f"{words} {times(made.signals[name])}" for name, words in PATTERNS.items() if name in made.signals
        )
        lines.append(f"work that did not move: {counted}")
    if made.rungs:
        counted = ", ".join(f"{words} {times(made.rungs[name])}" for name, words in RUNGS.items() if name in made.rungs)
        lines.append(f"what bough did about it: {counted}")
    for tier, share in sorted(made.tiers.items()):
        cost = f", {share.cost:.2f} USD" if share.cost else ""
        won = "" if tier == "helpers" else f", {times_passed(share.won)}"
        who = tier if tier == "helpers" else f"{tier} model"
        lines.append(f"{who}: {many(share.rounds, 'round')}, {share.tokens:,} tokens{cost}{won}")
    if made.pruned:
        lines.append(f"{made.pruned:,} tokens pruned from conversations")
    if made.compacted:
        lines.append(f"{made.compacted:,} tokens saved by compaction")
    return lines + [f"! {warning}" for warning in made.warnings]


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def times_passed(count: int) -> str:
    return f"the check passed {times(count)} after its work" if count else "no check passed after its work"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({_share(part, whole)})" if whole else "")


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
