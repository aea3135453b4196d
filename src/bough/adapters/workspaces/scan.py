"""Finds the files below a folder and the ids of their contents. This is how the person's files are stored, and how a
workspace is stored and restored.

Promises: links are kept as links and never followed; folders are entered by handle, so that none can be replaced by a
link meanwhile; `.git` (of any repository, at any depth) and bough's own folder are never entered, so the files of
submodules and embedded repositories are ordinary files; sockets, pipes and devices are skipped. Tracked files are kept
even if an ignore rule names them; other files are kept unless git reports that a rule ignores them. A file is read
again only if it may have changed since it was last read."""

import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from msgspec import Struct

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.checkout_watch import ChangedFolders, CheckoutWatch
from bough.adapters.workspaces.file_index import (
    EXECUTABLE,
    FOLDER,
    LINK,
    NO_FOLDER,
    PLAIN,
    File,
    FileIndex,
    Folder,
    KeptPaths,
    is_sure,
    join_path,
    make_stamp,
    pause_collector,
)
from bough.adapters.workspaces.objects import Batch, name_object
from bough.core.errors import SnapshotRefused, WorkspaceError
from bough.trust import handles

HOME = b".bough"
"""bough's own folder, at the top of the person's project."""

_TICK = 50_000_000
"""Nanoseconds within which two writes may get the same time stamp on a disk other than the clock's."""
_COARSE_TICK = 2_100_000_000
"""Nanoseconds within which two writes may get the same time stamp on a disk whose stamps are whole seconds."""

_GB = 1_000_000_000
_LONGEST = 4_000
"""The most bytes of a path. A longer one could not be checked out again: the system's limit is 4,096."""
_DEEPEST = 250
"""The deepest nesting of folders. It is limited, because git is asked once for each level of new folders."""
_NAMES = sys.getfilesystemencoding()

_IGNORABLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def is_reserved(name: bytes) -> bool:
    """Whether a name is `.git`, or some file system takes it for that. Such names are never kept or written."""
    if name[0] < 0x80 and name[0] not in b".gG":
        return False
    text = _IGNORABLE.sub("", name.decode(errors="replace")).casefold()
    return re.fullmatch(r"\.git[. ]*(:.*)?|git~\d+", text) is not None


class Bounds(Struct, frozen=True):
    """Limits of what may be new in a folder. Files that a task started with do not count."""

    file: int = _GB
    """The size in bytes of the largest file."""
    all: int = 4 * _GB
    """The most bytes to read in one scan."""
    files: int = 200_000
    """The most new files."""


PERSONS = Bounds(file=16 * _GB, all=256 * _GB, files=10_000_000)
"""Limits for the person's own files. They are generous, because people decide themselves what they keep."""


class Item(NamedTuple):
    """An entry of a folder: a file (`PLAIN`), a link or a folder."""

    name: bytes
    kind: bytes


