"""A damaged file, a full disk, a read-only folder: `SqliteStore` loses nothing and says what to do."""

import asyncio
import os
import random
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import BoughError, StoreError
from bough.core.events import Record, StopRequested
from bough.core.ids import CONTROL, GOAL

from .test_sqlite import append, filled, note, python, refusal, with_store

# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def everything(store: SqliteStore) -> list[Record]:
    return [record for run in await store.runs() for record in await store.read(run)]


def test_a_wal_cut_anywhere_loses_only_what_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "live" / "journal.db"

    async def main() -> list[Record]:
        store = SqliteStore(path)
        records = await append(store, 30, size=900)
        shutil.copytree(path.parent, tmp_path / "crashed")
        await store.close()
        return records

    records = asyncio.run(main())
    wal = (tmp_path / "crashed" / "journal.db-wal").stat().st_size
    assert wal > 100_000
    counts = []
    for cut in [*range(0, 64, 9), *random.Random(1).sample(range(64, wal), 30), wal - 1, wal]:
        folder = tmp_path / f"cut-{cut}"
        shutil.copytree(tmp_path / "crashed", folder)
        os.truncate(folder / "journal.db-wal", cut)

        async def check(store: SqliteStore) -> int:
            kept = await everything(store)
            assert kept == records[: len(kept)]
            await append(store, 1, run="later")
            return len(kept)

        counts.append((cut, with_store(folder / "journal.db", check, create=False)))
    kept = [count for _, count in sorted(counts)]
    assert kept == sorted(kept)
    assert kept[0] == 0
    assert kept[-1] == 30


def test_a_damaged_file_is_read_rightly_or_refused_in_words(tmp_path: Path) -> None:
    path, records = filled(tmp_path)
    whole = path.read_bytes()
    chance = random.Random(2)
    refused = 0
    for attempt in range(80):
        at = chance.randrange(len(whole))
        junk = chance.randbytes(chance.choice([1, 30, 5_000])) if attempt % 2 else bytes(chance.choice([20, 5_000]))
        path.write_bytes(whole[:at] + junk + whole[at + len(junk) :] if attempt % 4 else whole[:at])
        try:
            kept = with_store(path, everything, create=False)
        except BoughError as error:
            assert str(tmp_path) in str(error)
            assert "\n" not in str(error)
            refused += 1
        else:
            # A letter that became another one in a text cannot be told, but nothing may be missing.
            assert len(kept) == len(records)
    assert refused > 20


