"""The choice of steps that may run in parallel: the files that a step will change, and whether two steps conflict.

A step's declared files count and, once it has changed something, those too. Two steps that both only add to a file
(`CHANGELOG.md+`) do not conflict: both additions are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bough.core.planning.plan import Step

ADDS = "+"
"""Suffix of a declared file that the step only adds to."""

Touched = dict[str, bool]
"""Files that a step changes, and whether it only adds to them."""


def find_expected_files(step: Step) -> Touched:
    """Return the files that a step declares."""
    return {path.removesuffix(ADDS): path.endswith(ADDS) for path in step.files}


def find_busy_files(running: Iterable[Step], touched: Mapping[str, Touched]) -> dict[str, tuple[str, bool]]:
    """Find the files that running steps change: by which step, and whether it only adds. `touched`: actual changes so
    far, by step."""
    found: dict[str, tuple[str, bool]] = {}
    for step in running:
        its = find_expected_files(step)
        for path, adds in touched.get(step.name, {}).items():
            its[path] = adds and its.get(path, True)
        for path, adds in its.items():
            if path not in found or not adds:
                found[path] = (step.name, adds)
    return found


def find_blocking_step(step: Step, files: Mapping[str, tuple[str, bool]]) -> tuple[str, tuple[str, ...]] | None:
    """Find the step that this one has to wait for because both change the same files, and those files."""
    both = {
        path: files[path][0]
        for path, adds in find_expected_files(step).items()
        if path in files and not (adds and files[path][1])
    }
    if not both:
        return None
    other = next(iter(both.values()))
    return other, tuple(path for path, who in both.items() if who == other)


def list_touched_files(diff: str) -> Touched:
    """The files of a unified diff, and whether it only adds to them."""
    found: Touched = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            path = ""
        elif line.startswith(("--- ", "+++ ")) and line[4:6] in ("a/", "b/"):
            path = line[6:].rstrip("\t")
            found.setdefault(path, True)
        elif path and line.startswith("-") and not line.startswith("--- "):
            found[path] = False
        elif line.startswith(("deleted file", "rename ", "Binary ")):
            path = ""
    return found
