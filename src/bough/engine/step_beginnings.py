"""Prepares the start of a step: fills in the results of other steps that it names, or finds its work if an earlier run
completed the same step from the same files."""

import re

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Limits, Spend
from bough.core.errors import WorkspaceError
from bough.core.ids import GOAL, child_path, parent_path
from bough.core.journal.run_fold import Run
from bough.core.journal.task_fold import fold_task
from bough.core.planning.agent_choice import choose_agent
from bough.core.planning.plan import Step
from bough.core.tree.scope import build_inherited, compute_key
from bough.core.tree.task import Task
from bough.core.tree.task_state import State, Subject
from bough.core.workflow.placeholders import LIVE, fill_step
from bough.engine.task_loop import TaskStream
from bough.ports import Ports

OUTLINE = ("TaskCreated", "ChildStarted", "ChildSettled", "PassEnded", "TransitionTaken", "TaskRewound")
"""Events that record how the steps of a task ended."""


class StepStarter(Struct, eq=False):
    """Prepares the start of steps. It knows the running tasks of this process and the work of earlier runs."""

    _run: Run
    _ports: Ports
    _streams: dict[str, TaskStream] = {}
    _done: dict[str, tuple[str, str]] | None = None

    def opened(self, stream: TaskStream) -> None:
        self._streams[stream.task.id] = stream

    def under_way(self, path: str) -> list[Task]:
        """List the running tasks at a path and below it."""
        return [stream.task for name, stream in self._streams.items() if name == path or name.startswith(f"{path}/")]

    def closed(self, task: str) -> None:
        self._streams.pop(task, None)

    async def first(self, task: Task, step: Step, limits: Limits, grows: bool = False) -> e.TaskCreated:
        """Return the first event in the journal of a step's own task."""
        filled_in = await self._fill_step(task, step)
        run = self._run
        model = choose_agent(run.agents, run.models, step, step.role, step.model) or run.models.get(step.model, "")
        subject = self._build_subject(task, step) if step.role == "critic" else None
        told = build_inherited(task, step)
        reusable = not run.fresh and self._is_written(task, step)
        key = compute_key(filled_in, task.tree, model, told, subject) if reusable else ""
        told = replace(told, allowed=task.may_change)
        return e.TaskCreated(
            filled_in,
            task.tree,
            limits,
            run.rules,
            task.ladder.means,
            told,
            grows,
            key,
            subject,
            heard=task.talk.heard,
        )

    def _is_written(self, task: Task, step: Step) -> bool:
        """Return whether the step is in the plan that the run began with. Only in that plan are braces placeholders."""
        found = self._run.plan.goal
        way = [] if task.id == GOAL else [segment.partition("@")[0] for segment in task.id.split("/")]
        for name in (*way, step.name):
            child = next((each for each in found.steps if each.name == name), None)
            if child is None:
                return False
            found = child
        return found.instructions == step.instructions and found.run == step.run

    async def _fill_step(self, task: Task, step: Step) -> Step:
        texts = (step.instructions, *step.criteria, step.run, *step.env.values())
        if not any("{" in text for text in texts) or not self._is_written(task, step):
            return step
        paths = {match[1] for text in texts for match in re.finditer(LIVE, text) if match[1] is not None}
        return fill_step(step, {path: await self._find_result(path) for path in paths})

    async def _find_result(self, path: str) -> str:
        """Return the last result of the step at this path of the plan; empty if it was left out or is not finished."""
        *way, name = path.split("/")
        at, task = GOAL, self._streams[GOAL].task
        for segment in way:
            running, over = task.children.running.get(segment), task.children.ended.get(segment)
            instance = running.task if running is not None else over.task if over is not None else ""
            if not instance:
                return ""
            at = child_path(at, instance)
            if at in self._streams:
                task = self._streams[at].task
            else:
                task = fold_task(at, await self._ports.store.read(self._run.name, at, kinds=OUTLINE))
        child = task.children.ended.get(name)
        return child.result if child is not None else ""

    def _build_subject(self, task: Task, step: Step) -> Subject:
        """Build what a critic judges: the changes of the nearest task above that has some, and its steps' results."""
        earlier = task.children.ended.get(step.name)
        above, path = [task], parent_path(task.id)
        while path is not None:
            above += [self._streams[path].task] if path in self._streams else []
            path = parent_path(path)
        changed = next((each for each in above if each.base != task.tree), task)
        said = next((found for each in above if (found := _list_verdicts(each))), ())
        return Subject(changed.base, said, probes=earlier.refuting if earlier is not None else ())

    async def done_before(self, first: e.TaskCreated) -> e.ChildSettled | None:
        """Find the same step, completed by an earlier run from the same files; None if the step has to run."""
        if not first.key:
            return None
        if self._done is None:
            # Collect the completed steps of all earlier runs, by key. If a key occurs twice, the latest counts.
            done: dict[str, tuple[str, str]] = {}
            for run in await self._ports.store.runs():
                # Only earlier runs count: if a step of this run starts again, that has a reason.
                if run == self._run.name:
                    break
                for record in await self._ports.store.read(run, kinds=("ChildSettled",)):
                    event = record.event
                    if isinstance(event, e.ChildSettled) and event.key and event.state is State.COMPLETED:
                        done[event.key] = (run, child_path(record.task, event.task))
            self._done = done
        if first.key not in self._done:
            return None
        run, path = self._done[first.key]
        task = fold_task(path, await self._ports.store.read(run, path))
        try:
            await self._ports.workspaces.changes(first.base, task.tree)
        except WorkspaceError:  # The earlier step's files are gone, so the step has to run again.
            return None
        records = await self._ports.store.read(run, parent_path(path) or GOAL, kinds=("ChildSettled",))
        ends = (record.event for record in records if isinstance(record.event, e.ChildSettled))
        found = next((each for each in ends if each.key == first.key), None)
        if task.state is not State.COMPLETED or task.base != first.base or found is None:
            return None
        why, source = f"unchanged since {run}: reused", f"{run}/{path}"
        return replace(found, why=why, tree=task.tree, spend=Spend(), task="", source=source, key="")


def _list_verdicts(task: Task) -> tuple[str, ...]:
    over = (task.children.ended[step.name] for step in task.plan.steps if step.name in task.children.ended)
    return tuple(f"{child.child}: {child.verdict}" for child in over if child.verdict)
