"""Where would it saturate? 1,000 workers and 100,000 tasks, on paper: simulated time, measured costs.

python bench/fleet.py                                  # the table below, with the costs that are written here
python bench/fleet.py --costs calls.json               # with those of another machine (bench/cluster.py calls --json)
python bench/fleet.py --workers 1000 --runs 10 --wait 20 --rounds 8

What is real: the scheduler (`core.tree.moves`, `grant`, `evolve`) decides which leaf begins when, and the processor
time that it takes is the coordinator's in the simulation; which calls of the store and of the queue a leaf makes, and
in which order, is what the engine makes (counted in journals of real runs). What is simulated: time. PostgreSQL is a
number of processors that calls share for what they were measured to take, and an append holds its run's row until its
commit; workers wait for their model; a coordinator merges one leaf after the other. Nothing fails.

A leaf takes ROUNDS rounds of WAIT seconds, give or take a half. For each row: how long the work takes against what the
workers alone would need, and how busy each thing is that there is one of. What is near 100 % is what is sharded first.
"""

import argparse
import heapq
import json
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from bough.adapters.executors.dbos import POLLED
from bough.adapters.executors.fleet import LEASE
from bough.adapters.executors.intake import MANY
from bough.core import events as e
from bough.core.budget.limits import Limits, Spend
from bough.core.journal.task_fold import evolve_task
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.next_moves import Begin, compute_step_grant, list_moves
from bough.core.tree.task import Task
from bough.core.tree.task_state import State

COSTS = {
    "append": 0.44,
    "hold": 1.03,
    "check": 0.06,
    "claim": 0.56,
    "send": 0.24,
    "enqueue": 0.84,
    "dequeue": 3.08,
    "poll": 0.68,
    "beat": 1.78,
    "follow": 0.10,
    "merge": 60.0,
}
"""Milliseconds: of the server's processors, but for `hold` (the time that an append holds its run's row, with its round
trips on one machine) and `merge` (of the coordinator: `git merge-tree`, the check of the merged tree, its events).
Measured by `bench/cluster.py calls` and in a run of 40 leaves, on two shared processors."""
GROUP = 250
"""Leaves below one parent."""
BEFORE, IN_A_ROUND, AFTER = 5, 4, 8
"""Appends of a leaf: until its first round, in a round, and from its claim to be done to its end."""
FOLLOWED = 0.25
"""Seconds between a coordinator's looks at the journal."""


def polled(workers: int) -> float:
    """Seconds between a worker's looks for work: as `Intake` has it …"""
    return POLLED * max(1.0, workers / MANY)


def beats(workers: int) -> float:
    """… and between its heartbeats, as `Serving`."""
    return min(max(1.0, workers / 200), LEASE / 5)


WINDOW = 10.0
"""Seconds over which it is seen how busy the server is."""


class Server:
    """Processors that all calls share: the busier they were of late, the longer a call takes."""

    def __init__(self, processors: int, background: float) -> None:
        """`background`: the processors that heartbeats and looks at the journal keep busy all the time."""
        self.processors, self.background = processors, background
        self.work = 0.0
        self._windows: dict[int, float] = {}

    def call(self, at: float, seconds: float) -> float:
        """When it is answered."""
        window = int(at / WINDOW)
        self.work += seconds
        self._windows[window] = self._windows.get(window, 0.0) + seconds
        busy = (self._windows.get(window - 1, 0.0) / WINDOW + self.background) / self.processors
        return at + seconds / (1.0 - min(busy, 0.99))


class Group(Struct, eq=False):
    """A parent with its leaves: its state is the real one."""

    task: Task
    at: int = 0
    exhausted: bool = False
    """All of it has begun."""

    @classmethod
    def make(cls, name: str, size: int) -> "Group":
        steps = tuple(Step(f"leaf-{n}", "Do it.", requires_testing=False, files=(f"{name}-{n}",)) for n in range(size))
        group = cls(Task(name))
        whole = Step(name, "A part.", steps=steps, parallel=True, requires_testing=False)
        group.put(e.TaskCreated(whole, "a" * 40, Limits(rounds=400 * size), Rules()))
        group.put(e.WorkspaceOpened("a" * 40))
        group.put(e.StateChanged(State.IN_PROGRESS, "work begins"))
        return group

    def put(self, event: e.AnyEvent) -> None:
        self.at += 1
        self.task = evolve_task(self.task, e.Record(self.at, "run", self.task.id, self.at, 0.0, event))

    def begin(self) -> str | None:
        """The next leaf that may begin, by the real scheduler."""
        found = list_moves(self.task, {})
        if not found or not isinstance(found[0], Begin):
            return None
        step = found[0].step
        self.put(e.ChildStarted(step.name, step.name, compute_step_grant(self.task, step)))
        return step.name

    def settle(self, name: str) -> None:
        self.put(e.ChildSettled(name, State.COMPLETED, "the check passed", "b" * 40, Spend(rounds=8)))


class Run(Struct, eq=False):
    """A coordinator, which does one thing at a time, and the row of its run, which one append holds at a time."""

    groups: list[Group]
    current: Group | None = None
    free_at: float = 0.0
    row_free_at: float = 0.0
    busy: float = 0.0
    row_busy: float = 0.0
    scheduling: float = 0.0


