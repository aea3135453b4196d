"""The end of a task, however it came about."""

from __future__ import annotations

from bough.core import events as e
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.task_workspace import Site
from bough.ports import Batches


async def conclude(to: State, why: str, task: Task, site: Site) -> Batches:
    """Save the work in a checkpoint and set the final state."""
    workspace = await site.open(task)
    commit = await workspace.checkpoint(task.tree, f"{task.id}: {to.value}\n\n{task.acceptance.claim or why}")
    changes = await site.ports.workspaces.changes(task.base, task.tree)
    checkpoint = e.CheckpointMade(commit, task.tree, tuple(change.path for change in changes))
    yield [checkpoint, e.StateChanged(to, why)]
