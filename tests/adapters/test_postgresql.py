"""What several machines need of the store beyond what every store promises: a lost word, workers, files."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from bough.adapters.executors.fleet import Janitor, Member, drain, list_present_workers
from bough.adapters.executors.intake import Intake
from bough.adapters.stores.postgresql import PostgresStore
from bough.adapters.stores.postgresql_server import Server, Transaction, strip_password
from bough.adapters.workspaces.exchange import share
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home
from bough.core.errors import StoreError, UsageError
from bough.core.events import LAYOUT, NoteKept
from bough.core.ids import GOAL

from ..postgres import new_schema


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    opened = PostgresStore(new_schema())
    yield opened
    asyncio.run(opened.close())


class CutOff:
    """A connection that is lost after its commit: the server has done it, and nobody hears of it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def commit(self) -> None:
        self._inner.commit()
        self._inner.close()
        raise psycopg.OperationalError("the connection was lost")


def cut_off_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real, left = server._connection, [1]

    def connection() -> Any:
        opened = real()
        return CutOff(opened) if left and left.pop() else opened

    monkeypatch.setattr(server, "_connection", connection)


def test_what_was_committed_without_word_of_it_is_not_done_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose() -> None:
        cut_off_once(store.server, monkeypatch)
        async with store.claim("run", GOAL, "w", 15.0) as claim:
            cut_off_once(store.server, monkeypatch)
            kept = await store.append(claim, [NoteKept("decision", "a"), NoteKept("decision", "b")], 0)
            assert [record.version for record in kept] == [1, 2]
            assert await store.read("run") == kept
            cut_off_once(store.server, monkeypatch)
            with pytest.raises(StoreError, match="try again if `bough log run` lacks it"):
                await store.post("run", "other", NoteKept("decision", "once"))
            assert len(await store.read("run", "other")) == 1

    asyncio.run(lose())


def test_an_address_is_shown_without_its_password() -> None:
    assert strip_password("postgresql://me:pw@db:5/x?schema=a&password=b") == "postgresql://me@db:5/x?schema=a"
    assert strip_password("postgresql:///x?host=/run&password=b") == "postgresql:///x?host=/run"
    with pytest.raises(UsageError, match="not a schema name"):
        Server("postgresql://db/x?schema=a-b")


# ── workers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LEASE = 0.4


def member(server: Server, name: str) -> Member:
    made = Member(server, name, 1, ("gpu",), "1", LEASE)
    made.join()
    return made


def test_a_silent_worker_is_struck_off_with_its_claims(store: PostgresStore) -> None:
    async def watch() -> None:
        alive, silent = member(store.server, "alive"), member(store.server, "silent")
        janitor = Janitor(store.server)
        async with store.claim("run", "a", alive.id, LEASE), store.claim("run", "b", silent.id, LEASE):
            listed = {each.name: each.tasks for each in await store.transact(list_present_workers)}
            assert listed == {"alive": (("run", "a"),), "silent": (("run", "b"),)}
            until = time.monotonic() + 240
            while janitor.look() != {alive.id}:
                assert alive.beat() == (False, "")
                assert time.monotonic() < until
                await asyncio.sleep(LEASE / 10)
            assert silent.beat() is None and not silent.is_member()
            assert [await store.holder("run", task) for task in "ab"] == [alive.id, None]
        assert await store.transact(lambda db: drain(db, "alive"))
        assert not await store.transact(lambda db: drain(db, "silent"))
        assert alive.beat() == (True, "")

    asyncio.run(watch())


def test_no_worker_counts_as_silent_while_the_janitor_was_away(store: PostgresStore) -> None:
    idle = member(store.server, "idle")
    janitor = Janitor(store.server)
    for _ in range(3):
        assert janitor.look() == {idle.id}
        time.sleep(LEASE * 1.2)  # stopped, or cut off from the server: it cannot tell who beat meanwhile


def test_a_worker_that_is_started_again_takes_over_from_its_earlier_life(store: PostgresStore) -> None:
    async def restart() -> None:
        first = member(store.server, "w")
        async with store.claim("run", GOAL, first.id, 1e6):
            second = member(store.server, "w")
            assert first.beat() is None and second.beat() == (False, "")
            async with store.claim("run", GOAL, second.id, 1e6):  # at once: nobody waits for the lease
                assert await store.holder("run", GOAL) == second.id

    asyncio.run(restart())


