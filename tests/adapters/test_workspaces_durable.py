"""What was kept is not lost: power cuts, killed processes, full disks, damaged files; and git's own opinion of it."""

import asyncio
import gc
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from pathlib import Path

import pytest

from bough.adapters.workspaces import disk, objects
from bough.adapters.workspaces.git import GitWorkspaces
from bough.core.errors import WorkspaceError
from tests.adapters.git_projects import (
    git,
    git_settings,  # noqa: F401 - used by every test
    kept,
    project,
    spaces,
    take,
    write,
)
from tests.sampling import in_turn


def edited(root: Path, edits: int) -> list[str]:
    """Trees of a task that edits a file again and again, by a process that is gone afterwards."""

    async def go() -> list[str]:
        workspaces = spaces(root)
        workspace = await workspaces.open("amber-heron", "goal", await workspaces.take(), "")
        trees = []
        for count in range(edits):
            write(workspace.root, {"a.txt": f"edit {count}\n"})
            trees.append(await workspace.snapshot())
        return trees

    trees = asyncio.run(go())
    gc.collect()
    return trees


def loose(root: Path) -> list[Path]:
    return list((root / ".bough" / "repo.git" / "objects").glob("??/*"))


def logs(root: Path) -> list[Path]:
    return list((root / ".bough" / "repo.git" / "log").iterdir())


def fsck(root: Path) -> None:
    git(root / ".bough" / "repo.git", "fsck", "--strict", "--full", "--no-dangling")


def test_objects_lost_in_a_power_cut_come_back(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a", "b/c/d": "d"})
    trees = edited(root, 5)
    assert len(logs(root)) == 1
    for number, path in enumerate(loose(root)):
        path.chmod(0o644)
        if number % 2:
            path.unlink()
        else:
            path.write_bytes(b"")  # its name was on the disk, its content was not
    take(root)
    for count, tree in enumerate(trees):
        assert kept(root, tree)["a.txt"][1] == f"edit {count}\n".encode()
    fsck(root)
    assert not logs(root)
    packs = list((root / ".bough" / "repo.git" / "objects" / "pack").iterdir())
    assert take(root) == take(root)  # nothing new: nothing is written again
    assert list((root / ".bough" / "repo.git" / "objects" / "pack").iterdir()) == packs
    assert not logs(root)


def test_log_that_was_cut_off(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})
    trees = edited(root, 5)
    (log,) = logs(root)
    body = log.read_bytes()
    for ending in (body[:-7], body[:-1] + b"!", body + b"\0" * 100):
        log.write_bytes(ending)
        for path in loose(root):
            path.unlink()
        take(root)
        assert kept(root, trees[3])["a.txt"][1] == b"edit 3\n"
        fsck(root)


def test_log_of_a_live_process_is_left_alone(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})

    async def go() -> None:
        first = spaces(root)
        workspace = await first.open("amber-heron", "goal", await first.take(), "")
        write(workspace.root, {"a.txt": "1"})
        await workspace.snapshot()
        (log,) = logs(root)
        await spaces(root).take()
        assert log.exists()
        write(workspace.root, {"a.txt": "2"})
        size = log.stat().st_size
        await workspace.snapshot()
        assert log.stat().st_size > size

    asyncio.run(go())


@in_turn
def test_long_log_is_packed_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_LOG_LONGEST", 2000)
    root = project(tmp_path / "p", {"a.txt": "a", "b/c": "c"})
    trees = edited(root, 60)
    assert sum(log.stat().st_size for log in logs(root)) < 4000
    for count, tree in enumerate(trees):
        assert kept(root, tree)["a.txt"][1] == f"edit {count}\n".encode()
    fsck(root)


def test_one_flush_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushing dominates the cost of a snapshot; and without one nothing would be durable."""
    flushed: list[int] = []
    flush = disk.flush

    def counting(fd: int) -> None:
        flushed.append(fd)
        flush(fd)

    root = project(tmp_path / "p", {"a.txt": "a", "b/c/d": "d"})

    async def go() -> None:
        workspaces = spaces(root)
        workspace = await workspaces.open("amber-heron", "goal", await workspaces.take(), "")
        await workspace.snapshot()
        monkeypatch.setattr(disk, "flush", counting)
        write(workspace.root, {"b/c/d": "changed"})
        await workspace.snapshot()
        assert len(flushed) == 1
        await workspace.snapshot()
        assert len(flushed) == 1

    asyncio.run(go())


def test_large_contents_are_not_logged(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})

    async def go() -> None:
        workspaces = spaces(root)
        workspace = await workspaces.open("amber-heron", "goal", await workspaces.take(), "")
        body = os.urandom(400_000)
        (workspace.root / "large").write_bytes(body)
        tree = await workspace.snapshot()
        assert kept(root, tree)["large"][1] == body
        assert sum(log.stat().st_size for log in logs(root)) < 10_000

    asyncio.run(go())


def test_log_that_lies(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})
    first = take(root)
    id = bytes.fromhex(first)
    body = zlib.compress(b"tree 0\0")
    for wrong in (body, b"no zlib"):
        sum = zlib.crc32(wrong, zlib.crc32(id))
        log = root / ".bough" / "repo.git" / "log" / "1-lie.log"
        log.write_bytes(struct.pack(">20sII", id, len(wrong), sum) + wrong)
        assert take(root) == first
        assert not log.exists()
    assert kept(root, first)["a.txt"][1] == b"a"
    fsck(root)


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})

    async def go() -> None:
        workspaces = spaces(root)
        base = await workspaces.take()
        workspace = await workspaces.open("amber-heron", "goal", base, "")

        def full(fd: int) -> None:
            raise OSError(28, "No space left on device")

        for count in (1, 50):
            write(workspace.root, {f"f{i}": f"{count} {i}" for i in range(count)})
            with monkeypatch.context() as patch:
                patch.setattr(disk, "flush", full)
                with pytest.raises(WorkspaceError, match="The disk is full"):
                    await workspace.snapshot()
            assert not list((root / ".bough" / "repo.git" / "objects" / "pack").glob("tmp_*"))
            tree = await workspace.snapshot()
            assert kept(root, tree)["f0"][1] == f"{count} 0".encode()
        fsck(root)

    asyncio.run(go())


def test_settings_lost_in_a_power_cut_come_back(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})
    first = take(root)
    repo = root / ".bough" / "repo.git"
    for name in ("HEAD", "config", "info/attributes", "info/exclude", "person"):
        (repo / name).write_bytes(b"")
    assert take(root) == first
    fsck(root)


def test_repository_made_by_two_at_once(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"a": "1"})

    async def go() -> None:
        trees = await asyncio.gather(*(spaces(root).take() for _ in range(6)))
        assert len(set(trees)) == 1

    asyncio.run(go())
    assert not list((root / ".bough").glob("*.part"))


_WORKER = """
import asyncio, sys
from collections import Counter
from pathlib import Path
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home

