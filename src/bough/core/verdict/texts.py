"""Helpers for the texts of files: differences, indented blocks and brackets."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

Read = Callable[[str], str | None]
"""Returns the text of a file; None if the file does not exist or is not text."""


_LONG = 1_000_000
"""If the product of two files' line counts is larger, very frequent lines do not align the files, to save time."""


class FileChange(Struct, frozen=True):
    """One path that differs between two trees. `kind`: A(dded), M(odified), D(eleted), T(ype changed)."""

    kind: str
    path: str


class LineCount(Struct, frozen=True):
    """The number of lines that a file gained and lost between two trees."""

    path: str
    added: int
    removed: int
    binary: bool = False


def parse_object(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def compare_lines(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > _LONG).get_opcodes()


def find_block(lines: Sequence[str], head: int) -> tuple[int, int]:
    """Find the first line and the end of the block that begins at line `head`, including the decorators above it."""
    indent, end = measure_indent(lines[head]), head + 1
    while end < len(lines) and (
        not lines[end].strip() or measure_indent(lines[end]) > indent or re.match(r"\s*[)\]}{]", lines[end])
    ):
        end += 1
        closes = re.match(r"\s*[)\]}]", lines[end - 1]) and not re.search(r"[{(\[:]\s*$", lines[end - 1])
        if closes and measure_indent(lines[end - 1]) <= indent:
            break
    above, first = r"\s*(?:@|\[\(?|\)|\])|\s{4}", head
    while first and measure_indent(lines[first - 1]) >= indent and re.match(above, lines[first - 1]):
        first -= 1
    return next((at for at in range(first, head) if re.match(r"\s*@", lines[at])), head), end


def measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def find_closing_brace(text: str, start: int) -> int:
    """Find the offset after the brace that closes the one at `start`; braces in strings and comments do not count."""
    if text[start : start + 1] == ";":  # The body is in another file.
        return start + 1
    depth = 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\])\'|[{}]', text[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth == 0 and found.group() == "}":
            return start + found.end()
    return len(text)
