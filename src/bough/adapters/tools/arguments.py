"""Turns the JSON text that a model wrote into checked arguments, or into a message that says how to correct it."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from bough.adapters.tools.tool import Refusal, Tool
from bough.core.spelling import suggest_word

LONGEST = 4_000_000
"""Characters of arguments; a model writes less, a broken stream may not."""


@cache
def make_schema(arguments: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments: one flat, self-contained object. Made once, and the same for all."""
    (described,) = msgspec.json.schema(arguments)["$defs"].values()
    # Some providers require a type next to a list of choices.
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", **argument} if "enum" in argument else argument
            for name, argument in described["properties"].items()
        },
        "required": described["required"],
        "additionalProperties": False,
    }


def decode_arguments(tool: Tool, raw: str) -> Struct:
    """The arguments of a call. `Refusal` when they are not those of the tool."""
    if len(raw) > LONGEST:
        raise _make_refusal(tool, f"the arguments are {len(raw):,} characters long, and the limit is {LONGEST:,}")
    try:
        values = msgspec.json.decode(raw) if raw.strip() else {}
    except UnicodeError:
        raise _make_refusal(tool, "the arguments contain half a character (a lone surrogate)") from None
    except RecursionError:
        raise _make_refusal(tool, "the arguments are nested too deeply") from None
    except msgspec.DecodeError as error:
        raise _make_refusal(tool, f"the arguments are not valid JSON ({error})") from None
    if not isinstance(values, dict):
        raise _make_refusal(tool, "the arguments must be one JSON object")
    return _check_values(tool, values)


def _check_values(tool: Tool, values: dict[str, Any]) -> Struct:
    known = tool.arguments.__struct_fields__
    for name in values:
        if name not in known:
            close = suggest_word(name, known)
            hint = f"; did you mean `{close}`?" if close else ""
            raise _make_refusal(tool, f"there is no argument `{name[:100]}`{hint}")
    # Many models write null for what they leave out, and numbers in quotes.
    given = {name: value for name, value in values.items() if value is not None}
    try:
        arguments: Struct = msgspec.convert(given, tool.arguments, strict=False)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _make_refusal(tool, str(error)) from None
    return arguments


def _make_refusal(tool: Tool, what: str) -> Refusal:
    return Refusal(f"Wrong call of `{tool.name}`: {what}. {describe_usage(tool)}", fault=True)


def describe_usage(tool: Tool) -> str:
    """How to call a tool, in a sentence."""
    required = make_schema(tool.arguments)["required"]
    names = (
        f"{name}{'' if name in required else '?'}: {_describe_kind(described)}"
        for name, described in make_schema(tool.arguments)["properties"].items()
    )
    return f"Call it as {tool.name}({', '.join(names)}), for example with {tool.example}."


def _describe_kind(described: dict[str, Any]) -> str:
    if "enum" in described:
        return " | ".join(f'"{choice}"' for choice in described["enum"])
    return str(described.get("type", "value"))
