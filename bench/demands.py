"""Does a model's reading of a goal give the right requirements? Whoever answers at the address is the model.

    python -m bench.demands --base-url URL --model M [--json FILE] [--goals bench/demands_blind.toml]

The forty goals of tests/core/demands.toml, each asked about as `bough plan` asks, in an empty project. Right is the
same passages as the label's, in order. With `--goals`, those of another file: there a label may have other cuts that
are as right (`or`), and a passage is the same if one contains the other: whoever labels these knows no reader's edges.
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tests.core.test_demands import GOALS, list_labels, strip

from bough import app
from bough.core.planning.plan import build_goal_step


async def read(project: Path, text: str, model: str, base_url: str) -> list[str]:
    choices = app.Choices(model=model, base_url=base_url)
    async with app.open_session(project, create=True, choices=choices) as session:
        planned = await session.plan(build_goal_step(text), choices, app.RunObserver())
    return [strip(one.text) for one in planned.requirements]


def is_right(goal: dict[str, Any], got: list[str], exactly: bool) -> bool:
    if exactly:
        return got == list_labels(goal)
    cuts = [[strip(one) for one in cut] for cut in (goal["demands"], *goal.get("or", ()))]
    return any(len(cut) == len(got) and all(a in b or b in a for a, b in zip(cut, got, strict=True)) for cut in cuts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--goals", type=Path, help="another file of goals")
    args = parser.parse_args()
    found = []
    goals = tomllib.loads(args.goals.read_text())["goal"] if args.goals else GOALS
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        for goal in goals:
            got = asyncio.run(read(project, goal["text"], f"openai:{args.model}", args.base_url))
            right = is_right(goal, got, not args.goals)
            found.append({"text": goal["text"], "label": list_labels(goal), "read": got, "right": right})
            if args.json:
                args.json.write_text(json.dumps(found, indent=1))
            print("right" if right else "WRONG", goal["text"][:100].replace("\n", " "), flush=True)
    print(f"{sum(one['right'] for one in found)} of {len(found)} right")


if __name__ == "__main__":
    main()
