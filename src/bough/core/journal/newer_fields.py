"""Drop fields that a newer bough added to an event, so that an older bough can read the event."""

from __future__ import annotations

from typing import Any

from msgspec import inspect


def drop_unknown(value: Any, info: inspect.Type) -> Any:
    """Remove from a decoded JSON value the fields that this type does not have, at any depth."""
    if isinstance(info, inspect.UnionType):
        info = _choose(value, info)
    if isinstance(value, dict) and isinstance(info, inspect.StructType):
        known = {field.encode_name: field.type for field in info.fields}
        return {
            name: drop_unknown(each, known[name]) if name in known else each
            for name, each in value.items()
            if name in known or name == info.tag_field
        }
    if isinstance(value, dict) and isinstance(info, inspect.DictType):
        return {name: drop_unknown(each, info.value_type) for name, each in value.items()}
    if isinstance(value, list) and isinstance(info, inspect.TupleType):
        return [drop_unknown(each, of) for each, of in zip(value, info.item_types, strict=False)]
    if isinstance(value, list) and isinstance(info, inspect.CollectionType):
        return [drop_unknown(each, info.item_type) for each in value]
    return value


def _choose(value: Any, union: inspect.UnionType) -> inspect.Type:
    """Choose the union member for this value: structs by their tag, all else by their JSON type."""
    for info in union.types:
        if isinstance(info, inspect.StructType):
            if isinstance(value, dict) and (info.tag_field is None or value.get(info.tag_field) == info.tag):
                return info
        elif isinstance(info, inspect.DictType if isinstance(value, dict) else inspect.CollectionType):
            return info
    return union
