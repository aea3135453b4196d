"""A workspace that holds a tree and nothing else, so that a check reports on the tree.

Files that an ignore rule names are in no tree: they survive a restore, and applying the work does not deliver them. A
check that needs one of them proves nothing, and a `conftest.py` or a state file among them can make it pass.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

INSTALLED = frozenset(
    """node_modules .venv venv env vendor target .tox .nox .gradle .yarn .bundle .direnv Pods bower_components
    jspm_packages __pypackages__ .eggs""".split()  # noqa: SIM905
)
"""Folders in which tools keep and maintain what they installed or built: recreating them for every check would take
minutes and a network."""
MADE = "__pycache__"
"""Removed even when it is in the tree: bytecode need not match the source next to it."""


def remove_other_files(root: Path, scratch: Path, files: Iterable[str]) -> list[str]:
    """Remove what is not one of these files, and all temporary files; returns what was removed, topmost paths."""
    kept = set(files)
    folders = {""}
    for path in kept:
        while (path := path.rpartition("/")[0]) not in folders:
            folders.add(path)
    gone: list[str] = []
    # The commands' home and /tmp are temporary files too.
    for entry in (*_list_entries(scratch), *_list_entries(scratch.with_name(f"{scratch.name}.private"))):
        _remove(Path(entry.path))
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _list_entries(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            real_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or (path not in folders and path not in kept and entry.name in INSTALLED):
                continue
            if real_folder and path in folders and entry.name != MADE:
                waiting.append(path)
            elif real_folder or path not in kept:
                _remove(Path(entry.path))
                gone.append(path)
    return sorted(gone)


def _list_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, onerror=_open_up)
    else:
        path.unlink(missing_ok=True)


def _open_up(act: Callable[[str], object], path: str, error: object) -> None:
    """Make a folder that its owner may not write to or list accessible, and retry the removal."""
    for place in (Path(path).parent, Path(path)):
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(place.lstat().st_mode):
                place.chmod(0o700)
    if Path(path).is_dir() and not Path(path).is_symlink():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
