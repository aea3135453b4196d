"""All events. The journal is a sequence of them, and the only truth.

Each family of events has a module of its own, and all of them are exported here.

An event is frozen and has no behaviour; fields that a newer bough added are skipped (docs/design/journal.md). Names are
in the past tense; an intent (`RoundStarted`, `ToolStarted`, `CheckStarted`) is durable before its effect begins, so
that after a crash running effects can be told from finished ones.
"""

from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from types import CodeType
from typing import Any

import msgspec
import msgspec.inspect
from msgspec import Struct

from bough.core.errors import NewerRun
from bough.core.events.backlog import *
from bough.core.events.base import *
from bough.core.events.base import Event
from bough.core.events.planning import *
from bough.core.events.rounds import *
from bough.core.events.run import *
from bough.core.events.run import RunStarted
from bough.core.events.talk import *
from bough.core.events.task import *

AnyEvent = Event
"""Any of the events of the families above."""


class Record(Struct, frozen=True):
    """An event as the journal holds it."""

    seq: int
    """Order within the whole store."""
    run: str
    task: str
    version: int
    """Order within its stream, from 1 without gaps."""
    at: float
    event: AnyEvent


def name_proposal(record: Record) -> str:
    """Return the name by which a person refers to an agent's proposed goal."""
    return f"{record.run}-{record.seq}"


FORMAT = 2
"""The format of a run's events, written into its `RunStarted`. It rises with an event, or with a field's meaning, that
an older bough cannot skip. A change under which old journals do not decode needs an upcaster and a golden journal,
never a branch in the fold."""
LAYOUT = 2
"""The version of the store's tables. A bough that knows only version 1 refuses newer events and fields, too."""

encode = msgspec.json.Encoder().encode

KINDS: dict[str, type[AnyEvent]] = {kind.__name__: kind for kind in Event.__subclasses__()}
"""All events by name, as the journal names them."""


def list_named(*folds: Callable[..., object]) -> tuple[str, ...]:
    """List the kinds of events that these functions name in their code: a fold has to read those from a journal."""

    def read(code: CodeType) -> Iterator[str]:
        yield from code.co_names
        for inner in code.co_consts:  # Comprehensions and nested functions have code of their own.
            yield from read(inner) if isinstance(inner, CodeType) else ()

    return tuple(dict.fromkeys(name for fold in folds for name in read(fold.__code__) if name in KINDS))


_BUILDING = Lock()
"""Held while a type is built: msgspec hands a half-built type to other threads, which then crash."""


@cache
def decoder(kind: str) -> Callable[[bytes], AnyEvent]:
    """Return the decoder of one kind of event; it raises `msgspec.ValidationError` for anything else. One for all kinds
    takes 10 ms to build, more than the rest of most commands."""
    if kind not in KINDS:
        raise msgspec.ValidationError(f"unknown event `{kind}`")
    with _BUILDING:
        strict = msgspec.json.Decoder(KINDS[kind]).decode

    def decode(body: bytes) -> AnyEvent:
        try:
            return strict(body)
        except msgspec.ValidationError:
            known = msgspec.inspect.type_info(KINDS[kind])
            return msgspec.convert(_drop_unknown(msgspec.json.decode(body), known), KINDS[kind], str_keys=True)

    return decode


def _drop_unknown(value: Any, info: msgspec.inspect.Type) -> Any:
    """Remove from a decoded JSON value the fields that this type does not have, at any depth."""
    if isinstance(info, msgspec.inspect.UnionType):
        info = _choose(value, info)
    if isinstance(value, dict) and isinstance(info, msgspec.inspect.StructType):
        known = {field.encode_name: field.type for field in info.fields}
        return {
            name: _drop_unknown(each, known[name]) if name in known else each
            for name, each in value.items()
            if name in known or name == info.tag_field
        }
    if isinstance(value, dict) and isinstance(info, msgspec.inspect.DictType):
        return {name: _drop_unknown(each, info.value_type) for name, each in value.items()}
    if isinstance(value, list) and isinstance(info, msgspec.inspect.TupleType):
        return [_drop_unknown(each, of) for each, of in zip(value, info.item_types, strict=False)]
    if isinstance(value, list) and isinstance(info, msgspec.inspect.CollectionType):
        return [_drop_unknown(each, info.item_type) for each in value]
    return value


def _choose(value: Any, union: msgspec.inspect.UnionType) -> msgspec.inspect.Type:
    """Choose the union member for this value: structs by their tag, all else by their JSON type."""
    for info in union.types:
        if isinstance(info, msgspec.inspect.StructType):
            if isinstance(value, dict) and (info.tag_field is None or value.get(info.tag_field) == info.tag):
                return info
        elif isinstance(info, msgspec.inspect.DictType if isinstance(value, dict) else msgspec.inspect.CollectionType):
            return info
    return union


def decode_event(run: str, kind: str, body: bytes) -> AnyEvent:
    """Decode a stored event of a run. Raises `NewerRun` if a newer bough wrote what this one cannot skip."""
    if kind not in KINDS:
        raise NewerRun(
            f"{run} was written by a newer bough, with events (`{kind}`) that this one cannot read: upgrade."
        )
    event = decoder(kind)(body)
    if isinstance(event, RunStarted) and event.format > FORMAT:
        raise NewerRun(
            f"{run} was written by a newer bough (format {event.format}, this one reads up to {FORMAT}): upgrade."
        )
    return event
