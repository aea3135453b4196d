"""A shell line, taken apart just far enough to see which programs it runs and to add arguments in the right place.

This is no shell: what it does not follow (substitutions, here-documents, unbalanced quotes) makes the whole line
opaque, and then nothing is recognised in it and nothing is added to it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ENDS = frozenset("&|;()\n")
"""Characters that end a simple command."""
_REDIRECTS = frozenset("<>")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class Word(NamedTuple):
    text: str
    """Without its quotes."""
    start: int
    end: int
    """Its place in the line."""


Part = tuple[Word, ...]
"""One simple command of a line, without its redirections and without the variables set before it."""


def parts(line: str) -> tuple[Part, ...]:
    """The simple commands of a line, in order; none when the line is opaque."""
    found: list[Part] = []
    words: list[Word] = []
    at, skip = 0, False
    while at < len(line):
        char = line[at]
        if char in _ENDS:
            found.append(_bare(words))
            words, skip, at = [], False, at + 1
        elif char in " \t":
            at += 1
        elif char == "#":
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
        elif char in _REDIRECTS:
            if line.startswith("<<", at):
                return ()
            # `2>&1` and `>file`: neither the descriptor before it nor the file after it is a word of the command.
            if words and words[-1].end == at and words[-1].text.isdigit():
                words.pop()
            at, skip = _past_redirect(line, at), True
        else:
            word = _word(line, at)
            if word is None:
                return ()
            if not skip:
                words.append(word)
            at, skip = word.end, False
    found.append(_bare(words))
    return tuple(part for part in found if part)


def _past_redirect(line: str, at: int) -> int:
    while at < len(line) and line[at] in "<>&|":
        at += 1
    return at


def _bare(words: list[Word]) -> Part:
    first = 0
    while first < len(words) and _ASSIGNMENT.match(words[first].text):
        first += 1
    return tuple(words[first:])


def _word(line: str, start: int) -> Word | None:
    """The word that begins at `start`; None when it holds something that is not followed here."""
    text: list[str] = []
    at = start
    while at < len(line):
        char = line[at]
        if char in _ENDS or char in _REDIRECTS or char in " \t":
            break
        if char == "`" or line.startswith("$(", at):
            return None
        if char in "'\"":
            inner = _quoted(line, at)
            if inner is None:
                return None
            text.append(inner[0])
            at = inner[1]
        else:
            at += char == "\\"
            text.append(line[at : at + 1])
            at += 1
    return Word("".join(text), start, min(at, len(line)))


def _quoted(line: str, start: int) -> tuple[str, int] | None:
    """The text inside the quotes that open at `start`, and where the line goes on behind them."""
    quote = line[start]
    text: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        if char == quote:
            return "".join(text), at + 1
        if quote == '"' and (char == "`" or line.startswith("$(", at)):
            return None
        if quote == '"' and char == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            at += 1
            char = line[at]
        text.append(char)
        at += 1
    return None


def insert(line: str, at: int, arguments: str) -> str:
    """The line with `arguments` (already quoted) put in behind the word that ends at `at`."""
    return f"{line[:at]} {arguments}{line[at:]}"
