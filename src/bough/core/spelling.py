"""The word that somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def find_similar(text: str, texts: Iterable[str], most: int = 3, likeness: float = 0.5) -> list[str]:
    """Those of the texts that are most like one, the likest first."""
    return difflib.get_close_matches(text, list(texts), most, likeness)


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """None when it is like none of them. A model's or a file's word may be of any length; names are short."""
    return next(iter(find_similar(word[:80], known, 1)), None)
