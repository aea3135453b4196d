"""Compiled modules that were built in place (`pip install -e .`): git ignores them, and a project's tests need them.

They match the sources that they were built from. Where a checkout has others, they are left out: a check must not prove
what was there before.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterable
from pathlib import Path

from bough.adapters.workspaces import shared_folders

COMPILED = (".so", ".pyd")
SOURCES = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".pyx",
        ".pxd",
        ".pxi",
        ".rs",
        ".f",
        ".f90",
        ".m",
        ".mm",
        ".cu",
    ]
)


def list_compiled(ignored: Iterable[str]) -> list[str]:
    """Those among ignored files that lie in the project itself, not in something installed."""
    return [path for path in ignored if path.endswith(COMPILED) and not path.startswith((".bough/", "build/"))]


def list_sources(paths: Iterable[bytes]) -> list[str]:
    """Which of a project's files are compiled."""
    named = (path.decode(errors="surrogateescape") for path in paths)
    return [path for path in named if f".{path.rpartition('.')[2].lower()}" in SOURCES]


def copy_modules(person: Path, checkout: Path, modules: Iterable[str], built_from: Iterable[str]) -> None:
    """Copy these modules, where the checkout has the sources that the person has."""
    if not all(_is_same(person / path, checkout / path) for path in built_from):
        return
    for name in modules:
        target = checkout / name
        if (person / name).is_file() and shared_folders.is_real_folder(bytes(checkout), bytes(Path(name).parent)):
            target.unlink(missing_ok=True)
            shutil.copy2(person / name, target)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