class Scanner(Struct):
    """Scans one folder repeatedly."""

    top: bytes
    ignores: Callable[[Collection[bytes]], set[bytes]]
    """Returns those of the given paths that an ignore rule names."""
    clock: Callable[[], int]
    """Returns the time by the disk's own clock, in nanoseconds."""
    own: bool = True
    """Whether the files are bough's: then permissions that prevent reading are changed. Otherwise that is an error."""
    shared: Callable[[bytes, bytes], bool] = lambda path, target: False
    """Tells whether bough made the link at this path, to a folder of the person's."""
    embedded: Callable[[bytes], Iterable[bytes]] = lambda folder: ()
    """Returns the tracked paths of the repository that is embedded in this folder."""
    bounds: Bounds = Bounds()
    watch: CheckoutWatch | None = None
    """Tells which folders need not be scanned again."""
    compare: Callable[[FileIndex], ChangedFolders | None] = lambda before: None
    """Finds the changed folders by comparing the stamps of all files and folders; returns None if it cannot."""

    def now(self) -> int:
        """Return the time before which every stamp is sure, so that no later write can have the same one. bough's own
        files are on the clock's disk; a person's may be on another, with coarser stamps."""
        now = self.clock()
        return now if self.own else now - (_COARSE_TICK if now % 1_000_000_000 == 0 else _TICK)

    def scan(
        self,
        before: FileIndex | None,
        tracked: KeptPaths,
        batch: Batch | None,
        settled: bool = True,
        wanted: FileIndex | None = None,
        keep: bool = True,
    ) -> FileIndex:
        """Scan the folder. Contents go into the batch; without a batch only their ids are computed. `settled`: only a
        `.gitignore` in the folder can have changed what is ignored since `before`. `wanted`: read only the contents of
        these paths; other files are only listed. `keep`: the next scan starts from the result; otherwise the watch
        reports the same changes again. Raises `SnapshotRefused` if there is too much to keep."""
        told = self.watch.changed() if self.watch is not None else None
        with self.telling():
            changed = None
            if before is not None and settled:
                changed = told if told is not None else self.compare(before)
            with pause_collector():
                look = _Look(self, before, tracked, batch, settled=settled and before is not None, wanted=wanted)
                found = look.through(changed)
                if look.rules_changed:
                    found = _Look(self, found, tracked, batch, settled=False, wanted=wanted).through()
            if self.watch is not None and told is None and keep:
                self.watch.trust()
            elif self.watch is not None and told is not None and not keep:
                self.watch.repeat(told)
            return found

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Use the watch's report in the block. It comes only once, so after a failure everything is scanned again."""
        try:
            yield
        except BaseException:
            if self.watch is not None:
                self.watch.lose()
            raise


