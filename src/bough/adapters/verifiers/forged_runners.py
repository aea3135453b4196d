"""Test runners among the packages in a workspace outside the tree: did a package manager install them?

Installed packages are kept for a check, since recreating them would take minutes and a network, and no tree vouches for
them. A runner that a package manager installed is known by its records: the list that npm and its relatives keep of
`node_modules`, and the hashes that pip and its relatives keep of every file. What has none is not a test runner.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from bough.core.verdict.language import Language
from bough.core.verdict.registry import LANGUAGES
from bough.core.verdict.test_files import find_loaded_packages
from bough.core.verdict.texts import parse_object
from bough.trust.files import Place

_BY_LIST = [language for language in LANGUAGES if language.package_lists]
_BY_HASH = [name for language in LANGUAGES if language.environment for name in language.installed_runners]
_LARGEST = 64 << 20
"""Bytes of a list of installed packages."""
_PACKAGES = {"py.test": "pytest"}


def find_forged_runners(
    root: Path, tracked: Callable[[str], object], texts: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Programs with a runner's name, and packages that JavaScript tests load, without a record of their installation.
    `tracked`: whether a path is in the tree, which is judged elsewhere. `texts`: tests and others, by path."""
    top = Place(root, links=True)
    found: list[tuple[Place, str]] = []
    for language in _BY_LIST:
        if (top / language.packages).is_folder():
            found += _list_packages(top, language, find_loaded_packages(texts))
    for name in (".venv", "venv", "env"):
        found += _list_environment_packages(top / name)
    return [f"{what} ({place.name})" for place, what in found if not tracked(place.name)]


def _list_packages(top: Place, language: Language, loaded: set[str]) -> Iterator[tuple[Place, str]]:
    folder = top / language.packages
    lists = [top / posixpath.normpath(f"{language.packages}/{name}") for name in language.package_lists]
    listed = "".join(place.text(_LARGEST) for place in lists)
    for name in language.installed_runners:
        program = folder / ".bin" / name
        if not program.is_regular():
            continue
        package = folder / ("@playwright/test" if name == "playwright" else name)
        if name not in listed or not (parse_object((package / "package.json").text()) or {}).get("version"):
            yield program, f"the test runner {name} in {folder.name} was not installed by a package manager"
    for name in sorted(loaded):
        if (folder / name).is_folder() and not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", listed):
            yield folder / name, f"the tests load {name}, which in {folder.name} was not installed by a package manager"


def _list_environment_packages(folder: Place) -> Iterator[tuple[Place, str]]:
    libraries = folder / "lib"
    sites = [libraries / name / "site-packages" for name, _ in libraries.list() if name.startswith("python")]
    for name in _BY_HASH:
        program = folder / "bin" / name
        if program.is_regular() and not _is_recorded(sites, _PACKAGES.get(name, name)):
            yield program, f"the test runner {name} in {folder.name} was not installed by a package manager"
    # `python -m pytest` needs no program.
    for package in [site / "_pytest" for site in sites if (site / "_pytest").kind]:
        if not (folder / "bin" / "pytest").is_regular() and not _is_recorded(sites, "pytest"):
            yield package, f"the test runner pytest in {folder.name} was not installed by a package manager"


def _is_recorded(sites: list[Place], package: str) -> bool:
    """Every file of the package's code is as recorded when it was installed."""
    found = [(site, name) for site in sites for name, _ in site.list() if name.startswith(f"{package}-")]
    records = [(site, site / name / "RECORD") for site, name in found if name.endswith(".dist-info")]
    records = [(site, record) for site, record in records if record.kind]
    return bool(records) and all(_matches_record(site, record) for site, record in records)


def _matches_record(site: Place, record: Place) -> bool:
    try:
        for line in record.read().decode().splitlines():
            path, hashed, _ = line.rsplit(",", 2)
            kind, _, wanted = hashed.partition("=")
            if path.endswith(".py") and kind == "sha256" and ".." not in path:
                digest = hashlib.sha256((site / path).read()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") != wanted:
                    return False
    except (OSError, ValueError):
        return False
    return True
