"""The end of a task, however it came about."""

from __future__ import annotations

from bough.core import events as e
from bough.core.acceptance import earned
from bough.core.acceptance.examination import is_agents_work
from bough.core.ids import GOAL
from bough.core.ladder.tactics import Tally
from bough.core.tree.task import Task
from bough.core.tree.task_result import render_summaries
from bough.core.tree.task_state import State
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches


async def conclude(to: State, why: str, task: Task, runtime: TaskRuntime) -> Batches:
    """Save the work in a checkpoint and set the final state."""
    workspace = await runtime.open(task)
    commit = await workspace.checkpoint(task.tree, f"{task.id}: {to.value}\n\n{render_summaries(task) or why}")
    changes = await runtime.ports.workspaces.changes(task.base, task.tree)
    checkpoint = e.CheckpointMade(commit, task.tree, tuple(change.path for change in changes))
    if to is State.COMPLETED:
        note_outcome(task, runtime, won=True)
    judged = [e.EvidenceJudged(earned.list_shown(task), tuple(one.number for one in earned.list_missing(task)))]
    yield [checkpoint, *(judged if task.id == GOAL and is_agents_work(task) else []), e.StateChanged(to, why)]


def note_outcome(task: Task, runtime: TaskRuntime, *, won: bool) -> None:
    """Remember what came of the last attempt, for later choices of a tactic and a protocol."""
    attempt = task.attempt
    if attempt is None or not (attempt.tactic or attempt.may_change):
        return
    name = runtime.ports.models[attempt.tier].name
    if attempt.tactic:
        runtime.ports.protocols.tally(name, attempt.tactic, Tally(int(won), attempt.tokens))
    if won and attempt.may_change:
        runtime.ports.protocols.learn(name, attempt.protocol, "it completed a task with it")
