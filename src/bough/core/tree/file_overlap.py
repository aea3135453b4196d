"""Say which steps may run in parallel: which files a step will change, and whether two steps conflict.

What a step declares counts, then what its instructions say it changes, and, once it has changed something, that too.
Two steps that both only add to a file (`CHANGELOG.md+`) do not conflict: both additions are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from bough.core.planning.plan import Step

ADDS = "+"
"""Follows the name of a declared file that the step only adds to."""

Touched = dict[str, bool]
"""Files that a step changes, and whether it only adds to them."""


_KINDS = (
    "adoc bash c cc cfg conf cpp cs css csv dart ex exs go gradle graphql h hpp hs html ini ipynb java jl js json jsx "
    "kt less lua md mjs ml php pl po proto ps1 py pyi pyx r rb rs rst sass scala scss sh sql svelte svg swift tf toml "
    "ts tsx txt vue xml yaml yml zig zsh"
)
_FILE = re.compile(rf"(?<![\w./@-])(?:[\w.-]+/)*[\w.-]*\w\.(?:{'|'.join(_KINDS.split())})(?![\w/]|\.\w)")
_WORD = re.compile(
    r"(?i)\b(?:(?P<adds>add|adds|append|appends|insert|inserts|list|lists|register|registers|mention|mentions|"
    r"document|documents|extend|extends)"
    r"|(?P<changes>change|changes|create|creates|delete|deletes|edit|edits|fix|fixes|implement|implements|make|makes|"
    r"modify|modifies|move|moves|port|ports|put|puts|refactor|refactors|remove|removes|rename|renames|repair|repairs|"
    r"replace|replaces|rewrite|rewrites|split|splits|update|updates|write|writes)"
    r"|(?P<reads>see|read|reads|described|describes|defined|specified|according|following|follows|like|as|per|from|"
    r"using|uses|use|import|imports|based|run|runs|with|than|unlike|against))\b"
)
_CLAUSE = re.compile(r"[.;:!?](?=\s|$)|\n")


def find_expected_files(step: Step) -> Mapping[str, bool]:
    """The files that a step will change, as far as the plan says."""
    if step.files:
        return {path.removesuffix(ADDS): path.endswith(ADDS) for path in step.files}
    return find_named_files(step.instructions)


@lru_cache(4096)
def find_named_files(text: str) -> Mapping[str, bool]:
    """The files that a text says to change. The nearest verb before a name decides; files that are only read do not
    count."""
    found: Touched = {}
    for clause in _CLAUSE.split(text[:20_000]):
        words = list(_WORD.finditer(clause))
        for match in _FILE.finditer(clause):
            verb = next((word for word in reversed(words) if word.end() <= match.start()), None)
            if verb is None or verb["reads"]:
                continue
            path = match[0].removeprefix("./")
            found[path] = bool(verb["adds"]) and found.get(path, True)
    return found


def find_busy_files(running: Iterable[Step], touched: Mapping[str, Touched]) -> dict[str, tuple[str, bool]]:
    """The files that running steps change: by which step, and whether it only adds. `touched`: what they have
    really changed so far, by step."""
    found: dict[str, tuple[str, bool]] = {}
    for step in running:
        its = dict(find_expected_files(step))
        for path, adds in touched.get(step.name, {}).items():
            its[path] = adds and its.get(path, True)
        for path, adds in its.items():
            if path not in found or not adds:
                found[path] = (step.name, adds)
    return found


def find_blocking_step(step: Step, files: Mapping[str, tuple[str, bool]]) -> tuple[str, tuple[str, ...]] | None:
    """The step that this one has to wait for because both change the same files, and those files."""
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
