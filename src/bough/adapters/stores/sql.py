"""What the stores share: the journal in tables, in SQL that SQLite and PostgreSQL both understand.

Each event's row stores two links: that of the event before it in its stream, and its own, the hash of that link and of
the row's content. So a changed, moved, removed or inserted event is detected when it is read. The hashes use no secret
key: they detect corruption, and edits by anyone who does not also rewrite every later link."""

import asyncio
import hashlib
import os
import re
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from bough.adapters.stores.liveness import describe_worker, is_alive, is_stopped
from bough.core.errors import ClaimHeld, ClaimLost, DiskFull, NotFound, StoreError, VersionConflict
from bough.core.events import AnyEvent, Record, decode_event, encode
from bough.core.ids import OWN, RUN
from bough.core.textual.cleaning import repair_surrogates
from bough.ports import Claim

T = TypeVar("T")
Cells = tuple[Any, ...]
Encoded = tuple[AnyEvent, bytes]

PATIENCE = 60.0
"""Seconds to wait for another process's write, or for the server, if giving up would lose work."""
OBJECT = 40
IDS = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
"""Pattern for names of blobs and of git's objects."""
_EVENTS = "SELECT seq, task, version, at, kind, body, chain FROM events WHERE run = %s"


class Statements(ABC):
    """Statements of one transaction; `%s` stands for a value."""

    again = False
    """Whether an earlier try may have been committed without confirmation."""

    @abstractmethod
    def rows(self, query: str, *values: Any) -> Any:
        """Run the statement, and return the library's own cursor over its rows."""

    @abstractmethod
    def many(self, query: str, rows: Sequence[Cells]) -> None:
        """Run the statement once for each row."""

    def run(self, query: str, *values: Any) -> None:
        self.rows(query, *values)

    def one(self, query: str, *values: Any) -> Cells | None:
        found: Cells | None = self.rows(query, *values).fetchone()
        return found

    def all(self, query: str, *values: Any) -> list[Any]:
        found: list[Any] = self.rows(query, *values).fetchall()
        return found

    def changed(self, query: str, *values: Any) -> int:
        """Return the number of rows that the statement changed."""
        return int(self.rows(query, *values).rowcount)


D = TypeVar("D", bound=Statements)


