"""The result of a folder scan, saved in a file: a later scan reads only what changed since.

The file is a git index, with an extension for what git does not know, which git skips: so git can tell, at C speed,
which files changed their stamp. Git compares times by the second only, so a file that was written in the second of the
scan gets no times in the index, and git reports it every time.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.checkout_watch import ChangedFolders
from bough.adapters.workspaces.file_index import (
    SECOND,
    STAMP,
    File,
    FileIndex,
    Folder,
    is_sure,
    look_at,
    pause_collector,
)
from bough.adapters.workspaces.git_program import Git
from bough.core.decoding import UNREADABLE
from bough.trust import handles

EXTENSION = b"BOUG"
"""Upper case: git may ignore the extension."""
_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_NO_STAMP = STAMP.pack(*(0,) * 7)
_SEAL = 20
"""Size of the checksum at the end."""
_LENGTH = struct.Struct(">Q")
_LOW = 0xFFFFFFFF
_FEW = 0.1
"""Share of changed files or folders up to which they are scanned again every time: saving them takes longer."""

Altered = list[bytes] | None
"""See `Git.list_altered`."""
_KeptFolder = tuple[bytes, bytes | None, dict[bytes, File], bytes, bytes, list[bytes]]
"""Path, tree, files, stamp, rules and ignored names of a folder, each after its parent."""
_Kept = tuple[list[_KeptFolder], list[bytes], bytes]
"""Folders, those with an embedded repository, and a note of the caller's."""


class SavedScan(Struct, frozen=True):
    """The stamps that a scan found, and the index file that has them."""

    place: Path
    seal: bytes
    folders: dict[bytes, bytes]
    """Stamps of the folders; empty where a later write could have the same one."""
    note: bytes = b""

    def list_changed(
        self, git: Git, top: bytes, before: FileIndex, asked: Future[Altered] | None = None
    ) -> ChangedFolders | None:
        """List the folders below `top` in which something may differ from `before`, the result of this scan or a later
        one; None if git cannot tell. A folder with an unchanged stamp has the same names in it. `asked`: git's
        comparison of the files, already running."""
        with ThreadPoolExecutor(1) as asking:
            asked = asked or asking.submit(git.list_altered, top, self.place)
            folders = {path for path, stamp in list_stamps(top, before) if not stamp or self.folders.get(path) != stamp}
            altered = asked.result()
        try:
            with self.place.open("rb") as file:
                file.seek(-_SEAL, os.SEEK_END)
                same = file.read() == self.seal
        except OSError:
            same = False
        if altered is None or not same:  # without the file, git would report nothing
            return None
        return ChangedFolders(folders.union(path.rpartition(b"/")[0] for path in altered), set())


def list_stamps(top: bytes, found: FileIndex) -> Iterator[tuple[bytes, bytes]]:
    """List the folders on disk with their current stamps."""
    with handles.OpenHandle(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        for path in found.folders:
            yield path, look_at(path, handle)


def save(path: Path, found: FileIndex, now: int, parts: Path, note: bytes = b"") -> SavedScan:
    """Save the scan. A lost file only means that everything is read again. `now`: the time before the scan, or until
    which only bough wrote."""
    with pause_collector():
        kept: _Kept = (
            sorted(
                (where, each.id, each.files, _settled_stamp(each, now), each.rules, sorted(each.ignored))
                for where, each in found.folders.items()
            ),
            sorted(found.embedded),
            note,
        )
        files = sorted(found.files())
        entries = b"".join([_make_entry(where, file, now) for where, file in files])
        own = msgspec.msgpack.encode(kept)
        own += _LENGTH.pack(len(own))
        body = b"".join(
            (_HEAD.pack(b"DIRC", 2, len(files)), entries, EXTENSION, (len(own) & _LOW).to_bytes(4, "big"), own)
        )
    seal = hashlib.sha1(body, usedforsecurity=False).digest()
    disk.write_whole(path, body + seal, durable=False, parts=parts)
    return _make_record(path, seal, kept)


def _make_record(path: Path, seal: bytes, kept: _Kept) -> SavedScan:
    folders, _, note = kept
    return SavedScan(path, seal, {where: stamp for where, _, _, stamp, *_ in folders}, note)


def _settled_stamp(folder: Folder, now: int) -> bytes:
    """Return a folder's stamp; empty if its `.gitignore` is itself ignored: git would not report a change of that."""
    hidden = folder.rules and b".gitignore" not in folder.files
    return folder.stamp if folder.stamp and not hidden and is_sure(folder.stamp, now) else b""


def _make_entry(path: bytes, file: File, now: int) -> bytes:
    settled = file.sure and file.stamp and is_sure(file.stamp, now, SECOND)
    written, changed, size, number, _, owner, group = STAMP.unpack(file.stamp if settled else _NO_STAMP)
    mode = int(file.mode, 8)
    times = (*divmod(changed, SECOND), *divmod(written, SECOND))
    values = (*times, 0, number, mode, owner, group, size)
    head = _ENTRY.pack(*(value & _LOW for value in values), file.id, min(len(path), 0xFFF))
    return head + path + bytes(8 - (len(head) + len(path)) % 8)


def is_worth_saving(found: FileIndex) -> bool:
    return max(found.read, found.looked) > _FEW * len(found.folders)


def load(path: Path) -> tuple[SavedScan, FileIndex] | None:
    """Load the scan; None if the file is missing, truncated or damaged."""
    try:
        body = path.read_bytes()
    except OSError:
        return None
    seal = body[-_SEAL:]
    if hashlib.sha1(memoryview(body)[:-_SEAL], usedforsecurity=False).digest() != seal:
        return None
    end = len(body) - _SEAL - _LENGTH.size
    (length,) = _LENGTH.unpack_from(body, end)
    try:
        with pause_collector():
            kept = msgspec.msgpack.decode(memoryview(body)[end - length : end], type=_Kept)
            found = FileIndex({b"": Folder()}, set(), embedded=set(kept[1]))
            for where, id, files, stamp, rules, ignored in kept[0]:
                if where:
                    parent, _, name = where.rpartition(b"/")
                    if parent not in found.folders:
                        return None
                    found.folders[parent].folders[name] = None
                found.folders[where] = Folder(files, ignored=set(ignored), rules=rules, id=id, stamp=stamp)
            found.bare = {where for where, folder in found.folders.items() if where and folder.bare}
    except UNREADABLE:
        return None
    return _make_record(path, seal, kept), found
