"""Decide which examination a task with a passing check still needs: a comparison of its work with the goal."""

from __future__ import annotations

from bough.core import commands as c
from bough.core.acceptance import earned
from bough.core.acceptance.probes import Probe, render_failing_probe, select_failing
from bough.core.acceptance.requirements import Requirement
from bough.core.budget.limits import describe_spent, find_reached_limit
from bough.core.conversation import context
from bough.core.events import ExaminationSkipped, Examined
from bough.core.ids import GOAL
from bough.core.tree import task_result
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import is_for_agents

live = task_result.list_live_probes
LOOKS = 2
"""The maximum number of examinations of one piece of work: a second one if a requirement has no evidence."""
ALIKE = 0.9
"""How similar (from 0 to 1) two cases must be for one ruling to cover both."""
REPAIRS = 2
"""The maximum number of repairing agents (bug hunters) that try to make the work pass the probes."""


def decide_examination(task: Task) -> c.Command | None:
    """Decide what to do before the task is completed; None if nothing is left."""
    work = is_agents_work(task)
    if not work and task.origin.merge is None:
        return None
    if list_open_contests(task) and (limit := find_reached_limit(task.budget.spend, task.budget.limits)):
        return c.Rest("budget", describe_spent(task.id, limit))
    if list_open_contests(task):
        return c.Rule()
    seen = task.examination.seen
    if work and task.id == GOAL and (seen is None or seen.tree != task.tree):
        return c.SeeDifference()
    if work and _is_wanted(task) and task.examination.examined is None and (task.id == GOAL or not task.plan.steps):
        # bough did not plan a change made by somebody else: read its purpose before examining it.
        unread = task.step.given and task.plan.estimate is None and not task.rules.planning.flat
        return c.Estimate() if unread else c.Examine()
    if live(task) and task.examination.probed != task.tree:
        return c.RunProbes()
    if refuting := list_failing_probes(task):
        return c.ChangeState(State.TEST_FAILED, f"a probe fails: {refuting[0].says}")
    return _decide_second_look(task) if work else None


def _decide_second_look(task: Task) -> c.Command | None:
    """Decide about a second examination if nothing is refuted but evidence or an examiner's case is missing."""
    missing, seen = list_unshown(task), task.examination.seen
    verdict, never = task.acceptance.verdict, not _is_wanted(task)
    news = verdict is not None and (verdict.added or verdict.changed)
    if never and missing and seen is not None and seen.seen.tests is None and news:
        return c.SeeDifference(tests=True)
    again = isinstance(task.examination.examined, Examined) and task.examination.times < LOOKS
    if again and not never and missing and not find_reached_limit(task.budget.spend, task.budget.limits):
        return c.Examine(tuple(one.number for one in missing))
    return None


def list_unshown(task: Task) -> tuple[Requirement, ...]:
    """List a goal's requirements that lack evidence or an examiner's case, or a step's that have no case left."""
    if task.id == GOAL and task.rules.acceptance.proof != "difference":
        return ()
    if task.id == GOAL:
        unexamined = earned.list_unexamined(task) if _is_wanted(task) else ()
        return tuple(sorted({*earned.list_missing(task), *unexamined}, key=lambda one: one.number))
    left = {number for probe in live(task) for number in probe.requirements}
    had = {number for probe in task.examination.probes for number in probe.requirements}
    return tuple(one for one in earned.list_asked(task) if one.number in had - left)


def conclude_work(task: Task, reason: str) -> c.Conclude:
    """Conclude a task whose check passes and whose work nothing refutes: completed, or blocked for lack of evidence."""
    if task.id != GOAL or not is_agents_work(task) or task.rules.acceptance.proof != "difference":
        return c.Conclude(State.COMPLETED, reason)
    if earned.list_missing(task):
        examined = task.examination.examined
        skipped = f" (not examined: {examined.why})" if isinstance(examined, ExaminationSkipped) else ""
        return c.Conclude(State.BLOCKED, f"{earned.describe_missing(task)}{skipped}")
    if not earned.list_asked(task):
        return c.Conclude(State.BLOCKED, "nothing in the goal asks for something that could be shown")
    if earned.has_nothing_to_run(task):
        return c.Conclude(State.COMPLETED, earned.NOTHING_TO_RUN)
    return c.Conclude(State.COMPLETED, f"{reason}{earned.describe_own_proof(task)}")


def is_agents_work(task: Task) -> bool:
    """Whether the task's work is by agents (itself or its steps), has a check, and is not just a merge of steps."""
    step = task.step
    worked = any(map(is_for_agents, (step, *task.plan.steps)))
    checked = task.acceptance.verdict is not None and bool(task.acceptance.verdict.command)
    merges = context.is_merge_task(task.id, step)
    return worked and checked and step.role != "critic" and not merges and task.tree != task.base


def _is_wanted(task: Task) -> bool:
    return task.rules.acceptance.examine != "never"


def list_failing_probes(task: Task) -> tuple[Probe, ...]:
    """List the probes that count and fail."""
    return select_failing(live(task), task.examination.results)


def list_open_contests(task: Task) -> tuple[Probe, ...]:
    """List the failing probes that a judge has to rule on: those that an agent contests or, for somebody else's change,
    all of them, since no agent is there to contest a wrong probe."""
    known = task.examination
    return tuple(
        probe
        for probe in list_failing_probes(task)
        if (task.step.given or probe.name in known.contested) and probe.name not in known.rulings
    )


def list_alike_contests(task: Task) -> tuple[Probe, ...]:
    """List the first probe that a judge has to rule on, and the others with the same quote and nearly the same text."""
    from difflib import SequenceMatcher  # Slow to load, and rarely needed.

    first, *others = list_open_contests(task)
    same = [one for one in others if one.quote == first.quote]
    return first, *(one for one in same if SequenceMatcher(None, one.text, first.text, False).ratio() >= ALIKE)


def explain_contest_refusal(task: Task, name: str) -> str:
    """Explain why a probe cannot be contested; empty if it can."""
    names = [probe.name for probe in list_failing_probes(task)]
    if name not in names:
        known = ", ".join(f"`{each}`" for each in names)
        return f"There is no failing probe `{name[:100]}`; failing are {known}." if names else "No probe fails."
    ruling = task.examination.rulings.get(name)
    if ruling is not None:
        return f"The judge has already ruled that it is asked for: “{ruling.quote}”. Make it pass."
    return ""


def render_failing_probes(task: Task) -> str:
    """Render the failing probes for the agent that repairs the work."""
    parts = []
    for probe in list_failing_probes(task):
        ruling = task.examination.rulings.get(probe.name)
        ruled = f"\nIt was contested; the judge ruled that it is asked for: “{ruling.quote}”." if ruling else ""
        parts.append(render_failing_probe(probe, task.examination.results[probe.name], ruled))
    return "\n\n".join(parts)
