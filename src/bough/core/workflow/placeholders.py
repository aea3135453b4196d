"""Placeholders in texts: `{name}` for an input, `{steps.NAME.result}` for another step's result, `{{` for a brace.

When a file is loaded, its texts are split into parts, and inputs are filled in. Results are filled in later: in a
loaded step's texts, `{steps.PATH.result}` with the path of the task is a placeholder, `{brace}` is a literal `{`, and
everything else is plain text. So a text that did not come from a file is taken literally, braces included.

A value reaches a command as one argument, and no shell ever reads it as code. A `run` command gets its values as
environment variables: `{name}` becomes `"$INPUT_name"`. A check must stay readable for the code that recognises its
test runner, so its inputs are filled in with quotes. Both ways work only for a whole word or a part of one: a
placeholder inside quotes, a comment, a here-document, arithmetic or anything else that a shell evaluates twice is
rejected when the file is loaded."""

import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bough.core.planning.plan import Step
from bough.core.textual.spelling import shorten_line

RESERVED = ("steps", "brace")
NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_RESULT = r"steps\.(/?[a-z0-9-]+(?:/[a-z0-9-]+)*)\.result"
_PIECES = r"\{\{|\}\}|\{[^{}\n]*\}|\{"
LIVE = r"\{(?:steps\.([a-z0-9/-]+)\.result|brace)\}"
"""Pattern for placeholders in a loaded text."""


class Input(Struct, frozen=True):
    """A placeholder for an input."""

    name: str


class ResultPlace(Struct, frozen=True):
    """A placeholder for a step's result. `step`: the name as written or, once resolved, the task's path."""

    step: str


Part = str | Input | ResultPlace
Parts = tuple[Part, ...]


class NotAPlace(Exception):
    """Raised if a text in braces is not a placeholder. `piece`: the text as written."""

    def __init__(self, said: str, piece: str) -> None:
        super().__init__(said)
        self.piece = piece


def split_places(text: str) -> Parts:
    """Split a file's text into plain texts and placeholders."""
    if "{" not in text and "}" not in text:
        return (text,)
    at, parts = 0, list[Part]()
    for match in re.finditer(_PIECES, text):
        piece = match[0]
        parts += [text[at : match.start()], piece[0] if piece in ("{{", "}}") else _read_place(piece)]
        at = match.end()
    return tuple(merge_texts([*parts, text[at:]]))


def _read_place(piece: str) -> Part:
    inner = piece[1:-1]
    if piece == "{" or not inner.strip():
        raise NotAPlace("A `{` begins a placeholder for an input or a result: write `{{` for a literal brace.", piece)
    if result := re.fullmatch(_RESULT, inner):
        return ResultPlace(result[1])
    if inner.startswith("steps."):
        raise NotAPlace(
            f"`{shorten_line(piece)}` is not a placeholder: use `{{steps.NAME.result}}` for a step's result.", piece
        )
    if re.fullmatch(NAME, inner) and inner not in RESERVED:
        return Input(inner)
    raise NotAPlace(
        f"`{shorten_line(piece)}` is neither an input nor a result: write `{{{{` for a literal brace.", piece
    )


def merge_texts(pieces: Iterable[Part]) -> list[Part]:
    """Return the parts with adjacent texts joined and empty texts left out."""
    whole: list[Part] = []
    for piece in pieces:
        if isinstance(piece, str) and whole and isinstance(whole[-1], str):
            whole[-1] += piece
        elif piece != "":
            whole.append(piece)
    return whole or [""]


def render_loaded(pieces: Parts) -> str:
    """Render parts as the text of a loaded step, which `fill_places` reads. Inputs without a value stay as written."""
    return "".join(protect_text(p) if isinstance(p, str) else render_place(p) for p in pieces)


def protect_text(text: str) -> str:
    """Escape plain text for a loaded step, so that text which only looks like a placeholder stays text."""
    return re.sub(LIVE, lambda found: f"{{brace}}{found[0][1:]}", text)


def render_plain(pieces: Parts) -> str:
    """Render parts as plain text, in which nothing is filled in later."""
    return "".join(p if isinstance(p, str) else render_place(p) for p in pieces)


def render_place(place: Input | ResultPlace) -> str:
    return f"{{{place.name}}}" if isinstance(place, Input) else f"{{steps.{place.step}.result}}"


def split_loaded(text: str, results: Container[str]) -> Iterator[str | ResultPlace]:
    """Yield the parts of a loaded step's text: plain texts, and placeholders of results that are in `results`."""
    at = 0
    for match in re.finditer(LIVE, text):
        yield text[at : match.start()]
        at = match.end()
        if match[1] is None:
            yield "{"
        else:
            yield ResultPlace(match[1]) if match[1] in results else match[0]
    yield text[at:]


def fill_places(text: str, results: Mapping[str, str]) -> str:
    """Fill all known results into a loaded step's text.

    `results`: the results of the run's finished tasks by path; those of skipped tasks are empty. Values are never
    expanded again: braces in a result stay as they are. A placeholder without a known value stays."""
    return "".join(piece if isinstance(piece, str) else results[piece.step] for piece in split_loaded(text, results))


def escape_braces(text: str) -> str:
    """Escape the braces in plain text, so that it can be written in a file."""
    return text.replace("{", "{{").replace("}", "}}")


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
    reads_name = program in ("printf", "test", "[") and previous == "-v"  # `-v NAME` runs code in NAME.
    return f"`{program}` would read it as code" if program in _READERS or reads_option or reads_name else ""


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
