"""How many bugs does an examiner find that the author's own tests do not see, and how many of its findings are wrong?

python bench/planted.py --verify                                          # hold the catalogue to its word; no model
python bench/planted.py --base-url http://127.0.0.1:8807/v1 --model m --results FILE --at-once 8
python bench/planted.py --results FILE --table                            # the table of what is there by now
python bench/planted.py --scripted --catalogue bench/planted/small.toml   # the machinery alone; seconds, no network

The results are one line a trial; what is there is not done again, so that a run can be stopped and gone on with.
"""

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from planted.trial import Ask, calling, forwarded, trial
from planted.works import CATALOGUE, Variant, Work, load, problems, variants


def scripted(work: Work) -> Ask:
    """An examiner who knows the catalogue, to try the machinery: one probe for each bug of the work, and one that is
    wrong; and a judge who drops what is contested."""

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        if any(tool["function"]["name"] == "rule" for tool in request["tools"]):
            return calling("rule", reason="The goal does not say so.", demanded=False)
        quote = next(line for line in work.goal.splitlines() if line.startswith("- "))[2:60]
        probes = [
            {
                "says": bug.id,
                "quote": quote,
                "text": f"{bug.shows.strip()}\n",
            }
            for bug in work.bugs
        ]
        wrong = {"says": "wrong", "quote": quote, "text": "assert False\n"}
        return calling("probe", probes=[*probes, wrong])

    return ask


async def run_to_end(chosen: list[Variant], args: argparse.Namespace) -> None:
    done = {row["variant"] for row in rows(args.results)}
    waiting = [variant for variant in chosen if variant.id not in done]
    at_once, total = asyncio.Semaphore(args.at_once), len(waiting)

    async def one(number: int, variant: Variant) -> None:
        async with at_once:
            ask = (
                scripted(variant.work)
                if args.scripted
                else forwarded(args.base_url, args.model, os.environ.get(args.key, ""), args.answers)
            )
            row = await trial(variant, ask)
            with args.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{number}/{total} {variant.id}: found {len(row['found'])} of {len(variant.bugs)}", flush=True)

    await asyncio.gather(*(one(number, variant) for number, variant in enumerate(waiting, 1)))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


def table(results: list[dict[str, Any]]) -> str:
    """As it came out."""
    planted = Counter(kind for row in results for kind in row["bugs"].values())
    found = Counter(row["bugs"][bug] for row in results for bug in row["found"])
    lines = ["| kind of bug | planted | found |", "| --- | --- | --- |"]
    lines += [f"| {kind} | {count} | {found[kind]} |" for kind, count in sorted(planted.items())]
    bugs, hit = sum(planted.values()), sum(found.values())
    upheld = sum(row["upheld"] for row in results)
    wrong = sum(len(row["wrong_upheld"]) for row in results)
    raised = sum(len(row["wrong"]) for row in results)
    building = sum(row["tokens_building"] for row in results)
    examining = sum(row["tokens_examining"] for row in results)
    lines += [
        f"| **all** | **{bugs}** | **{hit}** ({hit / max(bugs, 1):.0%}) |",
        "",
        f"{len(results)} examinations, {sum(row['questions'] for row in results)} questions, "
        f"{sum(row['probes'] for row in results)} probes: {sum(row['findings'] for row in results)} findings, of them "
        f"{raised} wrong; upheld {upheld}, of them {wrong} wrong ({wrong / max(upheld, 1):.0%}). "
        f"{sum(row['broken'] for row in results)} probes could not be run, "
        f"{sum(row['left_out'] for row in results)} were not asked for and not run.",
        f"Tokens: {building:,} to build (as few as an author can need), {examining:,} to examine "
        f"({examining / max(building, 1):+.0%}).",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="what is planted where")
    parser.add_argument("--verify", action="store_true", help="hold the catalogue to its word")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible endpoint")
    parser.add_argument("--model", default="model", help="the model's name there")
    parser.add_argument("--key", default="OPENAI_API_KEY", help="the variable that holds its key")
    parser.add_argument("--scripted", action="store_true", help="an examiner who knows the catalogue, without a model")
    parser.add_argument("--answers", type=Path, default=Path("planted-answers"), help="where answers are kept")
    parser.add_argument("--results", type=Path, default=Path("planted.jsonl"))
    parser.add_argument("--at-once", type=int, default=4, help="trials under way at once")
    parser.add_argument("--only", default="", help="variants whose name contains this")
    parser.add_argument("--table", action="store_true", help="print the table and do nothing else")
    args = parser.parse_args()
    if args.table:
        print(table(rows(args.results)))
        return 0
    works = load(args.catalogue)
    if args.verify:
        wrong = [problem for work in works for problem in problems(work)]
        print(
            "\n".join(wrong) or f"{sum(len(work.bugs) for work in works)} bugs in {len(works)} pieces of work: all hold"
        )
        return 1 if wrong else 0
    if not args.base_url and not args.scripted:
        parser.error("give --base-url, or --scripted")
    chosen = [variant for work in works for variant in variants(work) if args.only in variant.id]
    asyncio.run(run_to_end(chosen, args))
    print(table(rows(args.results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
