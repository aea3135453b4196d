"""Making the files below a folder those of a tree. The folder is bough's own: whatever is in the way goes."""

# Paths are bytes: a name on disk need not be text.
# ruff: noqa: PTH120, PTH211

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.program import Git
from bough.adapters.workspaces.scan import EXECUTABLE, LINK, Entry, File, Found, Scanner, Tracked, is_sure, stamp_of
from bough.core.errors import WorkspaceError


def fill(git: Git, top: bytes, wanted: Mapping[bytes, Entry], clock: Callable[[], int]) -> dict[bytes, File]:
    """Write these files, links as links; returns what was written, to be known without reading it again."""
    sure = {b""}
    stamps: list[tuple[int, ...]] = []
    contents = git.blobs([entry.id for entry in wanted.values()])
    for (path, entry), pieces in zip(wanted.items(), contents, strict=True):
        _make_parents(top, path, sure)
        full = b"%s/%s" % (top, path)
        parent = os.path.dirname(full)
        if entry.mode == LINK:
            target = b"".join(pieces)
            stamps.append(disk.with_access(partial(_write_link, full, target), parent))
        else:
            permissions = 0o777 if entry.mode == EXECUTABLE else 0o666
            fd = disk.with_access(partial(_create, full, permissions), parent)
            stamps.append(_write(fd, pieces))
    now = clock()  # nobody else wrote here until now
    return {
        path: File(*entry, stamp, is_sure(stamp, now))
        for (path, entry), stamp in zip(wanted.items(), stamps, strict=True)
    }


def _make_parents(top: bytes, path: bytes, sure: set[bytes]) -> None:
    """Real folders all the way down; a file or a link in the way is removed."""
    missing = []
    while (path := path.rpartition(b"/")[0]) not in sure:
        missing.append(path)
    for folder in reversed(missing):
        full = b"%s/%s" % (top, folder)
        try:
            mode = os.lstat(full).st_mode
        except FileNotFoundError:
            mode = 0
        if not stat.S_ISDIR(mode):
            disk.remove(full)
            disk.with_access(partial(os.mkdir, full), os.path.dirname(full))
        sure.add(folder)


def _create(full: bytes, permissions: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(full, flags, permissions)
    except FileExistsError:
        disk.remove(full)
        return os.open(full, flags, permissions)


def _write(fd: int, pieces: Iterator[bytes]) -> tuple[int, ...]:
    try:
        for piece in pieces:
            disk.write(fd, piece)
        return stamp_of(os.fstat(fd))
    finally:
        os.close(fd)


def _write_link(full: bytes, target: bytes) -> tuple[int, ...]:
    try:
        os.symlink(target, full)
    except FileExistsError:
        disk.remove(full)
        os.symlink(target, full)
    return stamp_of(os.lstat(full))


def restore(git: Git, scanner: Scanner, before: Found | None, tracked: Tracked, wanted: Mapping[bytes, Entry]) -> Found:
    """Done only when a look through the folder finds exactly the wanted files.

    Ignore rules come back first, since what may stay is for them to say and not for rules that were changed meanwhile.
    """
    found = before
    for _ in range(8):
        found = scanner.scan(found, tracked, batch=None, wanted=wanted)
        present = dict(found.files())
        surplus = [path for path in present if path not in wanted]
        lacking = {path: entry for path, entry in wanted.items() if path not in present or present[path][:2] != entry}
        if rules := {path for path in (*surplus, *lacking) if path.rpartition(b"/")[2] == b".gitignore"}:
            surplus = [path for path in surplus if path in rules]
            lacking = {path: entry for path, entry in lacking.items() if path in rules}
        hollow = [] if surplus or lacking else found.hollow()
        if not (surplus or lacking or hollow):
            return found
        for path in [*surplus, *hollow]:
            disk.remove(b"%s/%s" % (scanner.top, path))
        for path, file in fill(git, scanner.top, lacking, scanner.clock).items():
            found.put(path, file)
    raise WorkspaceError(
        f"The workspace {os.fsdecode(scanner.top)} keeps changing while bough restores it: "
        "end the programs that still write there, then run `bough resume`."
    )