def test_missing_events_are_noticed(tmp_path: Path) -> None:
    path, _ = filled(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM events WHERE version = 7")
    db.close()

    async def main(store: SqliteStore) -> None:
        for task in (None, GOAL):
            with pytest.raises(StoreError, match=r"damaged.*events of run run are missing"):
                await store.read("run", task)

    with_store(path, main)


def test_a_changed_blob_is_noticed(tmp_path: Path) -> None:
    async def main(store: SqliteStore) -> None:
        name = await store.put_blob(b"right")
        for wrong in (b"wrong", "right"):
            await store._database.write(lambda db, wrong=wrong: db.execute("UPDATE blobs SET body = ?", (wrong,)))  # type: ignore[misc]
            with pytest.raises(StoreError, match=rf"damaged.*blob {name} has changed"):
                await store.get_blob(name)

    with_store(tmp_path / "journal.db", main)


def test_an_emptied_main_file_does_not_cost_the_wal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    wal = tmp_path / "journal.db-wal"
    wal.write_bytes(b"x" * 5_000)
    for create in (True, False):
        assert "is empty" in refusal(path, create=create)
    assert wal.stat().st_size == 5_000


# ── the disk ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    async def main(store: SqliteStore) -> None:
        await append(store, 5)
        (pages,) = await store._database.write(lambda db: db.execute("PRAGMA page_count").fetchone())
        await store._database.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 2}").fetchone())
        with pytest.raises(StoreError, match=r"^The disk is full.*journal\.db.*make room"):
            await store.put_blob(b"x" * 100_000)
        async with store.claim("run", GOAL, "w", 60) as claim:
            with pytest.raises(StoreError, match="The disk is full"):
                await store.append(claim, [note("small"), note("x" * 50_000)], 5)
            assert len(await store.read("run")) == 5  # all or none
            small = asyncio.create_task(store.append(claim, [note("fits")], 5))
            large = asyncio.create_task(store.post("run", "other", note("x" * 50_000)))
            assert [record.version for record in await small] == [6]
            with pytest.raises(StoreError, match="The disk is full"):
                await large
            await store._database.write(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
            await store.append(claim, [note("x" * 50_000)], 6)
        assert len(await everything(store)) == 7

    with_store(tmp_path / "journal.db", main)


NO_ROOM = """
import asyncio, resource, sys
from pathlib import Path
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import StoreError
from bough.core.events import NoteKept

def room(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def main() -> None:
    path = Path(sys.argv[1])
    room(1_000)
    try:
        SqliteStore(path)
    except StoreError as error:
        print(error)
    room(300_000)
    store = SqliteStore(path)
    async with store.claim("run", "goal", "w", 60) as claim:
        version = 0
        try:
            while True:
                await store.append(claim, [NoteKept("decision", "x" * 2_000)], version)
                version += 1
        except StoreError as error:
            print(error)
        assert version > 5
        assert len(await store.read("run")) == version
        room(resource.RLIM_INFINITY)
        for version in range(version, 100):
            await store.append(claim, [NoteKept("decision", "x" * 2_000)], version)
    await store.close()

asyncio.run(main())
"""


def test_a_file_that_cannot_grow_is_said_and_survived(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    said = python(NO_ROOM, str(path)).splitlines()
    assert len(said) == 2
    for sentence in said:
        assert re.fullmatch(rf"The disk .*{re.escape(str(path))}.*space.*|The disk is full.*", sentence)
    assert len(with_store(path, lambda store: store.read("run"))) == 100


READ_ONLY = """
import asyncio, os, sys
from pathlib import Path
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import StoreError
from bough.core.events import StopRequested

async def main() -> None:
    folder = Path(sys.argv[1])
    await asyncio.to_thread(int)  # whatever is still to be imported for threads
    if os.geteuid() == 0:
        os.seteuid(65534)  # root may write everywhere
    for path in (folder / "new.db", folder / "new" / "journal.db", folder / "journal.db"):
        try:
            SqliteStore(path)
        except StoreError as error:
            print(error)
    store = SqliteStore(folder / "journal.db", create=False)
    print(len(await store.read("run")))
    try:
        await store.post("run", "@control", StopRequested())
    except StoreError as error:
        print(error)
    await store.close()

asyncio.run(main())
"""


def test_a_read_only_folder_can_be_read(tmp_path: Path) -> None:
    # Not in tmp_path, whose parents only its owner may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_store(folder / "journal.db", lambda store: append(store, 4))
        (folder / "journal.db").chmod(0o444)
        folder.chmod(0o555)
        try:
            *refusals, count, last = python(READ_ONLY, name).splitlines()
        finally:
            folder.chmod(0o755)
        assert count == "4"
        assert len(refusals) == 3
        for sentence in [*refusals, last]:
            assert re.fullmatch(r"The journal .* cannot be .*: make sure that .* you may write to\.", sentence)
        assert len(with_store(folder / "journal.db", lambda store: store.read("run"), create=False)) == 4


def test_a_locked_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bough.adapters.stores.sqlite_file.BUSY", 0.1)
    path, _ = filled(tmp_path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def main(store: SqliteStore) -> None:
        assert len(await store.read("run")) == 40
        with pytest.raises(StoreError, match="is locked by another program"):
            await store.post("run", CONTROL, StopRequested())
        other.execute("ROLLBACK")
        await store.post("run", CONTROL, StopRequested())

    with_store(path, main)
    other.close()
