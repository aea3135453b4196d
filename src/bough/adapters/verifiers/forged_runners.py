"""Test runners among the packages in a workspace outside the tree: did a package manager install them?

Installed packages are kept for a check, since recreating them would take minutes and a network, and no tree vouches for
them. A runner that a package manager installed is known by its records: the list that npm and its relatives keep of
`node_modules`, and the hashes that pip and its relatives keep of every file. What has none is not a test runner.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from bough.core.verdict.language import Language
from bough.core.verdict.registry import LANGUAGES
from bough.core.verdict.test_files import find_loaded_packages

_BY_LIST = [language for language in LANGUAGES if language.package_lists]
_BY_HASH = [name for language in LANGUAGES if language.environment for name in language.installed_runners]
_PACKAGES = {"py.test": "pytest"}


def find_forged_runners(
    root: Path, tracked: Callable[[str], object], texts: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Programs with a runner's name, and packages that JavaScript tests load, without a record of their installation.
    `tracked`: whether a path is in the tree, which is judged elsewhere. `texts`: tests and others, by path."""
    found: list[tuple[Path, str]] = []
    for language in _BY_LIST:
        if (installed := root / language.packages).is_dir():
            found += _list_packages(installed, language, find_loaded_packages(texts))
    for name in (".venv", "venv", "env"):
        found += _list_environment_packages(root / name)
    shown = [(str(place.relative_to(root)), what) for place, what in found]
    return [f"{what} ({path})" for path, what in shown if not tracked(path)]


def _list_packages(folder: Path, language: Language, loaded: set[str]) -> Iterator[tuple[Path, str]]:
    listed = ""
    for name in language.package_lists:
        with suppress(OSError):
            listed += (folder / name).read_text(errors="replace")
    for name in language.installed_runners:
        program = folder / ".bin" / name
        if not program.is_file():
            continue
        package = folder / ("@playwright/test" if name == "playwright" else name)
        if name not in listed or not _is_package(package):
            yield program, f"the test runner {name} in {folder.name} was not installed by a package manager"
    for name in sorted(loaded):
        if (folder / name).is_dir() and not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", listed):
            yield folder / name, f"the tests load {name}, which in {folder.name} was not installed by a package manager"


def _is_package(folder: Path) -> bool:
    try:
        said = json.loads((folder / "package.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and bool(said.get("version"))


def _list_environment_packages(folder: Path) -> Iterator[tuple[Path, str]]:
    for name in _BY_HASH:
        program = folder / "bin" / name
        if program.is_file() and not _is_recorded(folder, _PACKAGES.get(name, name)):
            yield program, f"the test runner {name} in {folder.name} was not installed by a package manager"
    # `python -m pytest` needs no program.
    for package in folder.glob("lib/python*/site-packages/_pytest"):
        if not (folder / "bin" / "pytest").is_file() and not _is_recorded(folder, "pytest"):
            yield package, f"the test runner pytest in {folder.name} was not installed by a package manager"


def _is_recorded(folder: Path, package: str) -> bool:
    """Every file of the package's code is as recorded when it was installed."""
    records = list(folder.glob(f"lib/python*/site-packages/{package}-*.dist-info/RECORD"))
    return bool(records) and all(_matches_record(record) for record in records)


def _matches_record(record: Path) -> bool:
    try:
        for line in record.read_text().splitlines():
            path, hashed, _ = line.rsplit(",", 2)
            kind, _, wanted = hashed.partition("=")
            if path.endswith(".py") and kind == "sha256" and ".." not in path:
                digest = hashlib.sha256((record.parent.parent / path).read_bytes()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") != wanted:
                    return False
    except (OSError, ValueError):
        return False
    return True
