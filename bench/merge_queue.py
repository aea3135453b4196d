"""Is it worth proving the next step ahead of its turn, and what does it cost when that was in vain?

    python bench/merge_queue.py                        # 6 steps at once, checks of 1 s that wait and that compute
    python bench/merge_queue.py --steps 8 --seconds 2

Steps end at the same time and come together one by one; each has a check of its own kind. The same run, with the head
start of the merge queue and without it. `fails`: every second step does not hold beside the one before it, so that what
was proven ahead of its turn is thrown away, and the step fails. The model is a script; all else is real.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bough
from bough import Step
from bough.core.messages import Answer, ModelMessage, Prompt
from bough.engine import merge_queue
from bough.testing import ScriptedModel, call

KINDS = {
    "waits": "sleep {seconds}",
    "computes": "{python} -c 'import time; t = time.process_time()\nwhile time.process_time() - t < {seconds}: pass'",
}


def answer(prompt: Prompt) -> Answer:
    name = prompt.key.partition("#")[0]
    if any(isinstance(message, ModelMessage) for message in prompt.messages):
        return call("done", summary="done")
    return call("write", path=f"{name}.txt", content="x\n")


def goal(steps: int, check: str, fails: bool) -> Step:
    def proof(number: int) -> str:
        alone = f" && test $(ls s*.txt | wc -l) -le {number}" if fails and number % 2 else ""
        return f"{check} && test -f s{number}.txt{alone}"

    made = tuple(
        Step(f"s{n}", f"Step {n}.", test_command=f"sh -c {quoted(proof(n))}", on_error="skip") for n in range(steps)
    )
    return Step("goal", "All of it.", parallel=True, steps=made, join="settled", test_command="true")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def measure(kind: str, steps: int, seconds: float, ahead: int, fails: bool) -> float:
    merge_queue.AHEAD = ahead
    check = KINDS[kind].format(seconds=seconds, python=sys.executable)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        began = time.perf_counter()
        asyncio.run(
            bough.run(goal(steps, check, fails), dir=Path(folder), model=ScriptedModel(answer), jobs=steps, rounds=400)
        )
        return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=1, help="the fastest of so many counts (1)")
    chosen = parser.parse_args()
    most = merge_queue.AHEAD
    print(f"{chosen.steps} steps, checks of {chosen.seconds:g} s, {os.cpu_count()} processors\n")
    print("| checks | one by one | ahead | |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        for fails in (False, True):
            plain, ahead = (
                min(measure(kind, chosen.steps, chosen.seconds, n, fails) for _ in range(chosen.repeat))
                for n in (0, most)
            )
            name = f"{kind}, every second fails" if fails else kind
            print(f"| {name} | {plain:.1f} s | {ahead:.1f} s | {plain / ahead:.2f}× |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
