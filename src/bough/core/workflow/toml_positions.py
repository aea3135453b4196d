"""Where the keys and values of a TOML text are.

The standard library's parser says what a text means but not where. This one says where and nothing else: it is used on
texts that the standard parser has accepted, and only to report a problem.
"""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]
"""The path to a value: keys, and numbers for the elements of arrays. `("steps", 0, "needs", 1)`."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_LONG = {
    '"""': re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
}
_SHORT = {'"': re.compile(r'"(?:[^"\\\n]|\\.)*"'), "'": re.compile(r"'[^'\n]*'")}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([btnfr"\\]))')
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


class Places:
    """The offset at which each key, table and element of a text begins."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.offsets: dict[KeyPath, int] = {(): 0}
        self._lengths: dict[KeyPath, int] = {}
        """Of the arrays written as tables."""
        self._read_document()

    def line(self, path: KeyPath, needle: str = "") -> int:
        """The line, from 1, of the value at a path or, if there is none, around it; with a needle, of its first
        occurrence from there on."""
        while path not in self.offsets:
            path = path[:-1]
        offset = self.offsets[path]
        if needle:
            offset = max(offset, self._text.find(needle, offset))
        return self._text.count("\n", 0, offset) + 1

    def _read_document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            if self._text.startswith("[", self._at):
                table = self._read_header()
            else:
                self._read_pair(table)

    def _read_header(self) -> KeyPath:
        begin = self._at
        several = self._text.startswith("[[", begin)
        self._at += 2 if several else 1
        *above, last = self._read_keys()
        self._skip(_SPACE)
        self._at += 2 if several else 1
        path: KeyPath = ()
        for key in above:
            path = self._enter_table((*path, key), begin)
        path = (*path, last)
        if several:
            self.offsets.setdefault(path, begin)
            number = self._lengths.get(path, 0)
            self._lengths[path] = number + 1
            path = (*path, number)
        self.offsets.setdefault(path, begin)
        return path

    def _enter_table(self, path: KeyPath, begin: int) -> KeyPath:
        """The table at a path: for an array of tables, its newest."""
        self.offsets.setdefault(path, begin)
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _read_pair(self, table: KeyPath) -> None:
        begin = self._at
        path = table
        for key in self._read_keys():
            path = (*path, key)
            self.offsets.setdefault(path, begin)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._read_value(path)

    def _read_keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            keys.append(self._read_key())
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _read_key(self) -> str:
        quote = self._text[self._at : self._at + 1]
        if quote in _SHORT:
            raw = self._taken(_SHORT[quote])[1:-1]
            return _ESCAPE.sub(_unescape, raw) if quote == '"' else raw
        return self._taken(_BARE)

    def _read_value(self, path: KeyPath) -> None:
        start = self._text[self._at : self._at + 3]
        if start in _LONG:
            self._taken(_LONG[start])
        elif start[:1] in _SHORT:
            self._taken(_SHORT[start[:1]])
        elif start[:1] == "[":
            self._read_array(path)
        elif start[:1] == "{":
            self._read_inline(path)
        else:
            self._taken(_SCALAR)

    def _read_array(self, path: KeyPath) -> None:
        self._at += 1
        number = 0
        while True:
            self._skip(_BLANK)
            if self._read_close("]"):
                return
            self.offsets[(*path, number)] = self._at
            self._read_value((*path, number))
            number += 1
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _read_inline(self, path: KeyPath) -> None:
        self._at += 1
        while True:
            self._skip(_BLANK)
            if self._read_close("}"):
                return
            self._read_pair(path)
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _read_close(self, bracket: str) -> bool:
        if self._at < len(self._text) and not self._text.startswith(bracket, self._at):
            return False
        self._at += 1
        return True

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()

    def _taken(self, pattern: re.Pattern[str]) -> str:
        """The match; one character if there is none, so that every loop here ends."""
        found = pattern.match(self._text, self._at)
        end = max(found.end() if found else 0, self._at + 1)
        taken = self._text[self._at : end]
        self._at = end
        return taken


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _LETTERS[match[3]]
