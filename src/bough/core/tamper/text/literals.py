"""Literals that not every language writes alike, made such that they can be read as strings are read elsewhere.

What is put in their place is as long as they are, on as many lines, and equal for equal literals."""

from __future__ import annotations

import re

from bough.core.tamper.text.scan import rx

_COMMENT = r"//[^\n]*|/\*[\s\S]*?\*/"
_QUOTED = r'"(?:\\[\s\S]|[^"\\])*"'
_GO = rf"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|{_COMMENT}|(?P<raw>`[^`]*`)"
_RUST = (
    rf"{_COMMENT}|\bb?r(?P<hashes>#*)(?P<raw>\"[\s\S]*?\")(?P=hashes)|(?P<quoted>{_QUOTED})"
    r"|'(?:\\(?:u\{[^}]*\}|x\w\w|.)|[^'\\\n])'|(?P<lifetime>')(?=[A-Za-z_])"
)
_ALIKE = str.maketrans({"\\": "⧵", '"': "″", "'": "′", "`": "‵"})


def plain(text: str, language: str) -> str:
    """Raw strings have no escapes, those of Rust may have several lines, and a lifetime's quote opens nothing."""
    if language == "go":
        return rx(_GO).sub(_go, text) if "`" in text else text
    return rx(_RUST).sub(_rust, text) if language == "rust" else text


def _go(found: re.Match[str]) -> str:
    return f"`{found['raw'][1:-1].translate(_ALIKE)}`" if found["raw"] else found[0]


def _rust(found: re.Match[str]) -> str:
    if found["lifetime"]:
        return "′"
    said = found["raw"] or found["quoted"] or ""
    if not found["raw"] and "\n" not in said:
        return found[0]
    quote = "`" if "\n" in said else '"'
    return found[0].replace(said, quote + said[1:-1].translate(_ALIKE) + quote)
