"""Compiled modules that were built in place (`pip install -e .`): git ignores them, and a project's tests need them.

They match the sources that they were built from. Where a checkout has others, they are left out: a check must not prove
what was there before.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bough.trust.files import Place

_LARGEST = 64 << 20
"""Bytes of a source that are compared."""

COMPILED = (".so", ".pyd")
SOURCES = frozenset(".c .cc .cpp .cxx .h .hh .hpp .hxx .pyx .pxd .pxi .rs .f .f90 .m .mm .cu".split())  # noqa: SIM905


def list_compiled(ignored: Iterable[str]) -> list[str]:
    """The compiled modules among ignored files that lie in the project itself, not in something installed."""
    return [path for path in ignored if path.endswith(COMPILED) and not path.startswith((".bough/", "build/"))]


def list_sources(paths: Iterable[bytes]) -> list[str]:
    """List those of a project's files from which modules are compiled."""
    named = (path.decode(errors="surrogateescape") for path in paths)
    return [path for path in named if f".{path.rpartition('.')[2].lower()}" in SOURCES]


def copy_modules(person: Path, checkout: Path, modules: Iterable[str], built_from: Iterable[str]) -> None:
    """Copy these modules, where the checkout has the sources that the person has."""
    if not all(_is_same(Place(person, path), Place(checkout, path)) for path in built_from):
        return
    for name in modules:
        with suppress(OSError):  # not a regular file, or no folder for it
            Place(person, name).copy_to(Place(checkout, name))


def _is_same(one: Place, other: Place) -> bool:
    try:
        return one.read(_LARGEST) == other.read(_LARGEST)
    except OSError:
        return False
