"""Plans that wait for a person's approval, and answers that come from another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bough.app.run_messages import find_person
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.ids import CONTROL, RUN
from bough.core.planning.plan import Plan, Step, validate_plan
from bough.core.workflow.loading import load
from bough.core.workflow.writing import write_workflow
from bough.ports import Approval

if TYPE_CHECKING:
    from bough.app.journal import Journal
    from bough.ports import Approval

KINDS = ("TaskCreated", "RequirementsRead", "PlanProposed", "PlanAnswered", "Planned", "PlanRefused", "TaskRewound")


class Proposal(Struct, frozen=True):
    """A plan that waits for a person's answer."""

    task: str
    plan: Plan

    @property
    def text(self) -> str:
        """As TOML, for editing."""
        return write_workflow(self.plan)

    def own(self, text: str) -> Approval:
        """The plan as the person edited it."""
        goal = load(text, "plan.toml", inputs={}).plan.goal
        changed = goal.criteria if goal.criteria != self.plan.goal.criteria else ()
        return Approval("own", steps=goal.steps, requirements=changed)


class Proposals:
    """A fold over the events of `KINDS`: which plans are unanswered."""

    def __init__(self) -> None:
        self._steps: dict[str, Step] = {}
        self._asked: dict[str, tuple[str, ...]] = {}
        self._open: dict[str, tuple[Step, ...]] = {}

    def see(self, record: e.Record) -> None:
        match record.event:
            case e.TaskCreated(step=step):
                self._steps[record.task] = step
            case e.RequirementsRead(requirements=found):
                self._asked[record.task] = tuple(one.whole for one in found) if len(found) > 1 else ()
            case e.PlanProposed(steps=steps):
                self._open[record.task] = steps
            case e.PlanAnswered() | e.Planned() | e.PlanRefused() | e.TaskRewound():
                self._open.pop(record.task, None)
            case _:
                pass

    @property
    def open(self) -> list[Proposal]:
        made = []
        for task, steps in self._open.items():
            step = self._steps.get(task, Step(task, task))
            criteria = step.criteria or self._asked.get(task, ())
            shown = replace(step, steps=steps, parallel=True, criteria=criteria, plan_first=False)
            made.append(Proposal(task, Plan(shown)))
        return made


async def find_proposal(journal: Journal, name: str, task: str = "") -> Proposal:
    """The plan that waits for an answer; of several, that task's."""
    found = Proposals()
    for record in await journal.store.read(name, kinds=KINDS):
        found.see(record)
    waiting = [each for each in found.open if task in ("", each.task)]
    if not waiting or await journal.store.holder(name, RUN) is None:
        raise UsageError(f"No plan of {name} is waiting for your answer: see `bough status {name}`.")
    return waiting[0]


async def rule_on_plan(journal: Journal, name: str, task: str, approval: Approval) -> None:
    """Record the answer. The process that runs the run sees it and stops asking."""
    if approval.steps:
        step = (await journal.task(name, task)).step
        validate_plan(Plan(replace(step, steps=approval.steps)))
    said = e.PlanRuled(task, approval.says, approval.wish, approval.steps, approval.requirements, find_person())
    await journal.store.post(name, CONTROL, said)
