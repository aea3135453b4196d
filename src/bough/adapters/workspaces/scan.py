"""What files there are below a folder, and their contents' ids: the one mechanism behind keeping the person's files,
snapshots of a workspace and restoring one.

Promises: links are kept as links and never followed; folders are entered by handle, so that nobody can swap one for a
link meanwhile; `.git` (of any repository, at any depth) and bough's own folder are never entered, so the files of
submodules and embedded repositories are ordinary files; sockets, pipes and devices are passed over. What is tracked is
kept although an ignore rule names it; the rest is kept unless a rule ignores it, and git itself says so. A file is read
again only when it may have changed since it was last read.
"""

# Paths are bytes: a name on disk need not be text.

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces import disk, handles
from bough.adapters.workspaces.objects import Batch
from bough.core.errors import Unkeepable, WorkspaceError

PLAIN, EXECUTABLE, LINK, FOLDER = b"100644", b"100755", b"120000", b"40000"

HOME = b".bough"
"""bough's folder, at the top of the person's files (and of no checkout)."""

_TICK = 50_000_000
"""Nanoseconds within which two writes may get the same time stamp from another disk than that of the clock, if it keeps
them finely …"""
_COARSE_TICK = 2_100_000_000
"""… and if it keeps whole seconds."""

_GB = 1_000_000_000
_LONGEST = 4_000
"""Bytes of a path: what is deeper could not be checked out again. The system takes 4,096."""
_NAMES = sys.getfilesystemencoding()

_IGNORABLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


class Entry(NamedTuple):
    """What a tree says of one path."""

    mode: bytes
    id: bytes


class File(NamedTuple):
    """What was found at one path, and what tells whether it is still the same."""

    mode: bytes
    id: bytes
    stamp: tuple[int, ...]
    sure: bool
    """A later write cannot bear the same stamp: it was not written just before it was read."""


class Folder(Struct):
    files: dict[bytes, File] = field(default_factory=dict)
    folders: dict[bytes, None] = field(default_factory=dict)
    """Names of those in it that were looked through, in order."""
    ignored: set[bytes] = field(default_factory=set)
    """Names that a rule ignores; a folder's with a slash, since a rule may mean only folders."""
    shared: bool = False
    """There is a link in it that bough made."""
    rules: bytes = b""
    """Content id of the `.gitignore` in it."""
    id: bytes | None = None
    """Of its tree; None before it is known, and for a folder without any kept file."""
    changed: bool = True


class Found(Struct):
    """All folders by path, every one after the folder that it is in."""

    folders: dict[bytes, Folder] = field(default_factory=lambda: {b"": Folder()})

    def files(self) -> Iterator[tuple[bytes, File]]:
        for path, folder in self.folders.items():
            for name, file in folder.files.items():
                yield join(path, name), file

    def put(self, path: bytes, file: File) -> None:
        parent, _, name = path.rpartition(b"/")
        folder = self.folders.get(parent)
        if folder is None:
            folder = self._add(parent)
        folder.files[name] = file
        folder.changed = True

    def _add(self, path: bytes) -> Folder:
        missing = []
        while path not in self.folders:
            missing.append(path)
            path = path.rpartition(b"/")[0]
        for path in reversed(missing):
            parent, _, name = path.rpartition(b"/")
            self.folders[parent].folders[name] = None
            self.folders[path] = Folder()
        return self.folders[path]

    def take_rules(self) -> None:
        """No rule has changed since these files were put there."""
        for folder in self.folders.values():
            rules = folder.files.get(b".gitignore")
            folder.rules = rules.id if rules is not None and rules.mode != LINK else b""

    def empty(self) -> list[bytes]:
        """Folders with nothing in them that is kept, ignored or shared, every one after the one that it is in."""
        full = {b""}
        for path, folder in reversed(self.folders.items()):
            if folder.files or folder.ignored or folder.shared or path in full:
                full |= {path, path.rpartition(b"/")[0]}
        return [path for path in self.folders if path not in full]

    def hollow(self) -> list[bytes]:
        """The topmost of the empty folders."""
        empty = self.empty()
        inside = set(empty)
        return [path for path in empty if path.rpartition(b"/")[0] not in inside]


