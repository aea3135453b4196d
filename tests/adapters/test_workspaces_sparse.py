"""Sparse checkouts and partial clones: what the person does not have on disk is no part of the work, and stays."""

from pathlib import Path

from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home
from tests.adapters.git_projects import git, project
from tests.adapters.test_workspaces_watch import at_once

FILES = {"app/main.py": "print(1)\n", "app/util.py": "x = 1\n", "huge/data.py": "y = 2\n", "top.txt": "top\n"}


@at_once
async def test_a_partial_clone_with_a_sparse_checkout(tmp_path: Path) -> None:
    origin = project(tmp_path / "origin", FILES)
    (origin / "app" / "main.py").write_text("print(2)\n")
    git(origin, "commit", "-q", "-a", "-m", "Second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    mine = tmp_path / "mine"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--sparse", f"file://{origin}", str(mine))
    git(mine, "sparse-checkout", "set", "app")
    assert not (mine / "huge").exists()

    workspaces = GitWorkspaces(mine, prepare_home(mine), link_ignored=False)
    tree = await workspaces.take()
    assert await workspaces.paths(tree) == ["app/main.py", "app/util.py", "top.txt"]
    workspace = await workspaces.open("run", "task", tree, "")
    log = git(workspace.root, "log", "--format=%s").decode()
    assert log.split()[-2:] == ["Second", "Start"]
    assert git(workspace.root, "status", "--porcelain") == b""

    (workspace.root / "app" / "main.py").write_text("print(3)\n")
    changed = await workspace.snapshot()
    assert [change.path for change in await workspaces.apply(tree, changed)] == ["app/main.py"]
    assert git(mine, "status", "--porcelain").decode().splitlines() == [" M app/main.py"]
    assert not (mine / "huge").exists()
