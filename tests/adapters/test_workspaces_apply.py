"""Bringing a run's work into the person's files: `apply`."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.apply import ApplyConflict
from bough.adapters.workspaces.git import GitWorkspaces
from bough.core.errors import BoughError, UsageError, WorkspaceError
from tests.adapters.git_projects import (
    fingerprint,
    git,
    git_settings,  # noqa: F401 - used by every test
    ordinary_user,
    project,
    spaces,
    take,
    write,
)
from tests.sampling import in_turn

FILES = {"a.txt": "a\n", "src/b.py": "b\n", "src/deep/c.py": "c\n", "run": "#!/bin/sh\n"}


def worked(root: Path, work: Callable[[Path], object]) -> tuple[GitWorkspaces, str, str]:
    """A run in which an agent did this work: the workspaces, the tree it began with and the one it ended with."""

    async def go() -> tuple[GitWorkspaces, str, str]:
        workspaces = spaces(root)
        base = await workspaces.take()
        workspace = await workspaces.open("amber-heron", "goal", base, "")
        work(workspace.root)
        return workspaces, base, await workspace.snapshot()

    return asyncio.run(go())


def apply(workspaces: GitWorkspaces, base: str, tree: str) -> set[tuple[str, str]]:
    return {(change.kind, change.path) for change in asyncio.run(workspaces.apply(base, tree))}


def busy(top: Path) -> None:
    """Every kind of change."""
    write(top, {"a.txt": "changed\n", "new/deep/file": "new\n", "näme with space": "x"})
    shutil.rmtree(top / "src" / "deep")
    (top / "run").chmod(0o755)
    (top / "link").symlink_to("a.txt")


def test_every_kind_of_change(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    (root / "a.txt").chmod(0o600)
    write(root, {"theirs": "untouched", "ignored.log": "x"})
    work = worked(root, busy)
    index, head = (root / ".git" / "index").read_bytes(), (root / ".git" / "logs" / "HEAD").read_bytes()
    assert apply(*work) == {
        ("M", "a.txt"),
        ("A", "new/deep/file"),
        ("A", "näme with space"),
        ("D", "src/deep/c.py"),
        ("M", "run"),
        ("A", "link"),
    }
    assert take(root) == work[2]
    assert not (root / "src" / "deep").exists()
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o600
    assert (root / "run").stat().st_mode & 0o777 == 0o755
    assert (root / "link").readlink() == Path("a.txt")
    assert (root / "theirs").read_text() == "untouched"
    assert (root / ".git" / "index").read_bytes() == index
    assert (root / ".git" / "logs" / "HEAD").read_bytes() == head
    before = fingerprint(root)
    apply(*work)  # again: there is nothing left to do
    assert fingerprint(root) == before


def test_plain_folder(tmp_path: Path) -> None:
    root = write(tmp_path / "p", FILES)
    work = worked(root, busy)
    apply(*work)
    assert take(root) == work[2]


def test_what_the_person_did_elsewhere_stays(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    work = worked(root, lambda top: write(top, {"a.txt": "agent's"}))
    write(root, {"src/b.py": "mine", "mine/new": "mine"})
    apply(*work)
    assert (root / "src" / "b.py").read_text() == "mine"
    assert (root / "a.txt").read_text() == "agent's"


def test_the_same_change_on_both_sides_is_not_a_conflict(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    work = worked(root, busy)
    write(root, {"a.txt": "changed\n"})
    (root / "src" / "deep" / "c.py").unlink()
    apply(*work)
    assert take(root) == work[2]


def replace_by_folder(root: Path) -> None:
    (root / "a.txt").unlink()
    write(root, {"a.txt/mine": "m"})


def replace_by_link(root: Path) -> None:
    (root / "new").symlink_to(root.parent)


MEDDLING: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda root: write(root, {"a.txt": "mine"}), "a.txt"),
    "mode": (lambda root: (root / "a.txt").chmod(0o755), "a.txt"),
    "removed": (lambda root: (root / "a.txt").unlink(), "a.txt"),
    "edited what goes": (lambda root: write(root, {"src/deep/c.py": "mine"}), "src/deep/c.py"),
    "own new file": (lambda root: write(root, {"new/deep/file": "mine"}), "new/deep/file"),
    "folder instead": (replace_by_folder, "a.txt"),
    "file instead of folder": (lambda root: write(root, {"new": "a file"}), "new/deep/file"),
    "link instead of folder": (replace_by_link, "new/deep/file"),
    "folder instead of link": (lambda root: write(root, {"link/mine": "m"}), "link"),
}


@pytest.mark.parametrize("how", MEDDLING)
def test_a_conflict_refuses_everything(tmp_path: Path, how: str) -> None:
    root = project(tmp_path / "p", FILES)
    work = worked(root, busy)
    meddle, path = MEDDLING[how]
    meddle(root)
    before = fingerprint(root)
    with pytest.raises(ApplyConflict, match=r"Nothing was applied.*run `bough apply` again.*`bough diff`") as refused:
        apply(*work)
    assert refused.value.paths == [path]
    assert path in str(refused.value)
    assert isinstance(refused.value, UsageError)
    assert fingerprint(root) == before
    assert not (tmp_path / "deep").exists()


def test_many_conflicts_are_counted(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {f"f{i:02}": "x" for i in range(15)})
    work = worked(root, lambda top: write(top, {f"f{i:02}": "agent's" for i in range(15)}))
    write(root, {f"f{i:02}": "mine" for i in range(15)})
    with pytest.raises(ApplyConflict, match=r"f00, f01, .*, f09 and 5 more\."):
        apply(*work)


def test_files_become_folders_and_back(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"file": "f", "folder/a": "a", "folder/deep/b": "b", "link/x": "x"})
    (root / "points").symlink_to("folder")

    def work(top: Path) -> None:
        (top / "file").unlink()
        shutil.rmtree(top / "folder")
        shutil.rmtree(top / "link")
        (top / "points").unlink()
        write(top, {"file/inside": "i", "folder": "now a file", "points/inside": "i"})
        (top / "link").symlink_to("folder")

    done = worked(root, work)
    (root / "folder" / "empty").mkdir()
    apply(*done)
    assert take(root) == done[2]


def test_folder_with_something_of_the_persons_stays(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"folder/a": "a", ".gitignore": "*.log\n"})

    def work(top: Path) -> None:
        shutil.rmtree(top / "folder")
        write(top, {"folder": "now a file"})

    done = worked(root, work)
    write(root, {"folder/ignored.log": "precious"})
    before = fingerprint(root)
    with pytest.raises(ApplyConflict, match="folder"):
        apply(*done)
    assert fingerprint(root) == before


def test_removal_leaves_folders_that_are_not_empty(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {".gitignore": "*.log\n"})
    work = worked(root, lambda top: shutil.rmtree(top / "src"))
    write(root, {"src/deep/x.log": "precious"})
    apply(*work)
    assert (root / "src" / "deep" / "x.log").read_text() == "precious"
    assert not (root / "src" / "b.py").exists()


def test_tree_with_paths_that_no_file_may_have(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    workspaces = spaces(root)
    base = asyncio.run(workspaces.take())
    repo = root / ".bough" / "repo.git"
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"evil").strip().decode()
    before = fingerprint(root)
    for name in (".git", ".GIT", "git~1", "..", ".bough", ".git.", ".gi\u200ct"):
        inner = git(repo, "mktree", "-z", stdin=f"100644 blob {blob}\tconfig\0".encode()).strip().decode()
        entry = f"040000 tree {inner}\t{name}\0"
        tree = git(repo, "mktree", "-z", "--missing", stdin=entry.encode()).strip().decode()
        with pytest.raises(WorkspaceError, match="contains an invalid path"):
            asyncio.run(workspaces.apply(base, tree))
    assert fingerprint(root) == before
    assert not (tmp_path / "config").exists()


def test_file_that_changes_at_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path / "p", {"a": "1", "b": "1", "c": "1"})
    work = worked(root, lambda top: write(top, {"a": "2", "b": "2", "c": "2"}))
    flush = disk.flush

    def meddling(fd: int) -> None:
        if (root / "a").read_text() == "2":
            write(root, {"b": "mine"})
        flush(fd)

    monkeypatch.setattr(disk, "flush", meddling)
    with pytest.raises(ApplyConflict, match=r"b changed while bough was applying.*1 of 3 files"):
        apply(*work)
    assert {name: (root / name).read_text() for name in "abc"} == {"a": "2", "b": "mine", "c": "1"}
    assert not list(root.glob(".bough-apply-*"))


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path / "p", {"a": "1", "b": "1"})
    work = worked(root, lambda top: write(top, {"a": "2", "b": "2"}))

    def full(fd: int) -> None:
        if (root / "a").read_text() == "2":
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk, "flush", full)
        with pytest.raises(WorkspaceError, match=r"The disk is full.*free some space, then run the same command again"):
            apply(*work)
    assert {name: (root / name).read_text() for name in "ab"} == {"a": "2", "b": "1"}
    assert not list(root.glob(".bough-apply-*"))
    apply(*work)
    assert take(root) == work[2]


def test_folder_that_may_not_be_written() -> None:
    with ordinary_user() as folder:
        root = write(folder / "p", {"closed/a": "1", "b": "1"})
        work = worked(root, lambda top: write(top, {"closed/a": "2", "b": "2"}))
        (root / "closed").chmod(0o500)
        with pytest.raises(WorkspaceError, match="no permission"):
            apply(*work)
        assert (root / "closed" / "a").read_text() == "1"
        (root / "closed").chmod(0o700)
        apply(*work)
        assert (root / "closed" / "a").read_text() == "2"


def test_submodule(tmp_path: Path) -> None:
    inner = project(tmp_path / "inner", {"i": "1"})
    root = project(tmp_path / "p", FILES)
    git(root, "submodule", "add", "-q", str(inner), "sub")
    work = worked(root, lambda top: write(top, {"sub/i": "2", "sub/new": "n"}))
    apply(*work)
    assert (root / "sub" / "i").read_text() == "2"
    assert b" M i" in git(root / "sub", "status", "--porcelain")


@in_turn
def test_killed_half_way(tmp_path: Path) -> None:
    """Again and again, for real, at any moment: doing it once more completes it, and no file is ever half."""
    files = {f"d{i % 9}/f{i}": f"{i} old\n" * 50 for i in range(150)}
    root = write(tmp_path / "p", files | {f"gone/{i}": "x" for i in range(50)})

    def work(top: Path) -> None:
        write(top, {name: text.replace("old", "new") for name, text in files.items()})
        shutil.rmtree(top / "gone")
        write(top, {"gone": "now a file"})

    _, base, tree = worked(root, work)
    whole = {*files.values()} | {text.replace("old", "new") for text in files.values()} | {"now a file", "x"}
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from bough.adapters.workspaces.git import GitWorkspaces\n"
        "from bough.adapters.workspaces.home import prepare_home\n"
        "root = Path(sys.argv[1])\n"
        "workspaces = GitWorkspaces(root, prepare_home(root), False)\n"
        "print('go', flush=True)\n"
        "asyncio.run(workspaces.apply(*sys.argv[2:]))"
    )
    for wait in (0.005, 0.012, 0.02, 0.03, 0.04, 0.06):
        process = subprocess.Popen([sys.executable, "-c", script, str(root), base, tree], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
        process.communicate()
        for path in root.rglob("*"):
            if path.is_file() and ".bough" not in str(path.relative_to(root)):
                assert path.read_text() in whole
    asyncio.run(spaces(root).apply(base, tree))
    assert take(root) == tree
    assert not list(root.rglob(".bough-apply-*"))


def test_errors_are_sentences(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    work = worked(root, busy)
    os.unlink(root / "a.txt")  # noqa: PTH108
    os.mkfifo(root / "a.txt")
    with pytest.raises(BoughError) as refused:
        apply(*work)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
