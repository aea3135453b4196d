"""The errors raised when foreign bytes and values are decoded, and how people are told of them."""

from __future__ import annotations

import re

import msgspec

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""Errors raised for input that is malformed, not text, or nested too deeply."""
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a table",
}
"""Names of types for people."""


def describe_misfit(error: msgspec.ValidationError) -> str:
    """Say what is wrong with a value: `expected a whole number, got text`."""

    def name(found: re.Match[str]) -> str:
        return " or ".join(WORDS.get(one, one) for one in found[1].split(" | "))

    said = re.sub(r"`([a-z |]+)`", name, str(error))
    return f"{said[:1].lower()}{said[1:]}"
