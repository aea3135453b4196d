"""Reads a table of a workflow file by the definition of its keys; what is wrong with it is reported, key by key."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import ValidationError

from bough.core.workflow.keys import ALIASES, OWNERS, RetryKeys, StepKeys, TransitionKeys, list_keys
from bough.core.workflow.problems import Source, shorten_quote, suggest_nearest
from bough.core.workflow.toml_positions import KeyPath

Table = dict[str, Any]
_TABLES: dict[str, Any] = {
    "action": str | Table,
    "steps": list[Table],
    "states": list[Table],
    "transitions": list[Table],
    "retry": Table,
    "inputs": Table,
}
"""Keys with tables of their own, which are read after this one: only their form matters here."""


def read_table(source: Source, at: KeyPath, said: Table, shape: Any) -> Table:
    """Return the valid part of a table; the rest is reported."""
    keys = list_keys(shape)
    kept: Table = {}
    for name, value in said.items():
        if name not in keys:
            source.wrong((*at, name), _explain_unknown(name, shape))
            continue
        try:
            kept[name] = msgspec.convert(value, _TABLES.get(name, keys[name]))
        except ValidationError:
            source.wrong((*at, name), _explain_misfit(name, keys[name], value))
    if "retry" in kept:
        kept["retry"] = read_table(source, (*at, "retry"), kept["retry"], RetryKeys)
    if "transitions" in kept:
        kept["transitions"] = [
            read_table(source, (*at, "transitions", number), each, TransitionKeys)
            for number, each in enumerate(kept["transitions"])
        ]
    return kept


def _explain_unknown(name: str, shape: Any) -> str:
    owner, keys = OWNERS[shape], list_keys(shape)
    meant = ALIASES.get(name.lower(), "")
    if meant and meant.partition(" ")[0] in keys:
        return f"{owner} has no key `{shorten_quote(name)}`: did you mean `{meant}`?"
    if name in list_keys(StepKeys) and "steps" in keys:
        return f"{owner} has no `{name}`: only steps do."
    return f"{owner} has no key `{shorten_quote(name)}`: {suggest_nearest(name, keys)}"


def _explain_misfit(name: str, type_: Any, value: Any) -> str:
    if (name, value) == ("role", "planner"):
        return "No step has the role `planner`: write `plan_first = true` for one that is planned when it starts."
    expected = msgspec.json.schema(type_)
    if "enum" in expected and isinstance(value, str):
        return f"`{name}` cannot be `{shorten_quote(value)}`: {suggest_nearest(value, expected['enum'])}"
    return f"`{name}` takes {_describe_expected(expected)}, not {_describe_value(value)}."


def _describe_expected(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f'"{choice}"' for choice in schema["enum"])
    if "anyOf" in schema:
        return schema["description"].partition(": ")[2].rstrip(".") or "text, a number, true or false"
    match schema.get("type"):
        case "string":
            return "text in quotes"
        case "boolean":
            return "true or false"
        case "integer" | "number" as kind:
            return f"a {'whole ' * (kind == 'integer')}number from {schema['minimum']:g} to {int(schema['maximum'])}"
        case "array" if "$ref" in schema["items"]:
            return "a list of tables"
        case "array" if schema["items"]["type"] == "string":
            return "a list of texts"
        case "array":
            return f"a list, each {_describe_expected(schema['items'])}"
    return "a table" + " of texts by name" * ("additionalProperties" in schema)


def _describe_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number like this one" if abs(value) > 1e9 else f"{value}"
        case str():
            return "text"
        case list():
            return "this list" if value else "an empty list"
        case dict():
            return "this table"
    return "a date or a time"
