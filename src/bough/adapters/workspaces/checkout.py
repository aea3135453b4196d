"""Makes the files below a folder those of a tree. The folder is bough's own: whatever is in the way is removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Mapping
from contextlib import closing
from functools import partial

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.checkout_watch import ChangedFolders
from bough.adapters.workspaces.file_index import (
    EXECUTABLE,
    LINK,
    NO_FOLDER,
    Entry,
    File,
    FileIndex,
    Folder,
    Tracked,
    find_differing,
    is_sure,
    join_path,
    make_stamp,
    pause_collector,
)
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.scan import Scanner
from bough.adapters.workspaces.spares import Trash
from bough.core.errors import WorkspaceError
from bough.trust import handles


def fill(git: Git, top: bytes, wanted: Mapping[bytes, Entry], clock: Callable[[], int]) -> dict[bytes, File]:
    """Write these files and links. Return what was written, with stamps, so that it need not be read again."""
    stamps: list[bytes] = []
    contents = git.blobs([entry.id for entry in wanted.values()])
    with closing(handles.Folders(top, own=True, make=True)) as folders:
        for (path, entry), pieces in zip(wanted.items(), contents, strict=True):
            parent, _, name = path.rpartition(b"/")
            here = folders.at(parent)
            if entry.mode == LINK:
                handles.create_in_place(here, name, partial(os.symlink, b"".join(pieces), name, dir_fd=here))
                stamps.append(make_stamp(os.lstat(name, dir_fd=here)))
            else:
                mode = 0o777 if entry.mode == EXECUTABLE else 0o666
                create = partial(os.open, name, handles.NEW_FILE, mode, dir_fd=here)
                with handles.OpenHandle(handles.create_in_place(here, name, create)) as fd:
                    for piece in pieces:
                        disk.write(fd, piece)
                    stamps.append(make_stamp(os.fstat(fd)))
    now = clock()  # nobody else has written here until now
    return {
        path: File(*entry, stamp, is_sure(stamp, now))
        for (path, entry), stamp in zip(wanted.items(), stamps, strict=True)
    }


def reclaim(
    git: Git,
    top: bytes,
    known: FileIndex,
    changed: ChangedFolders | None,
    wanted: FileIndex,
    clock: Callable[[], int],
    trash: Trash,
) -> FileIndex:
    """Turn another task's checkout into one with the wanted files and nothing else. `known`: what bough itself wrote
    there; a file whose stamp has changed since is removed. `changed`: the folders that may differ from `known`; None:
    all may."""
    found = FileIndex({}, set())
    # An earlier task may have changed the permissions of its folders.
    mode = stat.S_IMODE(os.stat(os.path.dirname(top)).st_mode)  # noqa: PTH116, PTH120 - as folders of ours are
    waiting = [b""]
    looked: list[bytes] = []
    with pause_collector(), closing(handles.Folders(top, own=True, make=True)) as folders:
        while waiting:
            path = waiting.pop()
            here, there = known.folders.get(path, NO_FOLDER), wanted.folders[path]
            inner = {name: None for name in there.folders if wanted.folders[join_path(path, name)].id is not None}
            waiting += [join_path(path, name) for name in inner]
            if changed is not None and path not in changed.folders and here.id is not None and here.id == there.id:
                found.folders[path] = here
                continue
            looked.append(path)
            found.folders[path] = Folder(folders=inner, rules=there.rules, id=there.id)
            handle = folders.at(path)
            if stat.S_IMODE(os.fstat(handle).st_mode) != mode:
                os.fchmod(handle, mode)
            found.folders[path].files = _untouched(handle, here, there, inner, trash)
    lacking = {
        join_path(path, name): Entry(*file[:2])
        for path in looked
        for name, file in wanted.folders[path].files.items()
        if name not in found.folders[path].files
    }
    for path, file in fill(git, top, lacking, clock).items():
        parent, _, name = path.rpartition(b"/")
        found.folders[parent].files[name] = file  # without `put`: the folder's tree is known, the wanted one
    found.read, found.looked = len(lacking), len(looked)
    for folder in found.folders.values():
        ignoring = folder.files.get(b".gitignore")
        folder.rules = ignoring.id if ignoring is not None and ignoring.mode != LINK else b""
    return found


def _untouched(handle: int, known: Folder, wanted: Folder, inner: Container[bytes], trash: Trash) -> dict[bytes, File]:
    """Return those wanted files of a folder that are still as bough wrote them. Remove everything else except the
    `inner` folders."""
    kept = {}
    with os.scandir(handle) as entries:
        present = [(os.fsencode(entry.name), entry) for entry in entries]
        for name, entry in present:
            was, now = known.files.get(name), wanted.files.get(name)
            info = entry.stat(follow_symlinks=False)
            # Keep only what is as bough wrote it, and has no second hard link.
            same = was is not None and was.sure and was.stamp == make_stamp(info) and info.st_nlink == 1
            if same and was is not None and now is not None and was[:2] == now[:2]:
                kept[name] = was
            elif not stat.S_ISDIR(info.st_mode):
                handles.remove_in(handle, name)
            elif name not in inner:
                trash.put_in(handle, name)
    return kept


def restore(git: Git, scanner: Scanner, before: FileIndex | None, tracked: Tracked, wanted: FileIndex) -> FileIndex:
    """Restore the wanted files, until a scan of the folder finds exactly these.

    The wanted `.gitignore` files come first, because they decide what may stay, not those that were changed meanwhile.
    """
    found = before
    # Scan again after each attempt, because a process that the sandbox could not end may still write; but not for ever.
    for _ in range(8):
        found = scanner.scan(found, tracked, batch=None, wanted=wanted)
        differs = sorted(find_differing(found, wanted), key=lambda each: each[0])
        surplus = [path for path, _, there in differs if there is None]
        lacking = {path: Entry(*there[:2]) for path, _, there in differs if there is not None}
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
