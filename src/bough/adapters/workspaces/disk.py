"""Handles files on disk: writes durably, reads without following links, removes whatever the permissions."""

import errno
import fcntl
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bough.core.errors import SnapshotRefused, WorkspaceError, explain_refusal
from bough.trust import handles

T = TypeVar("T")

CHUNK = 1 << 20
_AGAIN = 50
"""Attempts to create a folder. An attempt fails only if another task ends at that very moment."""


def flush(fd: int) -> None:
    """Make sure that what was written to a file is on the disk."""
    if sys.platform == "darwin":
        # On macOS, fsync leaves the data in the drive's own memory.
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(fd)


def flush_folder(folder: str | bytes | Path) -> None:
    """Make sure that the names in a folder are on the disk."""
    with handles.OpenHandle(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        flush(fd)


def write_whole(path: Path, body: bytes, durable: bool = True, parts: Path | None = None) -> None:
    """Write a file so that it has either its old or its new content, whatever happens. `parts`: the folder for the
    unfinished file, which bough clears after a kill; it must be on the same disk. None: the file's own folder."""
    # Only on the same disk does a rename replace the file in one step.
    part = (parts or path.parent) / f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(body)
            file.flush()
            if durable:
                flush(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        flush_folder(path.parent)


def write(fd: int, body: bytes) -> None:
    """Write the whole body, even if the system takes it in parts."""
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(fd, rest) :]


def open_regular(path: bytes, within: int | None = None) -> int | None:
    """Open a file for reading, in the folder with the handle `within` if given. Return None if it is not, or no longer,
    a regular file."""
    try:
        # Without O_NONBLOCK, opening a pipe left by an agent would wait for a writer for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=within)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def read_pieces(fd: int) -> Iterator[bytes]:
    while piece := os.read(fd, CHUNK):
        yield piece


def compute_blob_id(path: bytes, within: int | None = None) -> bytes | None:
    """Compute git's id of a file's content without storing it. Return None if there is no such regular file."""
    while True:
        fd = open_regular(path, within)
        if fd is None:
            return None
        with handles.OpenHandle(fd):
            size = os.fstat(fd).st_size
            sha = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            count = 0
            for piece in read_pieces(fd):
                sha.update(piece)
                count += len(piece)
        if count == size:  # If the counts differ, the file was written meanwhile: read it again.
            return sha.digest()


def in_folder(folder: Path, action: Callable[[], T]) -> T:
    """Create a folder and do something in it. Try again if another task, which ended meanwhile, removed the folder
    because it was still empty."""
    for _ in range(_AGAIN):
        with suppress(FileNotFoundError, FileExistsError):  # FileExistsError: the folder existed, and was then removed.
            folder.mkdir(parents=True, exist_ok=True)
            return action()
    return action()


def is_folder(path: Path) -> bool:
    """Whether a path is a real folder, not a link; False if it may not be accessed, where `Path` would raise."""
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def remove(path: bytes) -> None:
    """Remove a file, a link (never its target) or a whole folder, if it exists. An agent may have written its content,
    but the folder around it must be bough's."""
    parent, name = os.path.split(path)
    with suppress(FileNotFoundError, NotADirectoryError), handles.open_folder(parent, b"") as handle:
        handles.remove_in(handle, name)


def list_entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    with os.scandir(folder) as found:
        return list(found)


def explain(error: OSError, doing: str) -> WorkspaceError:
    """Return an error that says in a sentence what bough could not do (`doing`), and why the system refused."""
    where = os.fsdecode(error.filename) if error.filename is not None else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SnapshotRefused(
            f"The disk is full, so bough could not {doing}: free some space, then run the same command again."
        )
    if error.errno == errno.ENAMETOOLONG:
        return SnapshotRefused(
            f"bough could not {doing}: {where[:100]}… is too long a path ({len(where):,} characters): shorten it."
        )
    said = f"bough could not {doing}: {error.strerror or error}{f' ({where})' if where else ''}."
    return explain_refusal(error, where, doing) or WorkspaceError(said)
