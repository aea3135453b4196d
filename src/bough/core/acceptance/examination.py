"""What a task with a passing check still needs before it is done: an examination against what was asked."""

from __future__ import annotations

from bough.core import commands as c
from bough.core.acceptance.probes import Probe, render_failing_probe, select_failing
from bough.core.budget.ledger import describe_spent, find_reached_limit
from bough.core.conversation import context
from bough.core.ids import GOAL
from bough.core.tree import task_result
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import classify_step, is_for_agents

live = task_result.list_live_probes
REPAIRS = 2
"""Bug hunters that may try to make the work pass the probes."""


def decide_examination(task: Task) -> c.Command | None:
    """What comes before it is completed; None: nothing."""
    if not is_examinable(task) and task.origin.merge is None:
        return None
    if list_open_contests(task) and (limit := find_reached_limit(task.budget.spend, task.budget.limits)):
        return c.Rest("budget", describe_spent(task.id, limit))
    if list_open_contests(task):
        return c.Rule()
    if is_examinable(task) and task.examination.examined is None and not (task.id != GOAL and task.plan.steps):
        return c.Examine()
    if live(task) and task.examination.probed != task.tree:
        return c.RunProbes()
    if refuting := list_failing_probes(task):
        return c.ChangeState(State.TEST_FAILED, f"a probe fails: {refuting[0].says}")
    return None


def is_examinable(task: Task) -> bool:
    """Agents' work with a check, as a whole or as one step; not what only merges steps."""
    step, segment = task.step, task.id.rpartition("/")[2].partition("@")[0]
    merges = segment in (context.MERGE, context.MERGE_BESIDE) and step.name == context.MERGE
    worked = (
        classify_step(step) == "agent"
        or (classify_step(step) == "compound" and is_for_agents(step))
        or bool(task.plan.steps)
    )
    checked = task.acceptance.verdict is not None and bool(task.acceptance.verdict.command)
    wanted = task.rules.acceptance.examine != "never"
    return wanted and worked and checked and step.role != "critic" and not merges and task.tree != task.base


def list_failing_probes(task: Task) -> tuple[Probe, ...]:
    """The probes that count and fail."""
    return select_failing(live(task), task.examination.results)


def list_open_contests(task: Task) -> tuple[Probe, ...]:
    return tuple(
        probe
        for probe in list_failing_probes(task)
        if probe.name in task.examination.contested and probe.name not in task.examination.rulings
    )


def explain_contest_refusal(task: Task, name: str) -> str:
    """Why a probe cannot be contested; empty if it can."""
    names = [probe.name for probe in list_failing_probes(task)]
    if name not in names:
        known = ", ".join(f"`{each}`" for each in names)
        return f"There is no failing probe `{name[:100]}`; failing are {known}." if names else "No probe fails."
    ruling = task.examination.rulings.get(name)
    if ruling is not None:
        return f"The judge has already ruled that it is asked for: “{ruling.quote}”. Make it pass."
    return ""


def render_failing_probes(task: Task) -> str:
    """The failing probes, for the agent that repairs the work."""
    parts = []
    for probe in list_failing_probes(task):
        ruling = task.examination.rulings.get(probe.name)
        ruled = f"\nIt was contested; the judge ruled that it is asked for: “{ruling.quote}”." if ruling else ""
        parts.append(render_failing_probe(probe, task.examination.results[probe.name], ruled))
    return "\n\n".join(parts)
