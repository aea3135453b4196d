"""Heavy folders that are ignored (installed packages) are shared with a workspace by a link, not copied.

Only for a sandbox that denies writing through the link. A link of this kind is known by where it points, so nothing has
to be remembered: it never enters a tree, and restoring or discarding never follows it. Folders that their own tool
writes to on every use (`.tox`, `target`, caches) are not shared: read-only they would break what works without them.
"""

# Paths are bytes: a name on disk need not be text.
# ruff: noqa: PTH108, PTH115, PTH120

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.scan import HOME, join

NAMES = frozenset(
    b".bundle .direnv .eggs .venv .yarn Pods __pypackages__ bower_components env jspm_packages node_modules vendor "
    b"venv".split()
)
_DEEPEST = 2
"""Folders below the top in which one is looked for: `packages/web/node_modules`."""


def candidates(top: bytes) -> Iterator[bytes]:
    """Paths of real folders with such a name."""
    folders: list[tuple[bytes, int]] = [(b"", 0)]
    for folder, depth in folders:  # grows while it is walked
        try:
            entries = disk.entries(join(top, folder) if folder else top)
        except OSError:  # not readable: then it has nothing that could be shared
            continue
        for entry in entries:
            if entry.name in (b".git", HOME) or not entry.is_dir(follow_symlinks=False):
                continue
            path = join(folder, entry.name)
            if entry.name in NAMES:
                yield path
            elif depth < _DEEPEST and not entry.name.startswith(b"."):
                folders.append((path, depth + 1))


def is_shared(person: bytes, path: bytes, link: bytes) -> bool:
    """Whether the link at `path` of a workspace is one of these."""
    if path.rpartition(b"/")[2] not in NAMES:
        return False
    try:
        return os.readlink(link) == join(person, path)
    except OSError:
        return False


def share(person: bytes, top: bytes, paths: list[bytes]) -> list[bytes]:
    """Link these folders of the person's into a workspace where nothing has their place; returns what is shared."""
    made = []
    for path in paths:
        link = join(top, path)
        if not _real_folder(top, path.rpartition(b"/")[0]):
            continue
        if not os.path.lexists(link):
            disk.with_access(partial(os.symlink, join(person, path), link), os.path.dirname(link))
        if is_shared(person, path, link):
            made.append(path)
    return made


def unshare(person: bytes, top: bytes) -> None:
    """Remove such links: the sandbox of this run would let an agent write through them."""
    folders: list[tuple[bytes, int]] = [(b"", 0)]
    for folder, depth in folders:
        place = join(top, folder) if folder else top
        disk.ensure_access(place)
        for entry in disk.entries(place):
            path = join(folder, entry.name)
            if entry.is_symlink():
                if is_shared(person, path, entry.path):
                    os.unlink(entry.path)
            elif entry.is_dir(follow_symlinks=False) and depth < _DEEPEST and entry.name not in (b".git", *NAMES):
                folders.append((path, depth + 1))


def _real_folder(top: bytes, path: bytes) -> bool:
    """A folder that is reached without going through a link."""
    while path:
        try:
            if not stat.S_ISDIR(os.lstat(join(top, path)).st_mode):
                return False
        except OSError:
            return False
        path = path.rpartition(b"/")[0]
    return True
