"""The inputs of a workflow: declared under `[inputs]`, given as `name=value`, checked before anything runs."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core.errors import UsageError
from bough.core.textual.spelling import shorten_line
from bough.core.workflow.keys import InputKeys, read_table
from bough.core.workflow.placeholders import NAME, RESERVED
from bough.core.workflow.problems import KeyPath, Source, suggest_nearest

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_TYPES = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "path": "a path in the project (relative, without `..`)",
}


class InputSpec(Struct, frozen=True):
    name: str
    type: str = "string"
    default: str | None = None
    """The default as text; None if a value must be given."""
    description: str = ""


def read_declared(source: Source, table: Mapping[str, Any]) -> dict[str, InputSpec]:
    """Read the inputs that a workflow file declares, and report wrong ones."""
    specs: dict[str, InputSpec] = {}
    for name, said in table.items():
        at: KeyPath = ("inputs", name)
        if not re.fullmatch(NAME, name) or name in RESERVED:
            source.wrong(
                at, f"`{shorten_line(name)}` is not a valid input name: use letters, digits and `_`, not `steps`."
            )
        elif not isinstance(said, dict):
            source.wrong(at, f'An input is a table: write {name} = {{ type = "string", default = … }}.')
            specs[name] = InputSpec(name, default="")
        else:
            specs[name] = _read_spec(source, at, name, said)
    return specs


def _read_spec(source: Source, at: KeyPath, name: str, said: dict[str, Any]) -> InputSpec:
    table = read_table(source, at, said, InputKeys)
    spec = InputSpec(name, table.get("type", "string"), description=table.get("description", ""))
    if "default" not in table:
        # A default of a wrong type is already reported; treat it as empty, so that no missing value is reported too.
        return replace(spec, default="" if "default" in said else None)
    text, wrong = render_value(spec.type, table["default"])
    if wrong and spec.type == said.get("type", "string"):
        source.wrong((*at, "default"), f"The default of `{name}` {wrong}.")
    return replace(spec, default=text)


def render_value(type_: str, value: Any) -> tuple[str, str]:
    """Return a value as the text that is filled in, and the end of a sentence that says what is wrong, if anything."""
    fits = {"bool": bool, "int": int, "float": int | float}.get(type_, str)
    if not isinstance(value, str) and (not isinstance(value, fits) or isinstance(value, bool) != (type_ == "bool")):
        return "", f"is not {_TYPES[type_]}"
    return parse_value(type_, str(value))


def parse_value(type_: str, text: str) -> tuple[str, str]:
    """Do the same as `render_value` for a value that is given as text."""
    if "\0" in text:
        return "", "contains a NUL character, which no command can take"
    if type_ == "bool":
        return text.lower(), "" if text.lower() in ("true", "false") else f"is not {_TYPES[type_]}"
    if type_ in ("int", "float"):
        fits = (_WHOLE if type_ == "int" else _FLOAT).fullmatch(text.strip())
        return text.strip(), "" if fits else f"is not {_TYPES[type_]}"
    if type_ == "string":
        return text, ""
    if not text.strip() or text.startswith(("/", "~", "\\")) or ".." in re.split(r"[/\\]", text):
        return text, f"is not {_TYPES['path']}"
    # A path that begins with a dash could be mistaken for an option.
    return (f"./{text}" if text.startswith("-") else text), ""


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `name=value` pairs of a command line."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"`{shorten_line(pair)}` is not an input: write --input NAME=VALUE.")
        if name in values:
            raise UsageError(f"The input `{name}` is given twice: give it once.")
        values[name] = value
    return values


def resolve_inputs(source: Source, specs: Mapping[str, InputSpec], values: Mapping[str, str]) -> dict[str, str]:
    """Return every input's value, given or default; report unknown, wrong and missing ones."""
    for name in values:
        if name not in specs:
            source.wrong(("inputs",), f"There is no input `{shorten_line(name)}`: {suggest_nearest(name, specs)}")
    whole: dict[str, str] = {}
    for name, spec in specs.items():
        if name in values:
            whole[name], wrong = parse_value(spec.type, values[name])
            if wrong:
                source.wrong(
                    ("inputs", name), f"The value `{shorten_line(values[name])}` of the input `{name}` {wrong}."
                )
        elif spec.default is not None:
            whole[name] = spec.default
        else:
            about = f" ({shorten_line(spec.description, 80)})" if spec.description else ""
            source.wrong(("inputs", name), f"The input `{name}` is required{about}: give --input {name}=VALUE.")
            whole[name] = ""
    return whole
