"""Plan a goal without starting it: the same code as in a run, on a task that no journal holds."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.decide import decide
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.journal.task_fold import evolve_task
from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.perform import perform
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Ports


async def propose_plan(run: Run, goal: Step, ports: Ports) -> tuple[Task, tuple[str, ...]]:
    """The goal with the steps it would have, and what was wrong with plans that were rejected on the way."""
    runtime = TaskRuntime(run, replace(ports, approve=None))
    task, refused = Task(GOAL), list[str]()

    def see(event: e.AnyEvent) -> None:
        nonlocal task
        task = evolve_task(task, e.Record(0, run.name, GOAL, task.version + 1, ports.clock(), event))
        if isinstance(event, e.PlanRefused):
            refused.extend(event.problems)

    see(e.TaskCreated(goal, run.base, run.limits, run.rules))
    see(e.StateChanged(State.IN_PROGRESS, "to be planned"))
    while task.halt is None and isinstance(command := decide(task, ports.clock()), c.Estimate | c.MakePlan):
        async for events in perform(command, task, runtime):
            for event in events:
                see(event)
    return task, tuple(refused)
