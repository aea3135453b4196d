"""Every store, held to every promise of `stores.py`."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.postgresql import PostgresStore
from bough.adapters.stores.redacted import redact_secrets
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import ClaimHeld, StoreError, VersionConflict
from bough.core.events import Record
from bough.core.ids import GOAL
from bough.ports import Store
from tests.sampling import in_turn

from ..postgres import new_schema
from .stores import LEASE, PROMISES, Clock, Promise, fill, note, texts

STORES: dict[str, Callable[[Path, Clock], Store]] = {
    "sqlite": lambda folder, clock: SqliteStore(folder / "journal.db", clock=clock),
    "redacted": lambda folder, clock: redact_secrets(
        SqliteStore(folder / "journal.db", clock=clock), ["sk-planted-0123456789"]
    ),
    "postgresql": lambda folder, clock: PostgresStore(new_schema(), clock=clock),
}
every_store = pytest.mark.parametrize("kind", STORES)


@pytest.mark.parametrize(
    ("promise", "kind"),
    list(product(PROMISES, STORES)),
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_promise(kind: str, promise: Promise, tmp_path: Path) -> None:
    async def hold() -> None:
        clock = Clock()
        store = STORES[kind](tmp_path, clock)
        try:
            await promise(store, clock)
        finally:
            await store.close()

    asyncio.run(hold())


Move = tuple[str, str, int, int]
"""Stream, what to do, how many events, how many turns of the loop to wait before it."""
moves = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from(["append", "stale", "post"]), st.integers(1, 3), st.integers(0, 3)
    ),
    max_size=25,
)


async def play(store: Store, run: str, script: list[Move]) -> list[Record]:
    """Carry the moves out, each stream's in order, the streams at once. Returns what the store said it kept."""
    kept: list[Record] = []

    async def stream(task: str) -> None:
        async with store.claim(run, task, "w", LEASE) as claim:
            for _, what, count, turns in (move for move in script if move[0] == task):
                for _ in range(turns):
                    await asyncio.sleep(0)
                version = len(await store.read(run, task))
                batch = [note(f"{task}{version}{what}")] * count
                if what == "post":
                    kept.append(await store.post(run, task, batch[0]))
                elif what == "append":
                    kept.extend(await store.append(claim, batch, version))
                else:
                    with pytest.raises(VersionConflict):
                        await store.append(claim, batch, version + count)

    async with asyncio.TaskGroup() as group:
        for task in "abc":
            group.create_task(stream(task))
    return kept


@in_turn
@every_store
def test_any_interleaving_keeps_versions_gapless_and_seq_rising(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with asyncio.Runner() as runner:
        store = STORES[kind](tmp_path_factory.mktemp(kind), Clock())
        runs = (f"run-{number}" for number in range(1_000_000))

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(moves)
        def hold(script: list[Move]) -> None:
            run = next(runs)
            kept = runner.run(play(store, run, script))
            records = runner.run(store.read(run))
            assert records == sorted(kept, key=lambda record: record.seq)
            assert len({record.seq for record in records}) == len(records)
            for task in "abc":
                versions = [record.version for record in records if record.task == task]
                assert versions == list(range(1, len(versions) + 1))

        try:
            hold()
        finally:
            runner.run(store.close())


OTHER = """
import asyncio, sys
from pathlib import Path
from bough.adapters.stores.sqlite import SqliteStore
from bough.adapters.stores.liveness import worker_id
from bough.core.events import NoteKept

async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    async with store.claim("run", "theirs", worker_id(), 1e6) as claim:
        print(worker_id(), flush=True)
        for version in range(200):
            await store.append(claim, [NoteKept("decision", f"theirs {version}")], version)
        async with asyncio.timeout(240):
            while not await store.read("run", "ours"):
                pass
        sys.stdin.read()

asyncio.run(main())
"""


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def share(other: subprocess.Popen[str], worker: str) -> None:
        store = SqliteStore(path)
        async with store.claim("run", "ours", worker_id(), LEASE) as claim:
            for version in range(200):
                await store.append(claim, [note(f"ours {version}")], version)
        while len(await store.read("run", "theirs")) < 200:
            assert other.poll() is None  # it would have ended, had it not seen our events
        assert await store.holder("run", "theirs") == worker
        with pytest.raises(ClaimHeld, match=rf"process {other.pid} on this machine .*`bough stop run`"):
            async with store.claim("run", "theirs", "w", LEASE):
                pass
        other.kill()
        other.wait()
        async with store.claim("run", "theirs", "heir", LEASE) as claim:  # at once, for all its long lease
            await store.append(claim, [note("the end")], 200)
        records = await store.read("run")
        assert [record.seq for record in records] == list(range(1, 402))
        assert texts([r for r in records if r.task == "theirs"])[:200] == [
            f"theirs {version}" for version in range(200)
        ]
        await store.close()

    command = [sys.executable, "-c", OTHER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        asyncio.run(share(other, other.stdout.readline().strip()))


def test_a_store_outlives_an_event_loop(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "journal.db")
    for version in range(3):

        async def append(version: int) -> None:
            async with store.claim("run", GOAL, "w", LEASE) as claim:
                await store.append(claim, [note("x")], version)

        asyncio.run(append(version))
    assert len(asyncio.run(store.read("run"))) == 3
    asyncio.run(store.close())


# ── the chain of a stream, in stores that keep it where others can write ────────────────────────────────────────────

BEHIND = {
    "a word": "UPDATE events SET body = CAST(replace(body, 'a 2', 'a 9') AS BLOB) WHERE seq = 2",
    "a time": "UPDATE events SET at = at + 1 WHERE seq = 2",
    "a kind": 'UPDATE events SET kind = \'DoneClaimed\', body = \'{"event":"DoneClaimed","summary":""}\' WHERE seq = 2',
    "its stream": "UPDATE events SET task = 'c', version = 1 WHERE seq = 2",
    "its run": "UPDATE events SET run = 'other' WHERE seq = 3",
    "its place": "UPDATE events SET seq = CASE seq WHEN 2 THEN 13 ELSE 12 END WHERE seq IN (2, 3)",
    "no link": "UPDATE events SET chain = NULL WHERE seq = 2",
    "a short link": "UPDATE events SET chain = substr(chain, 1, 9) WHERE seq = 2",
    "another's links": "UPDATE events SET chain = (SELECT chain FROM events WHERE seq = 3) WHERE seq = 2",
    "one left out": "DELETE FROM events WHERE seq = 2",
    "one left out, the rest moved up": "DELETE FROM events WHERE seq = 2; UPDATE events SET version = 2 WHERE seq = 3",
    "one more": "INSERT INTO events SELECT 6, run, task, 4, at, kind, chain, body FROM events WHERE seq = 3",
}


@pytest.mark.parametrize("kind", ["sqlite", "redacted"])
@pytest.mark.parametrize("change", BEHIND)
def test_what_is_changed_behind_the_store_shows_when_it_is_read(kind: str, change: str, tmp_path: Path) -> None:
    async def look() -> None:
        store = STORES[kind](tmp_path, Clock())
        try:
            await fill(store, "run", "a", 3)
            await fill(store, "run", "b", 2)
            assert len(await store.read("run")) == 5
            with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
                db.executescript(BEHIND[change])
            with pytest.raises(StoreError, match=r"journal\.db is damaged"):
                for run in await store.runs():
                    await store.read(run)
            assert len(await store.read("run", "b")) == 2  # what nobody touched
        finally:
            await store.close()

    asyncio.run(look())
