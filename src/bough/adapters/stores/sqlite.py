"""The journal in one SQLite file.

Promises: what `append` returned survives `kill -9` and a power cut; appends that wait together are committed together,
and a conflict of one does not affect the others; several processes may use the file at once."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import ClassVar, TypeVar

from bough.adapters.stores.liveness import Presence, worker_id
from bough.adapters.stores.sql import PATIENCE, SqlStore
from bough.adapters.stores.sqlite_file import Database, SqliteConnection
from bough.core.errors import StoreError
from bough.core.events import LAYOUT
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
"""`chain` is before `body`, which may be long, so that reading the last link of a stream does not read its body.
`events_of_run` gives a run's events in order and skips unwanted kinds without touching their rows. A claim's row lives
as long as the claim; its key is the epoch, which AUTOINCREMENT never reuses. `expires` changes with every heartbeat; it
is never compared with a clock, because clocks jump and differ."""

LAST = """
SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT value FROM meta WHERE key = 'last'), 0))
"""
"""The last number that an event got. The numbers of removed runs are not reused."""
RUNS = """
WITH RECURSIVE names (run) AS (
    SELECT min(run) FROM events
    UNION ALL
    SELECT (SELECT min(run) FROM events WHERE run > names.run) FROM names WHERE names.run IS NOT NULL
)
SELECT run FROM names WHERE run IS NOT NULL ORDER BY (SELECT min(seq) FROM events WHERE events.run = names.run)
"""
"""Lists the runs by hopping from name to name along the index: the cost grows with the runs, not with their events."""


class SqliteStore(SqlStore[SqliteConnection]):
    """A `Store` in the file at `path`. With `create` a missing file is created; without it, `NotFound` is raised."""

    heartbeat = "expires"
    hurry: ClassVar[float] = 0.0
    path: Path
    workers: Path

    def __init__(self, path: Path, *, create: bool = True, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.path = path
        self._clock = clock
        self._database = Database(path, schema=SCHEMA, format=LAYOUT, create=create)
        self.workers = path.parent / "workers"
        self._presence: Presence | None = None

    async def _look(self, work: Callable[[SqliteConnection], T]) -> T:
        return await self._database.read(work)

    async def _write(self, work: Callable[[SqliteConnection], T], patience: float = PATIENCE) -> T:
        try:
            return await self._database.write(work, patience)
        except asyncio.CancelledError:
            # Wait until all earlier writes are settled, even the cancelled one.
            await self._database.submit(lambda db: None)
            raise

    def damaged(self, how: str) -> StoreError:
        return self._database.damaged(how)

    @asynccontextmanager
    async def claim(self, run: str, task: str, worker: str, lease: float) -> AsyncIterator[Claim]:
        if self._presence is None and worker == worker_id():
            self._presence = Presence(self.workers, worker)
        async with super().claim(run, task, worker, lease) as claim:
            yield claim

    def _add_claim(self, db: SqliteConnection, run: str, task: str, worker: str, token: str) -> None:
        # An older bough cannot read newer events: with this number it says so, not that the journal is damaged.
        db.run("UPDATE meta SET value = %s WHERE key = 'format' AND value < %s", LAYOUT, LAYOUT)
        query = "INSERT INTO claims (run, task, worker, expires) VALUES (%s, %s, %s, %s)"
        db.run(query, run, task, worker, time.monotonic())

    async def check(self, claim: Claim) -> None:
        await self._database.glance(lambda db: self._check_held(db, claim))

    async def renew(self, worker: str, lease: float) -> None:
        # A heartbeat only has to differ from the last one. The monotonic clock, unlike others, is never set back.
        def beat(db: SqliteConnection) -> None:
            db.many("DELETE FROM claims WHERE epoch = %s", [(epoch,) for epoch in self.left])
            db.run("UPDATE claims SET expires = %s WHERE worker = %s", time.monotonic(), worker)

        await self._write(beat, self.hurry)

    def _number(self, db: SqliteConnection, run: str, count: int) -> tuple[int, float]:
        (last,) = db.execute(LAST).fetchone()
        return last, float(self._clock())

    async def names(self) -> list[str]:
        # Look for any event before listing the runs, since the very first event may be written in between.
        any_event, found = await self._database.read(
            lambda db: (db.execute("SELECT 1 FROM events NOT INDEXED LIMIT 1").fetchone(), db.execute(RUNS).fetchall())
        )
        if any_event and not found:
            raise self.damaged("its index of runs is empty")
        return [run for (run,) in found]

    async def forget(self, claim: Claim) -> None:
        def remove(db: SqliteConnection) -> None:
            self._check_held(db, claim)
            (last,) = db.execute(LAST).fetchone()
            # The last number outlives its run: a follower continues from a number, and would never see an event with a
            # reused one.
            removed = db.execute("DELETE FROM events WHERE run = ?", (claim.run,)).rowcount
            for key, value in (("removed", removed + _read_meta(db, "removed")), ("last", last)):
                db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

        await self._write(remove)

    async def compact(self) -> set[str]:
        named = await super().compact()
        await asyncio.to_thread(self._shrink)
        return named

    def _shrink(self) -> None:
        """Return free space to the disk, unless someone is reading: then later events reuse it."""
        # On a connection of its own: SQLite refuses VACUUM within a transaction, and the writer is always in one.
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("VACUUM")

    async def verify(self) -> int:
        """Read everything, and raise `StoreError` at the first altered row. Returns the number of events."""

        def look(db: SqliteConnection) -> tuple[int, int]:
            (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise self.damaged(said)
            (count,), (last,) = db.execute("SELECT count(*) FROM events").fetchone(), db.execute(LAST).fetchone()
            count += _read_meta(db, "removed")
            for name, body in db.execute("SELECT name, body FROM blobs"):
                self._check_blob(name, body)
            return count, last

        for run in await self.names():
            await self.read(run)
        count, last = await self._database.read(look)
        if count != last:
            raise self.damaged(f"{last - count} events are missing")
        return count

    async def close(self) -> None:
        await self._database.close()
        if self._presence is not None:
            self._presence.end()
            self._presence = None


def _read_meta(db: SqliteConnection, key: str) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return int(row[0]) if row else 0
