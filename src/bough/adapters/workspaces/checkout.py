"""Making the files below a folder those of a tree. The folder is bough's own: whatever is in the way goes."""

# Paths are bytes: a name on disk need not be text.

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from bough.adapters.workspaces import disk, handles
from bough.adapters.workspaces.found import EXECUTABLE, LINK, Entry, File, Found, Tracked, differing
from bough.adapters.workspaces.program import Git
from bough.adapters.workspaces.scan import Scanner, is_sure, stamp_of
from bough.core.errors import WorkspaceError


def fill(git: Git, top: bytes, wanted: Mapping[bytes, Entry], clock: Callable[[], int]) -> dict[bytes, File]:
    """Write these files, links as links; returns what was written, to be known without reading it again."""
    stamps: list[tuple[int, ...]] = []
    contents = git.blobs([entry.id for entry in wanted.values()])
    at, here = b"", os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for (path, entry), pieces in zip(wanted.items(), contents, strict=True):
            parent, _, name = path.rpartition(b"/")
            if parent != at:
                os.close(here)
                with handles.folder(top, parent, make=True) as handle:
                    at, here = parent, os.dup(handle)
            if entry.mode == LINK:
                stamps.append(_write_link(here, name, b"".join(pieces)))
            else:
                stamps.append(_write(_create(here, name, 0o777 if entry.mode == EXECUTABLE else 0o666), pieces))
    finally:
        os.close(here)
    now = clock()  # nobody else wrote here until now
    return {
        path: File(*entry, stamp, is_sure(stamp, now))
        for (path, entry), stamp in zip(wanted.items(), stamps, strict=True)
    }


def _create(parent: int, name: bytes, permissions: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return handles.in_place(parent, name, lambda: os.open(name, flags, permissions, dir_fd=parent))


def _write(fd: int, pieces: Iterator[bytes]) -> tuple[int, ...]:
    try:
        for piece in pieces:
            disk.write(fd, piece)
        return stamp_of(os.fstat(fd))
    finally:
        os.close(fd)


def _write_link(parent: int, name: bytes, target: bytes) -> tuple[int, ...]:
    handles.in_place(parent, name, lambda: os.symlink(target, name, dir_fd=parent))
    return stamp_of(os.lstat(name, dir_fd=parent))


def restore(git: Git, scanner: Scanner, before: Found | None, tracked: Tracked, wanted: Found) -> Found:
    """Done only when a look through the folder finds exactly the wanted files: all of it, the first time.

    Ignore rules come back first, since what may stay is for them to say and not for rules that were changed meanwhile.
    """
    found = before
    for turn in range(8):
        found = scanner.scan(found, tracked, batch=None, wanted=wanted, exact=turn == 0)
        differs = sorted(differing(found, wanted), key=lambda each: each[0])
        surplus = [path for path, _, there in differs if there is None]
        lacking = {path: Entry(*there[:2]) for path, _, there in differs if there is not None}
        if rules := {path for path in (*surplus, *lacking) if path.rpartition(b"/")[2] == b".gitignore"}:
            surplus = [path for path in surplus if path in rules]
            lacking = {path: entry for path, entry in lacking.items() if path in rules}
        hollow = [] if surplus or lacking else found.hollow()
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
