"""A task's changes, for a page: at first all files with their line counts; then, when a file is opened, its lines, in
parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bough.core.verdict.language import is_test_path
from bough.core.verdict.texts import LineCount
from bough.interfaces.web.shapes import DiffPart, FileShape

Row = list[Any]
"""One line: kind, line number before, line number after, text. Side by side: two such lines; None for a missing one."""
PART = 2000
"""The most lines in one response."""
LONGEST = 2000
"""The most characters of one line."""
DATA = r"\.(json|jsonl|ndjson|csv|tsv|xml|svg|lock|sum|snap|po|txt|log|map|min\.js|min\.css|ipynb|sql|pem|html?)$"
"""The names of data files, which programs write or read: people look at them last."""
ORDER = ("product", "tests", "data")


def list_files(counts: Iterable[LineCount]) -> list[FileShape]:
    """List all changed files: product code first, then tests, then data."""
    made: list[FileShape] = [
        {
            "name": one.path,
            "added": one.added,
            "removed": one.removed,
            "binary": one.binary,
            "kind": "tests" if is_test_path(one.path) else "data" if re.search(DATA, one.path, re.I) else "product",
        }
        for one in counts
    ]
    return sorted(made, key=lambda file: (ORDER.index(file["kind"]), file["name"]))


def build_part(rows: Sequence[Row], start: int) -> DiffPart:
    """Return some lines of one file's diff, from line `start` on, and the total number of lines."""
    return {"from": start, "total": len(rows), "rows": list(rows[start : start + PART])}


def read_rows(diff: str, beside: bool) -> Sequence[Row]:
    """Read the lines of a diff. `beside`: put removed lines beside the added ones."""
    lines = list(_read_lines(diff))
    return list(_pair(lines)) if beside else lines


def _read_lines(diff: str) -> Iterator[Row]:
    old = now = 0
    inside = False
    for line in diff.split("\n"):
        text = line[1:] if len(line) <= LONGEST else f"{line[1:LONGEST]} … ({len(line) - LONGEST:,} more characters)"
        sign = line[:1]
        if sign == "@" and (found := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)", line)):
            old, now, inside = int(found[1]), int(found[2]), True
            yield ["hunk", None, None, found[3].strip() or f"line {now}"]
        elif not inside:
            if line.startswith(("new file", "deleted file", "old mode", "new mode", "Binary")):
                yield ["hunk", None, None, line.replace("file mode 100644", "file")]
        elif sign == "+":
            yield ["ins", None, now, text]
            now += 1
        elif sign == "-":
            yield ["del", old, None, text]
            old += 1
        elif sign == "\\":
            yield ["hunk", None, None, line[2:]]
        elif line:
            yield ["ctx", old, now, text]
            old, now = old + 1, now + 1


def _pair(lines: Sequence[Row]) -> Iterator[Row]:
    """Pair removed lines with added ones, for a view side by side."""
    sides: dict[Any, list[Row]] = {"del": [], "ins": []}
    gone, come = sides.values()

    def drain() -> Iterator[Row]:
        for index in range(max(len(gone), len(come))):
            yield [gone[index] if index < len(gone) else None, come[index] if index < len(come) else None]
        gone.clear()
        come.clear()

    for line in lines:
        if line[0] not in sides or (line[0] == "del" and come):
            yield from drain()
        if line[0] in sides:
            sides[line[0]].append(line)
        else:
            yield [line, line]
    yield from drain()
