"""bough follows no path that an agent controls."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from bough.adapters.workspaces import disk, handles


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
    with handles.folder(os.fsencode(top), b"a/inner", make=True) as handle:
        os.close(os.open("mine.txt", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    assert (top / "a/inner/mine.txt").is_file() and not (top / "a").is_symlink()
    assert [path.name for path in (theirs / "inner").iterdir()] == ["kept.txt"]


def test_removing_a_tree_removes_links_and_not_what_they_point_to(top: Path, theirs: Path) -> None:
    (top / "tree/deep").mkdir(parents=True)
    (top / "tree/deep/link").symlink_to(theirs)
    os.mkfifo(top / "tree/pipe")
    (top / "tree/deep").chmod(0o000)
    disk.remove(os.fsencode(top / "tree"))
    assert not (top / "tree").exists() and (theirs / "inner/kept.txt").is_file()


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
                with handles.folder(os.fsencode(top), b"w/a/inner", make=True) as handle:
                    handles.in_place(handle, b"kept.txt", lambda: os.mkfifo(b"kept.txt", dir_fd=handle))
                handles.remove_below(os.fsencode(top), b"w/a/inner/kept.txt")
                handles.remove_below(os.fsencode(top), b"w")
    finally:
        stop.set()
        thread.join()
    assert (theirs / "inner/kept.txt").read_text() == "theirs"
