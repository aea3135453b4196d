"""Parses Python, for everybody who does. One at a time, because CPython 3.11 counts how deep it is in one place for all
threads: when a thread is interrupted halfway, another one's text fails with an internal error."""

from __future__ import annotations

import ast
from threading import Lock

_PARSING = Lock()


def parse_python(text: str) -> ast.Module | None:
    """The syntax tree; None where the text is not Python, or nested too deeply to tell."""
    with _PARSING:
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
