"""The database file of `SqliteStore`: opening it, one thread that writes, connections that read, and error messages.

Promises: `write` returns when its work is on the disk (WAL, `synchronous=FULL`); `read` sees every finished write and
waits for no unfinished one; any problem with the file or the disk is a `StoreError` of one sentence."""

import asyncio
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct

from bough.adapters.stores.sql import Cells, Statements
from bough.adapters.workspaces.disk import flush_folder
from bough.core.errors import BoughError, ClaimLost, DiskFull, JournalLocked, NotFound, ReadOnly, StoreError

T = TypeVar("T")

SYNCHRONOUS = "FULL"
"""SQLite's synchronisation. In WAL mode the default, NORMAL, syncs only at checkpoints: a power cut would undo events
that were already acted on. (Tests change this: they cut no power, and need not wait for the disk.)"""
BUSY = 10.0
"""Seconds to wait for another process's write before giving up."""

_LONGEST_PATH = 500
"""SQLite's own limit is 512 bytes, including the suffix `-journal`."""
_UNWRITABLE = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_IOERR_SHM")

_KINDS: dict[type[StoreError], tuple[str, str]] = {
    DiskFull: (
        "SQLITE_FULL ENOSPC EDQUOT",
        "The disk is full, so the journal {path} could not be written; nothing in it is lost: make room, then try "
        "again.",
    ),
    ReadOnly: (
        "SQLITE_READONLY SQLITE_CANTOPEN SQLITE_PERM SQLITE_AUTH EACCES EPERM EROFS ENOTDIR EEXIST",
        "The journal {path} cannot be opened or written: make sure that {folder} is a folder that you may write to.",
    ),
    JournalLocked: (
        "SQLITE_BUSY SQLITE_LOCKED",
        "The journal {path} is locked by another program: wait for it or end it, then try again.",
    ),
    StoreError: (
        "SQLITE_IOERR",
        "The disk failed to read or write the journal {path}; nothing in it is lost: check the disk and its free "
        "space, then try again.",
    ),
}
"""How the names of SQLite's errors begin that become this error, and the sentence of that error."""


class SqliteConnection(Statements, sqlite3.Connection):
    """A connection that takes statements with `%s`, as PostgreSQL's does."""

    def rows(self, query: str, *values: Any) -> sqlite3.Cursor:
        return self.execute(query.replace("%s", "?"), values)

    def many(self, query: str, rows: Sequence[Cells]) -> None:
        self.executemany(query.replace("%s", "?"), rows)


Work = Callable[[SqliteConnection], T]


