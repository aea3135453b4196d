"""What bough does not take from a folder that somebody else may have prepared."""

import os
import subprocess
from pathlib import Path

import pytest

from bough.adapters.workspaces.agent_repository import History, find_history
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import find_root, prepare_home, prepare_repository
from bough.adapters.workspaces.python_environment import _read_mapped_folders, find_environment
from bough.core.errors import WorkspaceError
from bough.trust.home import check_home


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def moved(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def written(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("/elsewhere\n")


def planted(name: str, home: Path) -> None:
    if name in ("hooks", "worktrees"):
        (home / "repo.git" / name).mkdir()
    elif name in ("commondir", "objects/info/alternates"):
        written(home / "repo.git" / name)
    elif name in ("repo.git/objects", "work", "repo.git"):
        moved(home / name)
    elif name == "open to all":
        home.chmod(0o777)
    elif name == "a pipe":
        os.mkfifo(home / "journal.db")
    else:
        (home / "journal.db").symlink_to("/elsewhere")


PLANTED = "hooks worktrees commondir objects/info/alternates repo.git/objects work repo.git".split()  # noqa: SIM905


@pytest.mark.parametrize("name", [*PLANTED, "open to all", "a pipe", "a link"])
def test_a_planted_home_is_refused(project: Path, name: str) -> None:
    home = prepare_home(project)
    prepare_repository(home)
    check_home(home)
    planted(name, home)
    with pytest.raises(WorkspaceError, match=r"does not trust .*\.bough, because"):
        prepare_home(project)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_home_is_refused_here_and_ignored_above(project: Path) -> None:
    home = prepare_home(project)
    below = project / "below"
    below.mkdir()
    assert find_root(below) == project
    os.chown(home, 65533, 65533)
    assert find_root(below) == below
    assert find_root(project) == project
    with pytest.raises(WorkspaceError, match="belongs to another user"):
        prepare_home(project)


def test_a_repository_does_not_say_where_the_project_is(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "private.txt").write_text("private")
    git(project, "init", "-q")
    git(project, "config", "core.worktree", str(home))
    (project / "file.txt").write_text("mine")
    assert find_root(project) == project
    status, out, _ = Git(project).ask("ls-files", "--others", folder=project)
    assert (status, out) == (0, b"file.txt\n")


def test_a_history_that_was_planted_lends_nothing_but_objects(project: Path, tmp_path: Path) -> None:
    secrets = tmp_path / ".ssh"
    secrets.mkdir()
    kept = tmp_path / "kept"
    kept.write_text(f'{{"commit":"{"0" * 40}","tree":"{"0" * 40}","objects":"{secrets}"}}')
    assert find_history(Git(project), project, kept) == History()


def test_a_git_that_hangs_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bough.adapters.workspaces.git_program._LONGEST", 0.5)
    git(project, "init", "-q")
    os.mkfifo(project / "pipe")
    with pytest.raises(WorkspaceError, match=r"git took more than 0\.5 s"):
        Git(project / ".git").run("hash-object", str(project / "pipe"))


@pytest.mark.parametrize("name", ["/etc", "../../../etc", "a/b", "[", "**", "x" * 100])
def test_a_name_of_a_project_is_no_path_to_its_environment(tmp_path: Path, name: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.poetry]\nname = "{name}"\n')
    assert find_environment(tmp_path, "", {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}) is None


def test_a_deep_literal_of_an_editable_install_names_no_folders(tmp_path: Path) -> None:
    assert _read_mapped_folders(f"MAPPING: dict[str, str] = {{'a': {'[' * 5000}{']' * 5000}}}\n") == []
