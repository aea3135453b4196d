"""The agent's own `split`: its proposal is checked before it counts, exactly as a planner's answer is."""

from __future__ import annotations

from bough.core import commands as c
from bough.core import events as e
from bough.core.conversation.structured_answer import Problems
from bough.core.ids import depth
from bough.core.messages import Answer, Call
from bough.core.planning.decomposition import read_split
from bough.core.planning.tool_specs import SPLIT
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.task_workspace import Site
from bough.ports import Batches, ToolResult

WHY = "the agent asked for smaller steps"


def weigh_split(task: Task, result: ToolResult) -> ToolResult:
    """The result of a proposal: the steps, or what is wrong with it."""
    if why_not := _explain_refusal(task):
        return ToolResult(f"The task cannot be split: {why_not}. Continue with it as it is.", ok=False)
    answer = Answer(calls=(Call("", SPLIT.name, result.proposal),))
    steps = read_split(task.step, answer, frozenset())
    if isinstance(steps, Problems):
        return ToolResult(f"The steps were not accepted:\n{steps}\nFix that, or keep the task whole.", ok=False)
    names = ", ".join(f"`{step.name}`" for step in steps)
    return ToolResult(f"Accepted: the task continues as {names}.", events=(e.SplitProposed(steps),))


def _explain_refusal(task: Task) -> str:
    """Why this task may not be split, whatever is proposed; empty when it may."""
    rules, left = task.rules.planning, task.left.rounds
    if task.plan.steps:
        return "it already has smaller steps, and only what its own check still finds is left to do"
    if depth(task.id) >= rules.max_depth:
        return f"the tree may not grow deeper than {rules.max_depth} levels"
    if left < rules.min_split:
        return f"{left} rounds are left, and smaller steps need at least {rules.min_split}"
    return ""


async def split_task(command: c.Split, task: Task, site: Site) -> Batches:
    yield [e.Planned(command.steps, WHY), e.StateChanged(State.DECOMPOSED, WHY)]
