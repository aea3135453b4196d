"""Shares heavy ignored folders (installed packages) with a workspace by links instead of copies.

This requires a sandbox that denies writing through such a link. The link is recognised by its target, so nothing has to
be remembered; it never becomes part of a tree, and restoring or discarding a workspace never follows it. Folders that
their tool writes to on every use (`.tox`, `target`, caches) are shared only where the sandbox puts a writable layer of
the workspace over them: read-only, they would make commands fail that work without them.
"""

# ruff: noqa: PTH103, PTH115, PTH120, PTH211

import os
from collections.abc import Iterator
from functools import partial

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.file_index import join_path
from bough.adapters.workspaces.scan import HOME
from bough.trust import handles
from bough.trust.files import Place

NAMES = frozenset(
    b".bundle .direnv .eggs .venv .yarn Pods __pypackages__ bower_components env jspm_packages node_modules vendor "
    b"venv".split()
)
BUILT = frozenset(b".tox .nox target".split())
"""Names of folders that are shared only where commands write to a layer of their workspace."""
_DEEPEST = 2
"""How deep folders are searched: far enough for `packages/web/node_modules`."""


def find_candidates(top: bytes, layered: bool = False) -> Iterator[bytes]:
    """Find the folders (not links) that can be shared, by name. `layered`: the sandbox can put a layer over them."""
    names = NAMES | BUILT if layered else NAMES
    folders: list[tuple[bytes, int]] = [(b"", 0)]
    for folder, depth in folders:  # the list grows during the walk
        try:
            entries = disk.list_entries(join_path(top, folder) if folder else top)
        except OSError:  # The folder cannot be read, so it is not shared.
            continue
        for entry in entries:
            if entry.name in (b".git", HOME) or not entry.is_dir(follow_symlinks=False):
                continue
            path = join_path(folder, entry.name)
            # Share a `target` only if it is Cargo's: other build tools may use what they built from a deleted source.
            if entry.name in names and (
                entry.name != b"target" or os.path.lexists(join_path(entry.path, b".rustc_info.json"))
            ):
                yield path
            elif depth < _DEEPEST and not entry.name.startswith(b"."):
                folders.append((path, depth + 1))


def is_shared(person: bytes, path: bytes, link: bytes) -> bool:
    """Whether the link at `path` in a workspace points to the same path in the person's project."""
    try:
        return os.readlink(link) == join_path(person, path)
    except OSError:
        return False


def share(person: bytes, top: bytes, paths: list[bytes]) -> list[bytes]:
    """Link these folders of the person's into a workspace, where nothing is in the way. Return the shared ones."""
    made = []
    for path in paths:
        link = join_path(top, path)
        if not Place(os.fsdecode(top), os.fsdecode(path.rpartition(b"/")[0])).is_folder():
            continue
        if not os.path.lexists(link):
            if _leads_out(join_path(person, path)):
                # The workspace gets a folder with a link to each installed package. Links to packages of the project
                # itself are copied, so that they lead to the workspace's own.
                handles.make_folder(top, path)
                for name, entry in _list_packages(join_path(person, path)):
                    if b"/" in name:
                        os.makedirs(os.path.dirname(join_path(link, name)), exist_ok=True)
                    own = _leads_outward(name, entry)
                    os.symlink(os.readlink(entry.path) if own else entry.path, join_path(link, name))
                made.append(path)
                continue
            parent, _, name = path.rpartition(b"/")
            with handles.open_folder(top, parent) as within:
                handles.create_in_place(within, name, partial(os.symlink, join_path(person, path), name, dir_fd=within))
        if is_shared(person, path, link):
            made.append(path)
    return made


def unshare(person: bytes, top: bytes) -> None:
    """Remove all links that `share` made, because the sandbox of this run would let an agent write through them."""
    folders: list[tuple[bytes, int]] = [(b"", 0)]
    for folder, depth in folders:
        with handles.open_folder(top, folder) as within:
            for name, entry in [(os.fsencode(entry.name), entry) for entry in os.scandir(within)]:
                path = join_path(folder, name)
                if entry.is_symlink():
                    if is_shared(person, path, join_path(top, path)):
                        handles.remove_in(within, name)
                elif entry.is_dir(follow_symlinks=False) and depth < _DEEPEST and name not in (b".git", *NAMES):
                    folders.append((path, depth + 1))


def _list_packages(folder: bytes) -> Iterator[tuple[bytes, os.DirEntry[bytes]]]:
    """Yield the packages of a `node_modules` by name, including those of a scope (`@scope/name`)."""
    for entry in disk.list_entries(folder):
        if entry.name.startswith(b"@") and entry.is_dir(follow_symlinks=False):
            for inner in disk.list_entries(entry.path):
                yield join_path(entry.name, inner.name), inner
        else:
            yield entry.name, entry


def _leads_out(folder: bytes) -> bool:
    """Whether a `node_modules` has links to packages of the project itself: if it were shared, they would lead to the
    person's files."""
    if folder.rpartition(b"/")[2] != b"node_modules":
        return False
    try:
        return any(_leads_outward(name, entry) for name, entry in _list_packages(folder))
    except OSError:
        return False


def _leads_outward(name: bytes, entry: os.DirEntry[bytes]) -> bool:
    """Whether a package is a relative link out of `node_modules`, such as `../packages/web`; from inside a scope, it
    goes up one level more."""
    return entry.is_symlink() and os.readlink(entry.path).startswith(b"../" * (1 + name.count(b"/")))
