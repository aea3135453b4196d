"""The cases of a probe: each of its tests runs alone, so that a wrong one is dropped alone."""

from __future__ import annotations

import re

from bough.core.ids import slug

MOST = 8
"""Cases of one probe."""
_ABOVE = ("@", "#[")
"""Lines directly above a test that belong to it."""


def split_cases(text: str, begins: str, by_name: bool = False) -> list[tuple[str, str]]:
    """The name and the file of each case. A file with one test is one case without a name. `begins`: how a test begins
    there, as a pattern; empty: a file cannot be taken apart. `by_name`: it stays whole, and its tests are called by
    their names."""
    if by_name:
        return [(name, text) for name in dict.fromkeys(re.findall(begins, text))] or [("", text)]
    lines = text.splitlines(keepends=True)
    starts = [(at, slug(found[1], 40)) for at, line in enumerate(lines) if begins and (found := re.match(begins, line))]
    if not 1 < len(starts) <= MOST or len({name for _, name in starts}) < len(starts):
        return [("", text)]
    spans = [(_find_top(lines, at), _find_end(lines, at)) for at, _ in starts]
    files = []
    for (_, name), own in zip(starts, spans, strict=True):
        others = {at for span in spans if span != own for at in range(*span)}
        files.append((name, "".join(line for at, line in enumerate(lines) if at not in others).rstrip() + "\n"))
    return files


def _find_top(lines: list[str], at: int) -> int:
    while at and lines[at - 1].strip().startswith(_ABOVE):
        at -= 1
    return at


def _find_end(lines: list[str], at: int) -> int:
    """The line after a test: the next one that is not indented further and does not close it."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    for end in range(at + 1, len(lines)):
        line = lines[end]
        if line.strip() and len(line) - len(line.lstrip()) <= depth and line.strip()[0] not in ")]}":
            return end
    return len(lines)
