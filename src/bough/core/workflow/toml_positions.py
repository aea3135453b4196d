"""Where the keys and values of a TOML text are.

The standard library's parser says what a text means but not where. This one says where and nothing else: it is used on
texts that the standard parser has accepted, and only to report a problem.
"""

from __future__ import annotations

import re
import tomllib

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
