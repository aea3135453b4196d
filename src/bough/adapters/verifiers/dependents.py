"""Which other projects of a monorepo use the one being changed: their tests may fail because of it too."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Iterable
from typing import Any

from bough.adapters.verifiers.project_files import ProjectFiles, last_segment, parent_folder

MOST = 4
"""Dependents whose tests run."""
_DEEPEST = 3
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json", "Cargo.toml", "go.mod")


def find_dependents(look: ProjectFiles, here: str) -> list[str]:
    """Folders of the projects that name the one in `here` as something they need, the nearest ones first."""
    names = set(_list_names(look, here))
    places = {parent_folder(path) for path in look if last_segment(path) in _MANIFESTS and path.count("/") <= _DEEPEST}
    others = [place for place in places if place and not f"{here}/".startswith(f"{place}/")]
    others = [place for place in others if not place.startswith(f"{here}/")]
    found = [place for place in others if _needs(look, place, here, names)]
    return sorted(found, key=lambda place: (place.count("/"), place))[:MOST]


def _list_names(look: ProjectFiles, folder: str) -> Iterable[str]:
    """The names by which dependents refer to the project in a folder."""
    python, rust = (_parse_toml(look.text(f"{folder}/{name}")) for name in ("pyproject.toml", "Cargo.toml"))
    tables = (python.get("project"), _to_table(python, "tool", "poetry"), rust.get("package"))
    yield from (str(table["name"]) for table in tables if isinstance(table, dict) and table.get("name"))
    if named := re.search(r"""^\s*name\s*=\s*["']?([\w.-]+)""", look.text(f"{folder}/setup.cfg"), re.MULTILINE):
        yield named[1]
    if isinstance(name := _parse_json(look.text(f"{folder}/package.json")).get("name"), str):
        yield name
    if module := re.search(r"^module\s+(\S+)", look.text(f"{folder}/go.mod"), re.MULTILINE):
        yield module[1]


def _needs(look: ProjectFiles, place: str, here: str, names: set[str]) -> bool:
    path = posixpath.relpath(here, place)
    for manifest in _MANIFESTS:
        text = look.text(f"{place}/{manifest}")
        if not text:
            continue
        if re.search(rf"""["'\s:=/]{re.escape(path)}/?["'\s]""", f"{text}\n"):
            return True
        if manifest == "package.json":
            package = _parse_json(text)
            tables = (package.get(key) for key in ("dependencies", "devDependencies", "peerDependencies"))
            if any(isinstance(table, dict) and names & table.keys() for table in tables):
                return True
        elif any(_is_required(name, text) for name in names):
            return True
    return False


def _is_required(name: str, text: str) -> bool:
    """As a requirement: a name that stands alone. The line with the project's own name does not count."""
    body = re.sub(r"(?m)^\s*(name|module)\b.*$", "", text)
    spelled = re.sub(r"[-_.]+", "[-_.]+", re.sub(r"[^\w.-]", ".", name)) if "/" not in name else re.escape(name)
    return re.search(rf"""(?im)(?:^|["'\s,\[]){spelled}(?=$|[\s"'<>=!~;,@\[\]])""", body) is not None


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        return {}


def _parse_json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _to_table(table: dict[str, Any], *keys: str) -> Any:
    found: Any = table
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
