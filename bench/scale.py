"""Does a large plan cost more per task than a small one?

    python bench/scale.py                    # 200 and 2,000 leaves in 4 phases, 8 jobs: CPU per task, memory
    python bench/scale.py --real --leaves 200    # everything real: git, checkouts, checks, journal; does it finish?

Without --real, what is measured is bough's own work: the engine, the policies, the folds and the journal on disk
(SQLite, durable). The model is a script within the process, and in place of git and the checks stand stubs that cost
nothing, so that nothing hides what the scheduling costs. Each leaf has one file of its own to write and is merged with
the work of those beside it. Each size runs in a process of its own. CPU time is that of the whole process.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from bough import app
from bough.adapters.stores.sqlite import SqliteStore
from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.grants import compute_root_rounds
from bough.core.budget.limits import Limits
from bough.core.messages import Answer, Call, Prompt, ToolSpec
from bough.core.planning.plan import Plan, Step, count_most_leaves
from bough.core.rules import Rules
from bough.engine import run_loop
from bough.ports import FileChange, MergeResult, Ports, Sandbox, ToolResult, Tools, Workspace, Workspaces
from bough.ports.verifier import Judgement, Verifier
from bough.testing import ScriptedModel, call

PHASES, JOBS = 4, 8


def plan(count: int, check: bool) -> Step:
    def leaf(phase: int, number: int) -> Step:
        name = f"leaf-{phase}-{number}"
        proof = f"test -f {name}.txt" if check else None
        return Step(name, f"Write {name}.txt.", requires_testing=check, test_command=proof)

    size = count // PHASES
    phases = tuple(
        Step(
            f"phase-{phase}",
            "A part.",
            steps=tuple(leaf(phase, n) for n in range(size)),
            parallel=True,
            requires_testing=False,
        )
        for phase in range(PHASES)
    )
    return Step("goal", "All of it.", steps=phases, requires_testing=False)


# ── stubs that cost nothing ─────────────────────────────────────────────────────────────────────────────────────────


class StubWorkspace:
    root = folder = scratch = Path("/nonexistent")
    mounts = ()
    env: ClassVar[dict[str, str]] = {}

    def __init__(self, tree: str) -> None:
        self._tree = tree
        self._writes = 0

    async def snapshot(self) -> str:
        self._writes += 1
        return f"{self._tree[:20]}+{self._writes}"

    async def restore(self, tree: str, exact: bool = False) -> None:
        self._tree = tree

    async def checkpoint(self, tree: str, message: str) -> str:
        return f"commit-{tree}"


class StubWorkspaces:
    """Trees are names; two of them together are a new one."""

    def __init__(self) -> None:
        self.open_now = self.most = self.merges = 0

    async def open(
        self, run: str, task: str, tree: str, folder: str, sides: object = None, **more: object
    ) -> Workspace:
        self.open_now += 1
        self.most = max(self.most, self.open_now)
        return cast(Workspace, StubWorkspace(task))

    async def discard(self, run: str, task: str) -> None:
        self.open_now = max(0, self.open_now - 1)

    async def merge(self, base: str, ours: str, theirs: str) -> MergeResult:
        self.merges += 1
        return MergeResult(f"merged-{self.merges}")

    async def changes(self, base: str, tree: str) -> list[FileChange]:
        return [FileChange("A", "file.txt")]

    async def diff(self, base: str, tree: str, stat: bool = False) -> str:
        return "a diff"


class StubVerifier:
    async def find(self, task: Any) -> None:
        return None

    def begin(self, run: Any, task: Any) -> None:
        """Nothing has to be known."""

    async def judge(
        self, run: Any, task: Any, check: Any, workspace: Any, progress: Any, *, merged: bool = False
    ) -> Judgement:
        return Judgement(Verdict("passed", "no check was required", tree=task.tree))


class StubTools:
    specs = (ToolSpec("write", "", {}, writes=True), ToolSpec("done", "", {}, writes=False))

    async def run(self, asked: Call, workspace: Workspace, rules: Rules, progress: Any) -> ToolResult:
        return ToolResult("done", events=(e.DoneClaimed("written"),) if asked.name == "done" else ())


class StubSandbox:
    async def sweep(self, workspace: Workspace) -> None:
        """Nothing is left running."""


def agent(prompt: Prompt) -> Answer:
    name = prompt.key.partition("#")[0].rpartition("/")[2]
    begun = len(prompt.messages) > 1
    return call("done", summary=f"wrote {name}") if begun else call("write", path=f"{name}.txt", content="done\n")


# ── measuring ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def scheduled(count: int, folder: Path) -> dict[str, Any]:
    goal = plan(count, check=False)
    store, workspaces, model = SqliteStore(folder / "journal.db"), StubWorkspaces(), ScriptedModel(agent)
    finished: list[tuple[float, str]] = []

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.ChildSettled):
            finished.append((time.process_time(), record.task))

    ports = Ports(
        store=store,
        models={"fast": model, "main": model, "strong": model},
        tools=cast(Tools, StubTools()),
        workspaces=cast(Workspaces, workspaces),
        sandbox=cast(Sandbox, StubSandbox()),
        verifier=cast(Verifier, StubVerifier()),
        clock=time.time,
        worker="bench",
        prompt=app.load_prompt,
        recorded=recorded,
    )
    limits = Limits(compute_root_rounds(count_most_leaves(goal)))
    first = e.RunStarted(Plan(goal), "base", "", {"main": "scripted"}, limits, Rules(), "bench", JOBS)
    before, began = time.process_time(), time.perf_counter()
    run = await run_loop.start_run("run", first, ports)
    assert run is not None
    cpu, seconds = time.process_time() - before, time.perf_counter() - began
    await store.close()
    assert run.end is not None and run.end.end == "completed", run
    model.prompts.clear()
    return figures(count, cpu, seconds) | {"merges": workspaces.merges, "drift": drift(finished)}


def drift(finished: Sequence[tuple[float, str]]) -> float:
    """CPU per leaf in the last quarter of a phase against the first: what grows as a parent's journal gets longer."""
    times = [at for at, task in finished if task == "phase-1"]
    quarter = len(times) // 4
    return round((times[-1] - times[-quarter]) / (times[quarter] - times[1]), 2)


