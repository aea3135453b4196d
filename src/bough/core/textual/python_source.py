"""The one Python parser. It parses one text at a time: CPython 3.11 counts its depth in one place for all threads, so
an interrupted thread makes another one's text fail with an internal error."""

import ast
from threading import Lock

_PARSING = Lock()


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree; None if the text is not Python, or nested too deeply."""
    with _PARSING:
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
