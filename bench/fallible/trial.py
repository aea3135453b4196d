"""One trial: a goal, carried out by bough as a person would have it, with the fallible model at the end of the wire."""

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
from dataclasses import dataclass, replace
from pathlib import Path

from bough import app
from bough.core import events as e
from bough.core.ladder.escalation import LadderRules
from bough.core.planning.plan import build_goal_step
from bough.views.run_view import Outcome
from fallible.goals import Goal, goal
from fallible.serving import FallibleModel

NO_SOFT_LIMIT = "1000000"


@dataclass(frozen=True)
class Arm:
    """Which mechanisms are on, as settings that anybody could make."""

    name: str
    what: str
    rungs: tuple[str, ...]
    strong: bool = False

    @property
    def settings(self) -> dict[str, str]:
        if not self.rungs:
            return {"BOUGH_LADDER_RUNGS": "", "BOUGH_STUCK_PATTERNS": "", "BOUGH_LADDER_TASK_ROUNDS": NO_SOFT_LIMIT}
        return {"BOUGH_LADDER_RUNGS": ":".join(self.rungs)}


NUDGE = ("nudge",)
PRUNE = (*NUDGE, "prune")
SPLIT = (*PRUNE, "decompose")
FULL = LadderRules().rungs
ARMS: tuple[Arm, ...] = (
    Arm("flat", "one loop until the check passes or repairs or budget end: no signals, no soft limit, no rungs", ()),
    Arm("nudge", "+ signals, the soft limit and nudges", NUDGE),
    Arm("prune", "+ pruning", PRUNE),
    Arm("split", "+ decomposition", SPLIT),
    Arm("ladder", "the full ladder with one model: + verify and replan", FULL),
    Arm("strong", "the full ladder and a stronger model, which the last bug hunter gets too", FULL, strong=True),
)
ALWAYS = frozenset({"zoom_out", "give_up"})
"""Rungs that cannot be left out."""


@dataclass(frozen=True)
class Unit:
    """One goal under one setting: what the arms are compared on."""

    setting: str
    number: int
    seed: int
    rounds: int


@dataclass(frozen=True)
class Result:
    """What came of a unit in an arm."""

    setting: str
    number: int
    seed: int
    rounds_granted: int
    arm: str
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
    stronger: bool
    """The stronger model was turned to."""
    rightly: bool
    """Not called completed while the goal's tests, run by us on the result, fail."""
    same_as: str = ""
    """The arm whose run this must be, too; empty: it was run."""


def key_of(result: Result) -> tuple[Unit, str]:
    return Unit(result.setting, result.number, result.seed, result.rounds_granted), result.arm


def run_to_end(unit: Unit, arms: tuple[str, ...], again: bool = False) -> list[Result]:
    """The unit in each arm, the one with the most mechanisms first.

    The model is a function of what it is shown, and the ladder takes the first rung that applies. So a run in which no
    rung was taken that an arm with fewer of them lacks is that arm's run as well; unless `again`, it is not repeated.
    """
    results: list[Result] = []
    with FallibleModel() as model:
        for arm in reversed([arm for arm in ARMS if arm.name in arms]):
            before = results[-1] if results else None
            if before and not again and _same(before, arm):
                results.append(replace(before, arm=arm.name, same_as=before.same_as or before.arm))
            else:
                results.append(_tried(unit, arm, model))
    return results


def _same(before: Result, arm: Arm) -> bool:
    """Whether an arm with fewer mechanisms would have done exactly what was done."""
    if before.stronger or before.rungs.keys() - set(arm.rungs) - ALWAYS:
        return False
    return bool(arm.rungs) or not (before.signals or before.rungs)


def _tried(unit: Unit, arm: Arm, model: FallibleModel) -> Result:
    """A fresh repository, one run, and what its journal says of it."""
    made = goal(unit.seed, unit.number)
    folder = Path(tempfile.mkdtemp(prefix="ablation-"))
    began = time.perf_counter()
    try:
        _repository(made, folder)
        with _environment(arm.settings):
            url = model.base_url(unit.setting, f"{unit.seed}-{unit.number}")
            outcome, events = asyncio.run(_run(made, folder, url, arm, unit.rounds))
        return Result(
            setting=unit.setting,
            number=unit.number,
            seed=unit.seed,
            rounds_granted=unit.rounds,
            arm=arm.name,
            size=len(made.items),
            status=outcome.status,
            completed=outcome.completed,
            rounds=outcome.spend.rounds,
            tokens=outcome.spend.tokens,
            seconds=time.perf_counter() - began,
            rungs=dict(Counter(event.decision.rung for event in events if isinstance(event, e.Escalated))),
            signals=dict(Counter(event.signal.pattern for event in events if isinstance(event, e.SignalRaised))),
            refused=sum(isinstance(event, e.PlanRefused) for event in events),
            stronger=arm.strong and any(map(_stronger, events)),
            rightly=not outcome.completed or _passes(made, folder),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stronger(event: e.AnyEvent) -> bool:
    """It shows that a stronger model was turned to."""
    if isinstance(event, e.Escalated):
        return event.decision.rung == "stronger_model"
    return isinstance(event, e.AttemptStarted) and event.tier == "strong"


async def _run(made: Goal, folder: Path, url: str, arm: Arm, rounds: int) -> tuple[Outcome, list[e.AnyEvent]]:
    choices = app.Choices(
        model="openai:fallible",
        strong_model="openai:fallible-strong" if arm.strong else None,
        base_url=url,
        rounds=rounds,
    )
    step = build_goal_step(made.instructions, check=made.check, criteria=made.criteria)
    async with app.open_session(folder, create=True) as session:
        outcome = await session.start(step, choices, app.RunObserver())
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
    # What the ladder brings is measured by the check alone; its model is scripted and speaks tools.
    os.environ.update({"BOUGH_ACCEPTANCE_PROOF": "check", "BOUGH_ACCEPTANCE_EXAMINE": "never"})
    os.environ["BOUGH_MODELS_PROTOCOL"] = "tools"
    # The interpreter itself comes first: a version manager's wrapper around it would be most of the cost of a test run.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
