"""The problems of a workflow file: all are reported at once, each with its line and a way to fix it.

The standard library's TOML parser does not tell on which line a value is. To find the line of a problem, a text that
the parser accepts is cut into statements, which are parsed one by one."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
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


def find_offsets(text: str) -> dict[KeyPath, int]:
    """Find the offset of the line on which each key, table and element of an array begins."""
    offsets: dict[KeyPath, int] = {(): 0}
    numbers: dict[KeyPath, int] = {}
    """The number of the last element of each array of tables."""
    table: KeyPath = ()
    begin = depth = 0
    for token in _TOKEN.finditer(f"{text}\n"):
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        if token[0] != "\n" or depth:
            continue
        statement: Any = tomllib.loads(text[begin : token.end()])
        if text[begin:].lstrip(" \t").startswith("["):
            table = ()
            while statement:
                ((key, statement),) = statement.items()
                table = (*table, key)
                offsets.setdefault(table, begin)
                if isinstance(statement, list):
                    numbers[table], statement = numbers.get(table, -1) + 1, {}
                if table in numbers:
                    table = (*table, numbers[table])
                    offsets.setdefault(table, begin)
        for path in _list_paths(statement, table):
            offsets.setdefault(path, begin)
        begin = token.end()
    return offsets


def _list_paths(value: Any, at: KeyPath) -> Iterator[KeyPath]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*at, key)
        yield from _list_paths(inner, (*at, key))


LONGEST_LIST = 12
"""The maximum number of words that a message lists if none is similar."""


class Problem(Struct, frozen=True):
    """One thing to fix. `text` is a sentence; `line` counts from 1."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class WorkflowError(UsageError):
    """Raised for a workflow that cannot run as written, with its problems (at least one)."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = tuple(problems)


Problems = dict[Problem, None]
"""All problems in the order in which they are found, each only once, even if its file is included twice."""


class Source:
    """One workflow file: its text, its TOML value, and the lines of its keys."""

    def __init__(self, file: str, text: str, problems: Problems) -> None:
        self.file = file
        self.table: dict[str, Any] = {}
        self._text = text.removeprefix("\ufeff")
        self._problems = problems
        self._offsets: dict[KeyPath, int] = {}
        try:
            self.table = parse_toml(self._text)
        except RecursionError:
            self._add(1, "Values are nested too deeply.")
        except ValueError as error:  # A TOMLDecodeError, or a number with thousands of digits.
            self._add(*_explain_refusal(self._text, str(error)))

    def wrong(self, at: KeyPath, text: str, needle: str = "") -> None:
        """Record a problem with the value at a key path. `needle`: the part of the value that the problem is about."""
        self._offsets = self._offsets or find_offsets(self._text)
        if not needle and at in self._offsets and isinstance(key := (at or (0,))[-1], str):
            needle = key  # The statement may take several lines: find the key's own line.
        while at not in self._offsets:
            at = at[:-1]
        offset = self._offsets[at]
        offset = max(offset, self._text.find(needle, offset)) if needle else offset
        self._add(self._text.count("\n", 0, offset) + 1, text)

    def _add(self, line: int, text: str) -> None:
        self._problems[Problem(self.file, line, " ".join(text.split()))] = None


def _explain_refusal(text: str, said: str) -> tuple[int, str]:
    message, _, place = said.partition(" (at ")
    message = f"This is not valid TOML: {message[:1].lower()}{message[1:]}"
    if found := re.match(r"line (\d+), column (\d+)\)", place):
        return int(found[1]), f"{message} (column {found[2]})."
    if place:
        return text.rstrip("\n").count("\n") + 1, f"{message}, at the end of the file."
    return 1, "This is not valid TOML: a number has too many digits."


def raise_for(problems: Problems, first: str) -> None:
    """Raise all problems, if there are any, as one error: those of the file `first` come first, by line."""
    if problems:
        raise WorkflowError(sorted(problems, key=lambda problem: (problem.file != first, problem.file, problem.line)))


def suggest_nearest(word: str, words: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the most similar known word, or lists the known words."""
    known = list(words)
    if close := suggest_word(word, known):
        return f"did you mean `{shorten_line(close)}`?"
    if not known:
        return "none exist."
    listed = ", ".join(f"`{shorten_line(name)}`" for name in known[:LONGEST_LIST])
    more = ", …" if len(known) > LONGEST_LIST else ""
    return f"use {'one of ' if len(known) > 1 else ''}{listed}{more}."


def decode_text(body: bytes, file: str) -> str:
    """Decode a workflow file's bytes as UTF-8, or raise an error that names the line."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise WorkflowError([Problem(file, line, "This is not UTF-8 text: save the file as UTF-8.")]) from None
