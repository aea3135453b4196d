"""Where bough keeps things: finding the project, `.bough/`, and names that are safe as folders."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.adapters.workspaces.home import find_root, prepare_home
from bough.adapters.workspaces.repository import make_safe_name
from bough.adapters.workspaces.scan import is_reserved
from bough.core.errors import UsageError, WorkspaceError
from tests.adapters.git_projects import (
    git,
    git_settings,  # noqa: F401 - used by every test
    ordinary_user,
    project,
    write,
)


def test_the_top_of_a_git_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a/b/c": ""})
    assert find_root(root / "a" / "b") == root
    assert find_root(root) == root


def test_a_plain_folder_is_its_own_top(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"a/b": ""})
    assert find_root(root / "a") == root / "a"


def test_the_nearest_bough_wins(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"sub/deep/x": ""})
    prepare_home(root)
    prepare_home(root / "sub")
    assert find_root(root / "sub" / "deep") == root / "sub"
    plain = write(tmp_path / "plain", {"sub/x": ""})
    prepare_home(plain)
    assert find_root(plain / "sub") == plain


def test_a_plain_folders_bough_does_not_claim_repositories_below(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {"x": ""})
    prepare_home(home)
    root = project(home / "code" / "p", {"a/b": ""})
    assert find_root(root / "a") == root
    assert find_root(home / "code") == home


def test_inside_a_submodule_the_outer_project_counts_once_it_has_a_bough(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": ""})
    project(root / "sub", {"x/y": ""})
    assert find_root(root / "sub" / "x") == root / "sub"
    prepare_home(root)
    assert find_root(root / "sub" / "x") == root


def test_a_workspace_is_a_project_of_its_own(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": ""})
    home = prepare_home(root)
    inside = project(home / "work" / "run" / "goal", {"x/y": ""})
    assert find_root(inside / "x") == inside
    shutil.rmtree(inside / ".git")
    assert find_root(inside / "x") == inside / "x"


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path / "p", {"a/b": ""})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_root(root / "a") == root


def test_home_ignores_itself_and_is_private(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": ""})
    home = prepare_home(root)
    assert home == root / ".bough"
    assert prepare_home(root) == home
    assert home.stat().st_mode & 0o077 == 0
    assert git(root, "status", "--porcelain", "--ignored=no", "-uall") == b""
    (home / ".gitignore").write_text("")
    prepare_home(root)
    assert git(root, "status", "--porcelain", "--ignored=no", "-uall") == b""


def test_something_in_the_way(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {".bough": "a file"})
    with pytest.raises(WorkspaceError, match=r"\.bough, because it is not a folder"):
        prepare_home(root)
    (root / ".bough").unlink()
    target = tmp_path / "elsewhere"
    target.mkdir()
    (root / ".bough").symlink_to(target)
    with pytest.raises(WorkspaceError, match="because it is a link"):
        prepare_home(root)
    (root / ".bough").unlink()
    (root / ".bough").mkdir()
    (root / ".bough" / "work").symlink_to(target)
    with pytest.raises(WorkspaceError, match="because work is a link"):
        prepare_home(root)
    assert not list(target.iterdir())


def test_folder_that_may_not_be_written() -> None:
    with ordinary_user() as folder:
        root = write(folder / "p", {"a": ""})
        root.chmod(0o500)
        with pytest.raises(UsageError, match=r"cannot write in .*make the folder writable"):
            prepare_home(root)


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="could not set up"):
        prepare_home(tmp_path / "nowhere")


@given(st.lists(st.text(min_size=0, max_size=150), unique=True, min_size=2, max_size=6))
def test_safe_names(tasks: list[str]) -> None:
    made = [make_safe_name(task) for task in tasks]
    assert len({name.lower() for name in made}) == len(tasks)
    for name in made:
        assert 0 < len(name) <= 100
        assert name == os.path.basename(name)  # noqa: PTH119
        assert name not in (".", "..")
        assert name.isascii()
        assert not name.endswith((".lock", ".part"))


def test_safe_names_stay_readable() -> None:
    assert make_safe_name("amber-heron") == "amber-heron"
    assert make_safe_name("buffer/insert-line") == "buffer+insert-line"


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".git.", ".git ", "git~1", "GIT~12", ".g\u200cit", ".git::$INDEX_ALLOCATION"]
)
def test_reserved_names(name: str) -> None:
    assert is_reserved(name.encode())


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", "git", "g", ".", "git~", "x.git", ".gitmodules", "été", "\u65e5"]
)
def test_names_that_are_fine(name: str) -> None:
    assert not is_reserved(name.encode())
