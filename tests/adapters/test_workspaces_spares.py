"""A checkout that a task has left serves the next one, and nothing of the first is in it."""

import asyncio
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.workspaces import checkout, checkout_watch, file_index
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home
from tests.adapters.checkouts import exactly
from tests.adapters.git_projects import project
from tests.adapters.test_workspaces_watch import FILES, at_once


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout_watch, "WORTH", 0)


def make(tmp_path: Path) -> GitWorkspaces:
    root = project(tmp_path / "project", {**FILES, ".gitignore": "ignored/\n*.log\n", "run.sh": "true\n"})
    return GitWorkspaces(root, prepare_home(root), link_ignored=False)


def at_rest(top: Path) -> None:
    """The disk's clock has moved on since the last write, so that stamps are believed."""
    newest = max(path.lstat().st_ctime_ns for path in [top, *top.rglob("*")])
    probe = top.parent / "probe"
    while True:
        probe.write_text("")
        if probe.stat().st_ctime_ns > newest:
            break
        time.sleep(0.001)
    probe.unlink()


def spoil(top: Path, tmp_path: Path) -> None:
    """All that an agent could leave for the next one."""
    (top / "ignored").mkdir()
    (top / "ignored" / "conftest.py").write_text("planted\n")
    (top / "a" / "planted.log").write_text("planted\n")
    stamp = (top / "a" / "x.txt").stat()
    (top / "a" / "x.txt").write_text("A x\n")
    os.utime(top / "a" / "x.txt", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (top / "d" / "x.txt").unlink()
    (top / "d" / "x.txt").hardlink_to(top / "d" / "y.txt")
    shutil.rmtree(top / "e")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious.txt").write_text("theirs\n")
    (top / "e").symlink_to(tmp_path / "outside")
    (top / "run.sh").chmod(0o777)
    (top / "a" / "b").chmod(0o700)
    (top / "empty").mkdir()
    (top / ".git" / "hooks").mkdir()
    (top / ".git" / "hooks" / "post-checkout").write_text("planted\n")


def contents(top: Path) -> dict[str, tuple[str, int, int]]:
    paths = (path for path in sorted(top.rglob("*")) if ".git" not in path.relative_to(top).parts)
    return {
        str(path.relative_to(top)): (
            "link" if path.is_symlink() else path.read_text() if path.is_file() else "folder",
            path.lstat().st_mode,
            path.lstat().st_nlink if path.is_file() else 0,
        )
        for path in paths
    }


@at_once
async def test_nothing_of_the_first_task_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspaces = make(tmp_path)
    tree = await workspaces.take()
    # A checkout that takes longer to fill than the clock's tick is sure of its stamps; this one waits for it instead.
    monkeypatch.setattr(file_index, "is_sure", lambda stamp, now: True)
    first = await workspaces.open("run", "first", tree, "")
    fresh = contents(first.root)
    at_rest(first.root)
    inode = (first.root / "a" / "b" / "c" / "x.txt").stat().st_ino
    spoil(first.root, tmp_path)
    await workspaces.discard("run", "first")
    assert not first.root.exists()

    second = await workspaces.open("run", "second", tree, "")
    assert contents(second.root) == fresh
    assert not (second.root / ".git" / "hooks" / "post-checkout").exists()
    assert (tmp_path / "outside" / "precious.txt").read_text() == "theirs\n"
    assert (second.root / "a" / "b" / "c" / "x.txt").stat().st_ino == inode, "it was made a second time"
    assert await exactly(second).snapshot() == tree


@at_once
async def test_another_tree_and_another_process(tmp_path: Path) -> None:
    workspaces = make(tmp_path)
    tree = await workspaces.take()
    first = await workspaces.open("run", "first", tree, "")
    at_rest(first.root)
    (first.root / "a" / "x.txt").unlink()
    (first.root / "new").mkdir()
    (first.root / "new" / "file").write_text("new\n")
    changed = await first.snapshot()
    await workspaces.discard("run", "first")
    other = GitWorkspaces(tmp_path / "project", tmp_path / "project" / ".bough", link_ignored=False)
    second = await other.open("run", "second", changed, "")
    assert (second.root / "new" / "file").read_text() == "new\n"
    assert not (second.root / "a" / "x.txt").exists()
    assert await exactly(second).snapshot() == changed
    third = await other.open("run", "third", tree, "")
    assert await exactly(third).snapshot() == tree


@at_once
async def test_a_damaged_index_and_a_killed_take_cost_only_time(tmp_path: Path) -> None:
    workspaces = make(tmp_path)
    tree = await workspaces.take()
    home = tmp_path / "project" / ".bough"
    for damage in ("index", "gone"):
        await workspaces.open("run", "first", tree, "")
        await workspaces.discard("run", "first")
        for kept in (home / "spare").glob(f"*{checkout.ENDING}"):
            kept.write_bytes(b"damaged") if damage == "index" else kept.unlink()
        second = await workspaces.open("run", f"{damage}", tree, "")
        assert await exactly(second).snapshot() == tree


@at_once
async def test_no_more_are_kept_than_are_worth_their_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "MOST", 2)
    workspaces = make(tmp_path)
    tree = await workspaces.take()
    for number in range(4):
        await workspaces.open("run", f"{number}", tree, "")
    for number in range(4):
        await workspaces.discard("run", f"{number}")
    home = tmp_path / "project" / ".bough"
    assert len(list((home / "spare").iterdir())) == 4, "two checkouts, and an index each"
    await workspaces.compact([tree])
    assert not (home / "spare").exists()


@at_once
async def test_a_reserved_checkout_is_filled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspaces = make(tmp_path)
    tree = await workspaces.take()
    began, goes_on, written, fill = threading.Event(), threading.Event(), list[int](), checkout.fill

    def filling(git: Any, top: bytes, wanted: Any, clock: Any) -> Any:
        written.append(len(wanted))
        if began.is_set():
            goes_on.set()
        began.set()
        goes_on.wait(240.0)
        return fill(git, top, wanted, clock)

    monkeypatch.setattr(checkout, "fill", filling)
    monkeypatch.setattr(file_index, "is_sure", lambda stamp, now: True)
    reserving = asyncio.create_task(workspaces.reserve("run", "ready", tree))
    await asyncio.to_thread(began.wait)
    opening = asyncio.create_task(workspaces.open("run", "first", tree, ""))
    # Only a fill of its own, which must not be, would end the wait earlier.
    threading.Timer(0.3, goes_on.set).start()
    await reserving
    opened = await opening
    assert written == [len(await workspaces.paths(tree)), 0], "what was reserved is what was opened"
    assert await exactly(opened).snapshot() == tree
    assert [place.name for place in opened.root.parent.iterdir() if "ready" in place.name] == []
    await workspaces.discard("run", "first")
    await workspaces.reserve("run", "ready", tree)
    assert len(written) == 2, "one is left from before"


@at_once
async def test_a_small_project_has_none_in_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout_watch, "WORTH", 100)
    workspaces = make(tmp_path)
    await workspaces.reserve("run", "ready", await workspaces.take())
    assert not (tmp_path / "project" / ".bough" / "spare").exists()
