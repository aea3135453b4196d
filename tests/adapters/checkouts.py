"""The open workspace of a task, for tests of what can be done with it."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.workspace import GitWorkspace
from tests.adapters.git_projects import (
    git_settings,  # noqa: F401 - used by every test
    names,
    spaces,
)

FILES = {"a.txt": "a", "src/b.py": "b", "src/deep/c.py": "c", ".gitignore": "*.log\n"}


class Task:
    """An open workspace with what it started from."""

    def __init__(self, root: Path, workspaces: GitWorkspaces, workspace: GitWorkspace, base: str) -> None:
        self.project = root
        self.workspaces = workspaces
        self.workspace = workspace
        self.base = base
        self.top = workspace.root

    async def names(self) -> set[str]:
        return names(self.project, await self.workspace.snapshot())

    def on_disk(self) -> set[str]:
        return {
            str(path.relative_to(self.top))
            for path in self.top.rglob("*")
            if (path.is_symlink() or not path.is_dir()) and ".git" not in path.relative_to(self.top).parts
        }


def with_task(root: Path, body: Callable[[Task], Awaitable[None]], link_ignored: bool = False) -> None:
    async def go() -> None:
        workspaces = spaces(root, link_ignored)
        base = await workspaces.take()
        await body(Task(root, workspaces, await workspaces.open("amber-heron", "goal", base, ""), base))

    asyncio.run(go())


def agent(top: Path, command: str) -> None:
    """What an agent does in its shell."""
    subprocess.run(["sh", "-c", command], cwd=top, check=True, capture_output=True)


def exactly(workspace: GitWorkspace) -> GitWorkspace:
    """The workspace, whose next look takes nothing that the system reported on trust."""
    if workspace._scanner.watch is not None:
        workspace._scanner.watch.lose()
    return workspace
