"""Helpers for messages: find the most similar known word, quote a text in one line, and say what is wrong with a value
that was decoded."""

import re
from collections.abc import Iterable

import msgspec


def find_similar(text: str, texts: Iterable[str], most: int = 3, likeness: float = 0.5) -> list[str]:
    """Find the texts most similar to `text`, the best match first."""
    import difflib  # Loaded only for a message; the rest of this module is always loaded.

    return difflib.get_close_matches(text, list(texts), most, likeness)


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word; None if none is similar. Long words, from a model or a file, are cut."""
    return next(iter(find_similar(word[:80], known, 1)), None)


def shorten_line(text: str, room: int = 40) -> str:
    """Return the text as one line of at most `room` characters, to quote in a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[: room - 1] + "…"


UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""Errors raised for input that is malformed, not text, or nested too deeply."""
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a table",
}
"""Names of types for people."""


def describe_misfit(error: msgspec.ValidationError) -> str:
    """Say what is wrong with a value: `expected a whole number, got text`."""

    def name(found: re.Match[str]) -> str:
        return " or ".join(WORDS.get(one, one) for one in found[1].split(" | "))

    said = re.sub(r"`([a-z |]+)`", name, str(error))
    return f"{said[:1].lower()}{said[1:]}"