class Database:
    """An open file of the given schema and format. `create`: create a missing file instead of raising `NotFound`."""

    def __init__(self, path: Path, *, schema: str, format: int, create: bool) -> None:
        self.path = path
        self._schema = schema
        self._format = format
        self._frozen: sqlite3.Error | None = None
        """Why this file can only be read, if so."""
        self._idle: list[SqliteConnection] = []
        self._glancing: SqliteConnection | None = None
        self._closed = False
        with self._translate_errors():
            self._writer = _Writer(self._open(create))
            found = path.stat()
            self._inode = (found.st_dev, found.st_ino)

    async def write(self, work: Work[T], patience: float = 0.0) -> T:
        """Run `work` in a transaction and commit. Work that raises a `BoughError` must do so before it writes. With
        `patience` a locked file is retried for that many seconds."""
        if self._frozen is not None:
            await asyncio.to_thread(self._thaw)
        until = time.monotonic() + patience
        while True:
            try:
                with self._translate_errors():
                    return await self.submit(work)
            except JournalLocked:
                if time.monotonic() >= until:
                    raise

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        """Enqueue a write for a caller that does not wait; the order of writes is kept."""
        self._require_open()
        return self._writer.submit(work)

    async def read(self, work: Work[T]) -> T:
        """Run `work` in another thread with a connection of its own: neither the loop nor the writer waits for it."""
        self._require_open()

        with self._translate_errors():
            return await asyncio.to_thread(self._read, work)

    def _require_file(self) -> None:
        """Require the file: data written to a removed or replaced file is lost when this process ends, and SQLite would
        never say so."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != self._inode:
            raise ClaimLost(
                f"The journal {self.path} was removed or replaced while it was in use: what this run did since then is "
                "not in it. Put the file back, or start the work again."
            )

    async def glance(self, work: Work[T]) -> T:
        """Read a row or two by their key in this thread: another thread would take ten times as long. In WAL mode a
        reader does not wait for writers; if it has to wait after all, it does so in another thread."""
        self._require_open()
        self._require_file()
        try:
            if self._glancing is None:
                self._glancing = self._connect(busy=0.0)
            return work(self._glancing)
        except sqlite3.Error:
            return await self.read(work)

    def _read(self, work: Work[T]) -> T:
        try:
            # Pop and append of a list are atomic, which is all that the threads need to share connections.
            db = self._idle.pop()
        except IndexError:
            db = self._connect()
        try:
            result = work(db)
        except BaseException:
            db.close()  # The connection may be in the middle of a statement.
            raise
        self._idle.append(db)
        # `close` may have emptied the list during this read: then nobody else would close this connection.
        if self._closed:
            self._drop_idle()
        return result

    async def close(self) -> None:
        """Finish what is in progress and close; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._glancing is not None:
            self._idle.append(self._glancing)
        self._drop_idle()
        await asyncio.to_thread(self._writer.stop)

    def _drop_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _open(self, create: bool) -> SqliteConnection:
        waiting = _size(self.path.with_name(self.path.name + "-wal"))
        length = len(os.fsencode(self.path.absolute()))
        if length > _LONGEST_PATH:
            raise StoreError(
                f"The path of the journal is too long for SQLite ({length} bytes, at most {_LONGEST_PATH}): move the "
                f"project to a place with a shorter path than {self.path.parent.parent}."
            )
        if not self.path.exists():
            if not create:
                raise self._make_no_runs_error()
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would take the empty file for a new database and discard the WAL, with every event in it.
        elif waiting and not _size(self.path):
            raise self.damaged(f"it is empty, but {self.path.name}-wal next to it is not")
        try:
            return self._open_prepared(create)
        except sqlite3.OperationalError as error:
            # A journal that cannot be written (a read-only folder, a full disk) can be read, if nothing is pending in
            # the WAL.
            if create or waiting or not _error_name(error).startswith(_UNWRITABLE):
                raise
            self._frozen = error
            return self._open_prepared(create)

    def _thaw(self) -> None:
        """Try to write again: somebody may have made room."""
        frozen, self._frozen = self._frozen, None
        try:
            db = self._open_prepared(create=False)
        except sqlite3.Error:
            self._frozen = frozen
            return
        self._drop_idle()
        before, self._writer = self._writer, _Writer(db)
        before.stop()

    def _open_prepared(self, create: bool) -> SqliteConnection:
        db = self._connect(create)
        try:
            made = list(db.execute("SELECT type, name, sql FROM sqlite_master"))
            # In a file from others, a view could have any number of rows, and a trigger could change what is written.
            if any(kind not in ("table", "index") or str(sql).startswith("CREATE VIRTUAL") for kind, _, sql in made):
                raise self.damaged("it holds a view, a trigger or a virtual table, which bough never makes")
            tables = {name for kind, name, _ in made if kind == "table"}
            if tables:
                self._examine(db, tables)
            elif not create:
                raise self._make_no_runs_error()
            if not self._frozen:
                _switch_to_wal(db)
            db.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            db.execute("PRAGMA fullfsync = ON")  # On macOS a plain fsync leaves data in the drive's own memory.
            if not tables:
                db.executescript(
                    f"BEGIN IMMEDIATE; {self._schema}; "
                    f"INSERT OR IGNORE INTO meta VALUES ('format', {self._format}); COMMIT"
                )
                # Write the tables into the main file at once: if its WAL is lost, the file is then empty and not
                # unreadable. The names of a new file and of a new `.bough` are durable only once their folders are.
                db.execute("PRAGMA wal_checkpoint(FULL)")
                for folder in self.path.absolute().parents[:2]:
                    with suppress(PermissionError):  # bough may not open the folder, so it made nothing in it either.
                        flush_folder(folder)
        except BaseException:
            db.close()
            raise
        return db

    def _examine(self, db: SqliteConnection, tables: set[str]) -> None:
        """Reject a file that is not ours, or newer than this bough, before anything in it changes."""
        row = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() if "meta" in tables else None
        if row is None:
            raise self.damaged("it is a database without a format number")
        if not isinstance(row[0], int) or row[0] > self._format:
            raise StoreError(
                f"The journal {self.path} was written by a newer bough (its format is {row[0]}, this bough knows "
                f"{self._format}); upgrade bough."
            )
        if "events" in tables and not any(column[1] == "chain" for column in db.execute("PRAGMA table_info(events)")):
            raise StoreError(
                f"The journal {self.path} was written by a bough from before 0.2.0, without the hash chain that this "
                f"one checks: move {self.path.parent} aside, and a new one is made."
            )

    def _connect(self, create: bool = False, busy: float | None = None) -> SqliteConnection:
        # Reading a WAL database creates `-shm` beside it, which a read-only folder or a full disk does not allow,
        # unless SQLite knows that nobody else writes.
        mode = "mode=ro&immutable=1" if self._frozen else "mode=rwc" if create else "mode=rw"
        address = f"{self.path.absolute().as_uri()}?{mode}"
        timeout = BUSY if busy is None else busy
        # No `isolation_level`: otherwise Python would begin transactions without the lock for writing. Connections pass
        # from thread to thread, but never serve two at once.
        return sqlite3.connect(
            address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )

    def damaged(self, how: str) -> StoreError:
        return StoreError(
            f"The journal {self.path} is damaged, or is not a journal ({how}): put a copy from a backup in its place, "
            "or move it away to start over."
        )

    def _make_no_runs_error(self) -> NotFound:
        folder = self.path.absolute().parent
        if folder.name.startswith("."):
            folder = folder.parent  # Name the folder around the hidden one, which a person knows.
        return NotFound(f"There are no runs in {folder} yet: start one with `bough run GOAL`.")

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"The journal {self.path} was closed: open it again.")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            name = _error_name(error)
            if self._frozen and name.startswith("SQLITE_READONLY"):
                name = _error_name(self._frozen)
            for kind, (causes, sentence) in _KINDS.items():
                if name.startswith(tuple(causes.split())):
                    raise kind(sentence.format(path=self.path, folder=self.path.parent)) from error
            raise self.damaged(str(error)) from error