class Fleet:
    def __init__(self, workers: int, runs: int, tasks: int, rounds: int, wait: float, processors: int) -> None:
        self.ms = {name: value / 1000 for name, value in COSTS.items()}
        # A worker without a free slot asks nobody for work: here they are nearly always busy.
        background = workers * self.ms["beat"] / beats(workers)
        background += runs * self.ms["follow"] / FOLLOWED
        self.processors, self.background = processors, background
        self.server = Server(processors, background)
        size = tasks // runs
        self.runs = [
            Run([Group.make(f"g{n}", min(GROUP, size - n)) for n in range(0, size, GROUP)]) for _ in range(runs)
        ]
        self.workers, self.rounds, self.wait = workers, rounds, wait
        self.random = Random(1)
        self.appends = 0
        self.done = 0

    def append(self, run: Run, at: float, count: int = 1) -> float:
        """When that many appends, one after the other, are committed."""
        for _ in range(count):
            begins = max(self.server.call(at, self.ms["append"]), run.row_free_at)
            at = run.row_free_at = begins + self.ms["hold"]
            run.row_busy += self.ms["hold"]
            self.appends += 1
        return at

    def hand_in(self, run: Run, group: Group | None, at: float, most: int) -> Iterator[tuple[float, Group, str]]:
        """What the coordinator begins now, as the real scheduler says: of a group where something has ended, or of the
        next ones."""
        while most > 0:
            if group is None:
                if run.current is None or run.current.exhausted:
                    if not run.groups:
                        return
                    run.current = run.groups.pop()
                group = run.current
            began = time.process_time()
            name = group.begin()
            took = time.process_time() - began
            run.scheduling += took
            begins = max(at, run.free_at)
            at = run.free_at = begins + took
            run.busy += took
            if name is None:
                group.exhausted = True
                group = None
                continue
            at = self.append(run, at)
            at = self.server.call(at, self.ms["enqueue"])
            run.busy += at - run.free_at
            run.free_at = at
            most -= 1
            yield at, group, name

    def simulate(self) -> float:
        """Seconds until everything is done."""
        clock, number = 0.0, 0
        events: list[tuple[float, int, str, Any]] = []
        waiting: deque[tuple[Run, Group, str]] = deque()
        idle = self.workers

        def later(at: float, kind: str, what: Any) -> None:
            nonlocal number
            number += 1
            heapq.heappush(events, (at, number, kind, what))

        share = -(-self.workers // len(self.runs))
        for run in self.runs:
            for at, group, name in self.hand_in(run, None, 0.0, share):
                later(at, "queued", (run, group, name))
        while events:
            clock, _, kind, what = heapq.heappop(events)
            run, group, name, *left = what
            if kind == "queued":
                waiting.append(what)
            elif kind == "taken":
                at = self.server.call(clock, self.ms["poll"] + self.ms["dequeue"] + self.ms["claim"])
                later(self.append(run, at, BEFORE), "round", (run, group, name, self.rounds))
            elif kind == "round":
                # Intent, fence, and the answer of the model after a while.
                at = self.server.call(self.append(run, clock), self.ms["check"])
                later(at + self.wait * self.random.uniform(0.5, 1.5), "answered", (run, group, name, left[0]))
            elif kind == "answered":
                at = self.append(run, clock, IN_A_ROUND - 1)
                at = self.server.call(at, self.ms["check"] + self.ms["send"])
                kind = "round" if left[0] > 1 else "claimed"
                later(at, kind, (run, group, name, left[0] - 1))
            elif kind == "claimed":
                at = self.server.call(self.append(run, clock, AFTER), self.ms["claim"] / 2)
                idle += 1
                later(at + FOLLOWED / 2, "rests", (run, group, name))
            elif kind == "rests":
                begins = max(clock, run.free_at)
                run.free_at = self.append(run, begins + self.ms["merge"], 2)
                run.busy += run.free_at - begins
                later(run.free_at, "merged", (run, group, name))
            else:
                group.settle(name)
                self.done += 1
                for at, other, leaf in self.hand_in(run, group, clock, 1):
                    later(at, "queued", (run, other, leaf))
            while waiting and idle:
                idle -= 1
                later(clock + polled(self.workers) / 2, "taken", waiting.popleft())
        return clock


def row(workers: int, runs: int, tasks: int, rounds: int, wait: float, processors: int) -> str:
    began = time.monotonic()
    fleet = Fleet(workers, runs, tasks, rounds, wait, processors)
    took = fleet.simulate()
    assert fleet.done == tasks, f"{fleet.done} of {tasks}"
    ideal = tasks * rounds * wait / workers
    server = (fleet.server.work / took + fleet.background) / processors
    coordinator = max(run.busy for run in fleet.runs) / took
    held = max(run.row_busy for run in fleet.runs) / took
    scheduling = sum(run.scheduling for run in fleet.runs) / tasks * 1000
    return (
        f"| {workers:,} | {runs} | {took / 3600:.2f} h | {ideal / took:.0%} | {tasks / took:.1f} | "
        f"{fleet.appends / took:,.0f} | {server:.0%} | {held:.0%} | {coordinator:.0%} | {scheduling:.2f} | "
        f"{time.monotonic() - began:.0f} s |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--wait", type=float, default=20.0, help="seconds a round waits for its model and its commands")
    parser.add_argument("--processors", type=int, default=8, help="of the PostgreSQL server")
    parser.add_argument("--costs", type=Path, help="measured by bench/cluster.py calls --json")
    given = parser.parse_args()
    if given.costs:
        COSTS.update(json.loads(given.costs.read_text()))
    print(
        f"{given.tasks:,} leaves of {given.rounds} rounds of {given.wait:g} s; {given.processors} processors; {COSTS}"
    )
    print("| workers | runs | takes | of ideal | leaves/s | appends/s | server | row | coordinator | ms/decision | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for workers in given.workers:
        for runs in given.runs:
            print(row(workers, runs, given.tasks, given.rounds, given.wait, given.processors), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
