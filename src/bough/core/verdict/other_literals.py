"""Make a changed value for a literal of a test."""

from __future__ import annotations

import re

NUMBER = "7919"
BOOLEANS = {"true": "false", "false": "true"}
NOTHING = frozenset(("None", "nil", "null", "undefined", "NULL"))


def make_other_literal(kind: str, text: str, roughly: bool = False) -> str:
    """Return another literal of the same kind. `roughly`: the comparison allows small differences."""
    if kind == "string":
        body = re.fullmatch(r"([A-Za-z]{0,2}?\d?)(\"\"\"|'''|[\"'`/]|(?:qr|m)/)([\s\S]*)", text)
        quote = (body[2] if body else text[-1:])[-3:]
        if quote == "'" and body and len(body[3]) == 2:  # In many languages: a character.
            return f"{body[1]}'{'Z' if body[3][0] != 'Z' else 'Y'}'"
        end = len(text) - (3 if quote in ('"""', "'''") else 1)
        return f"{text[:end]}~{NUMBER}{text[end:]}"
    if kind == "empty":
        return f"[{NUMBER}]" if text == "[]" else f"{{{NUMBER}: {NUMBER}}}"
    if kind == "word":
        other = BOOLEANS.get(text.lower())
        if other is None:
            return NUMBER if text in NOTHING else f"{text}{NUMBER}"
        return other.upper() if text.isupper() else other.capitalize() if text[0].isupper() else other
    number = re.match(r"0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?", text)
    digits, rest = (number[0].replace("_", ""), text[number.end() :]) if number else (text, "")
    if len(digits) > 300:  # Too long to compute with, and rare in tests.
        return NUMBER
    if digits[:2] in ("0x", "0X"):
        return f"{int(digits, 16) // 2 if int(digits, 16) > 1 else 3:#x}{rest}"
    value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
    # Half of a large number fits every type that the number fits, and differs enough from it.
    step = int(NUMBER) if roughly else 1
    made = value + step if roughly or value < 100 else value / 2 if isinstance(value, float) else value // 2
    return f"{made}{rest}"
