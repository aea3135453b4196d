"""Structured answers of models: the arguments of the call of the one tool that is offered, or the first JSON object in
the text that fits. Either is untrusted: the result is checked and bounded, or replaced by a sentence that tells the
model what is wrong. Nothing here raises."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bough.core.messages import Answer, ToolSpec

LONGEST = 200_000
"""The maximum number of characters of an answer that are examined; a plan has about a tenth of that."""
STARTS = 40
"""The maximum number of brackets in a text that are tried as the beginning of the answer."""

T = TypeVar("T", bound=Struct)
Schema = Mapping[str, Any]


class Problems(Struct, frozen=True):
    """What is wrong with an answer, in sentences that the model can act on. Never empty."""

    said: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"- {sentence}" for sentence in self.said)


def parse_answer(answer: Answer, spec: ToolSpec, kind: type[T], aliases: Mapping[str, str] | None = None) -> T | str:
    """Parse the answer as `kind`, or say what is wrong with it. `aliases`: other field names that models use."""
    aliases = aliases or {}
    try:
        found = (_read_call if answer.calls else _read_text)(answer, spec, aliases)
        if isinstance(found, str):
            short = f"The answer was cut off at the limit of its length: call `{spec.name}` again, with fewer words."
            return short if answer.stop == "length" else found
        return msgspec.convert(_fit(found, spec.parameters, aliases), kind, strict=False)
    except RecursionError:
        return f"The answer is nested too deeply: call `{spec.name}` with the flat fields it describes."
    except (msgspec.ValidationError, OverflowError) as error:
        return _describe_error(str(error), spec)


def describe_tool(spec: ToolSpec) -> str:
    """Render the tool as instructions for a model that is not offered tools."""
    needed = spec.parameters.get("required", ())
    fields = (
        f"- `{name}` ({_describe_kind(schema)}{'' if name in needed else ', optional'}): "
        f"{schema.get('description', '')}"
        for name, schema in spec.parameters["properties"].items()
    )
    return "You have no tools. Answer with one JSON object and nothing else, with these fields:\n" + "\n".join(fields)


def _describe_kind(schema: Schema) -> str:
    kind = str(schema.get("type", "value"))
    if kind != "array":
        return kind
    items = schema.get("items", {})
    inner = items.get("properties")
    return f"list of objects with {', '.join(inner)}" if inner else f"list of {items.get('type', 'value')}s"


def _read_call(answer: Answer, spec: ToolSpec, aliases: Mapping[str, str]) -> dict[str, Any] | str:
    """Return the arguments of the one call. Only one tool was offered, so a call with another name means it too."""
    named = [call for call in answer.calls if call.name == spec.name] or list(answer.calls)
    if len({call.arguments for call in named}) > 1:
        return f"You called `{spec.name}` {len(named)} times: call it once, with everything in that one call."
    raw = named[0].arguments
    if len(raw) > LONGEST:
        return f"The answer has {len(raw):,} characters; the limit is {LONGEST:,}: shorten it."
    if not raw.strip():
        return _read_text(answer, spec, aliases)
    if raw.lstrip().startswith('"'):  # The object is encoded twice, as a string.
        inner, _ = _decode_value(raw.strip(), 0)
        raw = inner if isinstance(inner, str) else raw
    wrong = f"The arguments of `{spec.name}` are not a JSON object: call it again with {_list_fields(spec)}."
    return next(_find_objects(raw, spec), wrong)


def _read_text(answer: Answer, spec: ToolSpec, aliases: Mapping[str, str]) -> dict[str, Any] | str:
    text = answer.text.rpartition("</think>")[2][:LONGEST]
    known = spec.parameters["properties"].keys()
    known |= {word for word, name in aliases.items() if name in known}
    value = next((value for value in _find_objects(text, spec) if known & value.keys()), None)
    if value is not None:
        return value
    if answer.stop == "refusal":
        return f"You declined to answer. This is ordinary software work: call `{spec.name}` with {_list_fields(spec)}."
    said = "was empty" if not text.strip() else "was plain text, which nobody reads"
    return f"The answer {said}: call the tool `{spec.name}` once, with {_list_fields(spec)}."


def _list_fields(spec: ToolSpec) -> str:
    return ", ".join(f"`{name}`" for name in spec.parameters["properties"])


def _find_objects(text: str, spec: ToolSpec) -> Iterator[dict[str, Any]]:
    at = 0
    for _ in range(STARTS):
        start = _BRACKET.search(text, at)
        if start is None:
            return
        value, at = _decode_value(text, start.start())
        value = _unwrap(value, spec)
        if isinstance(value, dict):
            yield value


_BRACKET = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)
_CLOSING = re.compile(r",?\s*[}\]]")
_TRAILING = r'(?s)("[^"\\]*(?:\\.[^"\\]*)*")|\\.|,(?=\s*[}\]])'


def _decode_value(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins at a bracket (None if there is none), and the offset to continue at."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if not _CLOSING.match(text, error.pos):
            return None, start + 1
    except ValueError:  # Python refuses a number with thousands of digits.
        return None, start + 1
    # A comma before a closing bracket outside strings has no other meaning: removing it is safe.
    repaired = re.sub(_TRAILING, lambda match: match[0] if match[0] != "," else " ", text[start:])
    try:
        value, length = _DECODER.raw_decode(repaired)
    except ValueError:
        return None, start + 1
    return value, start + length


def _unwrap(value: Any, spec: ToolSpec) -> Any:
    """Remove what weak models put around an answer: the call as an object, the field's name, a string of JSON."""
    properties = spec.parameters["properties"]
    for _ in range(3):
        value = _parse_json(value) if isinstance(value, str) else value
        if isinstance(value, list):
            # A bare list of objects is meant for the only field that is such a list.
            lists = [name for name, schema in properties.items() if schema.get("items", {}).get("type") == "object"]
            if len(lists) == 1 and value and all(isinstance(item, dict) for item in value):
                return {lists[0]: value}
            return None
        if not isinstance(value, dict) or properties.keys() & value.keys():
            return value
        inner = [value[key] for key in ("arguments", "parameters", "input", "args", spec.name) if key in value]
        if not inner:
            return value
        value = inner[0]
    return value


