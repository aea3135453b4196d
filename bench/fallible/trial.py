"""One trial: a goal, carried out by bough as a person would have it, with the fallible model at the end of the wire."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bough import app
from bough.core import events as e
from bough.core.plan import goal_step
from bough.interfaces.views import Outcome
from fallible.goals import Goal, goal
from fallible.serving import FallibleModel

NO_SOFT_LIMIT = "1000000"


@dataclass(frozen=True)
class Arm:
    """Which mechanisms are on, as settings that anybody could make."""

    name: str
    what: str
    settings: Mapping[str, str]
    strong: bool = False


def _rungs(*rungs: str) -> dict[str, str]:
    return {"BOUGH_LADDER_RUNGS": ":".join(rungs)}


ARMS: tuple[Arm, ...] = (
    Arm(
        "flat",
        "one loop until the check passes, the repairs are used up or the budget is: no signals, soft limit or rungs",
        {**_rungs(), "BOUGH_STUCK_PATTERNS": "", "BOUGH_LADDER_TASK_ROUNDS": NO_SOFT_LIMIT},
    ),
    Arm("nudge", "+ signals and nudges", _rungs("nudge")),
    Arm("prune", "+ pruning", _rungs("nudge", "prune")),
    Arm("split", "+ decomposition", _rungs("nudge", "prune", "decompose")),
    Arm("ladder", "the full ladder with one model: + verify and replan", {}),
    Arm("strong", "the full ladder and a stronger model, which the last bug hunter gets too", {}, strong=True),
)


@dataclass(frozen=True)
class Trial:
    """What is to be tried."""

    setting: str
    arm: str
    goal: int
    seed: int
    rounds: int


@dataclass(frozen=True)
class Result:
    """What came of it."""

    setting: str
    arm: str
    goal: int
    size: int
    """Functions that the goal asked for."""
    status: str
    completed: bool
    rounds: int
    tokens: int
    seconds: float
    rungs: dict[str, int]
    signals: dict[str, int]
    refused: int
    """Plans that bough refused."""
    rightly: bool
    """An independent run of the tests on the result agrees with the status."""


def carry_out(trial: Trial, model: FallibleModel) -> Result:
    """A fresh repository, one run, and what its journal says of it."""
    arm = next(arm for arm in ARMS if arm.name == trial.arm)
    made = goal(trial.seed, trial.goal)
    folder = Path(tempfile.mkdtemp(prefix="ablation-"))
    began = time.perf_counter()
    try:
        _repository(made, folder)
        with _environment(arm.settings):
            url = model.base_url(trial.setting, f"{trial.seed}-{trial.goal}")
            outcome, events = asyncio.run(_run(made, folder, url, arm, trial.rounds))
        rightly = _passes(made, folder) == outcome.completed if outcome.completed else True
        return Result(
            setting=trial.setting,
            arm=trial.arm,
            goal=trial.goal,
            size=len(made.items),
            status=outcome.status,
            completed=outcome.completed,
            rounds=outcome.spend.rounds,
            tokens=outcome.spend.tokens,
            seconds=time.perf_counter() - began,
            rungs=dict(Counter(event.decision.rung for event in events if isinstance(event, e.Escalated))),
            signals=dict(Counter(event.signal.pattern for event in events if isinstance(event, e.SignalRaised))),
            refused=sum(isinstance(event, e.PlanRefused) for event in events),
            rightly=rightly,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(made: Goal, folder: Path, url: str, arm: Arm, rounds: int) -> tuple[Outcome, list[e.AnyEvent]]:
    choices = app.Choices(
        model="openai:fallible",
        strong_model="openai:fallible-strong" if arm.strong else None,
        base_url=url,
        rounds=rounds,
    )
    step = goal_step(made.instructions, check=made.check, criteria=made.criteria)
    async with app.session(folder, create=True) as session:
        outcome = await session.start(step, choices, app.Watch())
        records = await session.store.read(outcome.run)
        if outcome.completed:
            await session.apply(outcome.run)
    return outcome, [record.event for record in records]


def _repository(made: Goal, folder: Path) -> None:
    made.write(folder)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "unfinished"]):
        subprocess.run([*git, *command], check=True, stdout=subprocess.DEVNULL)


def _passes(made: Goal, folder: Path) -> bool:
    """The goal's tests, freshly written and run by us in the files that were applied."""
    made.write_tests(folder)
    return subprocess.run(made.check.split(), cwd=folder, capture_output=True, check=False).returncode == 0


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Only these settings hold, whatever the person has configured."""
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("BOUGH_")]:
        del os.environ[name]
    os.environ.update(settings)
    # The interpreter itself comes first: a version manager's wrapper around it would be most of the cost of a test run.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
