"""Files and folders that a process may not read: the person's, and those that an agent made so."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import git
from tests.ordinary import as_ordinary_user

LOCKED = """
import asyncio, os, subprocess, sys
from pathlib import Path
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home

root, command = Path(sys.argv[1]), sys.argv[2]

async def main():
    workspaces = GitWorkspaces(root, prepare_home(root), False)
    base = await workspaces.take()
    workspace = await workspaces.open("run", "goal", base, "")
    def lock():
        subprocess.run(command, shell=True, cwd=workspace.root, stderr=subprocess.DEVNULL)
        assert not os.access(workspace.root, os.R_OK), "nothing is locked: this test shows nothing"
    lock()
    assert await workspace.snapshot() == base
    lock()
    await workspace.restore(base)
    assert (workspace.root / "folder" / "file").read_text() == "x"
    lock()
    again = await GitWorkspaces(root, prepare_home(root), False).open("run", "goal", base, "")
    await again.restore(base)
    assert (again.root / "folder" / "file").read_text() == "x"
    lock()
    await again.clear(base)
    lock()
    await workspaces.discard("run", "goal")
    assert not workspace.root.exists()

asyncio.run(main())
"""


@pytest.mark.parametrize("command", ["chmod -R 000 .", 'find "$PWD" -depth -exec chmod 000 {} +', 'chmod 300 "$PWD"'])
def test_a_checkout_whose_files_were_made_unreadable_goes_on(tmp_path: Path, command: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    done = subprocess.run(
        as_ordinary_user(sys.executable, "-c", LOCKED, str(tmp_path), command), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_folder_that_we_may_not_read_stops_nothing(tmp_path: Path, mode: int) -> None:
    """As a database server keeps its files, ignored, within the project."""
    (tmp_path / ".gitignore").write_text("pgdata/\n")
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert True\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Start")
    locked = tmp_path / "pgdata"
    (locked / "base").mkdir(parents=True)
    locked.chmod(mode)
    try:
        done = subprocess.run(
            as_ordinary_user(sys.executable, "-m", "bough", "check"), cwd=tmp_path, capture_output=True, text=True
        )
    finally:
        locked.chmod(0o700)
    assert done.returncode == 0 and "passes (1 test" in done.stdout, done.stdout + done.stderr
