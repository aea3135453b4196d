"""The journal in a schema of a PostgreSQL database, for runs that several machines work on.

Promises: what `append` returned is committed; events of a run are numbered in the order of their commits, so that a
reader who continues from a number misses none; a write waits for a server that restarts, and is committed exactly once
even if the server went away during it. Times are the server's, so that the clocks of the machines do not matter.

    postgresql://user@host/database?schema=name       one schema per project; `bough` if none is named
"""

import asyncio
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bough.adapters.stores.postgresql_server import Server, Transaction
from bough.adapters.stores.sql import PATIENCE, SqlStore
from bough.core.errors import NotFound, StoreError
from bough.core.events import LAYOUT
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
"""`runs.last` is the number of a run's last event: an append locks that row until the commit, so numbers and commits
have the same order, and runs do not wait for each other. `runs.waiting` is what the coordinator waits for,
`workers.trouble` why a worker is set aside. A claim's `beat` grows with every heartbeat; it is never compared with a
clock. A `token` shows whose a claim is if its commit was not confirmed. `trees` holds the files that machines
exchange: git packs (see `adapters/workspaces/exchange.py`)."""
UPGRADE = """
ALTER TABLE runs ADD COLUMN IF NOT EXISTS waiting text NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN IF NOT EXISTS trouble text NOT NULL DEFAULT '';
"""
"""Statements that upgrade a journal of layout 1."""


def renew_claims(db: Transaction, worker: str, left: Collection[int]) -> None:
    """Renew all claims of a worker. `left`: the claims that it failed to release."""
    db.run("DELETE FROM claims WHERE worker = %s AND epoch = ANY(%s)", worker, list(left))
    db.run("UPDATE claims SET beat = beat + 1 WHERE worker = %s", worker)


