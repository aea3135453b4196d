"""Makes the files below a folder those of a tree. The folder is bough's own: whatever is in the way is removed.

Checkouts of finished tasks are kept for the next task: the more files there are, the longer filling a checkout takes,
and two tasks of a project have most files in common.

    .bough/spare/NAME          a checkout as some task left it
    .bough/spare/NAME.index    what bough itself wrote in it (see saved_scan.py)
    .bough/trash/NAME          what waits to be removed

Promises: only one process gets a checkout, however many ask. The next task gets nothing that an earlier task wrote: a
file stays only if it has the stamp that it got when bough wrote it, and no command can forge that."""

import os
import stat
import threading
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bough.adapters.workspaces import disk, saved_scan
from bough.adapters.workspaces import file_index as index
from bough.adapters.workspaces.checkout_watch import ChangedFolders
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.scan import Scanner
from bough.core.errors import WorkspaceError
from bough.trust import handles


def fill(
    git: Git, top: bytes, wanted: Mapping[bytes, index.Entry], clock: Callable[[], int]
) -> dict[bytes, index.File]:
    """Write these files and links. Return what was written, with stamps, so that it need not be read again."""
    stamps: list[bytes] = []
    contents = git.blobs([entry.id for entry in wanted.values()])
    with closing(handles.Folders(top, own=True, make=True)) as folders:
        for (path, entry), pieces in zip(wanted.items(), contents, strict=True):
            parent, _, name = path.rpartition(b"/")
            here = folders.at(parent)
            if entry.mode == index.LINK:
                handles.create_in_place(here, name, partial(os.symlink, b"".join(pieces), name, dir_fd=here))
                stamps.append(index.make_stamp(os.lstat(name, dir_fd=here)))
            else:
                mode = 0o777 if entry.mode == index.EXECUTABLE else 0o666
                create = partial(os.open, name, handles.NEW_FILE, mode, dir_fd=here)
                with handles.OpenHandle(handles.create_in_place(here, name, create)) as fd:
                    for piece in pieces:
                        disk.write(fd, piece)
                    stamps.append(index.make_stamp(os.fstat(fd)))
    now = clock()  # Until now nobody but bough has written here.
    return {
        path: index.File(*entry, stamp, index.is_sure(stamp, now))
        for (path, entry), stamp in zip(wanted.items(), stamps, strict=True)
    }


def reclaim(
    git: Git,
    top: bytes,
    known: index.FileIndex,
    changed: ChangedFolders | None,
    wanted: index.FileIndex,
    clock: Callable[[], int],
    trash: "Trash",
) -> index.FileIndex:
    """Turn another task's checkout into one with the wanted files and nothing else. `known`: what bough itself wrote
    there; a file whose stamp has changed since is removed. `changed`: the folders that may differ from `known`; None:
    all may."""
    found = index.FileIndex({}, set())
    # An earlier task may have changed the permissions of its folders.
    mode = stat.S_IMODE(os.stat(os.path.dirname(top)).st_mode)  # noqa: PTH116, PTH120 - as folders of ours are
    waiting = [b""]
    looked: list[bytes] = []
    with index.pause_collector(), closing(handles.Folders(top, own=True, make=True)) as folders:
        while waiting:
            path = waiting.pop()
            here, there = known.folders.get(path, index.NO_FOLDER), wanted.folders[path]
            inner = {name: None for name in there.folders if wanted.folders[index.join_path(path, name)].id is not None}
            waiting += [index.join_path(path, name) for name in inner]
            if changed is not None and path not in changed.folders and here.id is not None and here.id == there.id:
                found.folders[path] = here
                continue
            looked.append(path)
            found.folders[path] = index.Folder(folders=inner, rules=there.rules, id=there.id)
            handle = folders.at(path)
            if stat.S_IMODE(os.fstat(handle).st_mode) != mode:
                os.fchmod(handle, mode)
            found.folders[path].files = _untouched(handle, here, there, inner, trash)
    lacking = {
        index.join_path(path, name): index.Entry(*file[:2])
        for path in looked
        for name, file in wanted.folders[path].files.items()
        if name not in found.folders[path].files
    }
    for path, file in fill(git, top, lacking, clock).items():
        parent, _, name = path.rpartition(b"/")
        found.folders[parent].files[name] = file  # The folder's tree, the wanted one, is known, so `put` is not needed.
    found.read, found.looked = len(lacking), len(looked)
    for folder in found.folders.values():
        ignoring = folder.files.get(b".gitignore")
        folder.rules = ignoring.id if ignoring is not None and ignoring.mode != index.LINK else b""
    return found


