"""List a repository's files for a planner: all of them if they fit, or else those that the goal names, the packages and
the folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

MANIFESTS = frozenset(
    """pyproject.toml setup.py setup.cfg package.json Cargo.toml go.mod pom.xml build.gradle build.gradle.kts
    CMakeLists.txt Gemfile composer.json mix.exs Package.swift BUILD BUILD.bazel deno.json pubspec.yaml""".split()  # noqa: SIM905
)
"""A folder with one of these is a package."""
NAMED, PACKAGES, FOLDERS = 0.45, 0.27, 0.23
"""Shares of the room for named files, packages and folders."""
_COMMON = frozenset(
    """the and for with that this from into should must can not are was all any but has have its one use add new fix
    make when then than code file files test tests src lib app main index init mod util utils change changed what
    there here which every each also only more other out""".split()  # noqa: SIM905
)
_RARE = 0.02
"""A word in more than this share of all paths (and in more than `_FEW`) does not show what a goal is about."""
_FEW = 40


def outlined(paths: Sequence[str], goal: str, limit: int) -> str:
    """List the files, one per line, or as much about them as fits into `limit` characters. `goal`: the goal's text."""
    ordered = sorted(paths, key=lambda path: (path.count("/"), path))
    if sum(len(path) + 1 for path in ordered) <= limit:
        return "\n".join(ordered)
    named = _named(ordered, goal)
    folders = {path.rpartition("/")[0] for path in ordered if path.rpartition("/")[2] in MANIFESTS} - {""}
    counts: Counter[str] = Counter()
    for parent, files in Counter(path.rpartition("/")[0] for path in ordered).items():
        nearest = next((folder for folder in (parent, *_above(parent)) if folder in folders), None)
        if nearest is not None:
            counts[nearest] += files
    packages = sorted(counts.items(), key=lambda item: (item[0].count("/"), item[0]))
    parts = [
        ("What the goal seems to be about", _listed(named, int(limit * NAMED))),
        ("Packages", _listed([f"{folder}/ ({files:,} files)" for folder, files in packages], int(limit * PACKAGES))),
        ("Folders, by number of files", _listed(_folders(ordered), int(limit * FOLDERS))),
    ]
    top = _listed([path for path in ordered if "/" not in path], limit)
    head = f"There are {len(paths):,}: too many to list. `search` and `list` find others."
    shown = "\n\n".join(f"{title}:\n{text}" for title, text in [("At the top", top), *parts] if text)
    return f"{head}\n\n{shown}"[:limit]


def _listed(lines: Sequence[str], room: int) -> str:
    """Return as many lines as fit; the last says how many are left out."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*kept, f"… {len(lines) - number:,} more"])
        kept.append(line)
    return "\n".join(kept)


def _words(text: str) -> set[str]:
    """Return the words of a text or a path; `snake_case` and `CamelCase` count whole and in parts."""
    found = set()
    for word in re.findall(r"\w+", text):
        parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", word)
        found |= {word.lower(), *(part.lower() for part in parts)}
    return {word for word in found if len(word) > 2 and word not in _COMMON and not word.isdecimal()}


def _named(paths: Sequence[str], goal: str) -> list[str]:
    """List the files that the goal mentions by path, by name or by words that few paths have, the likeliest first."""
    lowered = [path.lower() for path in paths]
    most = max(_FEW, _RARE * len(paths))
    rare = {word for word in _words(goal) if 0 < sum(word in path for path in lowered) <= most}
    mentioned = set(re.findall(r"(?<![\w./-])[\w./-]*\w", goal))
    points: dict[str, float] = {}
    for path, low in zip(paths, lowered, strict=True):
        name, folder = path.rpartition("/")[2], f"{path}/"
        said = path in mentioned or name in mentioned or any(folder.startswith(f"{way}/") for way in mentioned)
        if worth := 10.0 * said + (len(rare & _words(path)) if any(word in low for word in rare) else 0):
            points[path] = worth
    return sorted(points, key=lambda path: (-points[path], path))


def _above(path: str) -> Iterator[str]:
    """List the folders of a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _folders(paths: Iterable[str]) -> list[str]:
    """List the folders, the largest first, each with its number of files and most common extensions."""
    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for (parent, ending), files in Counter(map(_place, paths)).items():
        for folder in [parent, *_above(parent)][-3:] if parent else []:
            counts[folder] += files
            kinds.setdefault(folder, Counter())[ending] += files
    ranked = sorted(counts, key=lambda folder: (-counts[folder], folder))
    mostly = {folder: ", ".join(end for end, _ in kinds[folder].most_common(3) if end) for folder in ranked}
    return [f"{folder}/ ({counts[folder]:,}: {mostly[folder] or 'no extensions'})" for folder in ranked]


def _place(path: str) -> tuple[str, str]:
    """Return the folder and the extension of a path."""
    folder, _, name = path.rpartition("/")
    return folder, name.rpartition(".")[2] if "." in name else ""
