"""Placeholders in commands: whatever the value is, it arrives as one argument and the shell never reads it as code.

A value is filled in within single quotes, and only where quotes are literal: between words or as a part of one. A
placeholder inside other quotes, a comment, a here-document, arithmetic or anything else that a shell reads twice is
rejected when the file is loaded. The same line then works both ways, split into arguments or given to a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Mapping

from bough.core.workflow.conditions import StepResult
from bough.core.workflow.placeholders import LIVE, Input, Part, Parts, ResultPlace, merge_texts, render_place

_ENDS = frozenset(";&|()\n")
"""Characters after which another command begins."""
_OPERATORS = frozenset("|&;<>()$`*?[]{}\n")
"""Characters that only a shell understands, where they are not quoted."""
_STARTERS = frozenset(
    (
        *("if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "for", "case", "select", "coproc"),
        *("exec", "env", "sudo", "nohup", "nice", "command", "builtin", "xargs"),
    )
)
"""Words that are followed by a command, or nearly so."""
_READERS = frozenset(
    "eval let declare typeset local source . trap alias unset read mapfile ssh su watch".split()  # noqa: SIM905
)
"""Programs and built-ins that may read their arguments as code."""
_NAMERS = frozenset(("printf", "test", "["))
"""Built-ins whose `-v` takes a variable's name, and a name may contain code."""
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SAFE = re.compile(r"[A-Za-z0-9_@%+,./-]+")
_BUILT_IN = frozenset(("cd", "exit", "export", "set", "ulimit", "umask", "wait", ":")) | _READERS | _STARTERS


