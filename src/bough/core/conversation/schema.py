"""The JSON schema of a structured answer: its fields, each with the description that the model reads."""

from functools import partial
from typing import Any


def _describe(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


text, number, flag = (partial(_describe, {"type": kind}) for kind in ("string", "integer", "boolean"))
texts, numbers = (partial(_describe, {"type": "array", "items": {"type": kind}}) for kind in ("string", "integer"))


def table(fields: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def tables(description: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "description": description}
