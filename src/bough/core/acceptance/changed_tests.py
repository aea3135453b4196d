"""Decide about original tests that disagree with the work: who is asked, and in which order.

Changes allowed in advance never get here. First a judge, who has to quote the goal, decides; then the person, if there
is one. Without permission the same agent gets a finding to answer; if it defends its work, the task waits for a person.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from bough.core import commands as c
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange, Disagreement, Verdict
from bough.core.budget.limits import LAST_SHARE, find_reached_limit
from bough.core.planning.plan import Plan, Step
from bough.core.tree.task import Task
from bough.core.tree.task_state import State

MOST_FINDINGS = 3
"""How often work with a passing check may go back to the same agent because of a finding."""


def list_pending_changes(task: Task) -> tuple[Disagreement, ...]:
    """List the disagreeing tests of the current verdict whose change nobody has allowed yet."""
    if task.acceptance.verdict is None or task.acceptance.verdict.ruling != "needs_approval":
        return ()
    allowed = {(one.test, one.change) for one in task.may_change}
    return tuple(one for one in task.acceptance.verdict.disagreements if (one.test, one.change) not in allowed)


def decide_approval(task: Task) -> c.Command:
    if not list_pending_changes(task):
        return c.RuleOnChanges("earlier")
    if task.test_changes.ruled_by_judge != task.tree and not find_reached_limit(task.budget.spend, task.budget.limits):
        return c.RuleOnChanges("judge")
    if task.ladder.means.person and task.test_changes.ruled_by_person != task.tree:
        return c.RuleOnChanges("person")
    if may_answer(task):
        return c.ReturnFinding()
    tests = ", ".join(dict.fromkeys(one.test for one in list_pending_changes(task)))
    if task.test_changes.denied == task.tree:
        return c.Conclude(State.FAILED, f"the person does not allow changes to original tests: {tests}")
    return c.Rest("needs_approval", f"the work breaks original tests, and nobody has approved that: {tests}")


def may_answer(task: Task) -> bool:
    """Whether the agent that did the work can still answer, and has not defended this work yet."""
    return (
        task.attempt is not None
        and not task.round.handed_over
        and task.acceptance.findings < MOST_FINDINGS
        and task.acceptance.found != task.tree
        and find_reached_limit(task.budget.spend, task.budget.limits, LAST_SHARE) is None
    )


def approve_verdict(task: Task, changes: tuple[AllowedChange, ...]) -> Verdict | None:
    """Return the passing verdict if these changes, too, are allowed; None while other changes are pending."""
    verdict, allowed = task.acceptance.verdict, (*task.test_changes.allowed, *changes)
    assert verdict is not None, "nothing was checked"
    if list_pending_changes(replace(task, test_changes=replace(task.test_changes, allowed=allowed))):
        return None
    tests = {found.test for found in verdict.disagreements}
    why = next((one for one in (*changes, *task.may_change) if one.test in tests), None)
    said = f"the check passed ({verdict.tests or 'exit status 0'}), and original tests were changed"
    return replace(verdict, ruling="passed", reason=f"{said}: {why.why}" if why is not None else said)


def collect_request(plan: Plan, asked: Sequence[Requirement] = ()) -> str:
    """Collect all that the person asked for, also in later messages, in their own words, without planners' texts."""
    later = [one.text for one in asked if one.source and one.counts]
    heading = ["The person said later (where it differs, this counts):"] if later else []
    return "\n\n".join([*_collect_texts(plan.goal), *heading, *later])


def _collect_texts(step: Step) -> list[str]:
    own = [step.instructions, *step.criteria]
    return [*(text for text in own if text), *(text for below in step.steps for text in _collect_texts(below))]
