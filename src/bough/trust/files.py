"""The only way to files that others write: those of a repository, a checkout, an environment, or bough's own folder in
a project.

A `Place` is a path below a root folder that bough knows. It is not an `os.PathLike`, so that it can only be opened
here. It is opened below its root, without following links (or, if the caller asks, only those that stay inside), and
only if it is a regular file or a folder: a pipe would block bough, and a device may be endless. Reading stops at a
given size.

Linux does all of that in one call (`openat2`); on other systems, folders are opened one below the other by handle."""

# Everything is opened and checked by handle, so that nobody can replace a file between the check and its use.
# ruff: noqa: PTH118

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from bough.trust import handles

LONGEST = 4 << 20
"""The most bytes of a file that are read, unless the caller gives another limit."""
MOST = 20_000
"""The most names of a folder that are listed."""
_OPENAT2 = 437
_NO_MAGIC, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.ENXIO, errno.EACCES, errno.ENAMETOOLONG)

Kind = Literal["file", "folder", "link", "pipe", "socket", "device", ""]
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
_KINDS |= {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


class Place:
    """A path below a root folder, as `root / "package.json"`. Deliberately not `os.PathLike`."""

    __slots__ = ("_links", "name", "root")

    def __init__(self, root: Path | str, name: str = "", *, links: bool = False) -> None:
        """Make a place. `links`: follow links that stay below the root."""
        self.root, self.name, self._links = os.fspath(root), name.strip("/"), links

    def __truediv__(self, name: str) -> "Place":
        return Place(self.root, f"{self.name}/{name}" if self.name else name, links=self._links)

    def __str__(self) -> str:
        return os.path.join(self.root, self.name)

    @property
    def shown(self) -> Path:
        """Return the path for messages, and for commands in a sandbox. bough itself must never open it."""
        return Path(str(self))

    def above(self) -> "Place":
        """Return the folder that contains this place."""
        return Place(self.root, self.name.rpartition("/")[0], links=self._links)

    @property
    def kind(self) -> Kind:
        """Return what is at this place; empty if nothing is there, or it cannot be reached."""
        try:
            with self._open_parent() as (parent, last):
                found = os.stat(last or ".", dir_fd=parent, follow_symlinks=False)
                if self._links and stat.S_ISLNK(found.st_mode):
                    with self._opened(os.O_NONBLOCK) as handle:
                        found = os.fstat(handle)
                return _KINDS.get(stat.S_IFMT(found.st_mode), "device")
        except OSError as error:
            if error.errno in _NOT_THERE:
                return ""
            raise

    def is_regular(self) -> bool:
        return self.kind == "file"

    def is_folder(self) -> bool:
        return self.kind == "folder"

    def read(self, most: int = LONGEST) -> bytes:
        """Read the beginning of a regular file. Raises `OSError` for everything else."""
        with self._opened(0) as handle:
            return _read_regular(handle, str(self), most)

    def text(self, most: int = LONGEST) -> str:
        """Read the beginning of a regular file as text; empty if it cannot be read."""
        try:
            return self.read(most).decode(errors="replace")
        except OSError:
            return ""

    def list(self) -> list[tuple[str, Kind]]:
        """List the names in a folder with their kinds, sorted; empty if this place is not a folder."""
        try:
            with self._opened(os.O_DIRECTORY) as handle, os.scandir(handle) as entries:
                return sorted((entry.name, _get_kind(entry)) for entry, _ in zip(entries, range(MOST), strict=False))
        except OSError as error:
            if error.errno in (*_NOT_THERE, errno.EINVAL):
                return []
            raise

    def copy_to(self, target: "Place") -> None:
        """Copy a regular file with its mode, and replace what is at the target."""
        with self._opened(0) as source, target._open_parent() as (parent, last):
            mode = os.fstat(source).st_mode
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "is not a regular file", str(self))
            create = partial(os.open, last, handles.NEW_FILE, 0o600, dir_fd=parent)
            created = handles.create_in_place(parent, os.fsencode(last), create)
            with os.fdopen(created, "wb") as file:
                while piece := os.read(source, 1 << 20):
                    file.write(piece)
                os.fchmod(file.fileno(), stat.S_IMODE(mode) & 0o777)

    def make_parents(self) -> None:
        """Create the missing parent folders of this place, unless something else has their name."""
        names = self.name.split("/")[:-1]
        for depth in range(1, len(names) + 1):
            handles.make_folder(os.fsencode(self.root), os.fsencode("/".join(names[:depth])))

    def write(self, body: bytes, mode: int = 0o644, *, keep_mode: bool = False) -> None:
        """Write a file atomically, in place of what is there; a link is replaced, not followed. The folder must exist.
        `keep_mode`: use the mode of an existing file."""
        with self._open_parent() as (parent, last):
            part = f"{last}.{os.getpid()}.{os.urandom(4).hex()}.part"
            try:
                # Create the file with its final mode: before a later chmod, anyone could read it for a moment.
                with os.fdopen(os.open(part, handles.NEW_FILE, mode, dir_fd=parent), "wb") as file:
                    file.write(body)
                    if keep_mode and self.is_regular():
                        old = os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode
                        os.fchmod(file.fileno(), stat.S_IMODE(old))
                os.replace(part, last, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=parent)
                raise

    @contextmanager
    def _open_parent(self) -> Iterator[tuple[int, str]]:
        """Open the folder that contains this place; yield the folder's handle, and the name in it."""
        above, _, last = self.name.rpartition("/")
        if last in ("..", "."):
            raise OSError(errno.ENOENT, "leads outside the folder that it must stay in", str(self))
        with Place(self.root, above, links=self._links)._opened(os.O_DIRECTORY) as handle:
            yield handle, last

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        with handles.OpenHandle(os.open(self.root, _FLAGS | os.O_DIRECTORY)) as top:
            handle = _open_beneath(top, self.root, self.name, _FLAGS | flags, self._links) if self.name else os.dup(top)
        with handles.OpenHandle(handle):
            yield handle


