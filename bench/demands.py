"""Does a model's reading of a goal give the right requirements? Whoever answers at the address is the model.

    python -m bench.demands --base-url URL --model M [--json FILE]

The forty goals of tests/core/demands.toml, each asked about as `bough plan` asks, in an empty project. Right is the
same passages as the label's, in order.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
from pathlib import Path

from tests.core.test_demands import GOALS, list_labels, strip

from bough import app
from bough.core.planning.plan import build_goal_step


async def read(project: Path, text: str, model: str, base_url: str) -> list[str]:
    choices = app.Choices(model=model, base_url=base_url)
    async with app.open_session(project, create=True, choices=choices) as session:
        planned = await session.plan(build_goal_step(text), choices, app.RunObserver())
    return [strip(one.text) for one in planned.requirements]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        for goal in GOALS:
            got = asyncio.run(read(project, goal["text"], f"openai:{args.model}", args.base_url))
            found.append({"text": goal["text"], "label": list_labels(goal), "read": got})
            if args.json:
                args.json.write_text(json.dumps(found, indent=1))
            print("right" if got == list_labels(goal) else "WRONG", goal["text"][:100].replace("\n", " "), flush=True)
    print(f"{sum(one['label'] == one['read'] for one in found)} of {len(found)} right")


if __name__ == "__main__":
    main()
