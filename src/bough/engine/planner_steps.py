"""Ask a planner for steps. A bad answer may be repaired once; after that planning fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bough.core import events as e
from bough.core.conversation import context
from bough.core.conversation.structured_answer import Problems
from bough.core.errors import Unavailable
from bough.core.messages import Answer, ToolSpec
from bough.core.planning import prompt_values
from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.engine.consult import consult, render_answer
from bough.engine.task_workspace import Site, build_halt
from bough.ports import Batches

Read = Callable[[Answer], tuple[Step, ...] | Problems]
Taken = Callable[[tuple[Step, ...]], Sequence[e.AnyEvent]]
"""The events for acceptable steps."""


async def ask_for_steps(
    task: Task, site: Site, helper: str, values: dict[str, str], tool: ToolSpec, read: Read, taken: Taken
) -> Batches:
    problems, answered = task.plan.problems, task.plan.answered
    while True:
        mend = prompt_values.build_repair_values(tool.name, Problems(problems), answered)
        repair = context.render(site.ports.prompt("plan_repair"), mend) if problems else ""
        try:
            asked = await consult(task, site, helper, "main", values, tool, repair)
        except Unavailable as error:
            yield [e.HelperFailed(helper, str(error)), build_halt(error)]
            return
        if asked.answer is None:  # A stop is not kept waiting: the model is not at fault.
            rests = [] if site.ports.stop.requested else [e.TaskHalted("unavailable", asked.error)]
            yield [*asked.events, *rests]
            return
        steps = read(asked.answer)
        if not isinstance(steps, Problems):
            yield [*asked.events, *taken(steps)]
            return
        yield [*asked.events, e.PlanRefused(helper, steps.said, final=bool(problems))]
        if problems:
            return
        problems, answered = steps.said, render_answer(asked.answer)
