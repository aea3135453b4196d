"""The hash chain of a stream: a changed, moved, removed or inserted event is detected when it is read.

Each row stores two links: that of the event before it in its stream, and its own, the hash of that link and of the
row's content. So a row can be checked on its own, if only a few kinds are read, and reading a whole stream checks that
it is complete.

The hashes use no secret key: they detect corruption, and edits by anyone who does not also rewrite every later link.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from struct import Struct
from struct import error as StructError

from bough.core.errors import StoreError

SIZE = 16
"""Bytes of a link: 128 bits of SHA-256."""
START = bytes(SIZE)
"""The link before the first event of a stream."""

Row = tuple[int, str, int, float, str, bytes, bytes | None]
"""An event's seq, task, version, at, kind, body, and both links."""

_HEAD = Struct(f">{SIZE}sqqd")
_BEGINNING = (0, START)


def forge_link(previous: bytes, run: str, row: tuple[int, str, int, float, str, bytes]) -> bytes:
    """Return the stored links of an event: the one before it and its own."""
    seq, task, version, at, kind, body = row
    whole = _HEAD.pack(previous, seq, version, at) + _encode_names(run, task, kind) + body
    return previous + sha256(whole).digest()[:SIZE]


def _encode_names(run: str, task: str, kind: str) -> bytes:
    """Encode a row's names unambiguously: no name contains the NUL that ends it."""
    return f"{run}\0{task}\0{kind}\0".encode()


def check_rows(run: str, rows: Iterable[Row], whole: bool, damaged: Callable[[str], StoreError]) -> Iterator[Row]:
    """Return the rows, or raise the error that `damaged` makes at the first altered one. `whole`: no row is left out on
    purpose, so each must follow the one before it in its stream, and the first must be first."""
    names: defaultdict[str, dict[str, bytes]] = defaultdict(dict)  # a cache: names repeat, and every read passes here
    ends: dict[str, tuple[int, bytes]] = {}
    pack = _HEAD.pack
    for row in rows:
        seq, task, version, at, kind, body, links = row
        if links is None:
            raise damaged(f"event {seq} of run {run} was not written by bough: it has no link")
        previous, own = links[:SIZE], links[SIZE:]
        try:
            named = names[task].get(kind) or names[task].setdefault(kind, _encode_names(run, task, kind))
            holds = sha256(pack(previous, seq, version, at) + named + body).digest()[:SIZE] == own
        except (TypeError, ValueError, StructError) as error:
            raise damaged(f"event {seq} of run {run} cannot be read: {error}") from error
        if not holds:
            raise damaged(f"event {seq} of run {run} has changed since it was written")
        if whole:
            before, end = ends.get(task, _BEGINNING)
            if version != before + 1:
                raise damaged(f"events of run {run} are missing before event {seq}")
            if previous != end:
                raise damaged(f"event {seq} of run {run} does not follow the one before it")
            ends[task] = version, own
        yield row
