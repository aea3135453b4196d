"""Guesses what the model meant: the paths most like a wrong path, the passage most like a text that was not found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate, islice

from bough.adapters.tools.paths import WorkspacePath
from bough.core.textual.spelling import find_similar
from bough.ports import WorkFolder
from bough.trust.files import Place

_SEEN = 5_000
"""The most files and folders whose names are compared with a missing one."""
_COMPARED = 2_000
"""The most lines that are compared for similarity, when no line equals a sought one."""
_LETTERS = 400
"""The most characters of a passage or line that are compared: the cost grows with the square of the length."""
_CANDIDATES = 10
_ALIKE = 0.5


def suggest_paths(place: WorkspacePath, workspace: WorkFolder) -> str:
    """Return ` Did you mean …?` with up to three files or folders that have the same name elsewhere, or a similar name
    in the same folder; empty if there are none."""
    wanted = place.steps[-1] if place.steps else ""
    paths = list(islice(_walk(place.root), _SEEN))
    same = [path for path in paths if path.rpartition("/")[2].lower() == wanted.lower()]
    near = "/".join(place.steps[:-1])
    siblings = {path.rpartition("/")[2]: path for path in paths if path.rpartition("/")[0] == near}
    found = dict.fromkeys([*same[:3], *(siblings[name] for name in find_similar(wanted, siblings, 3, 0.7))])
    start = os.path.realpath(workspace.folder)
    like = [os.path.relpath(f"{place.root}/{name}", start) for name in list(found)[:3]]
    return f" Did you mean {' or '.join(f'`{name}`' for name in like)}?" if like else ""


def _walk(root: str) -> Iterator[str]:
    """Yield the paths below the root, breadth first, without `.git`."""
    folders = [""]
    for folder in folders:  # the list grows during the walk
        for name, kind in Place(root, folder).list():
            if name != ".git":
                path = f"{folder}/{name}".lstrip("/")
                folders += [path] if kind == "folder" else []
                yield path


def find_passage(lines: list[str], sought: list[str]) -> tuple[int, int, bool] | None:
    """Find the lines most like the sought ones. Return the index of the first line, the index after the last, and
    whether they differ only in white space; None if nothing is similar."""
    width = len(sought)
    if not width or not lines:
        return None
    squeezed = [" ".join(line.split()) for line in lines]
    wanted = [" ".join(line.split()) for line in sought]
    passages: dict[str, int] = {}
    for start in _find_promising(squeezed, wanted):
        if squeezed[start : start + width] == wanted:
            return start, start + width, True
        passages.setdefault("\n".join(squeezed[start : start + width])[:_LETTERS], start)
    likest = find_similar("\n".join(wanted)[:_LETTERS], passages, 1, _ALIKE)
    if not likest:
        return None
    start = passages[likest[0]]
    return start, min(start + width, len(lines)), False


def _find_promising(lines: list[str], wanted: list[str]) -> list[int]:
    """Return where the passages begin that have the most lines in common with the wanted ones. If none has any, return
    where passages begin that have a line like the longest wanted one."""
    wished = {line for line in wanted if line}
    width = min(len(wanted), len(lines))
    before = [0, *accumulate(line in wished for line in lines)]
    counts = [before[start + width] - before[start] for start in range(len(lines) - width + 1)]
    best = sorted(range(len(counts)), key=lambda start: (-counts[start], start))[:_CANDIDATES]
    if counts[best[0]]:
        return best
    offset = max(range(len(wanted)), key=lambda i: len(wanted[i]))
    starting = [line[:_LETTERS] for line in lines[:_COMPARED]]
    found = set(find_similar(wanted[offset][:_LETTERS], starting, 3, _ALIKE))
    return [max(i - offset, 0) for i, line in enumerate(starting) if line in found][:_CANDIDATES]
