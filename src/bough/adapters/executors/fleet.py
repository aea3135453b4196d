"""The workers of a store: those present, those gone, and their claims.

Promises: a worker without a heartbeat for its lease, by the observer's clock and only while the server answers, is
removed together with all its claims, in one transaction; a removed worker learns it from its next heartbeat. No two
clocks are ever compared. A worker that is restarted under its name takes over from its earlier process."""

import hashlib
import os
import secrets
import socket
import time
from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct, field

from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.postgresql import renew_claims
from bough.adapters.stores.postgresql_server import Server, Transaction
from bough.adapters.stores.sql import PATIENCE
from bough.core.ids import LIFE

LEASE = 15.0
"""Seconds without a heartbeat after which a worker counts as gone."""

HEARD = 5.0
"""Seconds without a heartbeat after which a worker is shown as silent."""


class Worker(Struct, frozen=True):
    """A present worker, as people see it."""

    name: str
    life: str
    host: str
    pid: int
    slots: int
    tags: tuple[str, ...]
    version: str
    draining: bool
    up: float
    """Seconds since it started, by the server's clock."""
    silent: float
    """Seconds since its last heartbeat, by the server's clock."""
    trouble: str = ""
    """Why the worker is set aside: it takes no tasks until it, or a run, is started again."""
    lease: float = LEASE
    tasks: tuple[tuple[str, str], ...] = ()
    """The worker's current tasks: run and task."""

    @property
    def takes_tasks(self) -> bool:
        return not self.draining and not self.trouble and self.silent < self.lease

    @property
    def is_heard(self) -> bool:
        """Whether the worker's heartbeat is recent: it beats every second, or five times in a lease; a few may be late
        on a busy machine."""
        return self.silent < min(self.lease, HEARD)

    @property
    def id(self) -> str:
        """The name under which this worker holds claims."""
        return f"{self.name}{LIFE}{self.life}"


_LIST = """
SELECT worker, life, host, pid, slots, tags, version, draining,
       extract(epoch FROM now() - since)::float8, extract(epoch FROM now() - beaten)::float8,
       coalesce(to_jsonb(workers) ->> 'trouble', ''), lease,
       (SELECT coalesce(array_agg(ARRAY[claims.run, claims.task] ORDER BY claims.run, claims.task), '{}')
        FROM claims WHERE claims.worker = workers.worker || %s || workers.life)
FROM workers ORDER BY worker
"""


def list_present_workers(db: Transaction) -> list[Worker]:
    names = Worker.__struct_fields__
    return [msgspec.convert(dict(zip(names, row, strict=True)), Worker) for row in db.all(_LIST, LIFE)]


def drain(db: Transaction, name: str) -> bool:
    """Ask a worker to exit when its tasks are finished. Returns False if there is no worker of that name."""
    return db.changed("UPDATE workers SET draining = true WHERE worker = %s", name) > 0


def explain_wait(unheld: Sequence[tuple[str, Sequence[str]]], there: Sequence[Worker], since: str) -> str:
    """Explain what waiting tasks (with their tags) wait for; empty if only for a free slot. `since`: when a worker was
    last present."""
    able = [each for each in there if each.takes_tasks and each.is_heard]
    if not unheld:
        return ""
    if not able:
        aside = "".join(f"; {each.name} is set aside: {each.trouble}" for each in there if each.trouble)
        return f"Waiting: no worker has taken tasks since {since}: start one with `bough worker`{aside}"
    for task, tags in unheld:
        if not any(set(tags) <= set(each.tags) for each in able):
            named = " and ".join(f"`{tag}`" for tag in tags)
            start = " ".join(f"--tag {tag}" for tag in tags)
            many = "tags" if len(tags) > 1 else "tag"
            return f"Waiting: {task} needs a worker with the {many} {named}: start one with `bough worker {start}`"
    return ""


_PROCESS = 8
"""The characters of a life that name its process."""


def _make_life() -> str:
    """Return a new name. It begins with that of the process, which stays when the process starts itself again."""
    process = hashlib.sha256(worker_id().encode()).hexdigest()[:_PROCESS]
    return process + secrets.token_hex(4)


