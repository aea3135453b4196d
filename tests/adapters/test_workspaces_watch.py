"""A snapshot that looks only at what the system says has changed is the same as one that looks at everything."""

import asyncio
import functools
import random
import shutil
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.workspaces import checkout_watch, scan
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home
from bough.adapters.workspaces.workspace import GitWorkspace
from tests.adapters.checkouts import exactly
from tests.adapters.git_projects import project
from tests.sampling import sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify here")

FILES = {f"{folder}/{name}.txt": f"{folder} {name}\n" for folder in ("a", "a/b", "a/b/c", "d", "e/f") for name in "xyz"}
NAMES = ("a", "b", "c", "d", "new", "x.txt", "y.txt", "z.txt", "ignored", "kept.log")


def at_once(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The folders that were looked at; small checkouts are watched too."""
    monkeypatch.setattr(checkout_watch, "WORTH", 0)
    found: list[bytes] = []
    entries = scan._Look._entries

    def noted(look: scan._Look, path: bytes, *rest: Any) -> list[scan.Item]:
        found.append(path)
        return entries(look, path, *rest)

    monkeypatch.setattr(scan._Look, "_entries", noted)
    return found


async def opened(tmp_path: Path) -> tuple[GitWorkspaces, GitWorkspace, str]:
    root = project(tmp_path / "project", {**FILES, ".gitignore": "ignored/\n*.log\n"})
    workspaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    tree = await workspaces.take()
    return workspaces, await workspaces.open("run", "task", tree, ""), tree


@at_once
async def test_only_what_changed_is_looked_at(tmp_path: Path, looked: list[bytes]) -> None:
    _, workspace, tree = await opened(tmp_path)
    assert await workspace.snapshot() == tree
    looked.clear()
    assert await workspace.snapshot() == tree
    assert looked == []
    (workspace.root / "a" / "b" / "x.txt").write_text("changed\n")
    changed = await workspace.snapshot()
    assert looked == [b"a/b"]
    assert changed != tree
    assert await exactly(workspace).snapshot() == changed
    looked.clear()
    await exactly(workspace).restore(tree)
    assert b"e/f" in looked, "a check rests on what is restored: nothing may be taken on trust"
    assert (workspace.root / "a" / "b" / "x.txt").read_text() == FILES["a/b/x.txt"]


@at_once
async def test_when_more_happens_than_is_remembered_everything_is_looked_at(
    tmp_path: Path, looked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, workspace, _ = await opened(tmp_path)
    await workspace.snapshot()
    (workspace.root / "e" / "f" / "x.txt").write_text("changed\n")
    monkeypatch.setattr(checkout_watch, "_EVENT", _FullQueue())
    looked.clear()
    changed = await workspace.snapshot()
    assert set(looked) >= {b"", b"a", b"a/b", b"e/f"}
    assert await exactly(workspace).snapshot() == changed


class _FullQueue:
    """What the system says when its queue was full: one event, and no folder in it."""

    size = checkout_watch._EVENT.size

    def unpack_from(self, events: bytes, at: int) -> tuple[int, int, int, int]:
        return -1, checkout_watch.OVERFLOW, 0, len(events)


@at_once
async def test_no_more_folders_are_watched_than_half_of_what_a_person_may(
    tmp_path: Path, looked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    share = threading.Semaphore(3)
    monkeypatch.setattr(checkout_watch, "_find_share", lambda: share)
    _, workspace, tree = await opened(tmp_path)
    assert share._value == 3
    looked.clear()
    assert await workspace.snapshot() == tree
    assert b"e/f" in looked


@at_once
async def test_what_a_failed_snapshot_was_told_is_not_lost(
    tmp_path: Path, looked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, workspace, _ = await opened(tmp_path)
    await workspace.snapshot()
    (workspace.root / "d" / "x.txt").write_text("changed\n")
    with monkeypatch.context() as broken:
        broken.setattr("bough.adapters.workspaces.objects.Batch.flush", _fail)
        with pytest.raises(RuntimeError):
            await workspace.snapshot()
    assert await workspace.snapshot() == await exactly(workspace).snapshot()


def _fail(*args: object) -> None:
    raise RuntimeError("the disk is full")


@pytest.mark.parametrize("seed", sample(range(6), 3))
@at_once
async def test_random_changes(tmp_path: Path, looked: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    workspaces, workspace, tree = await opened(tmp_path)
    trees = [tree]
    for _ in range(25):
        for _ in range(rng.randint(1, 4)):
            change(workspace.root, rng)
        quick = await workspace.snapshot()
        assert quick == await exactly(workspace).snapshot()
        trees.append(quick)
        if rng.random() < 0.15:
            await workspace.restore(rng.choice(trees))
            quick = await workspace.snapshot()
            assert quick == await exactly(workspace).snapshot()
    other = GitWorkspaces(tmp_path / "project", tmp_path / "project" / ".bough", link_ignored=False)
    assert await other.paths(quick) == await workspaces.paths(quick)
    assert await other.changes(tree, quick) == await workspaces.changes(tree, quick)


def change(root: Path, rng: random.Random) -> None:
    """Something that a command may do, to whatever there is."""
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]
    folders = [folder for folder in folders if ".git" not in folder.relative_to(root).parts]
    place = rng.choice(folders) / rng.choice(NAMES)
    other = rng.choice(folders) / rng.choice(NAMES)
    kinds: list[Callable[[Path, Path, random.Random], None]] = [write, write, mapped, make, remove, move, move, link]
    with suppress(OSError, ValueError):  # there is something else in its place, nothing, or nothing in it
        rng.choice([*kinds, *kinds, hard_link, permit, rule])(place, other, rng)


def write(place: Path, other: Path, rng: random.Random) -> None:
    with place.open(rng.choice("wa")) as file:
        file.write(f"{rng.random()}\n")


def mapped(place: Path, other: Path, rng: random.Random) -> None:
    import mmap

    with place.open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[0] = rng.randrange(256)


def make(place: Path, other: Path, rng: random.Random) -> None:
    (place / "deep").mkdir(parents=True)
    if rng.random() < 0.7:
        (place / "deep" / "x.txt").write_text(f"{rng.random()}\n")


def remove(place: Path, other: Path, rng: random.Random) -> None:
    shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()


def move(place: Path, other: Path, rng: random.Random) -> None:
    place.rename(other)


def link(place: Path, other: Path, rng: random.Random) -> None:
    place.symlink_to(other)


def hard_link(place: Path, other: Path, rng: random.Random) -> None:
    """Into a folder that is kept: in one that is ignored nobody would know of it before all is looked at."""
    if "ignored" not in other.parts and other.suffix != ".log":
        other.hardlink_to(place)


def permit(place: Path, other: Path, rng: random.Random) -> None:
    mode = rng.choice((0o644, 0o755))
    place.chmod(mode if not place.is_dir() else mode | 0o100)  # A folder that its owner cannot enter is another test.


def rule(place: Path, other: Path, rng: random.Random) -> None:
    (place.parent / ".gitignore").write_text(rng.choice(("", "z.txt\n", "new/\n", "*.log\n")))
