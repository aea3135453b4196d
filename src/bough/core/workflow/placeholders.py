"""Placeholders in texts: `{name}` for an input, `{steps.NAME.result}` for another step's result, `{{` for a brace.

When a file is loaded, its texts are split into parts, and inputs are filled in. Results are filled in later: in a
loaded step's texts, `{steps.PATH.result}` with the path of the task is a placeholder, `{brace}` is a literal `{`, and
everything else is plain text. So a text that did not come from a file is taken literally, braces included.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping

from msgspec import Struct

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
    expanded again: braces in a result stay as they are. A placeholder without a known value stays.
    """
    return "".join(piece if isinstance(piece, str) else results[piece.step] for piece in split_loaded(text, results))


def escape_braces(text: str) -> str:
    """Escape the braces in plain text, so that it can be written in a file."""
    return text.replace("{", "{{").replace("}", "}}")
