"""What a task with a passing check still needs before it counts as done: to be examined against what was asked."""

from __future__ import annotations

from bough.core import commands as c
from bough.core import context, results
from bough.core.budget import used_up
from bough.core.ids import GOAL
from bough.core.probes import Probe, failing, told
from bough.core.states import State
from bough.core.task import Task
from bough.core.workflow.keys import for_agents, kind

live = results.live
REPAIRS = 2
"""Bug hunters that may try to make the work pass the probes."""


def next_for(task: Task) -> c.Command | None:
    """What comes before it is completed; None: nothing."""
    if not examinable(task) and task.merge is None:
        return None
    if open_contests(task) and (limit := used_up(task.spend, task.limits)):
        return c.Rest("budget", f"the budget of {limit} is spent")
    if open_contests(task):
        return c.Rule()
    if examinable(task) and task.examined is None and not (task.id != GOAL and task.steps):
        return c.Examine()
    if live(task) and task.probed != task.tree:
        return c.RunProbes()
    if refuting := refuted(task):
        return c.ChangeState(State.TEST_FAILED, f"a probe fails: {refuting[0].says}")
    return None


def examinable(task: Task) -> bool:
    """Agents' work with a check, as a whole or as one step; not what only brings steps together."""
    step, segment = task.step, task.id.rpartition("/")[2].partition("@")[0]
    merges = segment in (context.MERGE, context.MERGE_BESIDE) and step.name == context.MERGE
    worked = kind(step) == "agent" or (kind(step) == "compound" and for_agents(step)) or bool(task.steps)
    checked = task.verdict is not None and bool(task.verdict.command)
    wanted = task.rules.acceptance.examine != "never"
    return wanted and worked and checked and step.role != "critic" and not merges and task.tree != task.base


def refuted(task: Task) -> tuple[Probe, ...]:
    """The probes that count and fail."""
    return failing(live(task), task.probe_results)


def open_contests(task: Task) -> tuple[Probe, ...]:
    return tuple(probe for probe in refuted(task) if probe.name in task.contested and probe.name not in task.rulings)


def may_contest(task: Task, name: str) -> str:
    """Why a probe cannot be contested; empty when it can."""
    names = [probe.name for probe in refuted(task)]
    if name not in names:
        known = ", ".join(f"`{each}`" for each in names)
        return f"There is no failing probe `{name[:100]}`: there are {known}." if names else "No probe fails."
    if name in task.rulings:
        return f"It was contested, and the judge ruled that it is asked: “{task.rulings[name].quote}”. Make it pass."
    return ""


def shown(task: Task) -> str:
    """The failing probes, for whoever repairs the work."""
    parts = []
    for probe in refuted(task):
        ruling = task.rulings.get(probe.name)
        ruled = f"\nIt was contested; the judge ruled that it is asked: “{ruling.quote}”." if ruling else ""
        parts.append(told(probe, task.probe_results[probe.name], ruled))
    return "\n\n".join(parts)
