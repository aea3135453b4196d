"""What does an agent cost in memory, beside its tools?

    python bench/memory.py                     # 1 and 33 agents of 40 rounds, each of which reads 6,000 characters
    python bench/memory.py --agents 1,65 --rounds 80

One run of so many parallel steps with as many jobs, in a process of its own for each size: everything is real but the
model, which is the server of bench/overhead.py in another process. All agents are at work until the end, so each
conversation is there as a whole when the process is at its largest. What is compared is the peak of its resident memory
(VmHWM); commands run in processes of their own and are not counted.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PARTS, LINE, LINES = "parts.txt", "The part is as it should be; go on with the next one, please\n", 100
SETTINGS = {
    "OPENAI_API_KEY": "not-a-key",
    "BOUGH_STUCK_LOOKS": "100000",
    "BOUGH_LADDER_TASK_ROUNDS": "100000",
    "BOUGH_COMPACTION_AT": "1.0",
}
"""Nothing cuts the conversation short: reading is all that the script does."""


async def work(folder: Path, server: str, agents: int, rounds: int) -> None:
    from server import MODEL, ROUND, Script

    from bough.app import Choices, RunObserver, open_session
    from bough.core.planning.plan import Plan, Step

    arguments = f'{{"path": "{PARTS}", "start": {ROUND}, "lines": {LINES}}}'
    script = Script("run", rounds, "read", arguments, "done", '{"summary": "All parts are as they should be."}')
    steps = tuple(
        Step(f"part{n}", "Look at every part, one after the other.", requires_testing=False) for n in range(agents)
    )
    goal = Step("goal", "Look at everything.", requires_testing=False, parallel=True, steps=steps)
    url = f"{server}/{script.encode()}/v1"
    most = agents * (rounds + 10) * 2
    choices = Choices(model=f"openai:{MODEL}", base_url=url, protocol="tools", jobs=agents, rounds=most, tokens=0)
    async with open_session(folder, create=True) as session:
        outcome = await session.start(Plan(goal), choices, RunObserver())
    assert outcome.completed, outcome


def measure_peak() -> int:
    """The most resident memory this process has had, in bytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024


def run_size(agents: int, rounds: int, server: str) -> int:
    with tempfile.TemporaryDirectory(prefix="memory-", dir="/var/tmp") as place:
        (Path(place) / PARTS).write_text(LINE * (rounds + LINES))
        command = [sys.executable, str(Path(__file__)), "--inside", place, "--server", server]
        command += ["--agents", str(agents), "--rounds", str(rounds)]
        done = subprocess.run(command, env={**os.environ, **SETTINGS}, stdout=subprocess.PIPE, text=True, check=True)
    return int(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agents", default="1,33", metavar="N,…", help="sizes (1,33)")
    parser.add_argument("--rounds", type=int, default=40, help="of each agent (40)")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--server", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = [int(size) for size in args.agents.split(",")]
    if args.inside:
        asyncio.run(work(args.inside, args.server, sizes[0], args.rounds))
        print(measure_peak())
        return
    from overhead import fake_model

    with fake_model() as port:
        peaks = {size: run_size(size, args.rounds, f"http://127.0.0.1:{port}") for size in sizes}
    for size, peak in peaks.items():
        print(f"{size} agents, {args.rounds} rounds of {len(LINE) * LINES:,} characters: {peak / 1e6:.1f} MB")
    least, most = min(sizes), max(sizes)
    if most > least:
        print(f"an agent: {(peaks[most] - peaks[least]) / (most - least) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