def read_own(path: Path, most: int = LONGEST) -> bytes:
    """Read the beginning of one of the person's own files, which may be a link, as settings often are."""
    with handles.OpenHandle(os.open(path, _FLAGS)) as handle:
        return _read_regular(handle, str(path), most)


def _read_regular(handle: int, path: str, most: int) -> bytes:
    # Check the file's type before `os.fdopen`, which refuses the handle of a folder and leaves it open.
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", path)
    with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
        return b"".join(iter(lambda: file.read(min(1 << 20, most - file.tell())), b""))


def _get_kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    return "folder" if entry.is_dir() else "file" if entry.is_file() else "device"


def _open_beneath(top: int, root: str, name: str, flags: int, links: bool) -> int:
    if ".." in name.split("/"):
        raise OSError(errno.ENOENT, f"leads outside the folder {root}", name)
    if "/" not in name and not links:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=top)
    call = _find_openat2()
    if call is not None:
        return call(top, os.fsencode(name), flags, _NO_MAGIC | _BENEATH | (0 if links else _NO_LINKS))
    if links:
        real = os.path.realpath(os.path.join(root, name))
        if not f"{real}/".startswith(f"{os.path.realpath(root)}/"):
            raise OSError(errno.EXDEV, f"leads outside the folder {root}", name)
        name = os.path.relpath(real, os.path.realpath(root))
    parent, _, last = name.rpartition("/")
    with handles.open_folder(os.fsencode(root), os.fsencode(parent)) as folder:
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=folder)


@lru_cache(maxsize=1)
def _find_openat2() -> Callable[[int, bytes, int, int], int] | None:
    """Return a function that calls `openat2`; None on another system, an older kernel, or if a filter denies it."""
    if sys.platform != "linux":
        return None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def call(top: int, name: bytes, flags: int, resolve: int) -> int:
        how = struct.pack("=QQQ", flags, 0, resolve)
        for _ in range(16):
            handle = libc.syscall(_OPENAT2, top, ctypes.c_char_p(name), ctypes.c_char_p(how), len(how))
            if handle >= 0:
                return int(handle)
            if ctypes.get_errno() != errno.EAGAIN:  # Any rename on the system, related or not, can cause EAGAIN.
                break
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fsdecode(name))

    try:
        with handles.OpenHandle(os.open("/", _FLAGS | os.O_DIRECTORY)) as top:
            os.close(call(top, b".", _FLAGS, _BENEATH))
    except OSError:
        return None
    return call
