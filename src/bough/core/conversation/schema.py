"""The JSON schema of a structured answer: its fields, each with the description that the model reads."""

from __future__ import annotations

from typing import Any


def text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


def numbers(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "integer"}, "description": description}


def flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def table(fields: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def tables(description: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "description": description}