class SqlStore(ABC, Generic[D]):
    """A `Store` in the tables `events`, `claims` and `blobs`."""

    heartbeat: ClassVar[str]
    """The column that changes with every heartbeat of a claim."""
    lock: ClassVar[str] = ""
    """SQL that locks a claim's row until the transaction ends."""
    hurry: ClassVar[float] = PATIENCE
    """Seconds to wait for another write if giving up loses nothing."""
    workers: Path | None = None
    """The folder in which workers show that they are alive; None: there is none."""
    path: Path | str

    def __init__(self) -> None:
        self.left: set[int] = set()
        """Epochs of claims whose release failed. Nobody uses them, so the next heartbeat releases them instead of
        renewing them."""

    @abstractmethod
    async def _look(self, work: Callable[[D], T]) -> T:
        """Run `work`, which only reads."""

    @abstractmethod
    async def _write(self, work: Callable[[D], T], patience: float = PATIENCE) -> T:
        """Run `work` in a transaction and commit. If cancelled, it raises only once it is settled whether the
        work is committed."""

    @abstractmethod
    def damaged(self, how: str) -> StoreError:
        """Return the error for an altered journal."""

    @abstractmethod
    async def names(self) -> list[str]: ...

    @asynccontextmanager
    async def claim(self, run: str, task: str, worker: str, lease: float) -> AsyncIterator[Claim]:
        silent = await self._watch_holder(run, task, lease)
        token = os.urandom(8).hex()
        taken: list[Claim] = []

        def take(db: D) -> None:
            taken[:] = [self._take(db, run, task, worker, token, silent)]

        def release(db: D) -> None:
            mine = "DELETE FROM claims WHERE epoch = %s AND run = %s AND task = %s AND worker = %s"
            db.run(mine, taken[0].epoch, run, task, worker)

        try:
            await self._write(take, self.hurry)
            yield taken[0]
        finally:
            # A cancelled run must release its claim as well, or the next process waits for a whole lease.
            if taken:
                self.left.add(taken[0].epoch)
                with suppress(DiskFull):  # If the claim cannot be removed, it ends with this process anyway.
                    await asyncio.shield(self._write(release))
                    self.left.discard(taken[0].epoch)

    def _take(self, db: D, run: str, task: str, worker: str, token: str, silent: tuple[int, float] | None) -> Claim:
        # Read again within the transaction: since `_watch_holder` looked, the holder may have sent a heartbeat, ended,
        # or been replaced.
        row = self._read_claim(db, run, task)
        if row is not None and row[:2] != silent and is_alive(row[2], self.workers) is not False:
            raise ClaimHeld(_explain_held(run, task, row[2]), row[2])
        # A new row rather than an update, because the epoch is its key: the previous holder finds its epoch gone.
        db.run("DELETE FROM claims WHERE run = %s AND task = %s", run, task)
        self._add_claim(db, run, task, worker, token)
        made = self._read_claim(db, run, task)
        assert made is not None
        return Claim(run, task, worker, made[0])

    @abstractmethod
    def _add_claim(self, db: D, run: str, task: str, worker: str, token: str) -> None:
        """Insert the claim's row. `token` tells it from another worker's."""

    def _read_claim(self, db: D, run: str, task: str) -> tuple[int, float, str] | None:
        row = db.one(f"SELECT epoch, {self.heartbeat}, worker FROM claims WHERE run = %s AND task = %s", run, task)
        return (row[0], row[1], row[2]) if row is not None else None

    async def _watch_holder(self, run: str, task: str, lease: float) -> tuple[int, float] | None:
        """Watch a holder on another machine, which may be dead, for one lease by our own clock, and only while the
        store answers. Return the claim's epoch and its last heartbeat if no heartbeat followed, else None."""
        first = await self._look(lambda db: self._read_claim(db, run, task))
        alive = is_alive(first[2], self.workers) if first is not None else False
        if first is not None and alive:  # Refuse before writing, since a stopped holder may have the file locked.
            raise ClaimHeld(_explain_held(run, task, first[2]), first[2])
        if first is None or alive is False:
            return None
        seen = time.monotonic()
        until = seen + lease
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, lease / 10))
            if await self._look(lambda db: self._read_claim(db, run, task)) != first:
                return None
            before, seen = seen, time.monotonic()
            if seen - before > lease / 3:  # No heartbeat was possible while the store was away.
                until = seen + lease
        return first[:2]

    async def check(self, claim: Claim) -> None:
        await self._look(lambda db: self._check_held(db, claim))

    def _check_held(self, db: D, claim: Claim, lock: str = "") -> None:
        held = db.one(f"SELECT run, task, worker FROM claims WHERE epoch = %s {lock}", claim.epoch)
        if held != (claim.run, claim.task, claim.worker):
            raise ClaimLost(
                f"{_describe_stream(claim.run, claim.task)} is no longer held by this worker; another one may have "
                f"taken it over: see `bough status {claim.run}`."
            )

    async def holder(self, run: str, task: str) -> str | None:
        row = await self._look(lambda db: self._read_claim(db, run, task))
        return row[2] if row is not None and is_alive(row[2], self.workers) is not False else None

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        encoded = [encode_event(event) for event in events]

        def insert(db: D) -> list[Record]:
            # Check in the same transaction: otherwise the claim could be taken over in between, and two processes
            # would append.
            self._check_held(db, claim, self.lock)
            version, link = self._read_end(db, claim.run, claim.task)
            if version != expected:
                query = f"{_EVENTS} AND task = %s AND version > %s ORDER BY version LIMIT %s"
                rows = db.all(query, claim.run, claim.task, expected, len(encoded)) if db.again else []
                if rows and [row[5] for row in rows] == [body for _, body in encoded]:
                    # These events are ours: they were committed, and only the confirmation was lost.
                    return self._decode(claim.run, rows, False)
                raise VersionConflict(
                    f"{_describe_stream(claim.run, claim.task)} is at version {version}, not {expected}: another "
                    "writer appended first; read it again."
                )
            return self._insert(db, claim.run, claim.task, version, link, encoded)

        return await self._write(insert)

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        encoded = [encode_event(event)]

        def insert(db: D) -> Record:
            if db.again:  # The event may have been committed, and a person's message must not be posted twice.
                raise StoreError(f"A write to {self.path} was cut off: try again if `bough log {run}` lacks it.")
            return self._insert(db, run, task, *self._read_end(db, run, task), encoded)[0]

        return await self._write(insert, self.hurry)

    def _read_end(self, db: D, run: str, task: str) -> tuple[int, bytes]:
        """Return the version and the last link of a stream that is about to be appended to."""
        query = "SELECT version, chain FROM events WHERE run = %s AND task = %s ORDER BY version DESC LIMIT 1"
        version, chain = db.one(query, run, task) or (0, None)
        return version, START if chain is None else chain[SIZE:]

    def _insert(
        self, db: D, run: str, task: str, version: int, link: bytes, encoded: Sequence[Encoded]
    ) -> list[Record]:
        last, at = self._number(db, run, len(encoded))
        records, rows = [], []
        for number, (event, body) in enumerate(encoded, 1):
            row = (last + number, task, version + number, at, type(event).__name__, body)
            chain = forge_link(link, run, row)
            link = chain[SIZE:]
            rows.append((run, *row, chain))
            records.append(Record(row[0], run, task, row[2], at, event))
        columns = "run, seq, task, version, at, kind, body, chain"
        db.many(f"INSERT INTO events ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)
        return records

    @abstractmethod
    def _number(self, db: D, run: str, count: int) -> tuple[int, float]:
        """Return the last event number in use, after which `count` new events of a run are numbered, and their time."""

    async def read(
        self,
        run: str,
        task: str | None = None,
        since: int = 0,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        query, values = _EVENTS, [run, *([task] if task is not None else []), *(kinds or ()), since]
        if task is not None:
            query += " AND task = %s"
        if kinds is not None:
            query += f" AND kind IN ({', '.join(['%s'] * len(kinds)) or 'NULL'})"
        # Versions and sequence numbers of a stream rise together: either order is right, and each has an index. The
        # plus sign keeps SQLite from walking the index of the whole run (by seq) for the events of a single stream.
        query += " AND seq > %s ORDER BY seq" if task is None else " AND +seq > %s ORDER BY version"
        if limit is not None:
            query += f" LIMIT {int(limit)}"
        whole = since <= 0 and kinds is None and limit is None
        return await self._look(lambda db: self._decode(run, db.rows(query, *values), whole))

    def _decode(self, run: str, rows: "Iterable[Row]", whole: bool) -> list[Record]:
        records: list[Record] = []
        seq = 0
        try:
            for seq, task, version, at, kind, body, _ in check_rows(run, rows, whole, self.damaged):
                records.append(Record(seq, run, task, version, at, decode_event(run, kind, body)))
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
            raise self.damaged(f"event {seq} of run {run} cannot be read: {error}") from error
        return records

    async def runs(self) -> list[str]:
        return [name for name in await self.names() if not name.startswith(OWN)]

    async def compact(self) -> set[str]:
        return {id for id in await self._write(self._sweep) if len(id) == OBJECT}

    def _sweep(self, db: D) -> set[str]:
        """Remove the blobs that no event names, and return every id that events name."""
        named = {id.decode() for (body,) in db.rows("SELECT body FROM events") for id in IDS.findall(body)}
        blobs = [(name,) for (name,) in db.all("SELECT name FROM blobs") if name not in named]
        db.many("DELETE FROM blobs WHERE name = %s", blobs)
        return named

    async def put_blob(self, body: bytes) -> str:
        # Hashing releases the interpreter's lock, so a check's output of many megabytes does not hold up the loop.
        name = (await asyncio.to_thread(hashlib.sha256, body)).hexdigest()
        keep = "INSERT INTO blobs (name, body) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        await self._write(lambda db: db.run(keep, name, body))
        return name

    async def get_blob(self, name: str) -> bytes:
        def find(db: D) -> bytes:
            row = db.one("SELECT body FROM blobs WHERE name = %s", name)
            if row is None:
                raise NotFound(f"There is no blob {name} in {self.path}.")
            return self._check_blob(name, row[0])

        return await self._look(find)

    def _check_blob(self, name: str, body: object) -> bytes:
        if not isinstance(body, bytes) or hashlib.sha256(body).hexdigest() != name:
            raise self.damaged(f"blob {name} has changed")
        return body


def encode_event(event: AnyEvent) -> Encoded:
    """Return the event in a storable form, and its bytes."""
    try:
        return event, encode(event)
    except UnicodeEncodeError:
        event = rewrite_texts(event, repair_surrogates)
        return event, encode(event)


def rewrite_texts(event: AnyEvent, change: Callable[[str], str]) -> AnyEvent:
    """Change every text in the event, except the name of its kind, without which it could not be decoded."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list | tuple) else value

    fields = msgspec.to_builtins(event)
    changed: AnyEvent = msgspec.convert({**walk(fields), "event": fields["event"]}, type(event))
    return changed


def _explain_held(run: str, task: str, worker: str) -> str:
    held = f"{_describe_stream(run, task)} is being worked on by {describe_worker(worker)}"
    if is_stopped(worker):
        return f"{held}: bring it back with `fg`, or end it with `kill -9` and try again."
    return f"{held}: wait until it is finished, stop it with `bough stop {run}`, or end that process."


def _describe_stream(run: str, task: str) -> str:
    return f"Run {run}" if task == RUN else f"Task {task} of run {run}"


SIZE = 16
"""Bytes of a link: 128 bits of SHA-256."""
START = bytes(SIZE)
"""The link before the first event of a stream."""

Row = tuple[int, str, int, float, str, bytes, bytes | None]
"""An event's seq, task, version, at, kind, body, and its link in the chain of the run's and of the task's events."""

_HEAD = Struct(f">{SIZE}sqqd")
_BEGINNING = (0, START)


def forge_link(previous: bytes, run: str, row: tuple[int, str, int, float, str, bytes]) -> bytes:
    """Return the stored links of an event: the one before it and its own."""
    seq, task, version, at, kind, body = row
    whole = _HEAD.pack(previous, seq, version, at) + _encode_names(run, task, kind) + body
    return previous + hashlib.sha256(whole).digest()[:SIZE]


def _encode_names(run: str, task: str, kind: str) -> bytes:
    """Encode a row's names unambiguously: no name contains the NUL that ends it."""
    return f"{run}\0{task}\0{kind}\0".encode()


def check_rows(run: str, rows: Iterable[Row], whole: bool, damaged: Callable[[str], StoreError]) -> Iterator[Row]:
    """Return the rows, or raise the error that `damaged` makes at the first altered one. `whole`: no row is left out on
    purpose, so each must follow the one before it in its stream, and the first must be first."""
    names: defaultdict[str, dict[str, bytes]] = defaultdict(dict)  # Cache encoded names: they repeat in every row.
    ends: dict[str, tuple[int, bytes]] = {}
    pack = _HEAD.pack
    for row in rows:
        seq, task, version, at, kind, body, links = row
        if links is None:
            raise damaged(f"event {seq} of run {run} was not written by bough: it has no link")
        previous, own = links[:SIZE], links[SIZE:]
        try:
            named = names[task].get(kind) or names[task].setdefault(kind, _encode_names(run, task, kind))
            holds = hashlib.sha256(pack(previous, seq, version, at) + named + body).digest()[:SIZE] == own
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