class Tracked:
    """Paths that are kept whatever the ignore rules say, and the folders on the way to them."""

    def __init__(self, paths: Iterable[bytes] = ()) -> None:
        self.paths: set[bytes] = set()
        self.folders: set[bytes] = set()
        self.add(paths)

    def add(self, paths: Iterable[bytes]) -> None:
        for path in paths:
            self.paths.add(path)
            while path := path.rpartition(b"/")[0]:
                if path in self.folders:
                    break
                self.folders.add(path)

    def keeps(self, path: bytes, is_folder: bool) -> bool:
        # A folder that is tracked itself is a submodule.
        return path in self.paths or (is_folder and path in self.folders)


def join(folder: bytes, name: bytes) -> bytes:
    return b"%s/%s" % (folder, name) if folder else name


def reserved(name: bytes) -> bool:
    """`.git`, or what some file system takes for it: never kept, never written."""
    if name[0] < 0x80 and name[0] not in b".gG":
        return False
    text = _IGNORABLE.sub("", name.decode(errors="replace")).casefold()
    return re.fullmatch(r"\.git[. ]*(:.*)?|git~\d+", text) is not None


class Bounds(Struct, frozen=True):
    """How much may be new in a folder. What was there at the beginning is not counted, and not read again."""

    file: int = _GB
    """Bytes of one file."""
    all: int = 4 * _GB
    """Bytes of all that has to be read at once."""
    files: int = 200_000
    """New files."""


PERSONS = Bounds(file=16 * _GB, all=256 * _GB, files=10_000_000)
"""What a person has is theirs to say; beyond this something is wrong."""

Contents = Callable[[bytes, int], bytes | None]
"""Name of a regular file and handle of its folder → id of its content; None when it is gone."""


class Item(NamedTuple):
    """What a folder has under a name: a file (`PLAIN`), a link or a folder."""

    name: bytes
    kind: bytes


class Scanner(Struct):
    """Looks through one folder, again and again."""

    top: bytes
    ignores: Callable[[Collection[bytes]], set[bytes]]
    """Which of these paths an ignore rule names."""
    clock: Callable[[], int]
    """The disk's own."""
    own: bool = True
    """The files are bough's: permissions that hinder are changed. Otherwise they are named in an error."""
    shared: Callable[[bytes, bytes], bool] = lambda path, target: False
    """Whether a link is one that bough made to a folder of the person's."""
    embedded: Callable[[bytes], Iterable[bytes]] = lambda folder: ()
    """Tracked paths of the repository embedded in this folder."""
    bounds: Bounds = Bounds()

    def now(self) -> int:
        """What is stamped earlier than this was written before now: no later write bears the same stamp. bough's own
        files are on the clock's disk; a person's may be on another, with coarser stamps."""
        now = self.clock()
        return now if self.own else now - (_COARSE_TICK if now % 1_000_000_000 == 0 else _TICK)

    def scan(
        self,
        before: Found | None,
        tracked: Tracked,
        batch: Batch | None,
        settled: bool = True,
        wanted: Collection[bytes] | None = None,
    ) -> Found:
        """Contents go into the batch; without one their ids are only worked out. `settled`: what is ignored can have
        changed since `before` only by a `.gitignore` in the folder itself. `wanted`: only the contents of these paths
        matter; of others it is enough that they are there. `Unkeepable` when there is more than may be kept."""
        look = _Look(self, before, tracked, batch, settled=settled and before is not None, wanted=wanted)
        found = look.through()
        if look.rules_changed:
            found = _Look(self, found, tracked, batch, settled=False, wanted=wanted).through()
        return found


