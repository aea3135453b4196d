"""Plans that wait for a person's approval, and answers that come from another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bough.app.run_messages import answer_once, find_person, list_waiting
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.planning.plan import Plan, validate_plan
from bough.core.workflow.loading import load
from bough.core.workflow.writing import write_workflow
from bough.ports import Approval

if TYPE_CHECKING:
    from bough.app.journal import Journal
    from bough.views.waiting import Waiting


class Proposal(Struct, frozen=True):
    """A plan that waits for a person's answer."""

    waiting: Waiting
    plan: Plan

    @property
    def task(self) -> str:
        return self.waiting.task

    @property
    def text(self) -> str:
        """The plan as TOML, for editing."""
        return write_workflow(self.plan)

    def own(self, text: str) -> Approval:
        """The plan as the person edited it."""
        goal = load(text, "plan.toml", inputs={}).plan.goal
        changed = goal.criteria if goal.criteria != self.plan.goal.criteria else ()
        return Approval("own", steps=goal.steps, requirements=changed)


async def find_proposal(journal: Journal, name: str, task: str = "") -> Proposal:
    """The plan that waits for an answer; of several, that task's."""
    for each in await list_waiting(journal, name):
        if each.plan is not None and task in ("", each.task):
            return Proposal(each, each.plan)
    raise UsageError(f"No plan of {name} is waiting for your answer: see `bough status {name}`.")


async def rule_on_plan(journal: Journal, name: str, proposal: Proposal, approval: Approval) -> None:
    """Record the answer. The process that runs the run sees it and stops asking."""
    task = proposal.task
    if approval.steps:
        step = (await journal.task(name, task)).step
        validate_plan(Plan(replace(step, steps=approval.steps)))
    said = e.PlanRuled(task, approval.says, approval.wish, approval.steps, approval.requirements, find_person())
    await answer_once(journal, name, proposal.waiting, said)
