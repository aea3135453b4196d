"""Texts of trees, and blocks in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

Read = Callable[[str], str | None]
"""Gives the text of a file; None: it does not exist, or is not text."""


_LONG = 1_000_000
"""Pairs of lines from which on those that occur very often are no landmarks: comparing them all would take forever."""


class FileChange(Struct, frozen=True):
    """One path that differs between two trees. `kind`: A(dded), M(odified), D(eleted), T(ype changed)."""

    kind: str
    path: str


class LineCount(Struct, frozen=True):
    """How much of a file differs between two trees."""

    path: str
    added: int
    removed: int
    binary: bool = False


def parse_object(text: str) -> dict[str, Any] | None:
    """The object that a text says in JSON; None: it says none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def compare_lines(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How lines became others, as `difflib` says it."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > _LONG).get_opcodes()


def find_block(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Where a definition whose first line is at `at` begins, with what is written above it, and the line after it: the
    next one that is not indented further and does not close it."""
    indent, end = len(lines[at]) - len(lines[at].lstrip()), at + 1
    while end < len(lines) and (
        not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent or lines[end].lstrip()[0] in ")]}"
    ):
        end += 1
    while at and lines[at - 1].strip().startswith(("@", "#[")):
        at -= 1
    return at, end


def find_closing_brace(text: str, start: int) -> int:
    """The place after the brace that closes the one at `start`; braces in strings and comments do not count."""
    if text[start : start + 1] == ";":  # what it holds is in another file
        return start + 1
    depth = 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\])\'|[{}]', text[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth == 0 and found.group() == "}":
            return start + found.end()
    return len(text)
