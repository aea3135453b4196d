"""Placeholders in commands: a value reaches a command as one argument, and no shell ever reads it as code.

A `run` command gets its values as environment variables: `{name}` becomes `"$INPUT_name"`. A check must stay readable
for the code that recognises its test runner, so its inputs are filled in with quotes. Both ways work only for a whole
word or a part of one: a placeholder inside quotes, a comment, a here-document, arithmetic or anything else that a shell
evaluates twice is rejected when the file is loaded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Mapping

from msgspec.structs import replace

from bough.core.planning.plan import Step
from bough.core.workflow.placeholders import (
    Input,
    Part,
    Parts,
    ResultPlace,
    fill_places,
    protect_text,
    render_loaded,
    render_place,
    split_loaded,
)

_SKIPPED = re.compile(r"""\\.|\$?'[^']*'|\$?"(?:\\.|[^"\\])*"|(?<![^\s;&|()])#[^\n]*""", re.DOTALL)
"""Pattern for text that a shell takes literally: escaped characters, quoted text, comments."""
_READ_TWICE = {
    "`": "backticks, $ quotes or a substitution in quotes",
    "${": "a `${`",
    "$[": "a `$[`",
    "((": "arithmetic",
    "[[": "`[[ … ]]`",
    "<<": "a here-document",
}
"""Beginnings of text that a shell may evaluate a second time, and how messages name them."""
_ENDS = re.compile(r"[;&|()\n]")
"""Characters after which another command begins."""
_STARTERS = frozenset(
    (
        *("if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "for", "case", "select", "coproc"),
        *("exec", "env", "sudo", "nohup", "nice", "command", "builtin", "xargs"),
    )
)
"""Words that may stand before a command."""
_READERS = frozenset(
    "eval let declare typeset local source . trap alias unset read mapfile ssh su watch".split()  # noqa: SIM905
)
"""Programs and built-ins that may read their arguments as code."""
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def explain_refusal(before: str) -> str:
    """Explain why no value is allowed right after this part of a command; empty if one is allowed."""
    plain = _SKIPPED.sub(_render_skipped, before)
    if plain.endswith("\0"):
        return "it is in a comment"
    if "'" in plain or '"' in plain:
        return "it is inside quotes: remove them, a value is always one argument"
    if twice := next((name for mark, name in _READ_TWICE.items() if mark in plain), ""):
        return f"it comes after {twice}, where a shell may read a value as code: move that into a script"
    if found := re.search(r"[\\$]\Z|\[(?=\S*\Z)", plain):
        return f"it comes right after `{found[0]}`"
    inner = plain.rfind("$(")
    if inner >= 0 and (explain_refusal(plain[:inner]) or _SHELLS & set(_ENDS.split(plain[:inner])[-1].split())):
        return "it is in a substitution that is itself a command, or read as code"
    return _explain_program(_ENDS.split(plain)[-1])


def _render_skipped(match: re.Match[str]) -> str:
    """Return a short stand-in for text that a shell takes literally: it marks an open comment or a substitution."""
    text = match[0]
    if text[0] == "#":
        return "\0" if match.end() == len(match.string) else ""
    if text[0] == "\\":
        return text[1].strip("\n") and (text[1] if text[1].isalnum() else "q")
    return "`" if text[0] == "$" or (text[0] == '"' and re.search(r"`|\$[({]", text)) else "q"


def _explain_program(command: str) -> str:
    """Explain why no value may be the next word of a simple command; empty if one may."""
    words = re.split(r"[\s<>]+", command.lstrip())
    while words[:-1] and (words[0] in _STARTERS or words[0][:1] == "$" or _ASSIGNMENT.match(words[0])):
        del words[0]
    if len(words) == 1:
        if _ASSIGNMENT.match(words[0]):
            return ""
        return "it would be the program itself: name the program and pass the value to it"
    program, previous = words[0].rpartition("/")[2], words[-2]
    reads_option = program in _SHELLS and previous.endswith("c")
    reads_name = program in ("printf", "test", "[") and previous == "-v"  # A name can hold code.
    if program in _READERS or reads_option or reads_name:
        return f"`{program}` would read it as code"
    return ""


def find_refusals(pieces: Parts) -> list[tuple[Input | ResultPlace, str]]:
    """Return the placeholders of a command where no value is allowed, each with the reason."""
    found: list[tuple[Input | ResultPlace, str]] = []
    before = ""
    for piece in pieces:
        if not isinstance(piece, str) and (reason := explain_refusal(before)):
            found.append((piece, reason))
        before += piece if isinstance(piece, str) else "q"
    return found


def load_check(pieces: Parts, values: Mapping[str, Parts]) -> str:
    """Return a check with its inputs filled in, each quoted; an input without a value stays as written."""

    def fill(piece: Part) -> str:
        if isinstance(piece, str):
            return piece
        found = values.get(piece.name, (piece,)) if isinstance(piece, Input) else (piece,)
        return "".join(shlex.quote(part) if isinstance(part, str) else render_place(part) for part in found)

    return "".join(map(fill, pieces))


def load_command(pieces: Parts, values: Mapping[str, Parts], env: dict[str, str]) -> str:
    """Return the command of a loaded step, and put its inputs into `env`; `fill_command` fills in results later."""
    line = ""
    for piece in pieces:
        if isinstance(piece, str):
            line += protect_text(piece)
        elif isinstance(piece, ResultPlace) or values.get(piece.name, (piece,)) == (piece,):
            line += render_place(piece)
        else:
            line += _add_variable(env, f"INPUT_{piece.name}", render_loaded(values[piece.name]))
    return line


def fill_step(step: Step, results: Mapping[str, str]) -> Step:
    """Return a loaded step with the known results filled into its texts. `results`: see `fill_places`."""
    env = {name: fill_places(text, results).replace("\0", "\ufffd") for name, text in step.env.items()}
    return replace(
        step,
        instructions=fill_places(step.instructions, results),
        criteria=tuple(fill_places(text, results) for text in step.criteria),
        run=fill_command(step.run, results, env),
        env=env,
    )


def fill_command(command: str, results: Mapping[str, str], env: dict[str, str]) -> str:
    """Put the known results into `env`, and return a loaded step's command that reads them from there."""
    return "".join(
        piece if isinstance(piece, str) else _add_variable(env, f"RESULT_{piece.step}", results[piece.step])
        for piece in split_command(command, results)
    )


def _add_variable(env: dict[str, str], name: str, value: str) -> str:
    """Put a value into the environment, and return the shell word that reads it, such as `"$INPUT_name"`."""
    name = re.sub(r"\W", "_", name)
    value = value.replace("\0", "\ufffd")  # Not allowed in an environment.
    while env.setdefault(name, value) != value:
        name += "_"
    return f'"${name}"'


def split_command(command: str, results: Container[str]) -> list[str | ResultPlace]:
    """Split a loaded command into text and placeholders of known results; others, and misplaced ones, stay text."""
    pieces: list[str | ResultPlace] = []
    before = ""
    for piece in split_loaded(command, results):
        if isinstance(piece, ResultPlace) and explain_refusal(before):
            piece = render_place(piece)
        before += piece if isinstance(piece, str) else "q"
        pieces.append(piece)
    return pieces
