"""What `SqliteStore` promises beyond every store's promises: opening, durability, indexes, reading beside writing."""

import asyncio
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import NotFound, StoreError
from bough.core.events import LAYOUT, DoneClaimed, NoteKept, Record, StopRequested
from bough.core.ids import CONTROL, GOAL

T = TypeVar("T")


def note(text: str) -> NoteKept:
    return NoteKept("decision", text)


def with_store(path: Path, use: Callable[[SqliteStore], Coroutine[Any, Any, T]], *, create: bool = True) -> T:
    async def main() -> T:
        store = SqliteStore(path, create=create)
        try:
            return await use(store)
        finally:
            await store.close()

    return asyncio.run(main())


async def append(store: SqliteStore, count: int, size: int = 0, run: str = "run") -> list[Record]:
    """One commit an event."""
    records: list[Record] = []
    async with store.claim(run, GOAL, worker_id(), 60) as claim:
        version = len(await store.read(run, GOAL))
        for number in range(version, version + count):
            records += await store.append(claim, [note(f"{number} " + "x" * size)], number)
    return records


def filled(folder: Path, count: int = 40) -> tuple[Path, list[Record]]:
    path = folder / ".bough" / "journal.db"
    return path, with_store(path, lambda store: append(store, count, size=900))


def refusal(path: Path, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as refused:
        SqliteStore(path, create=create)
    sentence = str(refused.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def python(script: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ── opening ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_journal_is_made_or_not_found(tmp_path: Path) -> None:
    path = tmp_path / "a b%20ü?#" / "deep" / "journal.db"
    with pytest.raises(NotFound, match=r"There are no runs in .*deep yet: start one with `bough run GOAL`\.$"):
        SqliteStore(path, create=False)
    assert not path.parent.parent.exists()
    with pytest.raises(NotFound, match=rf"no runs in {re.escape(str(tmp_path))} yet"):
        SqliteStore(tmp_path / ".bough" / "journal.db", create=False)
    with_store(path, lambda store: append(store, 2))
    assert [p.name for p in path.parent.iterdir() if p.is_file()] == ["journal.db"]  # closing brought the WAL home
    assert len(with_store(path, lambda store: store.read("run"), create=False)) == 2


def test_runs_are_listed_while_the_first_one_begins(tmp_path: Path) -> None:
    async def look(store: SqliteStore) -> None:
        for _ in range(20):
            assert await store.runs() in ([], ["run"])

    async def use(store: SqliteStore) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(look(store))
            await asyncio.sleep(0.005)
            await store.post("run", CONTROL, StopRequested())

    for number in range(12):
        with_store(tmp_path / str(number) / "journal.db", use)


def test_an_empty_file_is_a_journal_without_runs(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    with pytest.raises(NotFound):
        SqliteStore(path, create=False)
    assert len(with_store(path, lambda store: append(store, 1))) == 1


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path, _ = filled(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (LAYOUT + 1,))
    db.close()
    before = path.read_bytes()
    assert re.search(r"was written by a newer bough .*; upgrade bough\.$", refusal(path))
    assert path.read_bytes() == before


def test_another_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    before = path.read_bytes()
    for create in (True, False):
        assert "is not a journal" in refusal(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE VIEW more AS SELECT * FROM events",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
    ],
)
def test_what_bough_never_makes_is_refused_in_a_journal(planted: str, tmp_path: Path) -> None:
    """A view has as many rows as its author likes: reading it never ends."""
    path = tmp_path / "journal.db"
    with_store(path, lambda store: append(store, 1))
    with sqlite3.connect(path) as db:
        db.execute(planted)
    db.close()
    for create in (True, False):
        assert "which bough never makes" in refusal(path, create=create)


@pytest.mark.parametrize("content", [b"hello\n", b"# notes\n" * 5_000, os.urandom(9_000)])
def test_a_file_that_is_not_a_database_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    assert "move it away" in refusal(path, create=True)
    assert path.read_bytes() == content


def test_what_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert "is a folder that you may write to" in refusal(tmp_path / "file" / "journal.db", create=True)
    assert "cannot be opened" in refusal(tmp_path / "folder", create=True)


def test_many_may_make_the_same_journal_at_once(tmp_path: Path) -> None:
    for attempt in range(10):
        path = tmp_path / str(attempt) / "journal.db"
        gate = threading.Barrier(4)
        stores: list[SqliteStore] = []

        def make(path: Path = path, gate: threading.Barrier = gate, stores: list[SqliteStore] = stores) -> None:
            gate.wait()
            stores.append(SqliteStore(path))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 4

        async def use(stores: list[SqliteStore] = stores) -> None:
            for store in stores:
                await store.post("run", CONTROL, StopRequested())
            assert [len(await store.read("run")) for store in stores] == [4] * 4
            for store in stores:
                await store.close()

        asyncio.run(use())


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        store = SqliteStore(tmp_path / "journal.db")
        waiting = [asyncio.create_task(store.post("run", CONTROL, StopRequested())) for _ in range(20)]
        await asyncio.sleep(0)
        await store.close()
        assert len({record.seq for record in await asyncio.gather(*waiting)}) == 20  # begun before, so it is done
        for call in (store.runs(), store.post("run", CONTROL, StopRequested())):
            with pytest.raises(StoreError, match="was closed"):
                await call
        assert not any(thread.name == "bough-journal" for thread in threading.enumerate())

    asyncio.run(main())


# ── the chain ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_journal_without_chains_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path, _ = filled(tmp_path, 3)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("ALTER TABLE events DROP COLUMN chain; PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"from before 0\.2\.0, .*: move {path.parent} aside"):
        with_store(path, lambda store: store.read("run"), create=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE blobs SET body = CAST('worse' AS BLOB)", "blob .* has changed"),
        ("DELETE FROM events WHERE seq = 2", "events of run run are missing before event 3"),
        # A whole stream that is gone has nobody left to miss it but the numbers of the others.
        ("DELETE FROM events WHERE task = 'goal'", "3 events are missing"),
        ("UPDATE events SET body = 'x' WHERE kind = 'StopRequested'", "event 4 of run run cannot be read"),
    ],
)
def test_verifying_looks_at_everything(change: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def fill(store: SqliteStore) -> int:
        await append(store, 3)
        await store.post("run", CONTROL, StopRequested())
        await store.put_blob(b"better")
        return await store.verify()

    assert with_store(path, fill) == 4
    with closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    with pytest.raises(StoreError, match=f"is damaged.*{said}"):
        with_store(path, lambda store: store.verify())


# ── writing and reading side by side ────────────────────────────────────────────────────────────────────────────


def test_a_failing_write_fails_alone(tmp_path: Path) -> None:
    def fail(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO events (run) VALUES ('half')")

    async def main(store: SqliteStore) -> None:
        hold = threading.Event()
        store._database.submit(lambda db: hold.wait())  # so that all of these wait together
        posts = [asyncio.create_task(store.post("run", f"t{n}", note(str(n)))) for n in range(10)]
        await asyncio.sleep(0)
        failing = asyncio.create_task(store._database.write(fail))
        posts += [asyncio.create_task(store.post("run", f"t{n}", note(str(n)))) for n in range(10)]
        await asyncio.sleep(0)
        hold.set()
        with pytest.raises(StoreError):
            await failing
        assert [record.version for record in await asyncio.gather(*posts)] == [1] * 10 + [2] * 10
        assert len(await store.read("run")) == 20
        assert await store.runs() == ["run"]

    with_store(tmp_path / "journal.db", main)


def test_waiting_appends_are_committed_together(tmp_path: Path) -> None:
    commits: list[str] = []

    async def main(store: SqliteStore) -> None:
        await store._database.write(lambda db: db.set_trace_callback(lambda sql: commits.append(sql)))
        hold = threading.Event()
        store._database.submit(lambda db: hold.wait())
        posts = [asyncio.create_task(store.post("run", f"t{n}", note(str(n)))) for n in range(100)]
        await asyncio.sleep(0)
        hold.set()
        await asyncio.gather(*posts)
        await store._database.write(lambda db: db.set_trace_callback(None))

    with_store(tmp_path / "journal.db", main)
    assert sum(sql.startswith("INSERT INTO events") for sql in commits) == 100
    assert commits.count("COMMIT") <= 4


def test_reading_does_not_wait_for_a_long_write(tmp_path: Path) -> None:
    async def main(store: SqliteStore) -> None:
        await append(store, 3)
        hold, begun = threading.Event(), threading.Event()

        def long(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO blobs VALUES ('late', 'late')")
            begun.set()
            hold.wait()

        writing = asyncio.create_task(store._database.write(long))
        await asyncio.to_thread(begun.wait)
        try:
            async with asyncio.timeout(120):
                assert len(await store.read("run")) == 3
                assert await store.holder("run", GOAL) is None
        finally:
            hold.set()
        await writing

    with_store(tmp_path / "journal.db", main)


def test_reading_uses_an_index_and_skips_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    asked: list[str] = []

    async def main(store: SqliteStore) -> None:
        for run in ("one", "two"):
            await append(store, 5, run=run)
            await store.post(run, GOAL, DoneClaimed("done"))
        store._database._idle[0].set_trace_callback(asked.append)
        await store.runs()
        await store.holder("one", GOAL)
        await store.get_blob(await store.put_blob(b"x"))
        for task in (None, GOAL):
            for kinds in (None, ["DoneClaimed"], ["DoneClaimed", "NoteKept"]):
                await store.read("one", task, 2, kinds)
        # An event that nobody asked for is not decoded: this one could not be.
        await store._database.write(lambda db: db.execute("UPDATE events SET body = 'garbage' WHERE kind = 'NoteKept'"))
        assert [r.event for r in await store.read("one", kinds=["DoneClaimed"])] == [DoneClaimed("done")]
        with pytest.raises(StoreError, match=r"journal\.db is damaged.*event 1 of run one cannot be read"):
            await store.read("one")

    with_store(path, main)
    assert len(asked) >= 10
    db = sqlite3.connect(path)
    for query in asked:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
        if "NOT INDEXED" not in query:  # that one stops at the first row
            assert not [line for line in plan if re.search(r"SCAN (events|claims|blobs)\b(?!.*INDEX)", line)], (
                query,
                plan,
            )
        if "ORDER BY seq" in query or "ORDER BY version" in query:
            assert not [line for line in plan if "TEMP B-TREE" in line], (query, plan)
    db.close()


# ── durability ──────────────────────────────────────────────────────────────────────────────────────────────────

WRITER = """
import asyncio, sys
from pathlib import Path
from bough.adapters.stores.sqlite import SqliteStore
from bough.adapters.stores.liveness import worker_id
from bough.core.events import NoteKept

async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))

    async def work(task: str) -> None:
        async with store.claim("run", task, worker_id(), 1e6) as claim:
            version = len(await store.read("run", task))
            while True:
                kept = await store.append(claim, [NoteKept("decision", "x" * 700)] * 2, version)
                version = kept[-1].version
                print(task, version, flush=True)

    await asyncio.gather(*(work(f"t{number}") for number in range(5)))

asyncio.run(main())
"""


SETTINGS = """
import asyncio, sys
from pathlib import Path
from bough.adapters.stores.sqlite import SqliteStore

async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]), create=True)
    for name in ("journal_mode", "synchronous"):
        print(await store._database.write(lambda db: db.execute(f"PRAGMA {name}").fetchone()[0]))
    await store.close()

asyncio.run(main())
"""


def test_a_commit_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    """In a process of its own: in that of the tests nobody waits for the disk."""
    for _ in range(2):  # when it is made, and when it is opened again
        assert python(SETTINGS, str(tmp_path / "journal.db")).split() == ["wal", "2"]


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    seen = {f"t{number}": 0 for number in range(5)}
    for attempt in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout
            lines = [writer.stdout.readline()]
            threading.Timer(random.uniform(0.0, 0.12), lambda pid=writer.pid: os.kill(pid, signal.SIGKILL)).start()
            lines += writer.stdout.readlines()
        assert writer.returncode == -signal.SIGKILL
        for line in lines:
            if line.endswith("\n"):
                name, number = line.split()
                seen[name] = int(number)
        records = with_store(path, lambda store: store.read("run"), create=False)
        for task, version in seen.items():
            kept = [record.version for record in records if record.task == task]
            assert kept == list(range(1, len(kept) + 1))
            assert len(kept) >= version, f"lost in attempt {attempt}"
            assert len(kept) % 2 == 0, "half of a batch"
