"""Files that git ignores and a project's tests need: modules that were compiled in place (`pip install -e .`), and
generated sources that the project's own code imports (a version file, a parser, a schema).

Compiled modules match the sources that they were built from. Where a checkout has others, they are left out: a check
must not prove what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bough.core.verdict.language import DATA
from bough.core.verdict.paths import find_stem, find_suffix, is_made_folder, last_segment, parent_folder
from bough.trust.files import Place

_LARGEST_SOURCE = 64 << 20
"""Bytes of a source that are compared."""

COMPILED = (".so", ".pyd")
SOURCES = frozenset(".c .cc .cpp .cxx .h .hh .hpp .hxx .pyx .pxd .pxi .rs .f .f90 .m .mm .cu".split())  # noqa: SIM905
_NO_SOURCES = DATA | {""}
_MOST_FOLDERS = 300
_MOST_FILES = 50
_LARGEST = 1 << 20
_GENERATED = r"(?im)\b(?:auto-?)?generated\b|do(?: not|n't) (?:edit|modify|change)|^(?:__version__|version)\s*="
"""What the first lines of a generated file say. Any other ignored file stays where it is: it may hold the person's
secrets."""
_HEAD = 2_000


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
        return one.read(_LARGEST_SOURCE) == other.read(_LARGEST_SOURCE)
    except OSError:
        return False


def list_generated(person: Path, tracked: Iterable[str]) -> list[str]:
    """Files of the person's that no tree has, in a folder with sources of the same language, of which one names them.
    Only what git ignores among them may be used."""
    by_folder: dict[str, set[str]] = {}
    for path in tracked:
        if find_suffix(path) not in _NO_SOURCES and not is_made_folder(parent_folder(path)):
            by_folder.setdefault(parent_folder(path), set()).add(last_segment(path))
    nearest = sorted(by_folder.items(), key=lambda pair: pair[0].count("/"))[:_MOST_FOLDERS]
    return [path for folder, names in nearest for path in _list_in(Place(person, folder), folder, names)][:_MOST_FILES]


def _list_in(place: Place, folder: str, names: set[str]) -> Iterator[str]:
    others = [name for name, kind in place.list() if kind == "file" and name not in names]
    if not others:
        return
    from bough.core.verdict.registry import NEUTRAL, find_language

    texts: dict[str, str] = {}
    for name in others:
        language = find_language(name)
        if language is NEUTRAL or not re.search(_GENERATED, (place / name).text(_LARGEST)[:_HEAD]):
            continue
        beside = [each for each in sorted(names) if find_language(each) is language]
        for each in beside:
            if each not in texts:
                texts[each] = (place / each).text(_LARGEST)
            if re.search(rf"(?<!\w){re.escape(find_stem(name))}(?!\w)", texts[each]):
                yield f"{folder}/{name}" if folder else name
                break