def _parse_json(text: str) -> Any:
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    value, end = _decode_value(text, 0)
    return value if end >= len(text.rstrip()) else None


def _fit(value: Any, schema: Schema, aliases: Mapping[str, str]) -> Any:
    """Reduce a value to the schema's fields and correct the usual slips where that is safe: null for an omitted field,
    a list or object written as a string, one text for a list of texts."""
    kind = schema.get("type")
    if isinstance(value, str) and kind in ("array", "object"):
        parsed = _parse_json(value)
        if parsed is None and kind == "array" and schema["items"].get("type") == "string":
            parsed = [value] if value.strip() else []
        value = value if parsed is None else parsed
    if kind == "object" and isinstance(value, dict):
        properties = schema["properties"]
        fitted: dict[str, Any] = {}
        for key, held in value.items():
            name = key if key in properties else aliases.get(key, "")
            if name in properties and held is not None and (name == key or name not in value):
                fitted[name] = _fit(held, properties[name], aliases)
        return fitted
    if kind == "array" and isinstance(value, list):
        texts = schema["items"].get("type") == "string"
        return [_fit(item, schema["items"], aliases) for item in value if item is not None or not texts]
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    # Remove control characters and lone surrogates, which the journal cannot store.
    return re.sub(_CONTROL, "", value).strip() if isinstance(value, str) else value


_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]"


_MISSING = r"Object missing required field `(\w+)`"
_PLACE = r" - at `\$\.?(.*)`$"


def _describe_error(error: str, spec: ToolSpec) -> str:
    place = re.search(_PLACE, error)
    what, where = (error[: place.start()], place[1]) if place else (error, "")
    if missing := re.match(_MISSING, what):
        name = f"{where}.{missing[1]}" if where else missing[1]
        return f"`{name}` is missing: call `{spec.name}` again with it."
    return f"`{where or spec.name}` is wrong: {what[0].lower()}{what[1:]}."
