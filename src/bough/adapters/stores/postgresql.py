"""The journal in a schema of a PostgreSQL database, for runs that several machines work on.

Promises: what `append` returned is committed; events of a run are numbered in the order of their commits, so that a
reader who continues from a number misses none; a server that restarts is waited for, and what was being written when it
went away is written exactly once. Times are the server's, so that the clocks of the machines do not matter.

    postgresql://user@host/database?schema=name       one project a schema; `bough` when none is named
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from bough.adapters.stores.hash_chain import SIZE, START
from bough.adapters.stores.liveness import is_alive
from bough.adapters.stores.postgresql_server import Server, Transaction
from bough.adapters.stores.sqlite import (
    IDS,
    OBJECT,
    chain_events,
    decode_rows,
    encode_event,
    explain_held,
    make_version_conflict,
    require_claim,
    watch_holder,
)
from bough.adapters.stores.sqlite_file import PATIENCE
from bough.core.errors import ClaimHeld, NotFound, StoreError
from bough.core.events import LAYOUT, AnyEvent, Record
from bough.core.ids import OWN
from bough.ports import Claim

T = TypeVar("T")

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key text PRIMARY KEY, value bigint NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
    run text COLLATE "C" PRIMARY KEY,
    number bigserial,
    last bigint NOT NULL,
    waiting text NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS events (
    run text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    task text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    chain bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run, seq),
    UNIQUE (run, task, version)
);
CREATE TABLE IF NOT EXISTS claims (
    epoch bigserial PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    worker text NOT NULL,
    token text NOT NULL,
    beat bigint NOT NULL DEFAULT 0,
    UNIQUE (run, task)
);
CREATE INDEX IF NOT EXISTS claims_of_worker ON claims (worker);
CREATE TABLE IF NOT EXISTS blobs (name text PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE IF NOT EXISTS workers (
    worker text PRIMARY KEY,
    life text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    tags text[] NOT NULL,
    version text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    draining boolean NOT NULL DEFAULT false,
    trouble text NOT NULL DEFAULT '',
    lease double precision NOT NULL,
    beat bigint NOT NULL DEFAULT 0,
    beaten timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS trees (
    tree text NOT NULL,
    part integer NOT NULL,
    base text,
    remote text,
    body bytea,
    PRIMARY KEY (tree, part)
);
"""
"""`runs.last` is the number of a run's last event: an append holds that row until the commit, so numbers and commits
have one order, and runs do not wait for each other. `runs.waiting` is what the coordinator waits for,
`workers.trouble` why a worker is set aside. A claim's `beat` grows with every heartbeat; it is never compared with a
clock. A `token` tells a claim whose commit was cut off from another's. `trees` holds the files that machines
exchange: git packs (see `adapters/workspaces/exchange.py`)."""
UPGRADE = """
ALTER TABLE runs ADD COLUMN IF NOT EXISTS waiting text NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN IF NOT EXISTS trouble text NOT NULL DEFAULT '';
"""
"""What a journal of layout 1 lacks."""


