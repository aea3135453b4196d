"""Tells which folders of a checkout may have changed since they were last scanned, as the system reports it (inotify),
so that scanning again costs what changed, not what is there.

Promises: a folder that is not named did not change, as far as the system reports. When it may have missed something
(more happened than it remembers, more folders than it watches), the answer is that nothing is known, and everything is
scanned. What it never reports: a write through a hard link in an unwatched folder. So nothing that a verdict relies on
trusts this alone (see docs/design/large-repositories.md).
"""

from __future__ import annotations

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
# A write through a memory map raises no MODIFY; CLOSE_WRITE says at least that somebody had the file open for it.
MASK = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLY_FOLDERS
WORTH = 500
"""Fewer files than this are scanned as quickly without a watch."""
_EVENT = struct.Struct("iIII")


class ChangedFolders(NamedTuple):
    folders: set[bytes]
    """Folders whose direct content may differ."""
    whole: set[bytes]
    """Folders of which nothing is known any longer, nor of anything below them."""


class CheckoutWatch:
    """Watches the folders of one checkout."""

    _handle = -1
    _taken = 0
    _sure = False

    def __init__(self) -> None:
        """Start watching; `OSError` if the system cannot, or has no watches left."""
        self._paths: dict[int, bytes] = {}
        # Not inherited by programs, and read without waiting.
        self._handle = call_inotify("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self._repeated = ChangedFolders(set(), set())

    def cover(self, path: bytes, handle: int) -> None:
        """Watch that folder too. Call this before scanning it."""
        # By handle: the path may lead elsewhere by now.
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
        if number < 0 or (new and not _find_share().acquire(blocking=False)):  # none left
            self.close()
            return
        self._taken += new
        self._paths[number] = path

    def trust(self) -> None:
        """Note that all folders are watched, and were scanned afterwards."""
        self._sure = self._handle >= 0

    def lose(self) -> None:
        """Trust nothing until the next full scan, because a reported change was not used."""
        self._sure = False

    def repeat(self, changed: ChangedFolders) -> None:
        """Report these changes again, because the result of the scan that used them was discarded."""
        self._repeated = changed

    def changed(self) -> ChangedFolders | None:
        """Return the changes since the last call, bough's own included; None: unknown."""
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
            # A full queue (16,384 events by default) makes the kernel drop events: a build does that, and then nothing
            # is certain.
            if mask & (OVERFLOW | UNMOUNTED):
                self._sure = False
            path = self._paths.get(number)
            if mask & IGNORED:  # the folder is gone
                self._paths.pop(number, None)
                self._give_back(1)
            elif path is not None:
                found.folders.add(path)
                # Files made in a new folder before the watch began are not reported.
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
    """Return half of the watches that the system allows a person: their editor needs some too."""
    return threading.Semaphore(int(Place("/proc/sys/fs/inotify", "max_user_watches").text() or 0) // 2)


def worth(base: FileIndex) -> bool:
    return sum(len(folder.files) for folder in base.folders.values()) >= WORTH


def start_watch(base: FileIndex) -> CheckoutWatch | None:
    """Start a watch for a checkout of these files; None if unavailable or not worthwhile."""
    if sys.platform != "linux" or not worth(base):
        return None
    try:
        return CheckoutWatch()
    except (OSError, AttributeError):
        return None


_LIBRARY = ctypes.CDLL(None, use_errno=True)


def call_inotify(name: str, *arguments: Any) -> int:
    result: int = getattr(_LIBRARY, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result