class _Look:
    """One pass over the folder, level by level, so that git is asked about all unknown names of a level at once."""

    def __init__(
        self,
        scanner: Scanner,
        before: FileIndex | None,
        tracked: KeptPaths,
        batch: Batch | None,
        settled: bool,
        wanted: FileIndex | None,
    ) -> None:
        self._by = scanner
        self._before = before if before is not None else FileIndex({}, set())
        self._tracked = tracked
        self._batch = batch
        self._settled = settled
        """Whether the ignore rules are unchanged, so that what was kept or ignored before still is."""
        self._found = FileIndex({}, set())
        self._now = scanner.now()
        self._wanted = wanted
        self._whole: set[bytes] | None = None
        """Known folders that are scanned with everything below them; None: all folders are."""
        self._read = 0
        """How many bytes have been read so far."""
        self._new = 0
        """How many new files have been found so far."""
        self.rules_changed = False

    def through(self, changed: ChangedFolders | None = None) -> FileIndex:
        """Scan everything or, if it is known which folders may have changed, only these."""
        waiting: dict[int, list[bytes]] = {0: [b""]}
        if changed is not None:
            self._found, self._whole = self._before.copy(), changed.whole
            waiting = {}
            for path in changed.folders:
                waiting.setdefault(path.count(b"/") + 1 if path else 0, []).append(path)
        depth, below = 0, list[bytes]()
        with closing(handles.Folders(self._by.top, self._by.own)) as self._folders:
            while waiting or below:
                known = [path for path in waiting.pop(depth, ()) if not path or path in self._found.folders]
                below = self._scan_level(list(dict.fromkeys([*known, *below])))
                depth += 1
        return self._found

    def _scan_level(self, paths: list[bytes]) -> list[bytes]:
        unknown: list[tuple[bytes, bytes, Item]] = []
        below: list[bytes] = []
        looked = {path: Folder() for path in paths}
        self._found.looked += len(looked)
        for path, folder in looked.items():
            before = self._before.folders.get(path, NO_FOLDER)
            for entry in self._entries(path, folder, before):
                if not self._handle_known(path, folder, before, entry, below):
                    unknown.append((path, join_path(path, entry.name), entry))
            if before is not NO_FOLDER and self._settled and folder.rules != before.rules:
                self.rules_changed = True
        if unknown:
            ignored = self._by.ignores([whole for _, whole, _ in unknown])
            for path, whole, entry in unknown:
                folder = looked[path]
                if whole in ignored:
                    folder.ignored.add(entry.name + b"/" if entry.kind == FOLDER else entry.name)
                else:
                    self._keep(path, folder, self._before.folders.get(path, NO_FOLDER), entry, below)
        for path, folder in looked.items():
            self._settle(path, folder)
        return below

    def _settle(self, path: bytes, folder: Folder) -> None:
        known = self._found.folders.get(path)
        for name in known.folders if known is not None else ():
            if name not in folder.folders:
                self._found.drop(join_path(path, name))
        before = self._before.folders.get(path, NO_FOLDER)
        same = before is not NO_FOLDER and path not in self._before.fresh and _has_same_tree(folder, before)
        if same:
            folder.id = before.id
        self._found.settle(path, folder, changed=not same)

    def _entries(self, path: bytes, folder: Folder, before: Folder) -> list[Item]:
        """List the files, links and folders for which it must still be decided whether they are kept. Those that are
        never kept are left out, and an unchanged file goes into `folder` right away."""
        depth = path.count(b"/") + 1
        if len(self._by.top) + len(path) > _LONGEST or depth > _DEEPEST:
            raise SnapshotRefused(
                f"{_shorten(path)} is too deep to keep ({depth:,} folders, {len(path):,} bytes): "
                "remove it, or list it in .gitignore."
            )
        try:
            handle = self._folders.at(path)
            if self._by.watch is not None:
                self._by.watch.cover(path, handle)
            folder.stamp = make_stamp(os.fstat(handle))
            kept = before.files  # The files of the last scan stay, if they still exist.
            if not self._settled:
                kept = {name: file for name, file in kept.items() if join_path(path, name) in self._tracked}
            items = _list_items(handle, folder, kept)
        except (FileNotFoundError, NotADirectoryError):
            if not path:
                raise
            return []
        except PermissionError as error:
            raise self._make_unreadable_error(path) from error
        if b".gitignore" in folder.other:
            # The `.gitignore` is a pipe or a device, for which git would wait.
            if not self._by.own:
                where = os.fsdecode(join_path(path, b".gitignore"))
                raise WorkspaceError(
                    f"{where} in {os.fsdecode(self._by.top)} is not a file: remove it, then run bough again."
                )
            handles.remove_in(handle, b".gitignore")
        if path and any(item.name == b".git" for item in items):
            # Files tracked by an embedded repository are kept, even if they were ignored before it was made.
            if self._settled and not self._by.own and path not in self._before.embedded:
                self.rules_changed = True
            self._found.embedded.add(path)
            self._tracked.add(self._by.embedded(path))
        reserved = {item.name for item in items if is_reserved(item.name) or (not path and item.name.lower() == HOME)}
        folder.other |= reserved
        shared = {
            item.name
            for item in items
            if item.kind == LINK
            and self._by.shared(whole := join_path(path, item.name), join_path(self._by.top, whole))
        }
        folder.shared = bool(shared)
        never = reserved | shared
        return [item for item in items if item.name not in never]

    def _handle_known(self, path: bytes, folder: Folder, before: Folder, entry: Item, below: list[bytes]) -> bool:
        """Keep or ignore an entry if that can be decided without asking git. Return whether it was."""
        name, is_folder = entry.name, entry.kind == FOLDER
        if name == b".gitignore":
            folder.rules = self._read_rules(path)
        marked = name + b"/" if is_folder else name
        if self._settled and marked in before.ignored:
            folder.ignored.add(marked)
            return True
        kept = self._settled and name in (before.folders if is_folder else before.files)
        if kept or self._tracked.keeps(join_path(path, name), is_folder):
            self._keep(path, folder, before, entry, below)
            return True
        return False

    def _keep(self, path: bytes, folder: Folder, before: Folder, entry: Item, below: list[bytes]) -> None:
        name = entry.name
        if entry.kind == FOLDER:
            folder.folders[name] = None
            whole = join_path(path, name)
            if self._whole is None or whole in self._whole or whole not in self._found.folders:
                self._found.drop(whole)
                below.append(whole)
        elif (file := self._read_file(path, name, before.files.get(name))) is not None:
            folder.files[name] = file

    def _read_file(self, folder: bytes, name: bytes, before: File | None) -> File | None:
        id: bytes | None
        try:
            within = self._folders.at(folder)
            info = os.stat(name, dir_fd=within, follow_symlinks=False)
            stamp = make_stamp(info)
            if before is not None and before.stamp == stamp and before.sure:
                return before
            if info.st_nlink > 1 and self._by.watch is not None and stat.S_ISREG(info.st_mode):
                self._by.watch.close()  # The watch does not report a write through the file's other name.
            path = join_path(folder, name)
            if self._wanted is not None and (self._wanted.file(path) is None or info.st_size > self._by.bounds.file):
                return File(PLAIN, b"", stamp, False)  # The file will be removed or replaced, whatever its content.
            self._new += before is None and path not in self._tracked
            if self._wanted is None and self._new > self._by.bounds.files:
                raise SnapshotRefused(
                    f"There are more than {self._by.bounds.files:,} new files ({_shorten(path)} is one of them), "
                    "too many to keep: remove them, or list them in .gitignore."
                )
            self._found.read += 1
            if stat.S_ISLNK(info.st_mode):
                target = os.readlink(name, dir_fd=within)
                mode, id = LINK, self._batch.add(b"blob", target) if self._batch else name_object(b"blob", target)[0]
            else:
                mode = EXECUTABLE if info.st_mode & stat.S_IXUSR else PLAIN
                id = self._read_contents(path, within, info.st_size)
        except (FileNotFoundError, NotADirectoryError):  # The file was removed since its folder was read.
            return None
        return File(mode, id, stamp, is_sure(stamp, self._now)) if id is not None else None

    def _read_rules(self, folder: bytes) -> bytes:
        try:
            within = self._folders.at(folder)
            size = os.stat(b".gitignore", dir_fd=within, follow_symlinks=False).st_size
            return self._read_contents(join_path(folder, b".gitignore"), within, size) or b""
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def _read_contents(self, path: bytes, within: int, size: int) -> bytes | None:
        bounds = self._by.bounds
        if size > bounds.file:
            raise SnapshotRefused(
                f"{_shorten(path)} is too large to keep ({size / _GB:,.1f} GB; at most {bounds.file / _GB:g} GB): "
                "remove it, or list it in .gitignore."
            )
        self._read += size
        if self._wanted is None and self._read > bounds.all:
            raise SnapshotRefused(
                f"There are more than {bounds.all / _GB:g} GB of new files ({_shorten(path)} is one of them), "
                "too much to keep: remove them, or list them in .gitignore."
            )
        read = self._batch.add_file if self._batch is not None else disk.compute_blob_id
        name = path.rpartition(b"/")[2]
        if self._by.own:
            return handles.read_with_access(within, name, lambda: read(name, within))
        try:
            return read(name, within)
        except PermissionError as error:
            raise self._make_unreadable_error(path) from error

    def _make_unreadable_error(self, path: bytes) -> WorkspaceError:
        where = os.fsdecode(path) or "the folder"
        return WorkspaceError(
            f"bough may not read {where} in {os.fsdecode(self._by.top)}: make it readable, or add it to .gitignore."
        )