class PostgresStore:
    """A `Store` on a server. With `create` missing tables are created; without, they are `NotFound`."""

    def __init__(self, url: str, *, create: bool = True, clock: Callable[[], float] | None = None) -> None:
        self.server = Server(url)
        self._clock = clock
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="bough-journal")
        self._closed = False
        self._origin = 0.0
        try:
            self.server.run(lambda db: self._prepare(db, create))
        except BaseException:
            self._threads.shutdown(wait=False)
            self.server.close()
            raise

    @property
    def path(self) -> str:
        """Where it is, for people: without a password."""
        return self.server.name

    def _prepare(self, db: Transaction, create: bool) -> None:
        there = db.one("SELECT to_regclass('meta') IS NOT NULL")
        if there != (True,):
            if not create:
                raise NotFound(f"There are no runs in {self.path} yet: start one with `bough run GOAL --store …`.")
            # CREATE … IF NOT EXISTS is not safe against itself: of two that begin together both find nothing, and one
            # then fails on a unique index of the catalogue.
            db.run("SELECT pg_advisory_xact_lock(hashtextextended('bough ' || current_schema, 0))")
            db.run(SCHEMA)
            db.run("INSERT INTO meta VALUES ('format', %s) ON CONFLICT DO NOTHING", LAYOUT)
        row = db.one("SELECT value FROM meta WHERE key = 'format'")
        if row is None:
            raise self._make_damage_error("it has no format number")
        if row[0] > LAYOUT:
            raise StoreError(
                f"The journal {self.path} was written by a newer bough (its format is {row[0]}, this bough knows "
                f"{LAYOUT}); upgrade bough."
            )
        if create and row[0] < LAYOUT:
            db.run(UPGRADE)
            db.run("UPDATE meta SET value = %s WHERE key = 'format'", LAYOUT)
        # Not now(), which is when the transaction began: it may have waited for the lock above.
        now = db.one("SELECT extract(epoch FROM clock_timestamp())::float8")
        self._origin = float(now[0] if now is not None else time.time()) - time.monotonic()

    def now(self) -> float:
        """The server's time, without asking it again: setting this machine's clock does not change it."""
        return self._origin + time.monotonic()

    async def transact(self, work: Callable[[Transaction], T], patience: float = PATIENCE) -> T:
        """Run `work` in one transaction, in a thread. It may run again when the server went away."""
        if self._closed:
            raise StoreError(f"The journal {self.path} was closed: open it again.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.server.run, work, patience)

    # ── claims ──────────────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def claim(self, run: str, task: str, worker: str, lease: float) -> AsyncIterator[Claim]:
        silent = await watch_holder(lambda: self.transact(lambda db: self._read_claim(db, run, task)), run, task, lease)
        token = secrets.token_hex(8)
        taking = asyncio.ensure_future(
            self.transact(lambda db: self._take(db, run, task, worker, token, silent)),
        )

        async def release() -> None:
            await self.transact(lambda db: db.run("DELETE FROM claims WHERE token = %s", token))

        try:
            # A statement in a thread cannot be cancelled. Whoever left without waiting for it could leave a claim that
            # nobody releases.
            claim = await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait([taking])  # it may have been taken meanwhile
            await release()
            raise
        try:
            yield claim
        finally:
            # A run that is cancelled must let go as well, or whoever resumes it waits for a whole lease.
            await asyncio.shield(release())

    def _take(
        self, db: Transaction, run: str, task: str, worker: str, token: str, silent: tuple[int, int] | None
    ) -> Claim:
        # There may be no row to lock yet. Without this two would insert, and the second fail on the key, not as
        # `ClaimHeld`.
        db.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", f"{run}/{task}")
        row = self._read_claim(db, run, task)
        mine = db.one("SELECT epoch FROM claims WHERE token = %s", token)
        if mine is not None:  # It was committed, and only the confirmation was lost.
            return Claim(run, task, worker, mine[0])
        if row is not None and row[:2] != silent and is_alive(row[2]) is not False:
            raise ClaimHeld(explain_held(run, task, row[2]), row[2])
        db.run("DELETE FROM claims WHERE run = %s AND task = %s", run, task)
        made = db.one(
            "INSERT INTO claims (run, task, worker, token) VALUES (%s, %s, %s, %s) RETURNING epoch",
            *(run, task, worker, token),
        )
        assert made is not None
        return Claim(run, task, worker, made[0])

    @staticmethod
    def _read_claim(db: Transaction, run: str, task: str) -> tuple[int, int, str] | None:
        found = db.one("SELECT epoch, beat, worker FROM claims WHERE run = %s AND task = %s", run, task)
        return (found[0], found[1], found[2]) if found is not None else None

    async def check(self, claim: Claim) -> None:
        await self.transact(lambda db: self._check_held(db, claim))

    @staticmethod
    def _check_held(db: Transaction, claim: Claim, lock: str = "") -> None:
        require_claim(claim, db.one(f"SELECT run, task, worker FROM claims WHERE epoch = %s {lock}", claim.epoch))

    async def renew(self, worker: str, lease: float) -> None:
        await self.transact(lambda db: db.run("UPDATE claims SET beat = beat + 1 WHERE worker = %s", worker))

    async def holder(self, run: str, task: str) -> str | None:
        row = await self.transact(lambda db: self._read_claim(db, run, task))
        return row[2] if row is not None and is_alive(row[2]) is not False else None

    async def waiting(self, run: str) -> str:
        """What the run's coordinator says that it waits for."""
        row = await self.transact(
            lambda db: db.one("SELECT to_jsonb(runs) ->> 'waiting' FROM runs WHERE run = %s", run)
        )
        return (row[0] or "") if row is not None else ""  # none: of layout 1, which has no such column

    async def holders(self, run: str) -> dict[str, str]:
        """Return the worker that now holds each task of a run."""
        rows = await self.transact(lambda db: db.all("SELECT task, worker FROM claims WHERE run = %s", run))
        return {task: worker for task, worker in rows if is_alive(worker) is not False}

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        encoded = [encode_event(event) for event in events]
        if not encoded:
            return []

        def insert(db: Transaction) -> list[Record]:
            # A takeover of the claim waits until this is committed, or this finds it gone.
            self._check_held(db, claim, "FOR SHARE")
            version, link = self._read_end(db, claim.run, claim.task)
            if version != expected:
                if db.again and (kept := self._kept(db, claim, expected, encoded)):
                    return kept  # It was committed, and only the confirmation was lost.
                raise make_version_conflict(claim, version, expected)
            return self._insert(db, claim.run, claim.task, version, link, encoded)

        writing = asyncio.ensure_future(self.transact(insert))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    def _kept(
        self, db: Transaction, claim: Claim, expected: int, encoded: Sequence[tuple[AnyEvent, bytes]]
    ) -> list[Record] | None:
        """Our own events, when they follow the version that we expected."""
        rows = db.all(
            "SELECT seq, task, version, at, kind, body, chain FROM events "
            "WHERE run = %s AND task = %s AND version > %s ORDER BY version LIMIT %s",
            *(claim.run, claim.task, expected, len(encoded)),
        )
        if [row[5] for row in rows] != [body for _, body in encoded]:
            return None
        return decode_rows(claim.run, rows, 0, False, self._make_damage_error)

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        encoded = [encode_event(event)]

        def insert(db: Transaction) -> Record:
            if db.again:  # It may have been committed: a person's message is not posted twice.
                raise StoreError(f"{self.path} was cut off: see `bough log {run}` whether it arrived, then try again.")
            db.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 2))", f"{run}/{task}")
            return self._insert(db, run, task, *self._read_end(db, run, task), encoded)[0]

        return await self.transact(insert)

    @staticmethod
    def _read_end(db: Transaction, run: str, task: str) -> tuple[int, bytes]:
        """The version and the last link of a stream that is about to be appended to. Posting to a stream holds the
        run's row: so does this, so that nothing comes in between."""
        held = "SELECT 1 FROM runs WHERE run = %s FOR UPDATE"
        if db.one(held, run) is None:
            db.run("INSERT INTO runs (run, last) VALUES (%s, 0) ON CONFLICT DO NOTHING", run)
            db.run(held, run)
        row = db.one(
            "SELECT version, chain FROM events WHERE run = %s AND task = %s ORDER BY version DESC LIMIT 1", run, task
        )
        return (row[0], row[1][SIZE:]) if row is not None else (0, START)

    def _insert(
        self,
        db: Transaction,
        run: str,
        task: str,
        version: int,
        link: bytes,
        encoded: Sequence[tuple[AnyEvent, bytes]],
    ) -> list[Record]:
        found = db.one(
            # The time is asked for while the run's row is held, so that times rise with numbers.
            "UPDATE runs SET last = last + %s WHERE run = %s RETURNING last, extract(epoch FROM clock_timestamp())",
            *(len(encoded), run),
        )
        assert found is not None
        at = float(self._clock() if self._clock is not None else found[1])
        records, rows = chain_events(run, task, found[0] - len(encoded), version, link, at, encoded)
        db.many(
            "INSERT INTO events (run, seq, task, version, at, kind, body, chain) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            rows,
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
        query = "SELECT seq, task, version, at, kind, body, chain FROM events WHERE run = %s AND seq > %s"
        values: list[Any] = [run, since]
        if task is not None:
            query += " AND task = %s"
            values.append(task)
        if kinds is not None:
            query += " AND kind = ANY(%s)"
            values.append(list(kinds))
        query += " ORDER BY seq" if task is None else " ORDER BY version"
        if limit is not None:
            query += " LIMIT %s"
            values.append(limit)
        whole = since <= 0 and kinds is None and limit is None

        def find(db: Transaction) -> list[Record]:
            return decode_rows(run, db.all(query, *values), 0, whole, self._make_damage_error)

        return await self.transact(find)

    async def runs(self) -> list[str]:
        return [name for name in await self.names() if not name.startswith(OWN)]

    async def names(self) -> list[str]:
        query = "SELECT run FROM runs WHERE EXISTS (SELECT 1 FROM events WHERE events.run = runs.run) ORDER BY number"
        return [run for (run,) in await self.transact(lambda db: db.all(query))]

    # ── keeping house ───────────────────────────────────────────────────────────────────────────────────────────

    async def forget(self, claim: Claim) -> None:
        def remove(db: Transaction) -> None:
            self._check_held(db, claim, "FOR SHARE")
            db.run("DELETE FROM events WHERE run = %s", claim.run)
            db.run("DELETE FROM runs WHERE run = %s", claim.run)

        await self.transact(remove)

    async def compact(self) -> set[str]:
        def sweep(db: Transaction) -> set[bytes]:
            named = {id for (body,) in db.all("SELECT body FROM events") for id in IDS.findall(body)}
            known = [id.decode() for id in named]
            db.run("DELETE FROM blobs WHERE NOT name = ANY(%s)", known)
            # A pack is needed by those that build on it too.
            db.run(
                "WITH RECURSIVE kept (tree) AS (SELECT unnest(%s::text[]) UNION "
                "SELECT trees.base FROM trees JOIN kept USING (tree) WHERE trees.base IS NOT NULL) "
                "DELETE FROM trees WHERE NOT EXISTS (SELECT 1 FROM kept WHERE kept.tree = trees.tree)",
                known,
            )
            return named

        named = await self.transact(sweep)
        return {id.decode() for id in named if len(id) == OBJECT}

    async def put_blob(self, body: bytes) -> str:
        name = (await asyncio.to_thread(hashlib.sha256, body)).hexdigest()
        keep = "INSERT INTO blobs (name, body) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        await self.transact(lambda db: db.run(keep, name, body))
        return name

    async def get_blob(self, name: str) -> bytes:
        row = await self.transact(lambda db: db.one("SELECT body FROM blobs WHERE name = %s", name))
        if row is None:
            raise NotFound(f"There is no blob {name} in {self.path}.")
        return self._check_blob(name, row[0])

    def _check_blob(self, name: str, body: bytes) -> bytes:
        if hashlib.sha256(body).hexdigest() != name:
            raise self._make_damage_error(f"blob {name} has changed")
        return body

    async def verify(self) -> tuple[int, int]:
        """Read everything, and raise `StoreError` at the first thing that is not as it was written. Returns the number
        of events, and of those from before there were chains: none, here."""
        count = 0
        for run in await self.names():
            found = len(await self.read(run))
            last = await self.transact(lambda db, run=run: db.one("SELECT last FROM runs WHERE run = %s", run))  # type: ignore[misc]
            if last is None or last[0] != found:
                raise self._make_damage_error(f"events of run {run} are missing")
            count += found
        for (name,) in await self.transact(lambda db: db.all("SELECT name FROM blobs")):
            await self.get_blob(name)
        return count, 0

    def _make_damage_error(self, how: str) -> StoreError:
        return StoreError(f"The journal {self.path} is damaged ({how}): restore it from a backup.")

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        with suppress(StoreError):
            self.server.close()