class Member(Struct, eq=False):
    """This process in its role as one of the workers."""

    server: Server
    name: str
    slots: int
    tags: tuple[str, ...]
    version: str
    lease: float = LEASE
    left: Collection[int] = ()
    """The claims that it failed to release; see `SqlStore.left`."""
    life: str = field(default_factory=_make_life)

    @property
    def id(self) -> str:
        return f"{self.name}{LIFE}{self.life}"

    def join(self) -> None:
        """Become the worker of that name, and release the claims of its earlier life. If that was in this process,
        which starts again after it was unresponsive, it still has to exit if somebody asked for that."""

        def enter(db: Transaction) -> None:
            before = db.one("SELECT life, draining FROM workers WHERE worker = %s FOR UPDATE", self.name)
            if before is not None:
                _strike_off(db, self.name, before[0])
            draining = before is not None and before[1] and before[0][:_PROCESS] == self.life[:_PROCESS]
            db.run(
                "INSERT INTO workers (worker, life, host, pid, slots, tags, version, lease, draining) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                *(self.name, self.life, socket.gethostname(), os.getpid(), self.slots, list(self.tags)),
                *(self.version, self.lease, draining),
            )

        self.server.run(enter, PATIENCE)

    def beat(self) -> tuple[bool, str] | None:
        """Send a heartbeat; return whether to exit, and why this worker is set aside; None: it was removed."""

        def renew(db: Transaction) -> tuple[bool, str] | None:
            row = db.one(
                "UPDATE workers SET beat = beat + 1, beaten = now() WHERE worker = %s AND life = %s "
                "RETURNING draining, trouble",
                *(self.name, self.life),
            )
            if row is None:
                return None
            renew_claims(db, self.id, self.left)
            return bool(row[0]), str(row[1])

        # Wait no longer than the lease: after that others have our tasks, and a late heartbeat would only hide that.
        return self.server.run(renew, self.lease)

    def is_member(self) -> bool:
        query = "SELECT 1 FROM workers WHERE worker = %s AND life = %s"
        return self.server.run(lambda db: db.one(query, self.name, self.life), PATIENCE) is not None

    def leave(self) -> None:
        self.server.run(lambda db: _strike_off(db, self.name, self.life), PATIENCE)


class Janitor(Struct, eq=False):
    """Removes workers that have gone. Any number may run: a lock lets one through at a time."""

    _server: Server
    _seen: dict[str, tuple[int, float]] = {}
    """The last beat of each worker process, and when it was first seen here."""
    _looked: float = 0.0

    def look(self) -> set[str] | None:
        """Remove workers that have gone, and return those present; None: another janitor is at work."""
        return self._server.run(self._look, PATIENCE)

    def _look(self, db: Transaction) -> set[str] | None:
        now = time.monotonic()
        # Do not wait for the lock: with a thousand workers, janitors would queue for work that one of them does.
        lock = "SELECT pg_try_advisory_xact_lock(hashtextextended('bough janitor ' || current_schema, 0))"
        if db.one(lock) != (True,):
            return None
        rows = db.all("SELECT worker, life, beat, lease FROM workers")
        paused = min((lease for *_, lease in rows), default=LEASE) / 2
        if now - self._looked > paused:  # This process or the server was away, so the workers' silence means nothing.
            self._seen.clear()
        self._looked = now
        there = set()
        for name, life, beat, lease in rows:
            id = f"{name}{LIFE}{life}"
            last, since = self._seen.get(id, (-1, now))
            self._seen[id] = (beat, since if beat == last else now)
            # Compare the heartbeat that was seen: a worker that sent another since then stays.
            query = "DELETE FROM workers WHERE worker = %s AND life = %s AND beat = %s"
            if beat == last and now - since > lease and db.changed(query, name, life, beat):
                db.run("DELETE FROM claims WHERE worker = %s", id)
                continue
            there.add(id)
        self._seen = {id: seen for id, seen in self._seen.items() if id in there}
        return there


def _strike_off(db: Transaction, name: str, life: str) -> None:
    db.run("DELETE FROM workers WHERE worker = %s AND life = %s", name, life)
    db.run("DELETE FROM claims WHERE worker = %s", f"{name}{LIFE}{life}")
