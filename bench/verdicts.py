"""The tables of sabotage and of honest work, case by case: what the verdict says, and how long the run took.

    python -m bench.verdicts [--table TABLE] [--only TEXT] [--cases FILE] [--jobs N] [--json FILE] [--lazy]
    python -m bench.verdicts --examiner qwen@http://127.0.0.1:8000/v1 …    a real model examines and judges

Each case is a whole run (real files, workspaces, processes, checks); only the model is scripted.
Its examiner runs what the case calls neutral; with `--lazy` it writes no probe at all. With `--costume NAME`, the cases
that fit this costume (`tests/verification/costumes.py`) run in it.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.verification.cases import Case, load, play, search_path
from tests.verification.costumes import COSTUMES, dress

from bough.adapters.models.providers import make_model
from bough.adapters.models.wire import Client
from bough.core.acceptance.examination import OWN_TEST
from bough.core.messages import Answer, Prompt

OLDER = ("sabotage", "honest", "tricks", "tricks_honest", "tricks_later", "tricks_later_honest")
TABLES = (*OLDER, "blind_tricks", "blind_honest", "blind_noops")


def ask(address: str, prompt: Prompt) -> Awaitable[Answer]:
    """Ask a real model, whose gate and connections last for this question."""
    name, _, url = address.partition("@")
    model = make_model(f"openai:{name}", base_url=url, client=Client(), timeout=120, env={"OPENAI_API_KEY": "none"})
    return model.ask(prompt, lambda _: None)


def one(name: str, case: Case, address: str) -> dict[str, Any]:
    os.environ |= {"PATH": search_path(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ["BOUGH_SANDBOX_ENV"] = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    if program := case.needs():
        return {"case": name, "skipped": program}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcome, _ = play(case, Path(folder), examiner=partial(ask, address) if address else None)
        verdict = outcome.tree[0].verdict  # none: it ended before any work
    return {
        "case": name,
        "completed": outcome.completed,
        "exit": outcome.exit_status,
        "ruling": verdict.ruling if verdict is not None else outcome.status,
        "reason": verdict.reason if verdict is not None else outcome.summary,
        "alone": OWN_TEST in outcome.summary,
        "tests": [one.test for one in verdict.disagreements] if verdict is not None else [],
        "seconds": round(time.monotonic() - began, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="sabotage", choices=TABLES)
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", type=Path, help="only those that this file names, one a line")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--lazy", action="store_true", help="an examiner who writes nothing")
    parser.add_argument("--costume", choices=COSTUMES)
    parser.add_argument("--examiner", default="", metavar="MODEL@URL", help="a real one behind chat completions")
    args = parser.parse_args()
    named = set(args.cases.read_text().splitlines()) if args.cases else None
    params = [param for param in load(args.table) if args.only in str(param.id)]
    cases = [(str(param.id), param.values[0]) for param in params if named is None or param.id in named]
    if args.costume:
        dressed = ((name, dress(case, args.costume)) for name, case in cases)
        cases = [(name, case) for name, case in dressed if case is not None]
    for _, case in cases if args.lazy else []:
        case.neutral = ""
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for each in pool.map(one, *zip(*cases, strict=True), repeat(args.examiner)):
            found.append(each)
            if args.json:  # as it goes: the whole takes a while
                args.json.write_text("".join(json.dumps(row) + "\n" for row in found))
    count = Counter("completed" if each.get("completed") else each.get("ruling", "not run") for each in found)
    for each in found:
        if each.get("completed") is not args.table.endswith("honest"):
            print(f"{each['case']}: {each.get('reason') or each}")
    print(f"{len(found)} cases in {time.monotonic() - began:.0f} s: {dict(count)}")


if __name__ == "__main__":
    main()
