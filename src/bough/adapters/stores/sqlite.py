"""The journal in one SQLite file.

Promises: what `append` returned survives `kill -9` and a power cut; appends that wait together are committed together,
and a conflict of one does not affect the others; several processes may use the file at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bough.adapters.stores.hash_chain import (
    SIZE,
    START,
    Row,
    add_chain,
    check_rows,
    find_last_unchained,
    forge_link,
    is_chained,
)
from bough.adapters.stores.liveness import Presence, describe_worker, is_alive, is_stopped, worker_id
from bough.adapters.stores.sqlite_file import PATIENCE, Database
from bough.core.errors import ClaimHeld, ClaimLost, DiskFull, NotFound, StoreError, VersionConflict
from bough.core.events import LAYOUT, AnyEvent, Record, decode_event, encode
from bough.core.ids import OWN, RUN
from bough.core.textual.cleaning import repair_surrogates
from bough.ports import Claim

T = TypeVar("T")

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    version INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    chain BLOB,
    body BLOB NOT NULL,
    UNIQUE (run, task, version)
);
CREATE INDEX IF NOT EXISTS events_of_run ON events (run, seq, kind);
CREATE TABLE IF NOT EXISTS claims (
    epoch INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    worker TEXT NOT NULL,
    expires REAL NOT NULL,
    UNIQUE (run, task)
);
CREATE TABLE IF NOT EXISTS blobs (name TEXT PRIMARY KEY, body BLOB NOT NULL)
"""
"""`chain` is before `body`, which may be long, so that the last link of a stream is found without reading past it.
`events_of_run` gives a run's events in order and skips unwanted kinds without touching their rows. A claim's row lives
as long as the claim; its key is the epoch, which AUTOINCREMENT never reuses. `expires` changes with every heartbeat; it
is never compared with a clock, because clocks jump and differ."""

LAST = """
SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT value FROM meta WHERE key = 'last'), 0))
"""
"""The last number that an event got. Those of a removed run are not reused."""
OBJECT = 40
IDS = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
"""Names of blobs, and of git's objects."""
RUNS = """
WITH RECURSIVE names (run) AS (
    SELECT min(run) FROM events
    UNION ALL
    SELECT (SELECT min(run) FROM events WHERE run > names.run) FROM names WHERE names.run IS NOT NULL
)
SELECT run FROM names WHERE run IS NOT NULL ORDER BY (SELECT min(seq) FROM events WHERE events.run = names.run)
"""
"""Hops from name to name along the index: its cost grows with the runs, not with their events."""