def _untouched(
    handle: int, known: index.Folder, wanted: index.Folder, inner: Container[bytes], trash: "Trash"
) -> dict[bytes, index.File]:
    """Return those wanted files of a folder that are still as bough wrote them. Remove everything else except the
    `inner` folders."""
    kept = {}
    with os.scandir(handle) as entries:
        present = [(os.fsencode(entry.name), entry) for entry in entries]
        for name, entry in present:
            was, now = known.files.get(name), wanted.files.get(name)
            info = entry.stat(follow_symlinks=False)
            # Keep only what is as bough wrote it, and has no second hard link.
            same = was is not None and was.sure and was.stamp == index.make_stamp(info) and info.st_nlink == 1
            if same and was is not None and now is not None and was[:2] == now[:2]:
                kept[name] = was
            elif not stat.S_ISDIR(info.st_mode):
                handles.remove_in(handle, name)
            elif name not in inner:
                trash.put_in(handle, name)
    return kept


def restore(
    git: Git, scanner: Scanner, before: index.FileIndex | None, tracked: index.KeptPaths, wanted: index.FileIndex
) -> index.FileIndex:
    """Restore the wanted files, until a scan of the folder finds exactly these.

    The wanted `.gitignore` files come first, because they decide what may stay, not those that were changed meanwhile.
    """
    found = before
    # Scan again after each attempt, because a process that the sandbox could not end may still write; but not for ever.
    for _ in range(8):
        found = scanner.scan(found, tracked, batch=None, wanted=wanted)
        differs = sorted(index.find_differing(found, wanted), key=lambda each: each[0])
        surplus = [path for path, _, there in differs if there is None]
        lacking = {path: index.Entry(*there[:2]) for path, _, there in differs if there is not None}
        # First restore only the ignore rules, because an agent's own rule could hide files from the removal.
        if rules := {path for path in (*surplus, *lacking) if path.rpartition(b"/")[2] == b".gitignore"}:
            surplus = [path for path in surplus if path in rules]
            lacking = {path: entry for path, entry in lacking.items() if path in rules}
        empty = dict.fromkeys([] if surplus or lacking else found.empty())
        hollow = [path for path in empty if path.rpartition(b"/")[0] not in empty]
        if not (surplus or lacking or hollow):
            return found
        for path in [*surplus, *hollow]:
            handles.remove_below(scanner.top, path)
        for path, file in fill(git, scanner.top, lacking, scanner.clock).items():
            found.put(path, file)
    raise WorkspaceError(
        f"The workspace {os.fsdecode(scanner.top)} keeps changing while bough restores it: "
        "end the programs that still write there, then run `bough resume`."
    )


MOST = 8
"""The most spare checkouts that are kept."""
ENDING = ".index"


class SpareCheckout(NamedTuple):
    """A checkout that bough made: what bough wrote there (`found`), and the saved index, which may be older."""

    record: saved_scan.SavedScan
    found: index.FileIndex
    asked: Future[saved_scan.Altered] | None = None
    """Git's comparison of the files with the index, if it is running."""

    def at(self, place: Path) -> "SpareCheckout":
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
            except OSError:  # Another process took the checkout.
                continue
            kept = find_index(place)
            with suppress(FileNotFoundError):
                find_index(spare).rename(kept)
            if spare.name == last and made is not None:
                self._last = None
                return made.at(kept)
            with ThreadPoolExecutor(1) as asking:  # git compares the files while this thread reads the index.
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
        kept.rename(find_index(spare))  # Move the index before the checkout, which is useless without it.
        checkout.rename(spare)
        if made is not None:
            self._last = spare.name, made

    def is_empty(self) -> bool:
        return not self._all()

    def clear(self) -> None:
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
                with suppress(OSError):  # Another process may be removing the folder at the same time.
                    disk.remove(entry.path)
            with self._lock:
                if not disk.list_entries(os.fsencode(self.folder)):
                    self._at_work = False
                    return
