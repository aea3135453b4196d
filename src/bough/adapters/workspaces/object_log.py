"""A process's log of new objects: one flush makes any number of them durable.

Promises: what `append` returned from can be read back after the machine was switched off; a torn end is left out. A log
belongs to the process that holds its lock; when that is gone, the next holder of the lock secures the contents and
removes it.
"""

# Paths are bytes: a name on disk need not be text.
# ruff: noqa: PTH104, PTH123

from __future__ import annotations

import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

from bough.adapters.workspaces import disk
from bough.trust import handles

_HEAD = struct.Struct(">20sII")


class Log:
    """The log of this process in a folder, started with the first object. Any number of threads may append."""

    def __init__(self, folder: bytes) -> None:
        self._folder = folder
        self._path = b""
        self._fd = -1
        self._opened: list[int] = []
        self._written = 0
        self._synced = 0
        self._began = 0
        self._syncing = threading.Lock()
        self._writing = threading.Lock()
        """When both are needed, the first one first."""

    def __del__(self) -> None:
        for fd in self._opened:
            os.close(fd)

    @property
    def size(self) -> int:
        return self._written - self._began

    def append(self, objects: dict[bytes, bytes]) -> None:
        # The sum covers the id too: a torn write can leave a whole body under half a name.
        heads = ((_HEAD.pack(id, len(body), zlib.crc32(body, zlib.crc32(id))), body) for id, body in objects.items())
        record = b"".join(head + body for head, body in heads)
        with self._writing:
            if self._fd < 0:
                self._begin()
            fd = self._fd
            try:
                disk.write(fd, record)
            except OSError:
                self._fd = -1  # nothing may follow a torn record
                with suppress(OSError):
                    os.ftruncate(fd, self.size)
                raise
            self._written += len(record)
            end = self._written
        with self._syncing:  # a waiter here mostly finds that an earlier one flushed for it too
            if self._synced < end:
                self._sync(fd)

    def _sync(self, fd: int) -> None:
        with self._writing:
            upto, current = self._written, self._fd == fd
        try:
            # A failed flush is not tried again: Linux marks the pages as clean afterwards, and the second one would
            # succeed without the data.
            disk.flush(fd)
        except OSError:
            with self._writing:
                self._fd = -1  # what is in it may no longer reach the disk
            raise
        if current:
            self._synced = upto

    def _begin(self) -> None:
        """Locked before anyone can take it for a dead process's."""
        name = b"%s/%d-%s" % (self._folder, os.getpid(), os.urandom(6).hex().encode())
        self._path = name + b".log"
        fd = os.open(name + b".part", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._opened.append(fd)
        # Under another name until it is locked: `find_left_logs` takes what it can lock for a dead process's.
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.rename(name + b".part", self._path)
        # Before the first object: a durable log whose name is not durable is lost with it.
        disk.flush_folder(self._folder)
        self._fd = fd
        self._began = self._written

    def replace(self, longest: int, secure: Callable[[bytes], None]) -> None:
        """Make what is in an overlong log durable in another way, and continue with a new one."""
        with self._syncing, self._writing:
            if self._fd < 0 or self.size <= longest:
                return
            # Then removed: killed in between, its objects are in two places, and never in none.
            secure(self._path)
            disk.remove(self._path)
            self._opened.remove(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._began = self._synced = self._written


def find_left_logs(folder: bytes) -> Iterator[bytes]:
    """The logs of dead processes. Each is ours until the next one."""
    for entry in disk.list_entries(folder):
        if not entry.name.endswith(b".log"):
            continue
        fd = disk.open_regular(entry.path)
        if fd is None:
            continue
        with handles.held(fd), suppress(BlockingIOError):  # its process lives
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:  # else another process was first
                yield entry.path


def read_log(path: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Objects by id, up to the first incomplete one."""
    with open(path, "rb") as log:
        while len(head := log.read(_HEAD.size)) == _HEAD.size:
            id, size, sum = _HEAD.unpack(head)
            body = log.read(size)
            if len(body) != size or zlib.crc32(body, zlib.crc32(id)) != sum:
                return
            yield id, body