class _Job(Struct, eq=False):
    work: Work[Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class _Writer:
    """The one thread that writes. It commits everything pending at once, so that a single fsync serves all."""

    def __init__(self, db: SqliteConnection) -> None:
        self._db = db
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon thread, so that it does not keep the process alive: a write that nobody awaits is not promised.
        self._thread = threading.Thread(target=self._serve, name="bough-journal", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(work, future))
        return future

    def stop(self) -> None:
        """Finish what is pending, move the WAL into the main file and end."""
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        running = True
        while running:
            waiting = [self._jobs.get()]
            with suppress(Empty):
                while True:
                    waiting.append(self._jobs.get_nowait())
            jobs = [job for job in waiting if job is not None]
            running = len(jobs) == len(waiting)
            # Wake callers only after the commit: they act on it.
            self._commit(jobs)
            _settle(jobs)
        # PASSIVE does not wait for readers in other processes.
        with suppress(sqlite3.Error):  # If the checkpoint fails, the data stays in the WAL, which is as durable.
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.close()

    def _commit(self, jobs: Sequence[_Job]) -> None:
        """Commit all jobs in one transaction. A `BoughError` fails only its own job, which has written nothing yet; any
        other error undoes everything, and then each job is tried alone, so that none fails because of another."""
        try:
            # IMMEDIATE takes the write lock now, and SQLite waits for it (BUSY). A transaction that reads first and
            # then wants to write is refused without waiting if somebody else has written in between.
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            for job in jobs:
                job.error = error
            return
        try:
            for job in jobs:
                job.error = None
                try:
                    job.result = job.work(self._db)
                except BoughError as error:
                    job.error = error
            self._db.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 (not swallowed: whoever waits gets it)
            with suppress(sqlite3.Error):  # SQLite may have undone it already
                self._db.execute("ROLLBACK")
            if len(jobs) == 1:
                jobs[0].error = error
                return
            for job in jobs:
                self._commit([job])


def _settle(jobs: Sequence[_Job]) -> None:
    """Wake each event loop once for all of its jobs."""

    def settle(loop: asyncio.AbstractEventLoop) -> None:
        for job in jobs:
            # A job that is done was cancelled: nobody waits for it.
            if job.future.get_loop() is not loop or job.future.done():
                continue
            if job.error is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(job.error)

    for loop in {job.future.get_loop() for job in jobs}:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, loop)


def _switch_to_wal(db: SqliteConnection) -> None:
    """Switch to WAL. If several processes open a new file at the same moment, SQLite does not always wait: try
    again."""
    deadline = time.monotonic() + BUSY
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not _error_name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _error_name(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0, "")
    return str(getattr(error, "sqlite_errorname", ""))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
