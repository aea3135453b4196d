"""The result of a folder scan, kept in a file: a later scan reads only what changed since."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.calm import calm
from bough.adapters.workspaces.file_index import File, FileIndex, Folder

_Kept = list[tuple[bytes, bytes | None, dict[bytes, File]]]
"""Path, tree and files of each folder, each after its parent."""


def save(path: Path, found: FileIndex, parts: Path) -> None:
    """It may get lost: then everything is read again."""
    kept: _Kept = [(where, folder.id, folder.files) for where, folder in found.folders.items() if not folder.bare]
    body = msgspec.msgpack.encode(sorted(kept))
    disk.write_whole(path, hashlib.sha256(body).digest() + body, durable=False, parts=parts)


def load(path: Path) -> FileIndex | None:
    """None when there is nothing to trust: missing, truncated or damaged."""
    try:
        body = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(body[32:]).digest() != body[:32]:
        return None
    try:
        with calm():
            return _found(msgspec.msgpack.decode(body[32:], type=_Kept))
    except msgspec.MsgspecError:
        return None


def _found(kept: _Kept) -> FileIndex | None:
    found = FileIndex({b"": Folder()}, set())
    for where, id, files in kept:
        if where:
            parent, _, name = where.rpartition(b"/")
            if parent not in found.folders:
                return None
            found.folders[parent].folders[name] = None
        found.folders[where] = Folder(files, id=id)
    return found