async def everything(count: int, folder: Path) -> dict[str, Any]:
    import bough

    (folder / "readme.txt").write_text("a project\n")
    before, began = time.process_time(), time.perf_counter()
    outcome = await bough.run(plan(count, check=True), dir=folder, model=ScriptedModel(agent), jobs=JOBS)
    cpu, seconds = time.process_time() - before, time.perf_counter() - began
    assert outcome.completed, outcome.summary
    assert len([task for task in outcome.tree if task.state.value == "completed"]) == count + PHASES + 1
    orphans = list((folder / ".bough" / "work").glob("*/*"))
    assert not orphans, orphans
    return figures(count, cpu, seconds) | {"rounds": outcome.spend.rounds, "ledger": compute_root_rounds(count)}


def figures(count: int, cpu: float, seconds: float) -> dict[str, Any]:
    return {
        "leaves": count,
        "cpu_ms_per_task": round(1000 * cpu / count, 2),
        "cpu_seconds": round(cpu, 1),
        "seconds": round(seconds, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, action="append", help="default: 200 and 2,000")
    parser.add_argument("--real", action="store_true", help="with git, checkouts and checks")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = args.leaves or [200, 2000]
    if args.one:
        with tempfile.TemporaryDirectory() as folder:
            work = everything if args.real else scheduled
            print(json.dumps(asyncio.run(work(sizes[0], Path(folder)))))
        return
    results = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", "--leaves", str(size), *(["--real"] if args.real else [])]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        results.append(json.loads(done.stdout))
        print(done.stdout.strip(), flush=True)
    if len(results) > 1:
        small, large = results[0], results[-1]
        ratio = large["cpu_ms_per_task"] / small["cpu_ms_per_task"]
        print(f"CPU per task, {large['leaves']} leaves against {small['leaves']}: {ratio:.2f}x")


if __name__ == "__main__":
    main()
