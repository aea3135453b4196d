"""Choose steps that may run in parallel by the files that they declare or have changed. Two steps that only add to the
same file (`CHANGELOG.md+`) do not conflict, since both additions are kept."""

from collections.abc import Iterable, Mapping

from bough.core.planning.plan import Step

ADDS = "+"
"""Suffix that marks a declared file to which the step only adds."""

Touched = dict[str, bool]
"""Files that a step changes, and whether it only adds to them."""


def find_expected_files(step: Step) -> Touched:
    """Return the files that a step declares."""
    return {path.removesuffix(ADDS): path.endswith(ADDS) for path in step.files}


def find_busy_files(running: Iterable[Step], touched: Mapping[str, Touched]) -> dict[str, tuple[str, bool]]:
    """Map each file that running steps change to a step that changes it, and whether that step only adds to it.
    `touched`: actual changes so far, by step."""
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
    """List the files of a unified diff, and whether the diff only adds to each."""
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
