"""Opens, creates and removes folders by handle, so that a folder that is replaced by a link cannot lead bough
elsewhere.

A path below `top` is opened name by name without following links, since agents can put links into their checkouts."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REMOVALS = 50
"""Attempts to remove a folder that somebody else is removing at the same time."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def open_top(top: bytes, own: bool = True) -> int:
    """Open the folder of a checkout. `own`: make it accessible if an agent has made it inaccessible."""
    opening = partial(os.open, top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if not own:
        return opening()
    try:
        handle = opening()
    except PermissionError:
        parent, _, name = top.rpartition(b"/")
        with open_folder(parent, b"") as above:
            handle = read_with_access(above, name, opening)
    return _make_searchable(handle)


def _make_searchable(handle: int) -> int:
    # Without the right to search it, a folder's files could be listed, but not opened.
    if (mode := os.fstat(handle).st_mode) & 0o500 != 0o500:
        os.fchmod(handle, stat.S_IMODE(mode) | 0o700)
    return handle


class OpenHandle:
    """Closes a handle at the end of a block. A generator instead of a class would take longer than opening a file."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


@contextmanager
def open_folder(top: bytes, path: bytes) -> Iterator[int]:
    """Open the folder at a path below `top` during this block, and yield its handle."""
    handle = open_top(top)
    try:
        for name in path.split(b"/") if path else ():
            below = open_below(handle, name)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


class Folders:
    """Opens folders below `top` for callers that read many, with few open handles at a time. `own`: make inaccessible
    folders accessible. `make`: create missing folders."""

    def __init__(self, top: bytes, own: bool, make: bool = False) -> None:
        self._own = own
        self._make = make
        self._open = {b"": open_top(top, own)}

    def at(self, path: bytes) -> int:
        """Return a folder's handle, valid until the next call. Raises `NotADirectoryError` if it is not a folder."""
        if (known := self._open.get(path)) is not None:
            return known
        above, names = path, []
        while above not in self._open:
            above, _, name = above.rpartition(b"/")
            names.append(name)
        handle = self._open[above]
        # Close all other handles, but keep the parent's: the next folder is often a sibling.
        self._forget(above)
        for name in reversed(names):
            handle = self._open_below(handle, name)
            self._forget(above)
            above = b"%s/%s" % (above, name) if above else name
            self._open[above] = handle
        return handle

    def _open_below(self, parent: int, name: bytes) -> int:
        if self._make:
            return _make_below(parent, name)
        try:
            handle = open_below(parent, name) if self._own else os.open(name, _FOLDER, dir_fd=parent)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise NotADirectoryError(errno.ENOTDIR, "is a link", name) from error
        return _make_searchable(handle) if self._own else handle

    def _forget(self, kept: bytes) -> None:
        for path in [path for path in self._open if path not in (b"", kept)]:
            os.close(self._open.pop(path))

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


def open_below(parent: int, name: bytes, writing: bool = False) -> int:
    """Open a subfolder. If its mode forbids that (or, with `writing`, forbids changes in it), change the mode."""
    handle = read_with_access(parent, name, partial(os.open, name, _FOLDER, dir_fd=parent))
    if writing and not (mode := os.fstat(handle).st_mode) & stat.S_IWUSR:
        os.fchmod(handle, stat.S_IMODE(mode) | 0o700)
    return handle


def make_folder(top: bytes, path: bytes) -> None:
    """Create a folder below `top`, unless something of that name exists."""
    parent, _, name = path.rpartition(b"/")
    # Do nothing if something of that name exists, or if part of the path is missing or not a folder.
    with suppress(FileNotFoundError, FileExistsError, NotADirectoryError), open_folder(top, parent) as handle:
        _retry_with_access(handle, partial(os.mkdir, name, dir_fd=handle))


def _make_below(parent: int, name: bytes) -> int:
    for _ in range(8):
        try:
            return open_below(parent, name)
        except FileNotFoundError:
            with suppress(FileExistsError):
                _retry_with_access(parent, partial(os.mkdir, name, dir_fd=parent))
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            remove_in(parent, name)
    raise OSError(errno.EBUSY, "another process keeps replacing it", name)


def create_in_place(parent: int, name: bytes, action: Callable[[], T]) -> T:
    """Create `name` in a folder by `action`. If something is already there, remove it and try again."""
    for _ in range(8):
        try:
            return _retry_with_access(parent, action)
        except FileExistsError:
            remove_in(parent, name)
    raise OSError(errno.EBUSY, "another process keeps replacing it", name)


def remove_below(top: bytes, path: bytes) -> None:
    """Remove what is at a path below `top`, if anything is there."""
    parent, _, name = path.rpartition(b"/")
    try:
        with open_folder(top, parent) as handle:
            remove_in(handle, name)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            raise


def remove_in(parent: int, name: bytes) -> None:
    """Remove a file, a link (never its target) or a whole folder from a folder, if it exists. Another thread or process
    may be removing the same folder: each moves inner folders to its top, where the other one has already looked."""
    for left in reversed(range(REMOVALS)):
        try:
            if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
                return _retry_with_access(parent, partial(os.unlink, name, dir_fd=parent))
        except FileNotFoundError:
            return None
        try:
            _empty_folder(parent, name)
            _retry_with_access(parent, partial(os.rmdir, name, dir_fd=parent))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY) or not left:
                raise
    return None


def move_away(parent: int, name: bytes, target: int, fresh: bytes) -> None:
    """Move an entry of a folder to another folder, if it exists."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.close(open_below(parent, name, writing=True))  # A folder must be writable to be moved.
        _retry_with_access(parent, partial(os.rename, name, fresh, src_dir_fd=parent, dst_dir_fd=target))


def _empty_folder(parent: int, name: bytes) -> None:
    """Empty a folder without recursion and with few handles at a time: an agent can nest folders deeper than the limits
    on recursion and on open handles. Inner folders are moved up to the top and emptied there."""
    with OpenHandle(open_below(parent, name)) as top:
        waiting = _remove_files(top)
        # The names are new each time, because a killed removal leaves its folders behind.
        moved, ours = 0, os.urandom(6).hex().encode()
        while waiting:
            each = waiting.pop()
            with OpenHandle(open_below(top, each)) as handle:
                for inner in _remove_files(handle):
                    moved += 1
                    waiting.append(b".bough-gone-%s-%d" % (ours, moved))
                    move_away(handle, inner, top, waiting[-1])
            _retry_with_access(top, partial(os.rmdir, each, dir_fd=top))


def _remove_files(handle: int) -> list[bytes]:
    """Remove everything in a folder except its subfolders, and return their names."""
    folders = []
    with os.scandir(handle) as entries:
        found = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if is_folder:
            folders.append(name)
        else:
            with suppress(FileNotFoundError):
                _retry_with_access(handle, partial(os.unlink, name, dir_fd=handle))
    return folders


def _retry_with_access(handle: int, action: Callable[[], T]) -> T:
    """Call `action`; if the folder's mode forbids it, make the folder accessible and try again."""
    try:
        return action()
    except PermissionError:
        os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) | 0o700)
        return action()


def read_with_access(parent: int, name: bytes, action: Callable[[], T]) -> T:
    """Call `action`; if the mode of this file or folder forbids it, make it readable for its owner and try again."""
    with suppress(PermissionError):
        return action()
    # If a link replaces the file at this moment, the link is not followed, and the change of its mode fails.
    with OpenHandle(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)) as handle:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            mine = 0o700 if stat.S_ISDIR(mode) else 0o600
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(mode) | mine)  # noqa: PTH101
    return action()
