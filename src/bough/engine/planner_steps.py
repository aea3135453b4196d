"""Where steps come from: a planner, whose bad answer may be repaired once, or the agent's own `split`, which is checked
in the same way before it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bough.core import commands as c
from bough.core import events as e
from bough.core.conversation import context
from bough.core.conversation.structured_answer import Problems
from bough.core.ids import depth
from bough.core.messages import Answer, Call, ToolSpec
from bough.core.planning import prompt_values
from bough.core.planning.decomposition import read_split
from bough.core.planning.plan import Step
from bough.core.planning.tool_specs import SPLIT
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.consult import consult_or_halt, render_answer
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches, ToolResult

Read = Callable[[Answer], tuple[Step, ...] | Problems]
Taken = Callable[[tuple[Step, ...]], Sequence[e.AnyEvent]]
"""The events for acceptable steps."""


async def ask_for_steps(
    task: Task, runtime: TaskRuntime, helper: str, values: dict[str, str], tool: ToolSpec, read: Read, taken: Taken
) -> Batches:
    problems, answered = task.plan.problems, task.plan.answered
    while True:
        wrong = prompt_values.build_repair_values(tool.name, Problems(problems), answered)
        repair = context.render(runtime.ports.prompt("plan_repair"), wrong) if problems else ""
        asked = await consult_or_halt(task, runtime, helper, "main", values, tool, repair)
        if asked.answer is None:
            yield asked.events
            return
        steps = read(asked.answer)
        if not isinstance(steps, Problems):
            yield [*asked.events, *taken(steps)]
            return
        yield [*asked.events, e.PlanRefused(helper, steps.said, final=bool(problems))]
        if problems:
            return
        problems, answered = steps.said, render_answer(asked.answer)


SPLIT_BY_AGENT = "the agent asked for smaller steps"


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


async def split_task(command: c.Split, task: Task, runtime: TaskRuntime) -> Batches:
    yield [e.Planned(command.steps, SPLIT_BY_AGENT), e.StateChanged(State.DECOMPOSED, SPLIT_BY_AGENT)]
