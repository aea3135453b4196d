"""The agent's own git repository: the project's history is there to be read, and nothing can be done to it."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bough.adapters.workspaces.agent_repository import CONFIG, LAST, keep_harmless
from bough.adapters.workspaces.workspace import GitWorkspace
from tests.adapters.git_projects import git, git_settings, project, spaces, write

__all__ = ["git_settings"]


def opened(root: Path, run: str = "amber-heron", task: str = "goal") -> GitWorkspace:
    async def go() -> GitWorkspace:
        workspaces = spaces(root)
        return await workspaces.open(run, task, await workspaces.take(), "")

    return asyncio.run(go())


def said(workspace: GitWorkspace) -> list[str]:
    """The messages of all commits, newest first."""
    return git(workspace.root, "log", "--format=%s").decode().splitlines()


def history(root: Path) -> Path:
    project(root, {"a.py": "x = 1\n"})
    write(root, {"a.py": "x = 2\n", "b.py": "y = 1\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Say two")
    return root


def test_the_history_of_the_project_is_there(tmp_path: Path) -> None:
    workspace = opened(history(tmp_path / "p"))
    assert said(workspace) == ["Say two", "Start"]
    assert b"+x = 2" in git(workspace.root, "show", "HEAD")
    assert git(workspace.root, "status", "--porcelain") == b""
    assert b"Ada" in git(workspace.root, "blame", "a.py")


def test_what_was_not_committed_is_one_commit_more(tmp_path: Path) -> None:
    root = history(tmp_path / "p")
    write(root, {"a.py": "x = 3\n", "new.py": "z = 1\n"})
    workspace = opened(root)
    assert said(workspace) == ["Where the task starts", "Say two", "Start"]
    assert git(workspace.root, "diff", "--name-only", "HEAD~1").split() == [b"a.py", b"new.py"]
    assert git(workspace.root, "status", "--porcelain") == b""


def test_later_tasks_of_a_run_have_the_history_of_its_beginning(tmp_path: Path) -> None:
    root = history(tmp_path / "p")
    opened(root)
    write(root, {"late.py": "1\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Meanwhile")
    assert said(opened(root, task="goal/later")) == ["Where the task starts", "Say two", "Start"]
    assert said(opened(root, run="other-run")) == ["Meanwhile", "Say two", "Start"]


@pytest.mark.parametrize("how", ["plain folder", "unborn branch", "damaged note", "odd path"])
def test_without_a_history_there_is_a_beginning(tmp_path: Path, how: str) -> None:
    root = tmp_path / ("p" if how != "odd path" else os.fsdecode(b"not-\xff-text"))
    if how == "odd path":
        project(root, {"a.py": "x = 1\n"})
    elif how == "plain folder":
        write(root, {"a.py": "x = 1\n"})
    elif how == "unborn branch":
        project(root, {"a.py": "x = 1\n"}, commit=False)
    else:
        project(root, {"a.py": "x = 1\n"})
        opened(root, run="first-run")
        (root / ".bough" / "repo.git" / "histories" / "amber-heron").write_text("{")
    assert said(opened(root)) == ["Where the task starts"]


def test_a_shallow_clone_and_a_linked_worktree(tmp_path: Path) -> None:
    origin = history(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "shallow")
    assert said(opened(tmp_path / "shallow")) == ["Say two"]
    git(origin, "worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~1")
    assert said(opened(tmp_path / "linked")) == ["Start"]


def test_nothing_that_is_done_there_reaches_the_person_s_repository(tmp_path: Path) -> None:
    root = history(tmp_path / "p")

    def seen() -> list[tuple[str, bytes]]:
        inside = (path for path in sorted((root / ".git").rglob("*")) if path.is_file() and path.name != "index")
        return [(str(path), path.read_bytes()) for path in inside]

    before, workspace = seen(), opened(root)
    write(workspace.root, {"a.py": "x = 4\n"})
    git(workspace.root, "commit", "-q", "-a", "-m", "Mine")
    git(workspace.root, "reset", "-q", "--hard", "HEAD~2")
    git(workspace.root, "reflog", "expire", "--expire=now", "--all")
    git(workspace.root, "gc", "-q", "--prune=now")
    assert said(workspace) == ["Start"] and seen() == before


# ── what a person who looks around in there runs ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["fsmonitor", "an include", "a repository elsewhere", "a hook", "another's settings"])
def test_looking_around_in_a_checkout_runs_nothing(tmp_path: Path, how: str) -> None:
    workspace = opened(history(tmp_path / "p"))
    ran, program = tmp_path / "ran", workspace.root / "evil"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    own = workspace.root / ".git"
    if how == "fsmonitor":
        git(workspace.root, "config", "core.fsmonitor", str(program))
    elif how == "an include":
        (workspace.root / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
        git(workspace.root, "config", "include.path", "../more")
    elif how == "a hook":
        (own / "hooks").mkdir()
        (own / "hooks" / "post-index-change").write_text(program.read_text())
        (own / "hooks" / "post-index-change").chmod(0o755)
        git(workspace.root, "config", "core.hooksPath", str(own / "hooks"))
    elif how == "another's settings":
        git(workspace.root, "config", "extensions.worktreeConfig", "true")
        (own / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")
    else:
        own.rename(workspace.root / "elsewhere")
        git(workspace.root / "elsewhere", "config", "core.fsmonitor", str(program))
        own.write_text("gitdir: elsewhere\n")
    look = ["git", "-C", str(workspace.root), "status"]
    subprocess.run(look, capture_output=True, check=False)
    assert ran.exists(), "it would have run"
    ran.unlink()
    asyncio.run(workspace.snapshot())
    write(workspace.root, {"a.py": "x = 9\n"})
    subprocess.run(look, capture_output=True, check=False)
    assert not ran.exists()


def test_harmless_settings_stay() -> None:
    assert keep_harmless(CONFIG) == CONFIG
    own = '[user]\n\tname = Eve\n[remote "origin"]\n\turl = ../x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    assert keep_harmless(CONFIG + own) == CONFIG.removesuffix(LAST) + "[core]\n" + own + LAST
    assert keep_harmless(keep_harmless(CONFIG + own)) == keep_harmless(CONFIG + own)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tFSMonitor = evil\n",
        "[core] fsmonitor = evil\n",
        "[core]\n\tautocrlf = a\\\n\tfsmonitor = evil\n",
        "[alias]\n\tstatus = !evil\n",
        '[filter "x"]\n\tclean = evil\n',
        "[include]\n\tpath = evil\n",
        '[includeIf "gitdir:/"]\n\tpath = evil\n',
        '[remote "o"]\n\tuploadpack = evil\n',
        "[core]\n\tsshCommand = evil\n\tpager = evil\n\teditor = evil\n\thooksPath = evil\n",
        "[credential]\n\thelper = !evil\n",
        "[core.x]\n\tfsmonitor = evil\n",
    ],
)
def test_what_is_not_known_to_be_harmless_goes(text: str) -> None:
    assert "evil" not in keep_harmless(text) and keep_harmless(text).endswith(LAST)
