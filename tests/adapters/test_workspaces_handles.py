"""bough follows no path that an agent controls."""

import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.verifiers.check_runner import load_report
from bough.adapters.workspaces import disk, scan
from bough.adapters.workspaces.file_index import LINK, PLAIN, KeptPaths
from bough.adapters.workspaces.objects import name_object
from bough.adapters.workspaces.surroundings import read_variables
from bough.core.errors import SnapshotRefused, UsageError
from bough.trust import handles
from bough.trust.files import Place
from tests.sampling import in_turn


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "kept.txt").write_text("theirs")
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


def test_a_link_on_the_way_leads_nowhere(top: Path, theirs: Path) -> None:
    (top / "a").symlink_to(theirs)
    handles.remove_below(os.fsencode(top), b"a/inner/kept.txt")
    handles.remove_below(os.fsencode(top), b"a/inner")
    assert (theirs / "inner/kept.txt").read_text() == "theirs"
    with closing(handles.Folders(os.fsencode(top), own=True, make=True)) as folders:
        os.close(os.open("mine.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folders.at(b"a/inner")))
    assert (top / "a/inner/mine.txt").is_file() and not (top / "a").is_symlink()
    assert [path.name for path in (theirs / "inner").iterdir()] == ["kept.txt"]


def test_removing_a_tree_removes_links_and_not_what_they_point_to(top: Path, theirs: Path) -> None:
    (top / "tree/deep").mkdir(parents=True)
    (top / "tree/deep/link").symlink_to(theirs)
    os.mkfifo(top / "tree/pipe")
    (top / "tree/deep").chmod(0o000)
    disk.remove(os.fsencode(top / "tree"))
    assert not (top / "tree").exists() and (theirs / "inner/kept.txt").is_file()


@in_turn
def test_thousands_of_levels_are_removed(top: Path) -> None:
    script = "import os\nfor n in range(3000):\n    os.mkdir('d'); open('f', 'w').close(); os.chdir('d')\n"
    subprocess.run(["python3", "-c", script], cwd=top, check=True)
    for name in (b"d", b"f"):
        handles.remove_below(os.fsencode(top), name)
    assert list(top.iterdir()) == []


def test_a_folder_that_is_swapped_for_a_link_while_it_is_emptied(top: Path, theirs: Path) -> None:
    """The attack that worked: somebody swaps as fast as they can while bough removes."""
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            try:
                (top / "w/a").rename(top / "w/b")
                (top / "w/a").symlink_to(theirs)
                (top / "w/a").unlink()
                (top / "w/b").rename(top / "w/a")
            except OSError:
                continue

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(150):
            with suppress(OSError):  # the swapping gets in the way, too
                with closing(handles.Folders(os.fsencode(top), own=True, make=True)) as folders:
                    handle = folders.at(b"w/a/inner")
                    handles.create_in_place(handle, b"kept.txt", partial(os.mkfifo, b"kept.txt", dir_fd=handle))
                handles.remove_below(os.fsencode(top), b"w/a/inner/kept.txt")
                handles.remove_below(os.fsencode(top), b"w")
    finally:
        stop.set()
        thread.join()
    assert (theirs / "inner/kept.txt").read_text() == "theirs"


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def scanner(top: Path) -> scan.Scanner:
    return scan.Scanner(os.fsencode(top), ignores=lambda paths: set(), clock=lambda: 0)


@pytest.mark.parametrize("what", ["inner", "a file"])
def test_what_is_swapped_for_a_link_while_bough_looks_is_not_followed(
    top: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Its folder was listed, and only then it becomes a link."""
    (top / "inner").mkdir()
    (top / "inner" / "kept.txt").write_text("mine")
    listed = scan._list_items

    def swap(handle: int, *rest: Any) -> list[scan.Item]:
        items = listed(handle, *rest)
        place = top / "inner" if what == "inner" else top / "inner" / "kept.txt"
        if not place.is_symlink() and (what == "inner" or items[0].kind == PLAIN):
            place.rename(top.with_name("away"))
            place.symlink_to(theirs / "inner" if what == "inner" else theirs / "inner" / "kept.txt")
        return items

    monkeypatch.setattr(scan, "_list_items", swap)
    found = dict(scanner(top).scan(None, KeptPaths(), None).files())
    contents = {file.id for file in found.values() if file.mode != LINK}
    assert name_object(b"blob", b"theirs")[0] not in contents
    assert set(found) <= {b"inner/kept.txt"}


def test_many_folders_need_few_handles(top: Path) -> None:
    for number in range(300):
        (top / f"{number % 7}" / f"{number}").mkdir(parents=True)
        (top / f"{number % 7}" / f"{number}" / "f").write_text(str(number))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    most = 0

    def ignores(paths: object) -> set[bytes]:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")))  # noqa: PTH208
        return set()

    found = scan.Scanner(os.fsencode(top), ignores=ignores, clock=lambda: 0).scan(None, KeptPaths(), None)
    assert len(dict(found.files())) == 300
    assert most - before <= 4 and len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


def test_too_deep_is_said(top: Path) -> None:
    script = "import os\nfor n in range(200):\n    os.mkdir('d' * 30); os.chdir('d' * 30)\n"
    subprocess.run(["python3", "-c", script], cwd=top, check=True)
    with pytest.raises(SnapshotRefused, match="is too deep to keep"):
        scanner(top).scan(None, KeptPaths(), None)


def test_pipes_and_endless_files_hold_nothing_up(top: Path) -> None:
    os.mkfifo(top / "pipe")
    (top / "zero").symlink_to("/dev/zero")
    assert load_report(top / "pipe") is None and load_report(top / "zero") is None
    for name in ("pipe", "zero"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_variables(Place(top, name))


def test_a_folder_that_another_thread_removes_too_is_removed(tmp_path: Path) -> None:
    for number in range(20):
        top = tmp_path / f"{number}"
        for path in ("a/b/c/d/e", "a/b/f/g", "h/i/j/k", "l/m/n"):
            (top / path).mkdir(parents=True)
            (top / path / "file").write_text("")
        with ThreadPoolExecutor(4) as threads:
            for removal in [threads.submit(disk.remove, os.fsencode(top)) for _ in range(4)]:
                removal.result()
        assert not top.exists()