class PostgresStore(SqlStore[Transaction]):
    """A `Store` on a server. With `create` missing tables are created; without it they raise `NotFound`."""

    heartbeat = "beat"
    lock = "FOR SHARE"

    def __init__(self, url: str, *, create: bool = True, clock: Callable[[], float] | None = None) -> None:
        super().__init__()
        self.server = Server(url)
        self.path = self.server.name
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

    def _prepare(self, db: Transaction, create: bool) -> None:
        if db.one("SELECT to_regclass('meta') IS NOT NULL") != (True,):
            if not create:
                raise NotFound(f"There are no runs in {self.path} yet: start one with `bough run GOAL --store …`.")
            # CREATE … IF NOT EXISTS is not safe in parallel: two processes that begin together both find nothing, and
            # one then fails on a unique index of the catalogue.
            db.run("SELECT pg_advisory_xact_lock(hashtextextended('bough ' || current_schema, 0))")
            db.run(SCHEMA)
            db.run("INSERT INTO meta VALUES ('format', %s) ON CONFLICT DO NOTHING", LAYOUT)
        row = db.one("SELECT value FROM meta WHERE key = 'format'")
        if row is None:
            raise self.damaged("it has no format number")
        if row[0] > LAYOUT:
            raise StoreError(
                f"The journal {self.path} was written by a newer bough (its format is {row[0]}, this bough knows "
                f"{LAYOUT}); upgrade bough."
            )
        if create and row[0] < LAYOUT:
            db.run(UPGRADE)
            db.run("UPDATE meta SET value = %s WHERE key = 'format'", LAYOUT)
        # now() would be the start of the transaction, which may have waited for the lock above.
        now = db.one("SELECT extract(epoch FROM clock_timestamp())::float8")
        self._origin = float(now[0] if now is not None else time.time()) - time.monotonic()

    def now(self) -> float:
        """Return the server's time without asking it again; setting this machine's clock does not affect it."""
        return self._origin + time.monotonic()

    async def transact(self, work: Callable[[Transaction], T], patience: float = PATIENCE) -> T:
        """Run `work` in one transaction, in a thread; run it again if the server went away."""
        if self._closed:
            raise StoreError(f"The journal {self.path} was closed: open it again.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.server.run, work, patience)

    _look = transact

    async def _write(self, work: Callable[[Transaction], T], patience: float = PATIENCE) -> T:
        writing = asyncio.ensure_future(self.transact(work, patience))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # A statement in a thread cannot be cancelled, so wait for its end.
            raise

    def damaged(self, how: str) -> StoreError:
        return StoreError(f"The journal {self.path} is damaged ({how}): restore it from a backup.")

    def _take(
        self, db: Transaction, run: str, task: str, worker: str, token: str, silent: tuple[int, float] | None
    ) -> Claim:
        # There may be no row to lock yet. Without this lock two workers could both insert one, and the second would
        # get a key violation instead of `ClaimHeld`.
        db.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", f"{run}/{task}")
        mine = db.one("SELECT epoch FROM claims WHERE token = %s", token) if db.again else None
        if mine is not None:  # The claim was committed; only the confirmation was lost.
            return Claim(run, task, worker, mine[0])
        return super()._take(db, run, task, worker, token, silent)

    def _add_claim(self, db: Transaction, run: str, task: str, worker: str, token: str) -> None:
        db.run("INSERT INTO claims (run, task, worker, token) VALUES (%s, %s, %s, %s)", run, task, worker, token)

    async def renew(self, worker: str, lease: float) -> None:
        await self.transact(lambda db: renew_claims(db, worker, self.left))

    async def waiting(self, run: str) -> str:
        """Return what the run's coordinator waits for."""
        row = await self.transact(
            lambda db: db.one("SELECT to_jsonb(runs) ->> 'waiting' FROM runs WHERE run = %s", run)
        )
        return (row[0] or "") if row is not None else ""  # None: layout 1 has no such column

    def _read_end(self, db: Transaction, run: str, task: str) -> tuple[int, bytes]:
        """Read the end of a stream after locking the run's row. Every append does so: none can come between."""
        held = "SELECT 1 FROM runs WHERE run = %s FOR UPDATE"
        if db.one(held, run) is None:
            db.run("INSERT INTO runs (run, last) VALUES (%s, 0) ON CONFLICT DO NOTHING", run)
            db.run(held, run)
        return super()._read_end(db, run, task)

    def _number(self, db: Transaction, run: str, count: int) -> tuple[int, float]:
        found = db.one(
            # The server's time is read while the run's row is locked, so that times rise with numbers.
            "UPDATE runs SET last = last + %s WHERE run = %s RETURNING last, extract(epoch FROM clock_timestamp())",
            *(count, run),
        )
        assert found is not None
        return found[0] - count, float(self._clock() if self._clock is not None else found[1])

    async def names(self) -> list[str]:
        query = "SELECT run FROM runs WHERE EXISTS (SELECT 1 FROM events WHERE events.run = runs.run) ORDER BY number"
        return [run for (run,) in await self.transact(lambda db: db.all(query))]

    async def forget(self, claim: Claim) -> None:
        def remove(db: Transaction) -> None:
            self._check_held(db, claim, self.lock)
            db.run("DELETE FROM events WHERE run = %s", claim.run)
            db.run("DELETE FROM runs WHERE run = %s", claim.run)

        await self.transact(remove)

    def _sweep(self, db: Transaction) -> set[str]:
        named = super()._sweep(db)
        # Keep the packs that a kept pack builds on, too.
        db.run(
            "WITH RECURSIVE kept (tree) AS (SELECT unnest(%s::text[]) UNION "
            "SELECT trees.base FROM trees JOIN kept USING (tree) WHERE trees.base IS NOT NULL) "
            "DELETE FROM trees WHERE NOT EXISTS (SELECT 1 FROM kept WHERE kept.tree = trees.tree)",
            list(named),
        )
        return named

    async def verify(self) -> int:
        """Read everything, and raise `StoreError` at the first altered row. Returns the number of events."""
        count = 0
        for run in await self.names():
            found = len(await self.read(run))
            last = await self.transact(lambda db, run=run: db.one("SELECT last FROM runs WHERE run = %s", run))  # type: ignore[misc]
            if last is None or last[0] != found:
                raise self.damaged(f"events of run {run} are missing")
            count += found
        for (name,) in await self.transact(lambda db: db.all("SELECT name FROM blobs")):
            await self.get_blob(name)
        return count

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        self.server.close()
