"""Keeps checkouts of finished tasks for the next task: the more files there are, the longer filling a checkout takes,
and two tasks of a project have most files in common.

    .bough/spare/NAME          a checkout as some task left it
    .bough/spare/NAME.index    what bough itself wrote in it (see saved_scan.py)
    .bough/trash/NAME          what waits to be removed

Promises: only one process gets a checkout, however many ask. The next task gets nothing that an earlier task wrote: a
file stays only if it has the stamp that it got when bough wrote it, and no command can forge that.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bough.adapters.workspaces import disk, saved_scan
from bough.adapters.workspaces.file_index import FileIndex
from bough.adapters.workspaces.git_program import Git
from bough.trust import handles

MOST = 8
"""The most spare checkouts that are kept."""
ENDING = ".index"


class SpareCheckout(NamedTuple):
    """A checkout that bough made: what bough wrote there (`found`), and the saved index, which may be older."""

    record: saved_scan.SavedScan
    found: FileIndex
    asked: Future[saved_scan.Altered] | None = None
    """Git's comparison of the files with the index, if it is running."""

    def at(self, place: Path) -> SpareCheckout:
        """Return the same checkout, with its index at `place`."""
        return SpareCheckout(replace(self.record, place=place), self.found)


def find_index(checkout: Path) -> Path:
    return checkout.with_name(f"{checkout.name}{ENDING}")


class Spares:
    def __init__(self, home: Path) -> None:
        self._folder = home / "spare"
        self.trash = Trash(home / "trash")
        self._last: tuple[str, SpareCheckout] | None = None
        """The name and content of the checkout that was given last, so that its index need not be read again."""

    def take(self, place: Path, git: Git) -> SpareCheckout | None:
        """Move a spare checkout to `place`, with its index next to it, and return what bough wrote in it; None if there
        is none."""
        last, made = self._last or ("", None)
        for spare in sorted(self._all(), key=lambda spare: spare.name != last):
            try:
                # Only one process can rename the folder, so no lock is needed.
                spare.rename(place)
            except OSError:  # another process took it
                continue
            kept = find_index(place)
            with suppress(FileNotFoundError):
                find_index(spare).rename(kept)
            if spare.name == last and made is not None:
                self._last = None
                return made.at(kept)
            with ThreadPoolExecutor(1) as asking:  # git compares while the index is read here
                asked = asking.submit(git.list_altered, os.fsencode(place), kept)
                if (known := saved_scan.load(kept)) is not None:
                    return SpareCheckout(*known, asked)
            # Without the index nobody can tell which files in the checkout bough wrote.
            self.trash.put(place)
        return None

    def give(self, checkout: Path, made: SpareCheckout | None) -> None:
        """Store the checkout of a finished task with the index next to it. `made`: the index's content, if known."""
        kept = find_index(checkout)
        if len(self._all()) >= MOST:
            kept.unlink(missing_ok=True)
            self.trash.put(checkout)
            return
        self._folder.mkdir(exist_ok=True)
        spare = self._folder / os.urandom(6).hex()
        kept.rename(find_index(spare))  # before the checkout, which is useless without it
        checkout.rename(spare)
        if made is not None:
            self._last = spare.name, made

    def is_empty(self) -> bool:
        return not self._all()

    def clear(self) -> None:
        """Remove all spare checkouts."""
        disk.remove(os.fsencode(self._folder))
        disk.remove(os.fsencode(self.trash.folder))

    def _all(self) -> list[Path]:
        try:
            return [Path(entry.path) for entry in os.scandir(self._folder) if not entry.name.endswith(ENDING)]
        except FileNotFoundError:
            return []


class Trash:
    """Removes folders in the background, since that may take seconds. The next process removes what is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._at_work = False

    def put(self, place: Path) -> None:
        """Move a folder of bough's own, whose content may be an agent's, into the trash."""
        with handles.open_folder(os.fsencode(place.parent), b"") as parent:
            self.put_in(parent, os.fsencode(place.name))

    def put_in(self, parent: int, name: bytes) -> None:
        """Move the entry of that name in an open folder into the trash."""
        self.folder.mkdir(exist_ok=True)
        with handles.open_folder(os.fsencode(self.folder), b"") as trash:
            handles.move_away(parent, name, trash, os.urandom(6).hex().encode())
        self.empty()

    def empty(self) -> None:
        """Start emptying the trash in the background."""
        with self._lock:
            if self._at_work or not self.folder.is_dir():
                return
            self._at_work = True
        threading.Thread(target=self._empty, daemon=True, name="trash").start()

    def _empty(self) -> None:
        while True:
            for entry in disk.list_entries(os.fsencode(self.folder)):
                with suppress(OSError):  # another process may be removing it at the same time
                    disk.remove(entry.path)
            with self._lock:
                if not disk.list_entries(os.fsencode(self.folder)):
                    self._at_work = False
                    return