def _has_same_tree(folder: Folder, before: Folder) -> bool:
    known = before.files
    if folder.files.keys() != known.keys() or folder.folders.keys() != before.folders.keys():
        return False
    return all(known[name] is file or known[name][:2] == file[:2] for name, file in folder.files.items())


def _list_items(handle: int, folder: Folder, known: dict[bytes, File]) -> list[Item]:
    """List the files, links and folders in a folder; others (sockets, pipes, devices) go into `folder.other`. A known
    file that is certainly unchanged goes into `folder.files` instead."""
    items = []
    with os.scandir(handle) as entries:
        for entry in entries:
            name = entry.name.encode(_NAMES, "surrogateescape")
            was = known.get(name)
            if was is not None and was.sure and name != b".gitignore":
                try:
                    if make_stamp(entry.stat(follow_symlinks=False)) == was.stamp:
                        folder.files[name] = was
                        continue
                except FileNotFoundError:
                    continue
            if entry.is_file(follow_symlinks=False):  # Most entries are files.
                items.append(Item(name, PLAIN))
            elif entry.is_dir(follow_symlinks=False):
                items.append(Item(name, FOLDER))
            elif entry.is_symlink():
                items.append(Item(name, LINK))
            else:
                folder.other.add(name)
    return items


def _shorten(path: bytes) -> str:
    text = os.fsdecode(path)
    return text if len(text) <= 100 else f"{text[:100]}…"
