"""Tells by inotify which folders of a checkout may have changed since the last scan, so that the cost of the next scan
depends on the changes, not on the number of files.

Promises: a folder that is not named did not change, as far as the system reports. When the system may have missed
something (too many events, too many folders), the answer is that nothing is known, and everything is scanned. It never
reports a write through a hard link in an unwatched folder, so nothing that decides whether work is proven relies on
this alone (see docs/design/large-repositories.md).
"""

import ctypes
import os
import struct
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from bough.adapters.workspaces.file_index import FileIndex, join_path
from bough.trust.files import Place

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
UNMOUNTED, OVERFLOW, IGNORED, ONLY_FOLDERS, IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x01000000, 0x40000000
DO_NOT_FOLLOW = 0x02000000
# A write through a memory map raises no MODIFY, but CLOSE_WRITE at least says that somebody had opened it for writing.
MASK = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLY_FOLDERS
WORTH = 500
"""A checkout with fewer files than this is scanned as quickly without a watch."""
_EVENT = struct.Struct("iIII")


class ChangedFolders(NamedTuple):
    folders: set[bytes]
    """Folders whose own entries may have changed."""
    whole: set[bytes]
    """Folders that have to be scanned with everything below them."""


class CheckoutWatch:
    _handle = -1
    _taken = 0
    _sure = False

    def __init__(self) -> None:
        """Start watching. Raises `OSError` if the system cannot."""
        self._paths: dict[int, bytes] = {}
        # The handle is not inherited by programs, and reading it does not block.
        self._handle = call_inotify("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self._repeated = ChangedFolders(set(), set())

    def cover(self, path: bytes, handle: int) -> None:
        """Watch this folder, too. To be called before the folder is scanned."""
        # Use the handle, because the path may lead elsewhere by now.
        self._add(path, b"/proc/self/fd/%d" % handle)

    def cover_all(self, top: bytes, found: FileIndex) -> None:
        """Watch all folders that a checkout had; the next scan notices those that are gone."""
        for path in found.folders:
            with suppress(FileNotFoundError, NotADirectoryError):
                self._add(path, join_path(top, path) if path else top, MASK | DO_NOT_FOLLOW)

    def _add(self, path: bytes, place: bytes, mask: int = MASK) -> None:
        if self._handle < 0:
            return
        try:
            number = call_inotify("inotify_add_watch", self._handle, place, mask)
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError:
            number = -1
        new = number not in self._paths
        if number < 0 or (new and not _find_share().acquire(blocking=False)):  # The system has no watches left.
            self.close()
            return
        self._taken += new
        self._paths[number] = path

    def trust(self) -> None:
        """Note that all folders are watched, and were scanned after that: from now on reports are complete."""
        self._sure = self._handle >= 0

    def lose(self) -> None:
        """Trust nothing until the next full scan, because a reported change was not used."""
        self._sure = False

    def repeat(self, changed: ChangedFolders) -> None:
        """Report these changes again, because the result of the scan that used them was discarded."""
        self._repeated = changed

    def changed(self) -> ChangedFolders | None:
        """Return the changes since the last call, including bough's own; None if they are unknown."""
        found, self._repeated = self._repeated, ChangedFolders(set(), set())
        while self._handle >= 0:
            try:
                events = os.read(self._handle, 1 << 18)
            except BlockingIOError:
                break
            self._read(events, found)
        return found if self._sure else None

    def _read(self, events: bytes, found: ChangedFolders) -> None:
        at = 0
        while at < len(events):
            number, mask, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size + length
            # The kernel drops events when its queue (16,384 by default) is full, as during a build: then nothing is
            # certain.
            if mask & (OVERFLOW | UNMOUNTED):
                self._sure = False
            path = self._paths.get(number)
            if mask & IGNORED:  # The watched folder is gone.
                self._paths.pop(number, None)
                self._give_back(1)
            elif path is not None:
                found.folders.add(path)
                # Files that were created in a new folder before it was watched are not reported: scan all of it.
                if mask & IS_FOLDER and mask & (CREATE | MOVED_TO) and length:
                    found.whole.add(join_path(path, events[at - length : at].rstrip(b"\0")))

    def _give_back(self, count: int) -> None:
        if count := min(count, self._taken):
            self._taken -= count
            _find_share().release(count)

    def close(self) -> None:
        self._sure = False
        self._give_back(self._taken)
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()


@lru_cache(maxsize=1)
def _find_share() -> threading.Semaphore:
    """Return a semaphore for half of the watches that the system allows a user: the person's editor needs some, too."""
    return threading.Semaphore(int(Place("/proc/sys/fs/inotify", "max_user_watches").text() or 0) // 2)


def worth(base: FileIndex) -> bool:
    return sum(len(folder.files) for folder in base.folders.values()) >= WORTH


def start_watch(top: bytes, base: FileIndex, known: FileIndex | None, fresh: bool) -> CheckoutWatch | None:
    """Start a watch for a checkout of these files (`base`) with these folders (`known`). `fresh`: it was just created,
    and nothing else uses it. Return None if a watch is unavailable or not worthwhile."""
    if sys.platform != "linux" or not worth(base):
        return None
    try:
        watch = CheckoutWatch()
    except (OSError, AttributeError):
        return None
    if known is not None:
        watch.cover_all(top, known)
    if fresh:
        watch.trust()
    return watch


_LIBRARY = ctypes.CDLL(None, use_errno=True)


def call_inotify(name: str, *arguments: Any) -> int:
    result: int = getattr(_LIBRARY, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result
