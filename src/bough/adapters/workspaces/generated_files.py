"""Generated sources that git ignores and the project's own code imports: a version file, a parser, a schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bough.core.verdict.language import DATA
from bough.core.verdict.paths import find_stem, find_suffix, is_made_folder, last_segment, parent_folder
from bough.trust.files import Place

_NO_SOURCES = DATA | {""}
_MOST_FOLDERS = 300
_MOST_FILES = 50
_LARGEST = 1 << 20
_GENERATED = r"(?im)\b(?:auto-?)?generated\b|do(?: not|n't) (?:edit|modify|change)|^(?:__version__|version)\s*="
"""What the first lines of a generated file say. Any other ignored file stays where it is: it may hold the person's
secrets."""
_HEAD = 2_000


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
