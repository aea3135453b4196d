"""Finds out what `bough backlog run` has to know before it begins a goal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from bough.adapters.workspaces import deliver
from bough.app.session import Session
from bough.core.backlog.state import Backlog, BacklogItem, Night
from bough.core.errors import UsageError, WorkspaceError
from bough.core.journal.run_fold import Run
from bough.core.tree.file_overlap import Touched


async def find_touched(session: Session, backlog: Backlog, live: Iterable[str]) -> dict[str, Touched]:
    """Find the files that running goals have changed so far; empty if at most one goal is left to choose."""
    if sum(not item.taken and not item.dropped for item in backlog.items.values()) < 2:
        return {}

    async def look(name: str) -> Touched:
        try:
            task = await session.task(backlog.items[name].run)
            changes = await session.workspaces.changes(task.base, task.tree)
        except (UsageError, WorkspaceError):  # The run has not begun, or its files are just being stored.
            return {}
        return {change.path: False for change in changes}

    names = list(live)
    return dict(zip(names, await asyncio.gather(*map(look, names)), strict=True))


async def find_full_disk(session: Session, most: int, busy: bool) -> str:
    """Explain why the limit of disk space lets no goal begin; empty if there is room, or no limit."""
    if not most:
        return ""
    used = await asyncio.to_thread(session.size)
    if used >= most and not busy and await session.tidy():
        used = await asyncio.to_thread(session.size)
    if used < most:
        return ""
    return f"bough keeps {used / 1e9:.3g} GB here, the limit is {most / 1e9:g} GB"


async def require_delivered(session: Session, need: BacklogItem, night: Night) -> None:
    """Raise an error if the run of a needed goal was removed and its work is not in the person's files."""
    made = need.report.commit if need.report is not None else ""
    there = await asyncio.to_thread(deliver.contains, session.root, night.started.commit, made)
    if not there and not (need.removed is not None and need.removed.applied):
        raise UsageError(
            f"it needs {need.name}, whose run was removed and whose work is not in your files: merge its branch, or do "
            f"it again with `bough backlog edit {need.name}`"
        )


def is_outdated(run: Run, item: BacklogItem) -> bool:
    """Return whether the person edited the goal so that its run no longer fits, or after the run finished."""
    goal = run.plan.goal
    other = goal.instructions != item.entry.goal.strip() or (goal.test_command or "") != item.entry.check
    return item.edited and (other or run.end is not None)
