"""Which other projects of a monorepo use the one being changed: their tests may fail because of it too."""

from __future__ import annotations

import posixpath
import re

from bough.core.verdict.paths import last_segment, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import LANGUAGES

MOST = 4
"""Dependents whose tests run."""
_DEEPEST = 3
_READERS = {manifest: language for language in LANGUAGES for manifest in language.manifests}


def find_dependents(look: ProjectFiles, here: str) -> list[str]:
    """Folders of the projects that name the one in `here` as something they need, the nearest ones first."""
    names = {name for language in LANGUAGES for name in language.list_project_names(look.inside(here).text)}
    places = {parent_folder(path) for path in look if last_segment(path) in _READERS and path.count("/") <= _DEEPEST}
    others = [place for place in places if place and not f"{here}/".startswith(f"{place}/")]
    others = [place for place in others if not place.startswith(f"{here}/")]
    found = [place for place in others if _needs(look, place, here, names)]
    return sorted(found, key=lambda place: (place.count("/"), place))[:MOST]


def _needs(look: ProjectFiles, place: str, here: str, names: set[str]) -> bool:
    path = re.escape(posixpath.relpath(here, place))
    for manifest, language in _READERS.items():
        text = look.text(f"{place}/{manifest}")
        if text and (re.search(rf"""["'\s:=/]{path}/?["'\s]""", f"{text}\n") or language.requires(text, names)):
            return True
    return False
