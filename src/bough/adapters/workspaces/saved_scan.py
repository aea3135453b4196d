"""Saves the result of a folder scan in a file, so that a later scan reads only what changed since.

The file is a git index, so that git can tell quickly which files have a new stamp; what git does not know is in an
extension, which git skips. Git compares times by the second only, so a file that was written in the second of the scan
gets no times in the index, and git reports it every time."""

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
from bough.core.textual.spelling import UNREADABLE
from bough.trust import handles

EXTENSION = b"BOUG"
"""The name of the extension of git's index format that bough adds. Git ignores an unknown one only if its name begins
with a capital."""
_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_BARE = struct.Struct(">24xI12x20sH")
"""An entry without a stamp, which takes a third of the time: a whole tree has very many."""
_NO_STAMP = STAMP.pack(*(0,) * 7)
_SEAL = 20
"""The size in bytes of the checksum at the end of the file."""
_LENGTH = struct.Struct(">Q")
_LOW = 0xFFFFFFFF
_FEW = 0.1
"""The share of changed files or folders up to which a scan is not saved: scanning these again takes less time."""

Altered = list[bytes] | None
"""The files that differ from the index, as `Git.list_altered` returns them."""
_KeptFolder = tuple[bytes, bytes | None, dict[bytes, File], bytes, bytes, list[bytes]]
"""The path, tree, files, stamp, rules and ignored names of a folder."""
_Kept = tuple[list[_KeptFolder], list[bytes], bytes]
"""The folders, each after its parent, the folders with an embedded repository, and a note of the caller's."""


class SavedScan(Struct, frozen=True):
    """The stamps of the folders that a scan found, and the file in which the scan was saved."""

    place: Path
    seal: bytes
    folders: dict[bytes, bytes]
    """The stamps of the folders, by path; empty where a later write could have the same stamp."""
    note: bytes = b""

    def list_changed(
        self, git: Git, top: bytes, before: FileIndex, asked: Future[Altered] | None = None
    ) -> ChangedFolders | None:
        """List the folders below `top` in which something may differ from `before`, the result of this scan or a later
        one. Return None if git cannot tell. A folder with an unchanged stamp has the same names in it. `asked`: git's
        comparison of the files, if it is already running."""
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
        if altered is None or not same:  # If the file was missing or replaced, git's answer means nothing.
            return None
        return ChangedFolders(folders.union(path.rpartition(b"/")[0] for path in altered), set())


def list_stamps(top: bytes, found: FileIndex) -> Iterator[tuple[bytes, bytes]]:
    """Yield the path and the current stamp of each known folder."""
    with handles.OpenHandle(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        for path in found.folders:
            yield path, look_at(path, handle)


def save(path: Path, found: FileIndex, now: int, parts: Path, note: bytes = b"") -> SavedScan:
    """Save the scan. If the file is lost, everything is just read again. `now`: a time before the scan, or until which
    only bough wrote there."""
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


def build_index(found: FileIndex) -> bytes:
    """Build a git index of these files, without any file's stamp."""
    entries = [
        _BARE.pack(int(file.mode, 8), file.id, min(len(path), 0xFFF)) + path + bytes(8 - (_BARE.size + len(path)) % 8)
        for path, file in sorted(found.files())
    ]
    body = _HEAD.pack(b"DIRC", 2, len(entries)) + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _make_record(path: Path, seal: bytes, kept: _Kept) -> SavedScan:
    folders, _, note = kept
    return SavedScan(path, seal, {where: stamp for where, _, _, stamp, *_ in folders}, note)


def _settled_stamp(folder: Folder, now: int) -> bytes:
    """Return a folder's stamp; empty if a later write could have the same one, or if its `.gitignore` is itself
    ignored, because git would not report a change of that file."""
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
    """Load a saved scan. Return None if the file is missing, truncated or damaged."""
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