class _Look:
    """One pass, level by level, so that git is asked about all unknown names of a level at once."""

    def __init__(
        self,
        scanner: Scanner,
        before: Found | None,
        tracked: Tracked,
        batch: Batch | None,
        settled: bool,
        wanted: Collection[bytes] | None,
    ) -> None:
        self._by = scanner
        self._before = before.folders if before is not None else {}
        self._tracked = tracked
        self._batch = batch
        self._settled = settled
        """The ignore rules are as before, so what was kept or ignored then still is."""
        self._found = Found({})
        self._now = scanner.now()
        self._wanted = wanted
        self._read = 0
        """Bytes so far."""
        self._new = 0
        """Files so far."""
        self.rules_changed = False

    def through(self) -> Found:
        level = [b""]
        self._folders = handles.Folders(self._by.top, self._by.own)
        try:
            while level:
                level = self._level(level)
        finally:
            self._folders.close()
        return self._found

    def _level(self, paths: list[bytes]) -> list[bytes]:
        unknown: list[tuple[bytes, bytes, Item]] = []
        below: list[bytes] = []
        for path in paths:
            folder, before = Folder(), self._before.get(path)
            self._found.folders[path] = folder
            for entry in self._entries(path):
                if not self._known(path, folder, before, entry, below):
                    unknown.append((path, join(path, entry.name), entry))
            if before is not None and self._settled and folder.rules != before.rules:
                self.rules_changed = True
        if unknown:
            ignored = self._by.ignores([whole for _, whole, _ in unknown])
            for path, whole, entry in unknown:
                folder = self._found.folders[path]
                if whole in ignored:
                    folder.ignored.add(entry.name + b"/" if entry.kind == FOLDER else entry.name)
                else:
                    self._keep(path, folder, self._before.get(path), entry, below)
        for path in paths:
            self._compare(path)
        return below

    def _entries(self, path: bytes) -> list[Item]:
        """What is there to decide on: files, links and folders but for those that are never kept."""
        if len(self._by.top) + len(path) > _LONGEST:
            depth = path.count(b"/") + 1
            raise Unkeepable(f"{_short(path)} is too deep to be kept ({depth:,} folders, {len(path):,} bytes).")
        try:
            items = _items(self._folders.at(path))
        except (FileNotFoundError, NotADirectoryError):
            if not path:
                raise
            return []
        except PermissionError as error:
            raise self._unreadable(path) from error
        if path and any(item.name == b".git" for item in items):
            self._tracked.add(self._by.embedded(path))
        return [
            item
            for item in items
            if not reserved(item.name)
            and (path or item.name.lower() != HOME)
            and not (item.kind == LINK and self._is_shared(path, item.name))
        ]

    def _is_shared(self, path: bytes, name: bytes) -> bool:
        """A link that bough itself made."""
        whole = join(path, name)
        shared = self._by.shared(whole, join(self._by.top, whole))
        self._found.folders[path].shared |= shared
        return shared

    def _known(self, path: bytes, folder: Folder, before: Folder | None, entry: Item, below: list[bytes]) -> bool:
        """Deal with an entry whose fate needs no question."""
        name, is_folder = entry.name, entry.kind == FOLDER
        if name == b".gitignore":
            folder.rules = self._rules(path)
        if before is not None and self._settled:
            marked = name + b"/" if is_folder else name
            if marked in before.ignored:
                folder.ignored.add(marked)
                return True
            kept = name in (before.folders if is_folder else before.files)
        else:
            kept = False
        if kept or self._tracked.keeps(join(path, name), is_folder):
            self._keep(path, folder, before, entry, below)
            return True
        return False

    def _keep(self, path: bytes, folder: Folder, before: Folder | None, entry: Item, below: list[bytes]) -> None:
        name = entry.name
        if entry.kind == FOLDER:
            folder.folders[name] = None
            below.append(join(path, name))
            return
        file = self._file(path, name, before.files.get(name) if before is not None else None)
        if file is not None:
            folder.files[name] = file

    def _file(self, folder: bytes, name: bytes, before: File | None) -> File | None:
        try:
            within = self._folders.at(folder)
            info = os.stat(name, dir_fd=within, follow_symlinks=False)
            stamp = stamp_of(info)
            if before is not None and before.stamp == stamp and before.sure:
                return before
            path = join(folder, name)
            if self._wanted is not None and (path not in self._wanted or info.st_size > self._by.bounds.file):
                return File(PLAIN, b"", stamp, False)  # It goes, or is made anew, whatever is in it.
            self._count_new(path, before)
            if stat.S_ISLNK(info.st_mode):
                mode, id = LINK, self._link(name, within)
            else:
                mode = EXECUTABLE if info.st_mode & stat.S_IXUSR else PLAIN
                contents = self._contents(path, within, info.st_size)
                if contents is None:
                    return None
                id = contents
        except (FileNotFoundError, NotADirectoryError):  # gone since its folder was read
            return None
        return File(mode, id, stamp, is_sure(stamp, self._now))

    def _link(self, name: bytes, within: int) -> bytes:
        target = os.readlink(name, dir_fd=within)
        return self._batch.add(b"blob", target) if self._batch is not None else disk.text_id(target)

    def _rules(self, folder: bytes) -> bytes:
        try:
            within = self._folders.at(folder)
            size = os.stat(b".gitignore", dir_fd=within, follow_symlinks=False).st_size
            return self._contents(join(folder, b".gitignore"), within, size) or b""
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def _count_new(self, path: bytes, before: File | None) -> None:
        self._new += before is None and path not in self._tracked.paths
        if self._wanted is None and self._new > self._by.bounds.files:
            raise Unkeepable(f"There are more than {self._by.bounds.files:,} new files: {_short(path)} is one of them.")

    def _contents(self, path: bytes, within: int, size: int) -> bytes | None:
        bounds = self._by.bounds
        if size > bounds.file:
            raise Unkeepable(
                f"{_short(path)} is too large to be kept ({size / _GB:,.1f} GB; at most {bounds.file / _GB:g} GB)."
            )
        self._read += size
        if self._wanted is None and self._read > bounds.all:
            raise Unkeepable(
                f"There are more than {bounds.all / _GB:g} GB of new files: {_short(path)} is one of them."
            )
        read: Contents = self._batch.add_file if self._batch is not None else disk.blob_id
        name = path.rpartition(b"/")[2]
        if self._by.own:
            return handles.reading(within, name, lambda: read(name, within))
        try:
            return read(name, within)
        except PermissionError as error:
            raise self._unreadable(path) from error

    def _unreadable(self, path: bytes) -> WorkspaceError:
        where = os.fsdecode(path) or "the folder"
        return WorkspaceError(
            f"bough may not read {where} in {os.fsdecode(self._by.top)}: make it readable or let .gitignore name it."
        )

    def _compare(self, path: bytes) -> None:
        """Whether the folder's own entries are as before; `tree` adds what changed further down."""
        folder, before = self._found.folders[path], self._before.get(path)
        if before is None or before.changed or len(folder.files) != len(before.files):
            return
        if folder.folders.keys() != before.folders.keys():
            return
        for name, file in folder.files.items():
            was = before.files.get(name)
            if was is not file and (was is None or was[:2] != file[:2]):
                return
        folder.changed, folder.id = False, before.id


