"""Words in messages: the one that was probably meant, and a quotation in one line."""

from __future__ import annotations

from collections.abc import Iterable


def find_similar(text: str, texts: Iterable[str], most: int = 3, likeness: float = 0.5) -> list[str]:
    """The texts most similar to `text`, best match first."""
    import difflib  # only for a message, and the stuck detector, which is always loaded, needs the rest of this module

    return difflib.get_close_matches(text, list(texts), most, likeness)


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """None if no known word is similar. A word from a model or a file may have any length; names are short."""
    return next(iter(find_similar(word[:80], known, 1)), None)


def shorten_line(text: str, room: int = 40) -> str:
    """Return the text as one line of at most `room` characters, to quote in a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[: room - 1] + "…"
