"""The JSON schema of workflow files, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bough.core.workflow import keys
from bough.core.workflow.keys import Key

_NAME = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 40}


def build_schema() -> dict[str, Any]:
    """Built from the loader's own tables. The loader checks more: names, order, conditions, placeholders."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A bough workflow",
        **_build_table(
            keys.HEADER_KEYS, {"inputs": {"type": "object", "additionalProperties": {"$ref": "#/$defs/input"}}}
        ),
        "$defs": {
            "step": {**_build_table(keys.STEP_KEYS, {"name": _NAME}), "required": ["name"]},
            "state": {**_build_table(keys.STATE_KEYS, {"name": _NAME}), "required": ["name"]},
            "action": {"anyOf": [{"type": "string"}, _build_action()]},
            "input": _build_table(keys.INPUT_KEYS, {"default": {"type": ["string", "integer", "number", "boolean"]}}),
            "retry": _build_table(keys.RETRY_KEYS, {}),
            "transition": {**_build_table(keys.TRANSITION_KEYS, {}), "required": ["to"]},
        },
    }


def _build_action() -> dict[str, Any]:
    any_value = {"type": ["string", "integer", "number", "boolean"]}
    given = {"type": "object", "additionalProperties": any_value}
    ways = [{"required": [way]} for way in ("run", "check", "workflow")]
    return {**_build_table(keys.ACTION_KEYS, {"inputs": given}), "oneOf": ways}


_TABLES = {"steps": "step", "states": "state", "transitions": "transition", "retry": "retry", "action": "action"}


def _build_table(words: Mapping[str, Key], special: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        name: {**_build_value(name, key), **special.get(name, {}), "description": key.about}
        for name, key in words.items()
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _build_value(name: str, key: Key) -> dict[str, Any]:
    match key.form:
        case "text":
            return {"type": "string"}
        case "texts":
            return {"type": "array", "items": {"type": "string"}}
        case "wholes":
            number = {"type": "integer", "minimum": int(key.least), "maximum": int(key.most)}
            return {"type": "array", "items": number}
        case "flag":
            return {"type": "boolean"}
        case "whole":
            return {"type": "integer", "minimum": int(key.least), "maximum": int(key.most)}
        case "number":
            return {"type": "number", "minimum": key.least, "maximum": key.most}
        case "choice":
            return {"type": "string", "enum": list(key.choices)}
        case "tables":
            return {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{_TABLES[name]}"}}
        case "action":
            return {"$ref": "#/$defs/action"}
    return {"$ref": f"#/$defs/{_TABLES[name]}"} if name in _TABLES else {"type": "object"}
