"""Helpers for messages: find the most similar known word, and quote a text in one line."""

from __future__ import annotations

from collections.abc import Iterable


def find_similar(text: str, texts: Iterable[str], most: int = 3, likeness: float = 0.5) -> list[str]:
    """Find the texts most similar to `text`, the best match first."""
    import difflib  # only for a message; the rest of this module is always loaded

    return difflib.get_close_matches(text, list(texts), most, likeness)


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word; None if none is similar. Long words, from a model or a file, are cut."""
    return next(iter(find_similar(word[:80], known, 1)), None)


def shorten_line(text: str, room: int = 40) -> str:
    """Return the text as one line of at most `room` characters, to quote in a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[: room - 1] + "…"
