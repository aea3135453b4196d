"""What a checkout holds besides its tree, to be removed before a check, so that the check tests the tree alone.

Ignored files are in no tree: they survive a restore, and applying the work does not bring them. A check that needs one
of them proves nothing, and a `conftest.py` or a state file among them can make it pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from bough.adapters.workspaces.file_index import FileIndex, Folder, join_path

INSTALLED = frozenset(
    b"""node_modules .venv venv env vendor target .tox .nox .gradle .yarn .bundle .direnv Pods bower_components
    jspm_packages __pypackages__ .eggs""".split()
)
"""Folders that tools install into or build in, and maintain themselves: recreating them for every check would take
minutes and a network."""
MADE = b"__pycache__"
"""Removed even when it is in the tree: bytecode need not match the source beside it."""


def find_others(found: FileIndex, wanted: FileIndex) -> Iterator[bytes]:
    """The topmost paths that were found and are not wanted, except installed packages."""
    waiting = [b""]
    while waiting:
        path = waiting.pop()
        here, there = found.folders[path], wanted.folders.get(path) or Folder()
        for name in here.folders:
            whole = join_path(path, name)
            known = wanted.folders.get(whole)
            if known is not None and known.id is not None and name != MADE:
                waiting.append(whole)
            elif name not in INSTALLED or name in there.folders:
                yield whole
        names = {name.rstrip(b"/") for name in here.ignored | here.other} - {b".git"}
        if path in found.fresh or here.id != there.id:
            names |= here.files.keys() - there.files.keys()
        for name in names:
            if name not in INSTALLED or name in there.folders or name in there.files:
                yield join_path(path, name)
