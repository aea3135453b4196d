"""Connections to a PostgreSQL server, and the messages when it is unavailable.

Promises: `run` commits, or raises an error of one sentence; it waits for a server that goes away after it was reached
once; no message contains a password."""

import random
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from bough.adapters.stores.sql import PATIENCE, Cells, Statements
from bough.core.errors import DiskFull, ReadOnly, StoreError, UsageError
from bough.installed import needing

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

IDLE = 6
"""Connections that are kept for the next call."""
_IDENTIFIER = re.compile("[a-z_][a-z0-9_]{0,40}")
_PASSING = ("08", "57", "40", "53300", "55P03")
"""SQLSTATE prefixes of errors worth a retry: no connection, shutdown, serialisation, too many clients, locks."""


class Transaction(Statements):
    def __init__(self, connection: "psycopg.Connection[Cells]", again: bool) -> None:
        self._connection = connection
        self.again = again

    def rows(self, query: str, *values: Any) -> "psycopg.Cursor[Cells]":
        return self._connection.execute(query, values or None)

    def many(self, query: str, rows: Sequence[Cells]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(query, rows)


class Server:
    """Connections to the schema that an address names. Any number of threads may use it."""

    def __init__(self, url: str) -> None:
        with needing("PostgreSQL", "cluster", "psycopg"):
            import psycopg
        self._psycopg = psycopg
        self.url, own = split_own(url)
        self.schema, self.patience = own["schema"], float(own["patience"])
        self.name = strip_password(url)
        self._idle: list[psycopg.Connection[Cells]] = []
        self._reached = False
        self._closed = False

    def run(self, work: Callable[[Transaction], T], patience: float = 0.0) -> T:
        """Return the committed result of `work`. Waits up to `patience` seconds for a server that was reached before,
        and no longer than the `patience` in its address."""
        until = time.monotonic() + min(patience, self.patience)
        again, pause = False, 0.05
        while True:
            connection = None
            try:
                connection = self._connection()
                result = work(Transaction(connection, again))
                again = True  # The confirmation of the commit may be lost.
                connection.commit()
            except BaseException as error:
                # The connection's state is unknown, so it is not used again.
                if connection is not None:
                    connection.close()
                if not isinstance(error, self._psycopg.Error):
                    raise
                # An address that has never answered is more likely wrong than down: say so at once, not after a minute.
                if not self._reached or not (error.sqlstate or "08").startswith(_PASSING) or time.monotonic() > until:
                    raise self.explain(error) from error
                # Wait a random time, so that not all clients try again at the same moment.
                time.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, 1.0)
                continue
            self._reached = True
            if len(self._idle) < IDLE:
                self._idle.append(connection)
            else:
                connection.close()
            if self._closed:
                self.close()
            return result

    def _connection(self) -> "psycopg.Connection[Cells]":
        try:
            return self._idle.pop()
        except IndexError:
            pass
        connection = self._psycopg.connect(self.url, connect_timeout=10, application_name="bough")
        try:
            # Look first, since CREATE SCHEMA needs a right that a user of an existing schema may not have; and lock,
            # since IF NOT EXISTS is not safe if two processes begin together.
            if connection.execute("SELECT to_regnamespace(%s) IS NULL", (self.schema,)).fetchone() == (True,):
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('bough schema', 0))")
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"'.encode())
            connection.execute(f'SET search_path TO "{self.schema}"'.encode())
            # Without a commit the first rollback would undo the SET as well.
            connection.commit()
        # The connection may be in the middle of a statement: its state is unknown, so it is not used again.
        except BaseException:
            connection.close()
            raise
        return connection

    def explain(self, error: Exception) -> StoreError:
        state, said = getattr(error, "sqlstate", None) or "08", " ".join(str(error).split()).rstrip(".")
        said = said.partition(" Is the server running")[0]  # Drop libpq's own question: ours follows below.
        if state.startswith("53100"):
            return DiskFull(f"The disk of {self.name} is full; nothing in the journal is lost: make room there.")
        if state.startswith(("42501", "25006")):
            return ReadOnly(f"The journal {self.name} cannot be written by this user: {said}.")
        if state.startswith(("08", "57", "53", "28", "3D")):
            return StoreError(f"{self.name} cannot be reached: {said}. Is the server running, and the address right?")
        return StoreError(f"{self.name} failed: {said}.")

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def split_own(url: str) -> tuple[str, dict[str, str]]:
    """Split an address into libpq's part and bough's own: the schema, and the seconds to wait for a server."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = {"schema": "bough", "patience": f"{PATIENCE:g}"}
    own |= {name: value for name, value in pairs if name in own}
    if not _IDENTIFIER.fullmatch(own["schema"]):
        raise UsageError(f"`{own['schema']}` is not a schema name: use lower-case letters, digits and _, at most 41.")
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", own["patience"]):
        raise UsageError(f"`{own['patience']}` is not a number of seconds: write `patience=60`.")
    return _join(parts, parts.netloc, urlencode([pair for pair in pairs if pair[0] not in own])), own


def strip_password(url: str) -> str:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    pairs = [(name, value) for name, value in parse_qsl(parts.query) if name not in ("password", "passfile", "sslkey")]
    return _join(parts, f"{user.partition(':')[0]}{at}{host}", urlencode(pairs, safe="/"))


def _join(parts: SplitResult, netloc: str, query: str) -> str:
    """Join an address. `urlunsplit` would drop the slashes of one without a host, as for a Unix socket."""
    return f"{parts.scheme}://{netloc}{parts.path}{f'?{query}' if query else ''}"
