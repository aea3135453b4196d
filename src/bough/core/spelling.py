"""The word that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def find_similar(text: str, texts: Iterable[str], most: int = 3, likeness: float = 0.5) -> list[str]:
    """The texts most similar to `text`, best match first."""
    import difflib

    return difflib.get_close_matches(text, list(texts), most, likeness)


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """None if no known word is similar. A word from a model or a file may have any length; names are short."""
    return next(iter(find_similar(word[:80], known, 1)), None)
