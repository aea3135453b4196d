"""A whole run with a cast on the wire, for assertions."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.planning.plan import Step, build_goal_step
from bough.views.run_view import Outcome
from bough.views.task_view import TaskView
from tests.engine.cast import DONE as DONE_CALL
from tests.engine.cast import LOOK, SWAP, Cast, Part, act, in_order
from tests.harness import CHECK, QUICK_CHECK, Journal, make_project
from tests.wire import Reply, WireModel

Script = Cast | Callable[[dict[str, Any]], Reply]
"""Who answers."""


@dataclass
class FinishedRun:
    """A whole run, for assertions."""

    project: Path
    outcome: Outcome
    journal: Journal
    cast: Script

    def rungs(self, task: str = GOAL) -> list[str]:
        return [r.event.decision.rung for r in self.of(task, e.Escalated)]

    def of(self, task: str, *kinds: type) -> list[Any]:
        return [r for r in self.journal.records if r.task == task and isinstance(r.event, kinds)]

    def states(self, task: str = GOAL) -> list[str]:
        return [r.event.to.value for r in self.of(task, e.StateChanged)]

    @property
    def tree(self) -> dict[str, TaskView]:
        return {task.path: task for task in self.outcome.tree}


def told(
    project: Path, cast: Script, *, goal: Step | None = None, watch: app.RunObserver | None = None, **chosen: Any
) -> FinishedRun:
    """Carry the goal out with the cast on the wire."""

    async def work(choices: app.Choices) -> tuple[Outcome, Journal]:
        async with app.open_session(project, create=True) as session:
            step = goal or build_goal_step("Make add add.", check=QUICK_CHECK)
            outcome = await session.start(step, choices, watch or app.RunObserver())
            return outcome, Journal(await session.store.read(outcome.run))

    with WireModel(cast) as wire:
        chosen = dict[str, Any](model="openai:main", rounds=100, flat=True) | chosen
        outcome, journal = asyncio.run(work(app.Choices(base_url=wire.base_url, **{"protocol": "tools", **chosen})))
    assert spent_by_events(journal.records) == outcome.spend.rounds, "the budget is exact"
    return FinishedRun(project, outcome, journal, cast)


def spent_by_events(records: Sequence[e.Record]) -> int:
    """Rounds, counted from the journal in another way than bough does: one an answer that was asked for."""
    events = [r.event for r in records]
    return sum(
        isinstance(event, e.HelperAnswered) or (isinstance(event, e.ModelAnswered) and not event.spare)
        for event in events
    )


def project_in(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "p")
    (project / "long.txt").write_text("".join(f"line {n}: nothing of note {n * n}\n" for n in range(2000)))
    return project


def replace_steps(step: Step, *steps: Step) -> Step:
    return replace(step, steps=steps)


VERIFIED = Step(
    "goal",
    "Write plan.txt and log.txt, and make add add.",
    test_command=CHECK,
    steps=(
        Step("plan", "Write plan.txt.", test_command="test -s plan.txt", on_error="escalate"),
        Step("log", "Write log.txt.", test_command="test -s log.txt", on_error="escalate"),
        Step("sum", "Turn minus into plus.", test_command=QUICK_CHECK, on_error="escalate"),
    ),
)
WRITERS: dict[str, Part] = {
    "plan": in_order(act("write", path="plan.txt", content="plan\n"), DONE_CALL),
    "log": in_order(act("write", path="log.txt", content="log\n"), DONE_CALL),
}
FINER: tuple[dict[str, Any], ...] = (LOOK, SWAP)
