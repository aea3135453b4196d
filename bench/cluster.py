"""Do many machines work as one? Real processes, a real PostgreSQL, real git; only the model is scripted, at the wire.

python bench/cluster.py faults --faults 200      # four workers; kills, restarts, freezes, wrong clocks, at random
python bench/cluster.py faults --faults 0 --slots 4 --leaves 40 --check 4     # nobody is disturbed but by neighbours
python bench/cluster.py scale                    # 40 leaves that wait for their model: 1 worker against 4
python bench/cluster.py outages --count 20       # PostgreSQL is away in the middle of a run, each time longer
python bench/cluster.py calls                    # what each call of the store and the queue costs

`faults`: four workers, each with a folder of its own, and a bare repository as the git remote. Runs of 40 leaves come
one after the other; at random moments a worker, the coordinator or PostgreSQL is killed with SIGKILL and started again,
a worker is stopped (SIGSTOP) for longer than its lease, or a worker is started again with a clock that is hours off.
Each agent appends a line to its file in each of three rounds: a finished effect that was lost, or done again by whoever
took the task over, shows in the file. At the end of each run the files, the journal and its spend must be exact, a
task must have been started once and once more for each time that it was taken over, and no log may have a traceback.
Exit status 1 when anything was lost, done twice, charged wrongly, or said by a traceback.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster_calls import calls
from cluster_stage import ROUNDS, Machine, Stage, open_stage
from tests.postgres import OwnServer

# ── faults ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LEASE = 3.0


class Chaos:
    """Does something to somebody, again and again."""

    def __init__(self, rng: random.Random, server: OwnServer, machines: list[Machine]) -> None:
        self.rng, self.server, self.machines = rng, server, machines
        self.coordinator: subprocess.Popen[bytes] | None = None
        self.counts: Counter[str] = Counter()
        self._later: list[threading.Timer] = []

    def strike(self) -> None:
        kinds = ["worker killed", "coordinator killed", "server killed", "worker frozen", "clock off"]
        kind = self.rng.choices(kinds, (4, 2, 1, 2, 1))[0]
        machine = self.rng.choice(self.machines)
        if kind == "worker killed":
            machine.kill()
            # At once, or so late that others have struck it off by then.
            self._after(self.rng.choice((0.0, 0.5, LEASE + 1.5)), machine.start)
        elif kind == "coordinator killed":
            if self.coordinator is None or self.coordinator.poll() is not None:
                return
            self.coordinator.kill()
        elif kind == "server killed":
            self.server.kill()
            self.server.start()
        elif kind == "worker frozen":
            machine.signal(signal.SIGSTOP)
            self._after(LEASE + 1.5, lambda: machine.signal(signal.SIGCONT))
        else:
            machine.kill()
            machine.start(self.rng.choice((-86_400.0, -3_600.0, 3_600.0, 86_400.0)))
        self.counts[kind] += 1

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        if not seconds:
            action()
            return
        timer = threading.Timer(seconds, action)
        timer.start()
        self._later.append(timer)

    def settle(self) -> None:
        for timer in self._later:
            timer.join()


def drive(stage: Stage, chaos: Chaos, number: int, count: int, pause: float, limit: float) -> bool:
    """Bring the run of this number to its end, with faults until there were `count`; whether it ended in time."""
    fresh = ("run", "--workflow", "flow", "--remote", str(stage.remote), "--fresh")
    process = chaos.coordinator = stage.coordinator(*fresh)
    deadline = time.monotonic() + limit
    while True:
        time.sleep(chaos.rng.uniform(0.3, pause))
        if process.poll() == 0:
            return True
        if process.poll() is not None:
            names = stage.runs()
            if len(names) < number:  # It was killed before it had begun anything.
                process = chaos.coordinator = stage.coordinator(*fresh)
                continue
            process = chaos.coordinator = stage.coordinator("resume", names[-1])
        if chaos.counts.total() < count:
            chaos.strike()
        if time.monotonic() > deadline:
            process.kill()
            return False


def keep(stage: Stage, name: str) -> None:
    """Keep everything about a run that went wrong."""
    to = Path("/tmp") / f"bough-cluster-wrong-{os.getpid()}"
    shutil.copytree(stage.top, to, symlinks=True)
    (to / "journal.jsonl").write_text(stage.bough("log", name, "--json").stdout)
    print(f"kept in {to}")


def faults(
    count: int, seed: int, pause: float, leaves: int = 40, workers: int = 4, slots: int = 4, check: float = 0.0
) -> int:
    rng = random.Random(seed)
    wrong: list[str] = []
    starts: Counter[str] = Counter()
    runs, began = 0, time.monotonic()
    with open_stage(leaves, lambda: rng.uniform(0.1, 0.8), ROUNDS, check) as stage:
        machines = stage.machines(workers, slots, LEASE)
        # One of them is a clone of the project, the others start with nothing.
        subprocess.run(["git", "clone", "-q", str(stage.project), str(machines[0].folder)], check=True)
        stage.start(machines)
        chaos = Chaos(rng, stage.server, machines)
        while not wrong and (not runs or chaos.counts.total() < count):
            runs += 1
            # A merge runs the checks of all steps that landed since its own step began: with checks that take seconds,
            # that is most of the time.
            limit, started = 600 + 12 * leaves * check, time.monotonic()
            if not drive(stage, chaos, runs, count, pause, limit):
                wrong.append(f"run {runs} did not end within {limit:.0f} s")
            chaos.settle()
            name = stage.runs()[-1]
            wrong += stage.find_wrong(leaves, starts)
            stage.count_tracebacks(starts)
            wrong += [f"{name}: {starts['tracebacks']} tracebacks"] if starts["tracebacks"] else []
            if not count and starts["logged starts"] != starts["tasks"]:
                wrong.append(f"{name}: nobody was disturbed, and {dict(starts)}")
            took = time.monotonic() - started
            print(f"run {runs} {name}: {took:.0f} s, {chaos.counts.total()} faults so far", flush=True)
            if wrong:
                keep(stage, name)
        for machine in machines:
            machine.drain()
    took = time.monotonic() - began
    print(f"{chaos.counts.total()} faults in {runs} runs of {leaves} leaves, {took:.0f} s: {dict(chaos.counts)}")
    print(f"{dict(starts)}")
    return say_wrong(wrong)


def say_wrong(wrong: list[str]) -> int:
    for each in wrong:
        print(f"WRONG {each}")
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


# ── outages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def begin(stage: Stage) -> subprocess.Popen[bytes]:
    """Begin a run, and return when a worker has started a task of it."""
    seen: Counter[str] = Counter()
    stage.count_tracebacks(seen)
    before = seen["logged starts"]
    process = stage.coordinator("run", "--workflow", "flow", "--fresh")
    while seen["logged starts"] == before:
        assert process.poll() is None, stage.said
        time.sleep(0.2)
        stage.count_tracebacks(seen)
    return process


def finish(stage: Stage, process: subprocess.Popen[bytes], patience: float) -> tuple[bool, int]:
    """Wait for the end of a run, and resume it when its coordinator gives up. Returns whether it ended before nothing
    had happened in it for so many seconds, and how often it was resumed."""
    moved, events, resumed = time.monotonic(), 0, 0
    while process.poll() != 0 and time.monotonic() - moved < patience:
        time.sleep(1.0)
        if (known := stage.count_events()) != events:
            events, moved = known, time.monotonic()
        if process.poll():
            print(f"  {stage.said.strip().splitlines()[-1]}", flush=True)
            process, resumed = stage.coordinator("resume", stage.runs()[-1]), resumed + 1
    if process.poll() is None:
        process.kill()
        return False, resumed
    return True, resumed


def outages(count: int, least: float, most: float, patience: float, lease: float, seed: int, part: str) -> int:
    """PostgreSQL is away once in the middle of each run, from `least` to `most` seconds: killed, stopped as its own
    tools do it, or frozen, by turns. A run hangs when nothing happens in it for two minutes and two leases; a
    coordinator that gave up says how to resume, and that is done. `part`: only every so many-th of them, as `2/4`."""
    rng, leaves, wrong, resumed = random.Random(seed), 4, list[str](), 0
    chosen = range(int(part.partition("/")[0]) - 1, count, int(part.partition("/")[2]))
    with open_stage(leaves, lambda: rng.uniform(1.0, 4.0), ROUNDS) as stage:
        stage.env |= {"BOUGH_STORE": f"{stage.env['BOUGH_STORE']}&patience={patience:g}"}
        server = stage.server
        ways = (
            ("killed", (server.kill, server.start)),
            ("stopped", (server.stop, server.start)),
            ("frozen", (server.freeze, server.thaw)),
        )
        machines = stage.machines(2, 2, lease)
        stage.start(machines)
        for number in chosen:
            away = least * (most / least) ** (number / max(1, count - 1))
            process = begin(stage)
            time.sleep(rng.uniform(0.0, 4.0))
            assert process.poll() is None, "the run was over before the outage"
            how, (leave, back_again) = ways[number % len(ways)]
            leave()
            time.sleep(away)
            back_again()
            back = time.monotonic()
            ended, times = finish(stage, process, 120.0 + 2 * lease)
            took, resumed = time.monotonic() - back, resumed + times
            if ended:
                wrong += stage.find_wrong(leaves, Counter())
            else:
                wrong.append(f"outage {number + 1}, {how} for {away:.0f} s: the run hangs")
            end = f"ended {took:.0f} s later" if ended else "HANGS"
            print(f"outage {number + 1}: {how} for {away:.0f} s, {end}", flush=True)
        for machine in machines:
            machine.drain()
        if wrong:
            shutil.copytree(stage.top, f"/tmp/bough-outages-{os.getpid()}")
    print(f"{len(chosen)} outages, {resumed} coordinators resumed")
    return say_wrong(wrong)


# ── more workers ────────────────────────────────────────────────────────────────────────────────────────────────────


def scale(counts: list[int], leaves: int, wait: float) -> int:
    took: dict[int, float] = {}
    with open_stage(leaves, lambda: wait, 1) as stage:
        for count in counts:
            machines = stage.machines(count, 1, 15.0, f"worker-{count}")
            stage.start(machines)
            began = time.monotonic()
            process = stage.coordinator("run", "--workflow", "flow", "--fresh", "--jobs", str(leaves))
            assert process.wait() == 0, stage.said
            took[count] = time.monotonic() - began
            ideal = leaves / count * 2 * wait
            print(
                f"{count} workers: {took[count]:.1f} s for {leaves} leaves of 2 x {wait:g} s ({ideal:.0f} s of waiting)"
            )
            for machine in machines:
                machine.drain()
    first, last = counts[0], counts[-1]
    print(f"{first} -> {last} workers: {took[first] / took[last]:.2f} x faster")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    chaos = kinds.add_parser("faults")
    chaos.add_argument("--faults", type=int, default=200)
    chaos.add_argument("--seed", type=int, default=1)
    chaos.add_argument("--workers", type=int, default=4)
    chaos.add_argument("--slots", type=int, default=4, help="of each worker")
    chaos.add_argument("--leaves", type=int, default=40)
    chaos.add_argument("--check", type=float, default=0.0, help="seconds that a check takes")
    chaos.add_argument("--pause", type=float, default=3.0, help="seconds between two faults, at most")
    away = kinds.add_parser("outages")
    away.add_argument("--count", type=int, default=20)
    away.add_argument("--least", type=float, default=5.0, help="seconds of the first")
    away.add_argument("--most", type=float, default=180.0, help="seconds of the last")
    away.add_argument("--patience", type=float, default=60.0, help="seconds that a server is waited for")
    away.add_argument("--lease", type=float, default=15.0)
    away.add_argument("--seed", type=int, default=1)
    away.add_argument("--part", default="1/1", help="K/N: every N-th of them, from the K-th on")
    more = kinds.add_parser("scale")
    more.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    more.add_argument("--leaves", type=int, default=40)
    more.add_argument("--wait", type=float, default=2.0)
    costs = kinds.add_parser("calls")
    costs.add_argument("--repeat", type=int, default=500)
    costs.add_argument("--json", type=Path, help="the costs, for fleet.py --costs")
    given = parser.parse_args()
    if given.kind == "faults":
        return faults(given.faults, given.seed, given.pause, given.leaves, given.workers, given.slots, given.check)
    if given.kind == "outages":
        return outages(given.count, given.least, given.most, given.patience, given.lease, given.seed, given.part)
    if given.kind == "scale":
        return scale(given.workers, given.leaves, given.wait)
    return calls(given.repeat, given.json)


if __name__ == "__main__":
    raise SystemExit(main())