class SqliteStore:
    """A `Store` in the file at `path`. With `create` a missing file is created; without, it is `NotFound`."""

    def __init__(self, path: Path, *, create: bool = True, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._database = Database(path, schema=SCHEMA, format=LAYOUT, create=create)
        self._workers = path.parent / "workers"
        self._presence: Presence | None = None

    @asynccontextmanager
    async def claim(self, run: str, task: str, worker: str, lease: float) -> AsyncIterator[Claim]:
        if self._presence is None and worker == worker_id():
            self._presence = Presence(self._workers, worker)
        silent = await watch_holder(
            lambda: self._database.read(lambda db: self._read_claim(db, run, task)), run, task, lease, self._workers
        )
        taken: list[Claim] = []

        def take(db: sqlite3.Connection) -> Claim:
            taken[:] = [self._take(db, run, task, worker, silent)]
            return taken[0]

        def release(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM claims WHERE epoch = ?", [(claim.epoch,) for claim in taken])

        try:
            claim = await self._database.write(take)
        except asyncio.CancelledError:
            self._database.submit(release)  # the writer may have taken it meanwhile, or is about to
            raise
        try:
            yield claim
        finally:
            with suppress(DiskFull):  # it ends with this process anyway
                await self._database.write(release, PATIENCE)

    def _take(
        self, db: sqlite3.Connection, run: str, task: str, worker: str, silent: tuple[int, float] | None
    ) -> Claim:
        # Read again within the transaction: since `watch_holder` looked, the holder may have beaten, ended, or been
        # replaced.
        row = self._read_claim(db, run, task)
        if row is not None and row[:2] != silent and is_alive(row[2], self._workers) is not False:
            raise ClaimHeld(explain_held(run, task, row[2]), row[2])
        # What is written from now on, an older bough cannot read: it is to say so, not that the journal is damaged.
        db.execute("UPDATE meta SET value = ? WHERE key = 'format' AND value < ?", (LAYOUT, LAYOUT))
        # A new row rather than an update, because the epoch is its key: whoever held it before finds its epoch gone.
        db.execute("DELETE FROM claims WHERE run = ? AND task = ?", (run, task))
        cursor = db.execute(
            "INSERT INTO claims (run, task, worker, expires) VALUES (?, ?, ?, ?)", (run, task, worker, time.monotonic())
        )
        return Claim(run, task, worker, cursor.lastrowid or 0)

    @staticmethod
    def _read_claim(db: sqlite3.Connection, run: str, task: str) -> tuple[int, float, str] | None:
        query = "SELECT epoch, expires, worker FROM claims WHERE run = ? AND task = ?"
        row: tuple[int, float, str] | None = db.execute(query, (run, task)).fetchone()
        return row

    async def check(self, claim: Claim) -> None:
        await self._database.glance(lambda db: self._check_held(db, claim))

    @staticmethod
    def _check_held(db: sqlite3.Connection, claim: Claim) -> None:
        require_claim(
            claim, db.execute("SELECT run, task, worker FROM claims WHERE epoch = ?", (claim.epoch,)).fetchone()
        )

    async def renew(self, worker: str, lease: float) -> None:
        def extend(db: sqlite3.Connection) -> None:
            # Any number that differs from the last one will do. This clock at least never stands still or goes back.
            db.execute("UPDATE claims SET expires = ? WHERE worker = ?", (time.monotonic(), worker))

        await self._database.write(extend)

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        encoded = [encode_event(event) for event in events]

        def insert(db: sqlite3.Connection) -> list[Record]:
            self._check_held(db, claim)
            version, link = _read_end(db, claim.run, claim.task)
            if version != expected:
                raise make_version_conflict(claim, version, expected)
            return self._insert(db, claim.run, claim.task, version, link, encoded)

        try:
            return await self._database.write(insert, PATIENCE)
        except asyncio.CancelledError:
            await self._database.submit(lambda db: None)  # work is done in order, so that then this one is done too
            raise

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        encoded = [encode_event(event)]

        def insert(db: sqlite3.Connection) -> Record:
            return self._insert(db, run, task, *_read_end(db, run, task), encoded)[0]

        return await self._database.write(insert)

    def _insert(
        self,
        db: sqlite3.Connection,
        run: str,
        task: str,
        version: int,
        link: bytes,
        encoded: Sequence[tuple[AnyEvent, bytes]],
    ) -> list[Record]:
        at = float(self._clock())
        (last,) = db.execute(LAST).fetchone()
        records, rows = chain_events(run, task, last, version, link, at, encoded)
        db.executemany(
            "INSERT INTO events (run, seq, task, version, at, kind, body, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
        )
        return records

    async def read(
        self,
        run: str,
        task: str | None = None,
        since: int = 0,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        query = "SELECT seq, task, version, at, kind, body, chain FROM events WHERE run = ?"
        values: list[str | int] = [run]
        if task is not None:
            query += " AND task = ?"
            values.append(task)
        if kinds is not None:
            query += f" AND kind IN ({', '.join('?' * len(kinds))})"
            values.extend(kinds)
        # Versions and sequence numbers of a stream rise together, so that each index has its rows in order already; the
        # plus sign keeps SQLite from walking the index of the whole run for a single stream.
        query += " AND seq > ? ORDER BY seq" if task is None else " AND +seq > ? ORDER BY version"
        values.append(since)
        if limit is not None:
            query += " LIMIT ?"
            values.append(limit)
        whole = since == 0 and kinds is None and limit is None

        def find(db: sqlite3.Connection) -> list[Record]:
            if not is_chained(db):  # of an earlier bough, and not written to since
                rows = db.execute(query.replace(", chain FROM", ", NULL FROM"), values)
                return decode_rows(run, rows, sys.maxsize, whole, self._database.damaged)
            return decode_rows(run, db.execute(query, values), find_last_unchained(db), whole, self._database.damaged)

        return await self._database.read(find)

    async def runs(self) -> list[str]:
        return [name for name in await self.names() if not name.startswith(OWN)]

    async def names(self) -> list[str]:
        # In this order: the very first event may come in between.
        any_event, found = await self._database.read(
            lambda db: (db.execute("SELECT 1 FROM events NOT INDEXED LIMIT 1").fetchone(), db.execute(RUNS).fetchall())
        )
        if any_event and not found:
            raise self._database.damaged("its index of runs is empty")
        return [run for (run,) in found]

    async def holder(self, run: str, task: str) -> str | None:
        row = await self._database.read(lambda db: self._read_claim(db, run, task))
        return row[2] if row is not None and is_alive(row[2], self._workers) is not False else None

    async def forget(self, claim: Claim) -> None:
        def remove(db: sqlite3.Connection) -> None:
            # In the transaction that inserts. Checked before it, the claim could be taken over in between, and two
            # would append.
            self._check_held(db, claim)
            (last,) = db.execute(LAST).fetchone()
            # The last number given outlives the run that had it: a follower continues from a number, and would never be
            # shown an event that got a used one.
            removed = db.execute("DELETE FROM events WHERE run = ?", (claim.run,)).rowcount
            for key, value in (("removed", removed + _read_meta(db, "removed")), ("last", last)):
                db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

        await self._database.write(remove, PATIENCE)

    async def compact(self) -> set[str]:
        def sweep(db: sqlite3.Connection) -> set[bytes]:
            named = {id for (body,) in db.execute("SELECT body FROM events") for id in IDS.findall(body)}
            blobs = [name for (name,) in db.execute("SELECT name FROM blobs") if name.encode() not in named]
            db.executemany("DELETE FROM blobs WHERE name = ?", [(name,) for name in blobs])
            return named

        named = await self._database.write(sweep, PATIENCE)
        await asyncio.to_thread(self._shrink)
        return {id.decode() for id in named if len(id) == OBJECT}

    def _shrink(self) -> None:
        """Return free space to the disk, unless someone is reading: then the next run uses it."""
        # On a connection of its own: SQLite refuses VACUUM within a transaction, and the writer is always in one.
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("VACUUM")

    async def put_blob(self, body: bytes) -> str:
        # Hashing lets go of the interpreter's lock, so a check's output of many megabytes does not hold up the loop.
        name = (await asyncio.to_thread(hashlib.sha256, body)).hexdigest()

        def keep(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR IGNORE INTO blobs (name, body) VALUES (?, ?)", (name, body))

        await self._database.write(keep, PATIENCE)
        return name

    async def get_blob(self, name: str) -> bytes:
        def find(db: sqlite3.Connection) -> bytes:
            row = db.execute("SELECT body FROM blobs WHERE name = ?", (name,)).fetchone()
            if row is None:
                raise NotFound(f"There is no blob {name} in {self.path}.")
            return self._check_blob(name, row[0])

        return await self._database.read(find)

    async def verify(self) -> tuple[int, int]:
        """Read everything, and raise `StoreError` at the first thing that is not as it was written. Returns the number
        of events, and of those from before there were chains."""

        def look(db: sqlite3.Connection) -> tuple[int, int, int]:
            (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise self._database.damaged(said)
            (count,), (last,) = db.execute("SELECT count(*) FROM events").fetchone(), db.execute(LAST).fetchone()
            count += _read_meta(db, "removed")
            for name, body in db.execute("SELECT name, body FROM blobs"):
                self._check_blob(name, body)
            return count, last, find_last_unchained(db) if is_chained(db) else last

        for run in await self.names():
            await self.read(run)
        count, last, unchained = await self._database.read(look)
        if count != last:
            raise self._database.damaged(f"{last - count} events are missing")
        return count, unchained

    def _check_blob(self, name: str, body: object) -> bytes:
        if not isinstance(body, bytes) or hashlib.sha256(body).hexdigest() != name:
            raise self._database.damaged(f"blob {name} has changed")
        return body

    async def close(self) -> None:
        await self._database.close()
        if self._presence is not None:
            self._presence.end()
            self._presence = None


def encode_event(event: AnyEvent) -> tuple[AnyEvent, bytes]:
    """The event as it can be kept, and its bytes."""
    try:
        return event, encode(event)
    except UnicodeEncodeError:
        event = rewrite_texts(event, repair_surrogates)
        return event, encode(event)


def rewrite_texts(event: AnyEvent, change: Callable[[str], str]) -> AnyEvent:
    """The event with every text in it changed, except the name of its kind: without it the event would be
    unreadable."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list | tuple) else value

    fields = msgspec.to_builtins(event)
    changed: AnyEvent = msgspec.convert({**walk(fields), "event": fields["event"]}, type(event))
    return changed


def chain_events(
    run: str, task: str, last: int, version: int, link: bytes, at: float, encoded: Sequence[tuple[AnyEvent, bytes]]
) -> tuple[list[Record], list[tuple[Any, ...]]]:
    """The events as records, and as rows (run, seq, task, version, at, kind, body, chain), numbered after the `last`
    event of the journal and the `version` of their stream, and chained to its `link`."""
    records, rows = [], []
    for number, (event, body) in enumerate(encoded, 1):
        row = (last + number, task, version + number, at, type(event).__name__, body)
        chain = forge_link(link, run, row)
        link = chain[SIZE:]
        rows.append((run, *row, chain))
        records.append(Record(row[0], run, task, row[2], at, event))
    return records, rows


def decode_rows(
    run: str, rows: Iterable[Row], unchained: int, whole: bool, damaged: Callable[[str], StoreError]
) -> list[Record]:
    """The records of a run's rows, each checked against its chain (see `check_rows`). `damaged` makes the error."""
    records: list[Record] = []
    seq = 0
    try:
        for seq, task, version, at, kind, body, _ in check_rows(run, rows, unchained, whole, damaged):
            records.append(Record(seq, run, task, version, at, decode_event(run, kind, body)))
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise damaged(f"event {seq} of run {run} cannot be read: {error}") from error
    return records


async def watch_holder(
    look: Callable[[], Awaitable[tuple[int, T, str] | None]],
    run: str,
    task: str,
    lease: float,
    workers: Path | None = None,
) -> tuple[int, T] | None:
    """Whether a holder on another machine is alive is unknown here: it is watched for one lease, by our own clock, and
    only while the store answers. Returns the claim and its last heartbeat, when there was no other in that time.
    `look`: the claim's epoch, heartbeat and worker; `workers`: where these show their presence."""
    first = await look()
    alive = is_alive(first[2], workers) if first is not None else False
    if first is not None and alive:  # Reported here, since a stopped holder may have the file locked.
        raise ClaimHeld(explain_held(run, task, first[2]), first[2])
    if first is None or alive is False:
        return None
    seen = time.monotonic()
    until = seen + lease
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, lease / 10))
        if await look() != first:
            return None
        before, seen = seen, time.monotonic()
        if seen - before > lease / 3:  # No one could beat while the store was away.
            until = seen + lease
    return first[:2]


def require_claim(claim: Claim, held: Any) -> None:
    """`held`: run, task and worker of the claim with its epoch; None when it is gone."""
    if held != (claim.run, claim.task, claim.worker):
        raise ClaimLost(
            f"{describe_stream(claim.run, claim.task)} is no longer held by this worker; another one may have taken it "
            f"over: see `bough status {claim.run}`."
        )


def make_version_conflict(claim: Claim, version: int, expected: int) -> VersionConflict:
    return VersionConflict(
        f"{describe_stream(claim.run, claim.task)} is at version {version}, not {expected}: another writer appended "
        "first; read it again."
    )


def _read_meta(db: sqlite3.Connection, key: str) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return int(row[0]) if row else 0


def _read_end(db: sqlite3.Connection, run: str, task: str) -> tuple[int, bytes]:
    """The version and the last link of a stream that is about to be appended to."""
    query = "SELECT version, chain FROM events WHERE run = ? AND task = ? ORDER BY version DESC LIMIT 1"
    try:
        rows = db.execute(query, (run, task))
    except sqlite3.OperationalError:  # of an earlier bough; asking before every append would cost more than this
        add_chain(db)
        rows = db.execute(query, (run, task))
    version, chain = rows.fetchone() or (0, None)
    return version, START if chain is None else chain[SIZE:]


def explain_held(run: str, task: str, worker: str) -> str:
    if is_stopped(worker):
        return (
            f"{describe_stream(run, task)} is being worked on by {describe_worker(worker)}: bring it "
            f"back with `fg`, or end it with "
            "`kill -9` and try again."
        )
    return (
        f"{describe_stream(run, task)} is being worked on by {describe_worker(worker)}: wait until it is finished, "
        f"stop it with `bough stop {run}`, or end that process."
    )


def describe_stream(run: str, task: str) -> str:
    return f"Run {run}" if task == RUN else f"Task {task} of run {run}"
