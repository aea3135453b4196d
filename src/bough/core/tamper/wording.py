"""Words, in tables and in findings."""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """A set of words, written as a text."""
    return frozenset(words.split())


def short(text: str, most: int = 90) -> str:
    """On one line, and not longer than it may be."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