async def main(root, journal):
    workspaces = GitWorkspaces(root, prepare_home(root), False)
    base = await workspaces.take()
    count = 0
    while True:
        workspace = await workspaces.open("amber-heron", "goal", base, "")
        (workspace.root / "a.txt").write_text(str(count))
        (workspace.root / f"n{count % 4}").write_text(str(count))
        tree = await workspace.snapshot()
        journal.write(f"{tree} {count}\\n"); journal.flush()
        await workspace.checkpoint(tree, str(count))
        await workspace.restore(base if count % 3 else tree)
        if count % 5 == 4:
            await workspaces.discard("amber-heron", "goal")
        count += 1

with open(sys.argv[2], "a") as journal:
    asyncio.run(main(Path(sys.argv[1]), journal))
"""


@in_turn
def test_killed_at_any_moment(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a", "src/b.py": "b" * 1000})
    base = take(root)
    journal = tmp_path / "journal"
    for number in range(8):
        process = subprocess.Popen([sys.executable, "-c", _WORKER, str(root), str(journal)])
        lines, start = journal.read_text().count("\n") if journal.exists() else 0, time.monotonic()
        while not journal.exists() or journal.read_text().count("\n") < lines + 2:
            assert process.poll() is None
            assert time.monotonic() < start + 240
            time.sleep(0.01)
        time.sleep(number * 0.004)
        process.send_signal(signal.SIGKILL)
        process.wait()

        async def again() -> None:
            workspaces = spaces(root)
            workspace = await workspaces.open("amber-heron", "goal", base, "")
            await workspace.restore(base)
            assert await workspace.snapshot() == base
            assert git(workspace.root, "status", "--porcelain") == b""

        asyncio.run(again())
    for line in journal.read_text().splitlines()[-30:]:
        tree, count = line.split()
        assert kept(root, tree)["a.txt"][1] == count.encode()
    fsck(root)


def test_the_loop_is_not_blocked(tmp_path: Path) -> None:
    """The loop's own thread opens, lists and starts next to nothing, however many files there are."""
    root = project(tmp_path / "p", {f"d{i % 20}/f{i}": str(i) for i in range(500)})
    by_thread: Counter[bool] = Counter()
    watching = True

    def count(event: str, args: object) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "subprocess.Popen"):
            by_thread[threading.current_thread() is threading.main_thread()] += 1

    async def go() -> None:
        workspaces = spaces(root)
        base = await workspaces.take()
        workspace = await workspaces.open("amber-heron", "goal", base, "")
        await workspace.snapshot()

    sys.addaudithook(count)
    try:
        asyncio.run(go())
    finally:
        watching = False
    assert by_thread[False] > 500 and by_thread[True] < 50


def test_leftovers_of_killed_processes_are_swept(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    take(root)
    pack = root / ".bough" / "repo.git" / "objects" / "pack"
    for name, age in (("tmp_bough_1_old", 100_000), ("tmp_bough_1_new", 10)):
        (pack / name).write_text("x")
        os.utime(pack / name, (time.time() - age, time.time() - age))
    take(root)
    assert [path.name for path in pack.glob("tmp_*")] == ["tmp_bough_1_new"]


def test_several_instances_share_one_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a.txt": "a"})

    async def go() -> None:
        one, two = spaces(root), spaces(root)
        base = await one.take()

        async def work(workspaces: GitWorkspaces, task: str) -> list[str]:
            workspace = await workspaces.open("amber-heron", task, base, "")
            trees = []
            for count in range(10):
                write(workspace.root, {"a.txt": f"{count}"})
                trees.append(await workspace.snapshot())
            return trees

        first, second = await asyncio.gather(work(one, "x"), work(two, "y"))
        assert first == second

    asyncio.run(go())
    gc.collect()
    take(root)
    fsck(root)
