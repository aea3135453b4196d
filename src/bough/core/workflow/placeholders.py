"""Places in texts: `{name}` for an input, `{steps.NAME.result}` for the result of another step, `{{` for a brace.

A file's texts are taken apart into parts when it is loaded. Inputs are put in then. What is left for later are results:
in a loaded step's texts `{steps.PATH.result}`, with the path of the task, is such a place, `{brace}` is a `{` that
begins none, and everything else is itself. So a text that never came from a file means what it says, braces and all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bough.core.workflow.conditions import StepResult
from bough.core.workflow.problems import shorten_quote

STEPS, BRACE = "steps", "brace"
RESERVED = (STEPS, BRACE)
NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_RESULT = r"steps\.(/?[a-z0-9-]+(?:/[a-z0-9-]+)*)\.result"
_PIECES = r"\{\{|\}\}|\{[^{}\n]*\}|\{"
LIVE = r"\{(?:steps\.([a-z0-9/-]+)\.result|([A-Za-z_][A-Za-z0-9_-]*))\}"
_LOOKS_LIVE = r"\{(?=(?:steps\.[a-z0-9/-]+\.result|brace)\})"


class Input(Struct, frozen=True):
    """The place of an input."""

    name: str


class ResultPlace(Struct, frozen=True):
    """The place of a step's result: by name as written, by the task's path once it is resolved."""

    step: str


Part = str | Input | ResultPlace
Parts = tuple[Part, ...]


class NotAPlace(Exception):
    """What stands in braces is no place. `piece` is what was written."""

    def __init__(self, said: str, piece: str) -> None:
        super().__init__(said)
        self.piece = piece


def split_places(text: str) -> Parts:
    """A file's text, taken apart."""
    if "{" not in text and "}" not in text:
        return (text,)
    return tuple(merge_texts(_walk_parts(text)))


def _walk_parts(text: str) -> Iterator[Part]:
    at = 0
    for match in re.finditer(_PIECES, text):
        yield text[at : match.start()]
        at = match.end()
        piece = match[0]
        yield piece[0] if piece in ("{{", "}}") else _read_place(piece)
    yield text[at:]


def _read_place(piece: str) -> Part:
    inner = piece[1:-1]
    if piece == "{" or not inner.strip():
        raise NotAPlace("A `{` begins a place for an input or a result: write `{{` for the character itself.", piece)
    if result := re.fullmatch(_RESULT, inner):
        return ResultPlace(result[1])
    if inner.startswith(f"{STEPS}."):
        raise NotAPlace(
            f"`{shorten_quote(piece)}` is no place: write `{{steps.NAME.result}}` for a step's result.", piece
        )
    if re.fullmatch(NAME, inner) and inner not in RESERVED:
        return Input(inner)
    raise NotAPlace(
        f"`{shorten_quote(piece)}` is neither an input nor a result: write `{{{{` for a brace itself.", piece
    )


def merge_texts(pieces: Iterator[Part] | Sequence[Part]) -> list[Part]:
    """The same with neighbouring texts as one, and none that is empty."""
    whole: list[Part] = []
    for piece in pieces:
        if isinstance(piece, str) and whole and isinstance(whole[-1], str):
            whole[-1] += piece
        elif piece != "":
            whole.append(piece)
    return whole or [""]


def render_loaded(pieces: Parts) -> str:
    """The text of a loaded step, for `filled`. An input without a value stands for itself."""
    return "".join(re.sub(_LOOKS_LIVE, "{brace}", p) if isinstance(p, str) else render_place(p) for p in pieces)


def render_plain(pieces: Parts) -> str:
    """The text where there is nothing to fill in later."""
    return "".join(p if isinstance(p, str) else render_place(p) for p in pieces)


def render_place(place: Input | ResultPlace) -> str:
    return f"{{{place.name}}}" if isinstance(place, Input) else f"{{steps.{place.step}.result}}"


def fill_places(text: str, inputs: Mapping[str, str], results: Mapping[str, StepResult]) -> str:
    """A loaded step's text with all that is known put in.

    `results` has the tasks of the run that are over, by path; those that were skipped with an empty text. What is put
    in is never looked at again: a result that has braces in it stays as it is. A place of which nothing is known stays.
    """
    if "{" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        if match[2] == BRACE:
            return "{"
        if match[1] is None:
            return inputs.get(match[2], match[0])
        return results[match[1]].text if match[1] in results else match[0]

    return re.sub(LIVE, value, text)


def escape_braces(text: str) -> str:
    """Plain text as a file says it."""
    return text.replace("{", "{{").replace("}", "}}")
