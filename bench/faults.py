"""Does a run survive what happens to processes? Real processes, real signals, real files; only the model is scripted.

python bench/faults.py kills --kills 500          # SIGKILL at random moments, over a leaf, parallel agents, a workflow
python bench/faults.py split --trials 100         # SIGSTOP at chosen moments, and a second resume meanwhile

`kills`: each life of a run is killed after a random time until one gets through; then the journal, the files and the
repository must tell the whole story, with nothing lost and nothing done twice. `split`: while the first process is
stopped, a second one resumes: here, from a container (its own process numbers and host name), or, as from another
machine, when nobody can tell whether the first one lives. The first two must be refused; after the third the first one
must do nothing more. Exit status 1 when anything was lost, done twice, or done by one that no longer held the run.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import harness
from tests.engine import parallel_runs, story, test_parallel_kill, test_workflow_kill, workflow_runs, workflow_victim

from bough import app
from bough.core.errors import BoughError
from bough.testing import Fuse, ScriptedModel
from bough.views.run_view import Outcome

VICTIM = [sys.executable, str(Path(__file__).resolve()), "victim"]

# ── the three shapes ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Shape:
    make: Callable[[Path], Path]
    start: Callable[[Path, Fuse | None], object]
    resume: Callable[[Path, Fuse | None], object]
    told: Callable[[Path], None]
    """Raises when something is missing, or there twice."""


def _leaf_model() -> ScriptedModel:
    return ScriptedModel(story.model_answer)


def _parallel_model() -> ScriptedModel:
    return ScriptedModel(test_parallel_kill.model_answer)


async def _outcome(folder: Path) -> Outcome:
    async with app.open_session(folder) as session:
        return await session.outcome("test-run")


SHAPES = {
    "leaf": Shape(
        harness.make_project,
        lambda folder, fuse: asyncio.run(harness.begin(folder, _leaf_model(), fuse=fuse)),
        lambda folder, fuse: asyncio.run(harness.resume(folder, _leaf_model(), fuse)),
        lambda folder: story.assert_told_whole(
            folder, asyncio.run(_outcome(folder)), asyncio.run(harness.journal_of(folder))
        ),
    ),
    "parallel": Shape(
        lambda folder: parallel_runs.make_project(folder, text=parallel_runs.LINES),
        lambda folder, fuse: asyncio.run(
            harness.begin(folder, _parallel_model(), goal=test_parallel_kill.GOAL, jobs=2, fuse=fuse)
        ),
        lambda folder, fuse: asyncio.run(harness.resume(folder, _parallel_model(), fuse)),
        lambda folder: test_parallel_kill.told_whole(folder, asyncio.run(_outcome(folder))),
    ),
    "workflow": Shape(
        lambda folder: workflow_runs.repository(folder, {"x": "x\n"}),
        lambda folder, fuse: asyncio.run(workflow_victim.start(folder, fuse)),
        lambda folder, fuse: asyncio.run(harness.resume(folder, workflow_victim.model(), fuse)),
        lambda folder: test_workflow_kill.assert_told_whole(folder, asyncio.run(_outcome(folder))),
    ),
}


@contextmanager
def project(shape: Shape) -> Iterator[Path]:
    # Read by every process of the trial: a folder of its own, so that nothing of one reaches another.
    with tempfile.TemporaryDirectory(prefix="bough-faults-") as folder:
        yield shape.make(Path(folder) / "p")


def begun(folder: Path) -> bool:
    async def look() -> bool:
        async with app.open_session(folder, create=True) as session:
            return bool(await session.store.runs())

    return asyncio.run(look())


def whole(shape: Shape, folder: Path) -> str:
    """What is wrong with how it ended; empty: nothing."""
    try:
        shape.told(folder)
    except (AssertionError, BoughError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    fsck = ["git", "-C", str(folder / ".bough" / "repo.git"), "fsck", "--no-dangling", "--no-progress"]
    checked = subprocess.run(fsck, capture_output=True, text=True, check=False)
    said = [line for line in checked.stderr.splitlines() if "notice" not in line]
    return f"fsck: {said[0]}" if checked.returncode or said else ""


# ── kills ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def kills(count: int, seed: int) -> int:
    dice = random.Random(seed)
    wrong: list[str] = []
    print(f"{'shape':<10} {'runs':>5} {'kills':>6} {'lost or twice':>14} {'seconds':>8}")
    for name, shape in SHAPES.items():
        began, runs, killed, bad = time.monotonic(), 0, 0, 0
        while killed < -(-count // len(SHAPES)):
            runs += 1
            with project(shape) as folder:
                killed += _killed_until_done(name, folder, dice)
                if problem := whole(shape, folder):
                    bad += 1
                    wrong.append(f"{name}, run {runs}: {problem}")
        print(f"{name:<10} {runs:>5} {killed:>6} {bad:>14} {time.monotonic() - began:>8.0f}", flush=True)
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


def _killed_until_done(name: str, folder: Path, dice: random.Random) -> int:
    killed, verb = 0, "start"
    while True:
        process = subprocess.Popen([*VICTIM, name, verb, str(folder), "-"], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout:
            process.stdout.readline()  # It is up, and begins.
        try:
            # Later lives get longer, so that every run ends.
            process.wait(timeout=dice.uniform(0.02, 1.0 + 0.3 * killed))
            return killed
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        verb = "resume" if begun(folder) else "start"


# ── stops ───────────────────────────────────────────────────────────────────────────────────────────────────────────

MOMENTS = (
    "before append ToolStarted",
    "before tool bash",
    "in bash",
    "after tool bash",
    "before snapshot",
    "before ask",
    "before judge",
    "in check",
    "before restore",
    "in restore",
    "before checkpoint",
)
FENCED = tuple(moment for moment in MOMENTS if not moment.startswith("in "))
"""Those after which the first process would begin another effect: what is under way already, only its lock can save."""


class Stopper(Fuse):
    """Stops the process once, at a named point, and writes down every point that it passes from then on."""

    def __init__(self, moment: str, log: Path) -> None:
        super().__init__()
        self.moment = moment
        self.log = log
        self.stopped = False

    def pass_by(self, name: str) -> None:
        self.points.append(name)
        if self.stopped:
            with self.log.open("a") as file:
                file.write(f"{name}\n")
        elif name == self.moment:
            self.stop()

    def stop(self) -> None:
        self.stopped = True
        self.log.touch()
        os.kill(os.getpid(), signal.SIGSTOP)


def _stop_inside(stopper: Stopper) -> None:
    """Moments within an effect: between two files of a restore, and while a command of a tool or a check runs."""
    from bough.adapters.sandboxes.supervisors import Command
    from bough.adapters.workspaces import checkout

    if stopper.moment == "in restore":
        fill = checkout.fill

        def stopped_fill(*args: object, **more: object) -> object:
            if not stopper.stopped and any(point == "before judge" for point in stopper.points):
                stopper.stop()
            return fill(*args, **more)  # type: ignore[arg-type]

        checkout.fill = stopped_fill  # type: ignore[assignment]
        return
    wanted = "tool bash" if stopper.moment == "in bash" else "judge"
    attend = Command.attend

    async def stopped_attend(self: Command, timeout: float) -> str:
        under_way = stopper.points.count(f"before {wanted}") > stopper.points.count(f"after {wanted}")
        if not stopper.stopped and under_way:
            stopper.stop()
        return await attend(self, timeout)

    Command.attend = stopped_attend  # type: ignore[method-assign]


def split(trials: int, seed: int) -> int:
    dice = random.Random(seed)
    container = subprocess.run(["unshare", "-pufm", "--mount-proc", "true"], check=False, capture_output=True)
    ways = ["here", "elsewhere"] + (["container"] if container.returncode == 0 else [])
    counts = {way: [0, 0, 0] for way in ways}
    wrong: list[str] = []
    for number in range(trials):
        way = ways[number % len(ways)]
        moment = dice.choice(FENCED if way == "elsewhere" else MOMENTS)
        shape = SHAPES["leaf"]
        with project(shape) as folder:
            refused, stale, problem = _trial(folder, moment, way)
            problem = problem or whole(shape, folder)
        counts[way] = [a + b for a, b in zip(counts[way], (1, refused, stale), strict=True)]
        if problem or stale:
            wrong.append(f"{way}, {moment}: {problem or 'an effect by the stale process'}")
    print(f"{'second resume':<14} {'trials':>7} {'refused':>8} {'stale effects':>14}")
    for way, (made, refused, stale) in counts.items():
        print(f"{way:<14} {made:>7} {refused:>8} {stale:>14}")
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


def _trial(folder: Path, moment: str, way: str) -> tuple[int, int, str]:
    """Whether the second resume was refused, effects by a process that no longer held the run, and what went wrong."""
    log = folder.parent / "log"
    first = subprocess.Popen(
        [*VICTIM, "leaf", "start", str(folder), moment, str(log)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        while not (log.exists() and _state(first.pid) == "T"):
            if first.poll() is not None:
                return 0, 0, f"the first process ended with {first.returncode} before it was stopped"
            time.sleep(0.01)
        try:
            _forget(folder, rename=way == "elsewhere")
        except sqlite3.OperationalError:
            way = "here" if way == "elsewhere" else way  # It was stopped while it wrote: nobody else can.
        inside = ["unshare", "-pufm", "--mount-proc"] if way == "container" else []
        second = subprocess.run(
            [*inside, *VICTIM, "leaf", "resume", str(folder), "-"], capture_output=True, text=True, check=False
        )
        refused = int(second.returncode == 2)
        before = len(log.read_text().splitlines())
        first.send_signal(signal.SIGCONT)
        first.wait(timeout=120)
        if way != "elsewhere":
            problem = "" if refused and first.returncode == 0 else f"{second.returncode}, then {first.returncode}"
            return refused, 0, problem and f"not refused: {problem}: {second.stderr[-300:]}"
        later = log.read_text().splitlines()[before:]
        stale = sum(point.startswith("after ") for point in later)
        problem = "" if second.returncode == 0 and first.returncode != 0 else f"{second.returncode}, {first.returncode}"
        return refused, stale, problem
    finally:
        first.kill()
        first.wait()
        assert first.stderr is not None
        first.stderr.close()


def _forget(folder: Path, rename: bool) -> None:
    """No lease is left, and with `rename` nobody can tell who holds the run: as if it were held on another machine."""
    with closing(sqlite3.connect(folder / ".bough" / "journal.db", timeout=0.2)) as db, db:
        db.execute("UPDATE claims SET expires = 0")
        if rename:
            db.execute("UPDATE claims SET worker = 'elsewhere:7:7:0123456789ab-1'")
    if rename:
        shutil.rmtree(folder / ".bough" / "workers")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


# ── the process that it happens to ──────────────────────────────────────────────────────────────────────────────────


def victim(name: str, verb: str, folder: Path, moment: str, log: Path) -> int:
    os.environ["BOUGH_LIMITS_LEASE"] = "0.5"
    print("up", flush=True)
    shape, fuse = SHAPES[name], None
    if moment != "-":
        fuse = Stopper(moment, log)
        if moment.startswith("in "):
            _stop_inside(fuse)
    try:
        (shape.start if verb == "start" else shape.resume)(folder, fuse)
    except BoughError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, option, default in (("kills", "--kills", 500), ("split", "--trials", 100)):
        chosen = commands.add_parser(command)
        chosen.add_argument(option, dest="count", type=int, default=default)
        chosen.add_argument("--seed", type=int, default=1)
    hidden = commands.add_parser("victim")
    for name in ("shape", "verb", "folder", "moment"):
        hidden.add_argument(name)
    hidden.add_argument("log", nargs="?", default="")
    given = parser.parse_args()
    if given.command == "victim":
        return victim(given.shape, given.verb, Path(given.folder), given.moment, Path(given.log))
    return kills(given.count, given.seed) if given.command == "kills" else split(given.count, given.seed)


if __name__ == "__main__":
    sys.exit(main())
