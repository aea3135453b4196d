"""An index of the files below a folder, and of their git trees. Successive scans share the folders that did not change,
so that the cost of scanning, writing a tree and comparing depends on the changes, not on the number of files."""

# Paths are bytes, because a name on disk need not be text.

import gc
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces.objects import Batch

STAMP = struct.Struct("<qqqQIII")
SECOND = 1_000_000_000


def make_stamp(info: os.stat_result) -> bytes:
    """Return a stamp, by which a file or folder that changed is recognised: few bytes, since there may be very many."""
    # The stamp includes ctime and inode: any program can set mtime back (tar, `touch -r`), but no command can set
    # ctime.
    return STAMP.pack(
        info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_mode, info.st_uid, info.st_gid
    )


def look_at(path: bytes, top: int) -> bytes:
    """Return the stamp of what is at a path below the folder with the handle `top`; empty if nothing is there. Links
    are not followed. With the handle, the system need not resolve a long path for each of very many files."""
    try:
        return make_stamp(os.stat(path or b".", dir_fd=top, follow_symlinks=False))
    except OSError:
        return b""


def is_sure(stamp: bytes, now: int, tick: int = 1) -> bool:
    """Whether no later write can produce this stamp again, because the last write was clearly before `now`. `tick`: the
    resolution in nanoseconds at which stamps are compared later."""
    written, changed, *_ = STAMP.unpack(stamp)
    return bool(max(written, changed) // tick < now // tick)


PLAIN, EXECUTABLE, LINK, FOLDER = b"100644", b"100755", b"120000", b"40000"
_pause_lock = threading.Lock()
_pausing = 0


class Entry(NamedTuple):
    """The entry that a git tree has for one path."""

    mode: bytes
    id: bytes


class File(NamedTuple):
    """A file that a scan found, with the stamp that shows later whether it is still the same."""

    mode: bytes
    id: bytes
    stamp: bytes
    sure: bool
    """Whether no later write can have the same stamp, because the file was not written just before it was read."""


class Folder(Struct):
    """One folder of the index. It must not change once its tree is known, because other indexes may share it."""

    files: dict[bytes, File] = field(default_factory=dict)
    folders: dict[bytes, None] = field(default_factory=dict)
    """The names of the subfolders that were scanned, in order."""
    ignored: set[bytes] = field(default_factory=set)
    """Names that a rule ignores; a folder's name ends in a slash, since a rule may match only folders."""
    shared: bool = False
    """Whether it contains a link that bough made to a folder of the person's."""
    rules: bytes = b""
    """The content id of the folder's `.gitignore`; empty if there is none."""
    id: bytes | None = None
    """The id of the folder's git tree; None if it is unknown or holds no file that is kept."""
    stamp: bytes = b""
    """The stamp of the folder itself, taken before its entries were read; empty if unknown."""
    other: set[bytes] = field(default_factory=set)
    """Names that are neither kept nor ignored: pipes, sockets, and names that a file system could take for `.git`."""

    def copy(self) -> "Folder":
        files, folders, ignored = dict(self.files), dict(self.folders), set(self.ignored)
        return Folder(files, folders, ignored, self.shared, self.rules, self.id, self.stamp, set(self.other))

    @property
    def bare(self) -> bool:
        return not (self.files or self.folders or self.ignored or self.shared)


NO_FOLDER = Folder()


class FileIndex(Struct):
    """All folders below a folder, by path."""

    folders: dict[bytes, Folder] = field(default_factory=lambda: {b"": Folder()})
    fresh: set[bytes] = field(default_factory=lambda: {b""})
    """Folders whose tree is unknown because something in or below them changed. No other index shares them."""
    bare: set[bytes] = field(default_factory=set)
    read: int = 0
    """How many files had to be read."""
    looked: int = 0
    """How many folders had to be scanned."""
    embedded: set[bytes] = field(default_factory=set)
    """Folders with an embedded git repository."""

    def copy(self) -> "FileIndex":
        """Return a copy that may be changed. If this index has fresh folders, it must no longer be used."""
        return FileIndex(dict(self.folders), set(self.fresh), set(self.bare), embedded=set(self.embedded))

    def files(self) -> Iterator[tuple[bytes, File]]:
        for path, folder in self.folders.items():
            for name, file in folder.files.items():
                yield join_path(path, name), file

    def file(self, path: bytes) -> File | None:
        parent, _, name = path.rpartition(b"/")
        folder = self.folders.get(parent)
        return folder.files.get(name) if folder is not None else None

    def put(self, path: bytes, file: File) -> None:
        parent, _, name = path.rpartition(b"/")
        self.change(parent).files[name] = file
        self.bare.discard(parent)

    def remove(self, path: bytes) -> None:
        parent, _, name = path.rpartition(b"/")
        del self.change(parent).files[name]

    def replace(self, path: bytes, file: File) -> None:
        """Put a file at a path, in place of a folder there or a file where one of its parent folders must be."""
        for above in list_parents(path):
            if self.file(above) is not None:
                self.remove(above)
        if path in self.folders:
            self.drop(path)
            parent, _, name = path.rpartition(b"/")
            del self.change(parent).folders[name]
        self.put(path, file)

    def change(self, path: bytes) -> Folder:
        """Return a folder that may be changed, created if missing. Its tree and those above it become unknown."""
        way = []
        while path not in self.fresh:
            way.append(path)
            if not path:
                break
            path = path.rpartition(b"/")[0]
        for path in reversed(way):
            known = self.folders.get(path)
            self.folders[path] = known.copy() if known is not None else Folder()
            self.fresh.add(path)
            if known is None:
                parent, _, name = path.rpartition(b"/")
                self.folders[parent].folders[name] = None
                self.bare.discard(parent)
        return self.folders[path]

    def settle(self, path: bytes, folder: Folder, changed: bool) -> None:
        """Put a folder into the index as a scan has just found it. `changed`: its tree is unknown."""
        self.folders[path] = folder
        if changed:
            self.fresh.add(path)
            if path:
                self.change(path.rpartition(b"/")[0])
        if path and folder.bare:
            self.bare.add(path)
        else:
            self.bare.discard(path)

    def drop(self, path: bytes) -> None:
        """Remove a folder that no longer exists, with everything below it."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            folder = self.folders.pop(path, None)
            self.fresh.discard(path)
            self.bare.discard(path)
            waiting += [join_path(path, name) for name in folder.folders] if folder is not None else []

    def empty(self) -> list[bytes]:
        """List the folders that contain nothing kept, ignored or shared, each after its parent."""
        empty: set[bytes] = set()
        for path in self.bare:
            while path and path not in empty:
                folder = self.folders[path]
                if folder.files or folder.ignored or folder.shared:
                    break
                if any(join_path(path, name) not in empty for name in folder.folders):
                    break  # The outer loop continues upward from here once it reaches the last empty subfolder.
                empty.add(path)
                path = path.rpartition(b"/")[0]
        return sorted(empty)


class KeptPaths:
    """Paths that are kept despite ignore rules, and their parent folders."""

    def __init__(self, paths: Iterable[bytes] = (), base: FileIndex | None = None) -> None:
        """Start with these paths. `base`: the files that a task started from, which are kept, too."""
        self.paths: set[bytes] = set()
        self._folders: set[bytes] = set()
        self._waiting: list[set[bytes]] = []
        """Paths whose parent folders are not in `_folders` yet."""
        self._base = base
        self.add(paths)

    def add(self, paths: Iterable[bytes]) -> None:
        self._waiting.append(set(paths))
        self.paths |= self._waiting[-1]

    @property
    def folders(self) -> set[bytes]:
        while self._waiting:
            for path in self._waiting.pop():
                while (path := path.rpartition(b"/")[0]) and path not in self._folders:
                    self._folders.add(path)
        return self._folders

    def __contains__(self, path: bytes) -> bool:
        return path in self.paths or (self._base is not None and self._base.file(path) is not None)

    def keeps(self, path: bytes, is_folder: bool) -> bool:
        # A folder that is itself among the paths is a submodule.
        if path in self:
            return True
        if not is_folder:
            return False
        known = self._base.folders.get(path) if self._base is not None else None
        return path in self.folders or (known is not None and known.id is not None)


def join_path(folder: bytes, name: bytes) -> bytes:
    return b"%s/%s" % (folder, name) if folder else name


def list_parents(path: bytes) -> list[bytes]:
    """List the parent folders of a path, from the top."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def write_tree(found: FileIndex, batch: Batch) -> bytes:
    """Write the index as a git tree into the batch, and return the tree's id."""
    for path in sorted(found.fresh, key=lambda path: path.count(b"/") + 1 if path else 0, reverse=True):
        folder = found.folders[path]
        below = ((name, found.folders[join_path(path, name)].id) for name in folder.folders)
        # git sorts a folder as if its name ended in a slash.
        entries = [(name, name, file.mode, file.id) for name, file in folder.files.items()]
        entries += [(name + b"/", name, FOLDER, id) for name, id in below if id is not None]
        body = b"".join([b"%s %s\0%s" % (mode, name, id) for _, name, mode, id in sorted(entries)])
        folder.id = batch.add(b"tree", body) if body or not path else None
    found.fresh = set()
    id = found.folders[b""].id
    assert id is not None
    return id


def find_differing(one: FileIndex, other: FileIndex) -> Iterator[tuple[bytes, File | None, File | None]]:
    """Yield the path and both versions of each file that differs, without entering folders with the same tree."""
    waiting = [b""]
    while waiting:
        path = waiting.pop()
        here, there = one.folders.get(path, NO_FOLDER), other.folders.get(path, NO_FOLDER)
        known = path not in one.fresh and path not in other.fresh
        if known and here.id is not None and here.id == there.id:
            continue
        mine, theirs = here.files, there.files
        for name in mine.keys() | theirs.keys():
            was, now = mine.get(name), theirs.get(name)
            if was is None or now is None or was[:2] != now[:2]:
                yield join_path(path, name), was, now
        waiting += [join_path(path, name) for name in here.folders.keys() | there.folders.keys()]


@contextmanager
def pause_collector() -> Iterator[None]:
    """Switch Python's cycle collector off while the block creates very many small objects: with 40,000 files it would
    take a third of the time. Not for code that waits, or creates reference cycles."""
    global _pausing
    with _pause_lock:
        _pausing += 1
        was = gc.isenabled() or _pausing > 1
        gc.disable()
    try:
        yield
    finally:
        with _pause_lock:
            _pausing -= 1
            if was and not _pausing:
                gc.enable()
