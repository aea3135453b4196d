"""What is wrong with a workflow file: every problem at once, each with its place and a fix.

The standard library's parser says what a TOML text means but not where. `Places` says where and nothing else: it is
used on texts that the standard parser has accepted, and only to report a problem.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.textual.spelling import shorten_line, suggest_word
from bough.core.textual.toml_source import parse_toml

KeyPath = tuple[str | int, ...]
"""The path to a value: keys, and numbers for the elements of arrays. `("steps", 0, "needs", 1)`."""

_TOKEN = re.compile(
    r"""
    \"""(?:[^"\\]|\\.|"(?!""))*"{3,5} | '''(?:[^']|'(?!''))*'{3,5} | "(?:[^"\\\n]|\\.)*" | '[^'\n]*'
    | \#[^\n]* | [ \t\r]+ | [\[\]{},=.\n] | [^\[\]{},=.\s\#"']+ | .
    """,
    re.DOTALL | re.VERBOSE,
)


class Places:
    """The offset at which each key, table and element of a text begins."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.offsets: dict[KeyPath, int] = {(): 0}
        self._lengths: dict[KeyPath, int] = {}
        """How many elements each array that is written as tables has so far."""
        tokens = [(match.start(), match[0]) for match in _TOKEN.finditer(text) if match[0][0] not in "# \t\r"]
        self._ahead = [(len(text), ""), *reversed(tokens)]
        """What is still to be read; the next token is the last of the list."""
        table: KeyPath = ()
        while not self._reaches(""):
            table = self._read_header() if self._next() == "[" else self._read_pair(table)

    def line(self, path: KeyPath, needle: str = "") -> int:
        """Return the line, from 1, of the value at a path or, if there is none, around it; with a needle, of its first
        occurrence from there on."""
        while path not in self.offsets:
            path = path[:-1]
        offset = self.offsets[path]
        if needle:
            offset = max(offset, self._text.find(needle, offset))
        return self._text.count("\n", 0, offset) + 1

    def _next(self) -> str:
        return self._ahead[-1][1]

    def _take(self) -> str:
        return self._ahead.pop()[1] if self._next() else ""

    def _takes(self, mark: str) -> bool:
        """Whether the next token is this one; then it is read."""
        return self._next() == mark and bool(self._take())

    def _reaches(self, end: str) -> bool:
        """Whether the next token, on this line or another, is the end of what is being read; then it is read."""
        while self._takes("\n"):
            pass
        return not self._next() or self._takes(end)

    def _read_header(self) -> KeyPath:
        begin = self._ahead[-1][0]
        self._take()
        several = self._takes("[")
        *above, last = self._read_keys()
        self._takes("]")
        self._takes("]")
        path: KeyPath = ()
        for key in above:
            path = (*path, key)
            self.offsets.setdefault(path, begin)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        path = (*path, last)
        self.offsets.setdefault(path, begin)
        if several:
            number = self._lengths.get(path, 0)
            self._lengths[path] = number + 1
            path = (*path, number)
            self.offsets[path] = begin
        return path

    def _read_pair(self, table: KeyPath) -> KeyPath:
        """Read a key with its value, and return the table that they are in."""
        path, begin = table, self._ahead[-1][0]
        for key in self._read_keys():
            path = (*path, key)
            self.offsets.setdefault(path, begin)
        self._takes("=")
        self._read_value(path)
        return table

    def _read_keys(self) -> list[str]:
        keys: list[str] = []
        while not keys or self._takes("."):
            raw = self._take()
            quoted = raw[:1] in ("'", '"')
            keys.append(next(iter(tomllib.loads(f"{raw} = 0"))) if quoted else raw)
        return keys

    def _read_value(self, path: KeyPath) -> None:
        if self._takes("["):
            number = 0
            while not self._reaches("]"):
                self.offsets[(*path, number)] = self._ahead[-1][0]
                self._read_value((*path, number))
                number += 1
                self._reaches(",")
        elif self._takes("{"):
            while not self._reaches("}"):
                self._read_pair(path)
                self._reaches(",")
        else:
            while self._next() not in (",", "]", "}", "\n", ""):
                self._take()


LONGEST_LIST = 12
"""Words that a message lists at most if none is close."""


class Problem(Struct, frozen=True):
    """One thing to fix. `text` is a sentence; `line` counts from 1."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class WorkflowError(UsageError):
    """A workflow that cannot run as written. It has at least one problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = tuple(problems)


Problems = dict[Problem, None]
"""All problems in the order they are found, each once: a file that is used twice is reported once."""


class Source:
    """One workflow file: its text, its TOML value, and where things are in it."""

    def __init__(self, file: str, text: str, problems: Problems) -> None:
        self.file = file
        self.table: dict[str, Any] = {}
        self._text = text.removeprefix("\ufeff")
        self._problems = problems
        self._places: Places | None = None
        try:
            self.table = parse_toml(self._text)
        except RecursionError:
            self._add(_find_crowded_line(self._text, r"[\[{]"), "Values are nested too deeply.")
        except ValueError as error:  # TOMLDecodeError is one; so is a number with thousands of digits
            self._add(*_explain_refusal(self._text, str(error)))

    def wrong(self, at: KeyPath, text: str, needle: str = "") -> None:
        """Record a problem with the value of a key; `needle` is the part of the value it is about."""
        if self._places is None:
            self._places = Places(self._text)
        self._add(self._places.line(at, needle), text)

    def _add(self, line: int, text: str) -> None:
        self._problems[Problem(self.file, line, " ".join(text.split()))] = None


def _explain_refusal(text: str, said: str) -> tuple[int, str]:
    """The line and the message for an error of the TOML parser."""
    message, _, place = said.partition(" (at ")
    message = f"This is not valid TOML: {message[:1].lower()}{message[1:]}"
    if found := re.match(r"line (\d+), column (\d+)\)", place):
        return int(found[1]), f"{message} (column {found[2]})."
    if place:
        return text.rstrip("\n").count("\n") + 1, f"{message}, at the end of the file."
    return _find_crowded_line(text, r"\d"), "This is not valid TOML: a number has too many digits."


def _find_crowded_line(text: str, pattern: str) -> int:
    """The line with the most matches: the likeliest one, if the parser names none."""
    counts = [len(re.findall(pattern, line)) for line in text.split("\n")]
    return counts.index(max(counts)) + 1


def raise_for(problems: Problems, first: str) -> None:
    """Raise all problems as one error, if any: those of the file itself first, by line."""
    if problems:
        raise WorkflowError(sorted(problems, key=lambda problem: (problem.file != first, problem.file, problem.line)))


def suggest_nearest(word: str, words: Iterable[str]) -> str:
    """The end of a sentence: the word that was probably meant, or the known ones."""
    known = list(words)
    if close := suggest_word(word, known):
        return f"did you mean `{shorten_line(close)}`?"
    if not known:
        return "none exist."
    listed = ", ".join(f"`{shorten_line(name)}`" for name in known[:LONGEST_LIST])
    more = ", …" if len(known) > LONGEST_LIST else ""
    return f"use {'one of ' if len(known) > 1 else ''}{listed}{more}."


def decode_text(body: bytes, file: str) -> str:
    """The text of a file's bytes."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise WorkflowError([Problem(file, line, "This is not UTF-8 text: save the file as UTF-8.")]) from None
