"""The types of the dashboard's pages, written from what the server's addresses answer. `scripts/web` runs it."""

import json
import sys
from typing import Any

from msgspec import inspect

from bough.core.tree.task_state import State
from bough.interfaces.web import shapes
from bough.views.vocabulary import STATUS_WORDS, describe_state

HEAD = "// Generated from src/bough/interfaces/web/shapes.py by scripts/web: change it there.\n"
PLAIN = {
    inspect.StrType: "string",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    # What an event says depends on its kind.
    inspect.AnyType: "any",
}


class Writer:
    """Writes an interface for each struct and each typed dictionary that it meets."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def name(self, type: Any) -> str:
        if plain := PLAIN.get(type.__class__):
            return plain
        match type:
            case inspect.StructType(cls=cls) | inspect.TypedDictType(cls=cls):
                name = cls.__name__.removesuffix("Shape")
                if name not in self.written:
                    self.written[name] = ""  # It may name itself.
                    self.written[name] = self._interface(name, type)
                return str(name)
            case inspect.UnionType(types=types):
                return " | ".join(self.name(each) for each in types)
            case inspect.LiteralType(values=values):
                return " | ".join(f'"{value}"' for value in sorted(values, key=str))
            case inspect.EnumType(cls=cls):
                return " | ".join(f'"{each.value}"' for each in cls)
            case inspect.DictType(value_type=value):
                return f"Record<string, {self.name(value)}>"
            case inspect.TupleType(item_types=types):
                return f"[{', '.join(self.name(each) for each in types)}]"
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                return f"({name})[]" if "|" in (name := self.name(item)) else f"{name}[]"
        raise TypeError(f"no type of a page for {type}")

    def _interface(self, name: str, type: inspect.StructType | inspect.TypedDictType) -> str:
        """A struct is sent with its defaults; a typed dictionary says itself what may be missing."""
        whole = isinstance(type, inspect.StructType)
        lines = [
            f"  {one.encode_name}{'' if whole or one.required else '?'}: {self.name(one.type)};\n"
            for one in type.fields
        ]
        return f"export interface {name} {{\n{''.join(lines)}}}\n"


def write_types() -> str:
    writer = Writer()
    for type in inspect.multi_type_info([*shapes.OF_RUN.values(), *shapes.OTHERS.values()]):
        writer.name(type)
    said = {state.value: describe_state(state) for state in State} | STATUS_WORDS
    lines = "".join(f"  {name}: {json.dumps(words)},\n" for name, words in sorted(said.items()))
    words = f"export const WORDS: Record<string, string> = {{\n{lines}}};\n"
    return "\n".join([HEAD, *writer.written.values(), words])


if __name__ == "__main__":
    sys.stdout.write(write_types())
