"""Code as text: strings, comments and brackets, in any language that writes them as C does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`'
NUMBER = r"(?<![\w.])(?:(?<![)\]])-)?\d[\w.]*"
"""With its sign; what is taken away from `f()` or `a[0]` has none."""


@cache
def rx(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first used: a run meets one or two languages."""
    return re.compile(pattern, re.M)


def uncommented(text: str, comment: str) -> str:
    """The text without comments; line breaks stay. Strings are stepped over."""
    comments = r"//[^\n]*|/\*[\s\S]*?\*/" if comment == "//" else r"(?<![\w$&])#(?![\[{])[^\n]*"

    def blank(found: re.Match[str]) -> str:
        said = found[0]
        return said if said[0] in "\"'`" else "\n" * said.count("\n")

    return rx(f"{STRING}|{comments}").sub(blank, text)


def without_strings(text: str) -> str:
    return rx(STRING).sub('""', text)


def values(text: str) -> set[str]:
    """The strings and numbers that are written in it."""
    return {f'"{found[0][1:-1]}"' for found in rx(STRING).finditer(text)} | set(
        rx(NUMBER).findall(without_strings(text))
    )


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def nesting(
    text: str, start: int = 0, also: str = "", brackets: str = r"(){}\[\]"
) -> Iterator[tuple[re.Match[str], int]]:
    """Brackets outside of strings, and what the pattern `also` finds there, each with the depth behind it."""
    depth = 0
    for found in rx(f"{STRING}|[{brackets}]" + (f"|{also}" if also else "")).finditer(text, start):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        yield found, depth


def balanced(text: str, position: int) -> int:
    """The end of the bracket or template that opens at or after a position."""
    if text[position : position + 1] == "`":
        string = rx(STRING).match(text, position)
        return string.end() if string is not None else len(text)
    closing = (found.end() for found, depth in nesting(text, position) if depth <= 0 and found[0] in ")]}")
    return next(closing, len(text))


def statement_end(text: str, position: int) -> int:
    for found, depth in nesting(text, position, also=r"[;\n]"):
        if depth < 0 or (depth == 0 and (found[0] == ";" or _line_ends(found, text))):
            return found.start()
    return len(text)


def _line_ends(found: re.Match[str], text: str) -> bool:
    """A line break that is not followed by the rest of a chain."""
    return found[0] == "\n" and not re.match(r"\s*[.?:&|]", text[found.end() : found.end() + 200])