class _Reader:
    """Reads a command line like a shell, as far as needed to say whether a value is safe here."""

    def __init__(self) -> None:
        self.operators = False
        """Something was seen that needs a shell."""
        self._quote = ""
        self._lost = ""
        """What was seen that makes everything after it too hard to parse."""
        self._last = ""
        self._word = ""
        self._program = ""
        self._option = ""
        """The previous word of the current command."""

    @property
    def quoted(self) -> bool:
        return bool(self._quote)

    def read(self, text: str) -> None:
        for letter in text:
            self._read_letter(letter)

    def _read_letter(self, letter: str) -> None:
        last, self._last = self._last, letter
        if self._quote == "#":
            self._quote = "" if letter == "\n" else "#"
        elif last == "\\" and self._quote != "'":
            self._last = ""  # an escaped character, which escapes nothing itself
            if letter == "\n":
                self.operators = True
            else:
                self._word += letter
        elif self._quote:
            self._read_quoted(letter, last)
        elif letter in "'\"":
            if last == "$":
                self._lost = "$ quotes"
            self._quote = letter
            self._word += "'"
        else:
            self._read_plain(letter, last)

    def _read_quoted(self, letter: str, last: str) -> None:
        if letter == self._quote:
            self._quote = ""
        elif self._quote == '"' and (letter == "`" or (last == "$" and letter in "({")):
            self._lost = "a substitution in quotes"
        if letter in "$`" and self._quote == '"':
            self.operators = True

    def _read_plain(self, letter: str, last: str) -> None:
        if letter == "#" and not self._word:
            self._quote, self.operators = "#", True
        elif letter == "`":
            self._lost = "backticks"
        elif last == "$" and letter in "{[":
            self._lost = f"a `${letter}`"
        elif last == "$" and letter == "(" and self._is_reread():
            self._lost = "a substitution that is itself a command"
        elif last == letter and letter in "([<":
            self._lost = {"(": "arithmetic", "[": "`[[ … ]]`", "<": "a here-document"}[letter]
        self.operators = self.operators or letter in _OPERATORS or (letter == "~" and not self._word)
        if letter in _ENDS:
            self._end_word()
            self._program = self._option = ""
        elif letter in " \t<>":
            self._end_word()
        elif letter != "\\":
            self._word += letter

    def _is_reread(self) -> bool:
        """Whether the output of a substitution here is run or read as code."""
        if self._program:
            return self._program in _READERS | _SHELLS
        return not _ASSIGNMENT.match(self._word)

    def _end_word(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        if self._program:
            self._option = word
        elif word not in _STARTERS and word[0] != "$" and not _ASSIGNMENT.match(word):
            self._program = word.rpartition("/")[2]

    def refusal(self) -> str:
        """Why no value is allowed here; empty if one is."""
        if self._quote == "#":
            return "it is in a comment"
        if self._quote:
            return "it is inside quotes: remove them, a value is always one argument"
        if self._lost:
            return f"it comes after {self._lost}, where a shell may read a value as code: move that into a script"
        if self._last in ("\\", "$") or "[" in self._word:
            return f"it comes right after `{'[' if '[' in self._word else self._last}`"
        if not self._program and not _ASSIGNMENT.match(self._word):
            return "it would be the program itself: name the program and pass the value to it"
        read_as_code = (
            self._program in _READERS
            or (self._program in _SHELLS and self._option.endswith("c"))
            or (self._program in _NAMERS and self._option == "-v")
        )
        if read_as_code:
            return f"`{self._program}` would read it as code"
        return ""

    def value(self) -> None:
        """A value was filled in."""
        self._word += "'"
        self._last = "'"


def find_refusals(pieces: Parts) -> list[tuple[Input | ResultPlace, str]]:
    """The placeholders of a command where no value is allowed, each with the reason."""
    reader = _Reader()
    found: list[tuple[Input | ResultPlace, str]] = []
    for piece in pieces:
        if isinstance(piece, str):
            reader.read(piece)
            continue
        if reason := reader.refusal():
            found.append((piece, reason))
        reader.value()
    return found


def load_command(pieces: Parts, values: Mapping[str, Parts]) -> str:
    """The command of a loaded step: inputs are filled in, results are left for `fill_command`."""
    reader = _Reader()
    line: list[str] = []

    def add(text: str) -> None:
        line.append(text)
        reader.read(text)

    for piece in pieces:
        if isinstance(piece, str):
            _add_literal(piece, reader, line)
            continue
        for part in values.get(piece.name, (piece,)) if isinstance(piece, Input) else (piece,):
            add(_quote_value(part, line[-1][-1:] if line else "") if isinstance(part, str) else render_place(part))
    return "".join(line)


def _add_literal(text: str, reader: _Reader, line: list[str]) -> None:
    """Text of the command itself. Quotes keep what only looks like a placeholder from becoming one."""
    at = 0
    for match in re.finditer(LIVE, text):
        before = text[at : match.start()]
        reader.read(before)
        brace = "{" if reader.quoted or match[1] is None else "'{'"
        line += [before, brace]
        reader.read(brace)
        at = match.start() + 1
    line.append(text[at:])
    reader.read(text[at:])


def _quote_value(value: str, before: str) -> str:
    """The value as a shell word, or part of one. Never bare after a brace: it could look like a placeholder."""
    if _SAFE.fullmatch(value) and before != "{":
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"


def fill_command(command: str, inputs: Mapping[str, str], results: Mapping[str, StepResult]) -> list[str] | str:
    """A loaded step's command with all known values filled in, each as one argument: the arguments if no shell is
    needed, otherwise the line for one. For `results` see `fill_places`."""
    pieces = split_command(command, inputs, results)
    reader = _Reader()
    line = ""
    for piece in pieces:
        if isinstance(piece, str):
            reader.read(piece)
            line += piece
        else:
            value = inputs[piece.name] if isinstance(piece, Input) else results[piece.step].text
            line += _quote_value(value.replace("\0", "\ufffd"), "")  # no argument can contain a NUL character
            reader.value()
    return line if reader.operators or reader.quoted else _split_argv(line)


def split_command(command: str, inputs: Container[str], results: Container[str]) -> Parts:
    """A loaded command, split into parts: known placeholders, where a value is allowed, and text."""
    reader = _Reader()
    pieces: list[Part] = []
    at = 0
    for match in re.finditer(LIVE, command):
        reader.read(command[at : match.start()])
        pieces.append(command[at : match.start()])
        at = match.end()
        known = match[1] in results if match[1] is not None else match[2] in inputs
        if known and not reader.refusal():
            pieces.append(Input(match[2]) if match[1] is None else ResultPlace(match[1]))
            reader.value()
        else:
            pieces.append(match[0])
            reader.read(match[0])
    return tuple(merge_texts([*pieces, command[at:]]))


def _split_argv(line: str) -> list[str] | str:
    try:
        words = shlex.split(line)
    except ValueError:  # a backslash at the end: the shell explains it best
        return line
    return line if not words or words[0] in _BUILT_IN or _ASSIGNMENT.match(words[0]) else words