def test_a_drain_outlasts_the_restart_of_a_worker_and_not_its_upgrade(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    member(store.server, "w")
    assert asyncio.run(store.transact(lambda db: drain(db, "w")))
    assert member(store.server, "w").beat() == (True, "")  # The same process, which was unresponsive meanwhile.
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert member(store.server, "w").beat() == (False, "")


@pytest.mark.parametrize("when", ["launch", "register_queue", "destroy"])
def test_a_server_that_goes_away_while_a_worker_begins_or_ends_is_said(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    class Queue:
        """DBOS, but for its threads and its changes to what other tests use."""

        workflow = staticmethod(lambda **options: lambda made: made)

        def __init__(self, config: object) -> None: ...

        @staticmethod
        def _reach(name: str) -> None:
            if name == when:
                raise OperationalError("INSERT", {}, psycopg.OperationalError("server closed the connection"))

        launch = partial(_reach, "launch")
        destroy = partial(_reach, "destroy")

        @staticmethod
        def register_queue(name: str, **options: object) -> None:
            Queue._reach("register_queue")

    async def run_task(task: object, rests: object) -> str:
        raise AssertionError

    async def begin_and_end() -> None:
        intake = Intake(store.server, "one", 1, (), run_task)
        intake.start()
        intake.stop()

    monkeypatch.setattr("bough.adapters.executors.dbos.load_dbos", lambda: (SimpleNamespace(DBOS=Queue), None))
    monkeypatch.setattr(Intake, "_limit_to_slots", lambda intake: None)
    with pytest.raises(StoreError, match="server closed the connection"):
        asyncio.run(begin_and_end())


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def machine(folder: Path, server: Server, remote: str = "") -> GitWorkspaces:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    made = GitWorkspaces(folder, prepare_home(folder), link_ignored=False)
    share(made, server, remote)
    return made


@pytest.mark.parametrize("through", ["store", "remote"])
def test_files_reach_another_machine(through: str, store: PostgresStore, tmp_path: Path) -> None:
    remote = ""
    if through == "remote":
        remote = str(tmp_path / "remote.git")
        subprocess.run(["git", "init", "-q", "--bare", remote], check=True)

    async def exchange() -> None:
        here, there = machine(tmp_path / "here", store.server, remote), machine(tmp_path / "there", store.server)
        for n in range(40):
            (tmp_path / "here" / f"{n}.txt").write_text(f"{n}\n")
        base = await here.take()
        opened = await there.open("run", "task", base, "")
        assert sorted(path.name for path in opened.root.glob("*.txt")) == sorted(f"{n}.txt" for n in range(40))
        (opened.root / "0.txt").write_text("changed\n")
        (opened.root / "new").mkdir()
        (opened.root / "new" / "file").write_text("new\n")
        changed = await opened.snapshot()
        (opened.root / "1.txt").unlink()
        last = await opened.snapshot()
        assert await here.texts(last, ["0.txt", "new/file", "1.txt"]) == {"0.txt": "changed\n", "new/file": "new\n"}
        assert [(each.kind, each.path) for each in await here.changes(changed, last)] == [("D", "1.txt")]
        merged = await here.merge(base, changed, last)
        assert (await there.merge(base, merged.tree, last)).tree == merged.tree == last
        whole = "SELECT remote IS NULL, base IS NULL FROM trees WHERE tree = %s"
        assert await store.transact(lambda db: db.one(whole, base)) == (through == "store", True)
        assert await store.transact(lambda db: db.one(whole, changed)) == (True, False)  # only what is new
        assert (await store.compact()) == set()  # no event names them
        assert await store.transact(lambda db: db.one("SELECT count(*) FROM trees")) == (0,)

    asyncio.run(exchange())


def test_a_journal_of_the_first_layout_is_read_and_moves_when_it_is_written(store: PostgresStore) -> None:
    def age(db: Transaction) -> None:
        db.run("ALTER TABLE runs DROP COLUMN waiting")
        db.run("ALTER TABLE workers DROP COLUMN trouble")
        db.run("UPDATE meta SET value = 1 WHERE key = 'format'")

    async def main() -> None:
        await store.transact(age)
        url = f"{store.server.url}{'&' if '?' in store.server.url else '?'}schema={store.server.schema}"
        older = PostgresStore(url, create=False)
        assert await older.waiting("run") == "" and await older.transact(list_present_workers) == []
        await older.close()
        newer = PostgresStore(url)
        assert await newer.transact(lambda db: db.one("SELECT value FROM meta WHERE key = 'format'")) == (LAYOUT,)
        await newer.transact(lambda db: db.all("SELECT waiting FROM runs"))
        await newer.close()

    asyncio.run(main())
