"""One answer that keeps saying the same thing."""

from __future__ import annotations

import re

PIECE = 50
"""Characters that are repeated."""
APART = 500
"""The longest repeated text."""
TAIL = 8_000
"""Characters at the end of an answer that are examined."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STRUCTURE = re.compile(r"(?m)^[ \t]*(?:[#>|]|[-*+] |\d+[.)] |```).*$")


def count_repetitions(text: str) -> int:
    """How often the end of the text was said before, closely enough to be a loop.

    Code, tables, lists and headings repeat themselves in good answers: only plain prose after the last of them counts.
    """
    prose = _STRUCTURE.split(_FENCED.sub("\n```\n", text[-TAIL:]))[-1].strip()
    piece = prose[-PIECE:]
    if len(piece) < PIECE or sum(map(str.isalpha, piece)) < PIECE // 4:
        return 0
    count, at = 1, len(prose) - PIECE
    # Backwards from the end, because a loop in an answer lasts until it is cut off.
    while (before := prose.rfind(piece, 0, at + PIECE - 1)) >= 0 and at - before <= APART:
        count, at = count + 1, before
    return count