def _items(folder: int) -> list[Item]:
    """Files, links and folders; sockets, pipes and devices are passed over. What each one is, is said by the folder."""
    items = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.encode(_NAMES, "surrogateescape")
            if entry.is_file(follow_symlinks=False):  # most are
                items.append(Item(name, PLAIN))
            elif entry.is_dir(follow_symlinks=False):
                items.append(Item(name, FOLDER))
            elif entry.is_symlink():
                items.append(Item(name, LINK))
    return items


def _short(path: bytes) -> str:
    text = os.fsdecode(path)
    return text if len(text) <= 100 else f"{text[:100]}…"


def is_sure(stamp: tuple[int, ...], now: int) -> bool:
    """Whether a file with this stamp, known to be unwritten between then and now, was last written before now."""
    return max(stamp[0], stamp[1]) < now


def stamp_of(info: os.stat_result) -> tuple[int, ...]:
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_mode


def tree(found: Found, batch: Batch) -> bytes:
    """The id of what was found as a git tree, whose objects go into the batch."""
    for path, folder in reversed(found.folders.items()):
        below = [(name, found.folders[join(path, name)]) for name in folder.folders]
        if not folder.changed and not any(child.changed for _, child in below):
            continue
        folder.changed = True
        entries = [(name, file.mode, file.id) for name, file in folder.files.items()]
        # git sorts a folder as if its name ended in a slash.
        entries += [(name + b"/", FOLDER, child.id) for name, child in below if child.id is not None]
        entries.sort()
        body = b"".join(b"%s %s\0%s" % (mode, name.rstrip(b"/"), id) for name, mode, id in entries)
        folder.id = batch.add(b"tree", body) if body or not path else None
    for folder in found.folders.values():
        folder.changed = False
    id = found.folders[b""].id
    assert id is not None
    return id
