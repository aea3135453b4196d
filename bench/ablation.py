"""Which of bough's answers to being stuck help and which do not: one fallible model, one mechanism more in each arm.

    python bench/ablation.py --goals 25 --seed 1 --json FILE
    python bench/ablation.py --goals 10 --only flat,ladder --settings foggy,careless

The model is a server on loopback that fails in known ways at known rates; everything else is real: bough's client,
engine, journal, git workspaces, sandbox and checks. What is measured, and how to read it:
bench/results/2026-11-16-ablation.md.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median

from fallible.numbers import Comparison, compared, mean_interval, wilson
from fallible.rates import SETTINGS
from fallible.trial import ARMS, Result, Unit, key_of, run_to_end

Grouped = dict[str, list[Result]]
"""Results of one setting by arm, each in the order of the goals."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = _parser().parse_args(arguments)
    arms = _known(chosen.only, [arm.name for arm in ARMS], "arm")
    settings = _known(chosen.settings, list(SETTINGS), "setting")
    units = [
        Unit(setting, number, chosen.seed, chosen.rounds) for number in range(chosen.goals) for setting in settings
    ]
    began = time.perf_counter()
    results = _carried_out(units, arms, chosen)
    alone = sum(not result.same_as for result in results)
    print(
        f"{chosen.goals} goals of {_sizes(results)} functions, seed {chosen.seed}, {chosen.rounds} rounds each. "
        f"{len(results)} results from {alone} runs ({time.perf_counter() - began:.0f} s).\n"
    )
    for setting in settings:
        print(f"### {setting}: {SETTINGS[setting][1]}\n")
        print(report(_grouped(results, setting, arms)))
    wrongly = [result for result in results if not result.rightly]
    if wrongly:
        sys.exit(f"{len(wrongly)} runs were called completed although the goal's tests fail.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goals", type=int, default=20, help="how many goals; each is tried in every arm and setting")
    parser.add_argument("--seed", type=int, default=1, help="of the goals and of the model")
    parser.add_argument("--rounds", type=int, default=40, help="the budget of each run, helpers' calls included")
    parser.add_argument("--only", default="", help=f"arms, with commas: {', '.join(arm.name for arm in ARMS)}")
    parser.add_argument("--settings", default="", help=f"with commas: {', '.join(SETTINGS)}")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time; results do not depend on it")
    parser.add_argument("--again", action="store_true", help="run every arm, also where it must come out the same")
    parser.add_argument("--json", type=Path, help="keep every single result here, and go on from what is there")
    return parser


def _known(wanted: str, names: list[str], what: str) -> list[str]:
    chosen = [name for name in wanted.split(",") if name] or names
    for name in chosen:
        if name not in names:
            sys.exit(f"There is no {what} {name!r}; there are {', '.join(names)}.")
    return [name for name in names if name in chosen]


def _carried_out(units: Sequence[Unit], arms: Sequence[str], chosen: argparse.Namespace) -> list[Result]:
    """All results. They are kept as they come, so that an interrupted benchmark can go on."""
    kept = {key_of(result): result for result in _kept(chosen.json)}
    wanted = {(unit, arm) for unit in units for arm in arms}
    left = [unit for unit in units if any((unit, arm) not in kept for arm in arms)]
    with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_to_end, unit, tuple(arms), chosen.again) for unit in left]):
            kept |= {key_of(result): result for result in future.result()}
            if chosen.json:
                chosen.json.write_text(json.dumps([asdict(result) for result in kept.values()], indent=1))
            print(
                f"\r{sum(key in wanted for key in kept)} of {len(wanted)} results", end="", file=sys.stderr, flush=True
            )
    print(file=sys.stderr)
    return [kept[key] for key in sorted(wanted, key=lambda key: (key[0].number, key[0].setting, arms.index(key[1])))]


def _kept(path: Path | None) -> list[Result]:
    return [Result(**fields) for fields in json.loads(path.read_text())] if path and path.exists() else []


def _grouped(results: Iterable[Result], setting: str, arms: Sequence[str]) -> Grouped:
    of = [result for result in results if result.setting == setting]
    return {arm: sorted((r for r in of if r.arm == arm), key=lambda r: r.number) for arm in arms}


# ── the tables ──────────────────────────────────────────────────────────────────────────────────────────────────


def report(grouped: Grouped) -> str:
    """Both tables of one setting, as Markdown."""
    head = [
        "arm",
        "completed",
        "95 %",
        "rounds: median",
        "mean",
        "95 %",
        "rounds a success",
        "k tokens",
        "ended",
        "rungs",
    ]
    rows = [_arm(arm, results) for arm, results in grouped.items()]
    pairs = [*pairwise(grouped)]
    ends = (next(iter(grouped)), next(reversed(grouped)))
    if len(pairs) > 1:
        pairs.append(ends)
    beside = ["compared, goal by goal", "only first", "only second", "difference", "95 %", "McNemar p", "completion"]
    beside += ["rounds", "95 %"]
    second = [_pair(a, b, compared(_outcomes(grouped[a]), _outcomes(grouped[b]))) for a, b in pairs]
    return f"{_table(head, rows)}\n{_table(beside, second)}\n" if second else f"{_table(head, rows)}\n"


def _arm(arm: str, results: Sequence[Result]) -> list[str]:
    hits, total = sum(result.completed for result in results), len(results)
    low, high = wilson(hits, total)
    rounds = [float(result.rounds) for result in results]
    least, most = mean_interval(rounds)
    ended = Counter(result.status for result in results)
    rungs: Counter[str] = Counter()
    for result in results:
        rungs.update(result.rungs)
    return [
        arm,
        f"{hits}/{total} = {hits / total:.0%}",
        f"{low:.0%}–{high:.0%}",
        f"{median(rounds):.0f}",
        f"{fmean(rounds):.1f}",
        f"{least:.1f}–{most:.1f}",
        f"{sum(rounds) / hits:.0f}" if hits else "–",
        f"{fmean(result.tokens for result in results) / 1000:.0f}",
        ", ".join(f"{count} {status}" for status, count in ended.most_common()),
        ", ".join(f"{rung} {count}" for rung, count in rungs.most_common()),
    ]


def _pair(first: str, second: str, found: Comparison) -> list[str]:
    share, low, high = found.share
    rounds, least, most = found.rounds
    return [
        f"{first} → {second}",
        str(found.lost),
        str(found.gained),
        f"{share:+.0%}",
        f"{low:+.0%} to {high:+.0%}",
        f"{found.p:.3f}",
        found.says,
        f"{rounds:+.1f}",
        f"{least:+.1f} to {most:+.1f}",
    ]


def _outcomes(results: Sequence[Result]) -> list[tuple[bool, int]]:
    return [(result.completed, result.rounds) for result in results]


def _sizes(results: Sequence[Result]) -> str:
    sizes = sorted({result.size for result in results})
    return f"{sizes[0]} to {sizes[-1]}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
