"""What a newer bough wrote: another layout, an event and a field that this one does not know. Three right answers."""

import asyncio
import json
import sqlite3
from pathlib import Path

import msgspec
import pytest

from bough.adapters.stores.sql import SIZE, START, forge_link
from bough.adapters.stores.sqlite import SqliteStore
from bough.core import events as e
from bough.core.errors import NewerRun, StoreError
from bough.core.ids import GOAL, RUN
from tests.interfaces.journals import started, task_events, write_run
from tests.interfaces.shell import bough
from tests.sampling import in_turn

OLD, NEW = "amber-heron", "birch-bear"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two runs; tests change the second as a newer bough would have written it."""
    (tmp_path / ".bough").mkdir()

    async def write() -> None:
        store = SqliteStore(tmp_path / ".bough" / "journal.db")
        for name in (OLD, NEW):
            await write_run(store, name, {RUN: [started()], GOAL: task_events(GOAL, 2)})
        await store.close()

    asyncio.run(write())
    return tmp_path


def rewrite(project: Path, kind: str, change: dict[str, object], new_kind: str = "") -> None:
    """Change the events of a kind in the newer run, and its chain with them."""
    with sqlite3.connect(project / ".bough" / "journal.db") as db:
        query = "SELECT seq, task, version, at, kind, body FROM events WHERE run = ? ORDER BY seq"
        rows = db.execute(query, (NEW,)).fetchall()
        assert any(row[4] == kind for row in rows)
        links: dict[str, bytes] = {}
        for seq, task, version, at, was, body in rows:
            told = {**json.loads(body), **change, "event": new_kind or kind}
            now, new = (told["event"], json.dumps(told).encode()) if was == kind else (was, body)
            chain = forge_link(links.get(task, START), NEW, (seq, task, version, at, now, new))
            links[task] = chain[SIZE:]
            db.execute("UPDATE events SET kind = ?, body = ?, chain = ? WHERE seq = ?", (now, new, chain, seq))
    db.close()


def read(project: Path, run: str) -> list[e.Record]:
    async def main() -> list[e.Record]:
        store = SqliteStore(project / ".bough" / "journal.db", create=False)
        try:
            return await store.read(run)
        finally:
            await store.close()

    return asyncio.run(main())


def test_a_layout_of_one_more_is_called_newer(project: Path) -> None:
    with sqlite3.connect(project / ".bough" / "journal.db") as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (e.LAYOUT + 1,))
    db.close()
    with pytest.raises(StoreError, match=r"was written by a newer bough .*; upgrade bough\.$"):
        read(project, OLD)


@in_turn
@pytest.mark.parametrize("how", ["format", "event"])
def test_a_run_that_cannot_be_skipped_over_is_called_newer_and_no_other(project: Path, how: str) -> None:
    if how == "format":
        rewrite(project, "RunStarted", {"format": e.FORMAT + 1})
    else:
        rewrite(project, "StateChanged", {}, "StateDreamt")
    with pytest.raises(NewerRun, match=f"^{NEW} was written by a newer bough.*: upgrade.$"):
        read(project, NEW)
    assert read(project, OLD)
    listed = bough(project, "runs")
    assert listed.status == 0 and OLD in listed.out
    if how == "format":
        assert f"{NEW} was written by a newer bough (format {e.FORMAT + 1}" in listed.err
        shown = bough(project, "show", NEW)
        assert shown.status == 1 and "newer bough" in shown.err and "damaged" not in shown.err
    assert bough(project, "show", OLD).status == 0
    logged = bough(project, "log", NEW)
    assert logged.status == 1 and "newer bough" in logged.err and "damaged" not in logged.err


def test_an_unknown_optional_field_is_skipped_at_any_depth(project: Path) -> None:
    before = read(project, NEW)
    first = json.loads(e.encode(before[0].event))
    plan = {**first["plan"], "colour": "red", "goal": {**first["plan"]["goal"], "mood": {"calm": True}}}
    rewrite(project, "RunStarted", {"plan": plan, "weather": ["rain"]})
    assert read(project, NEW) == before
    assert bough(project, "show", NEW).status == 0


def test_what_is_wrong_with_a_known_field_is_still_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        e.decoder("RunStarted")(b'{"event":"RunStarted","plan":7,"weather":1}')


def test_a_journal_of_the_first_version_moves_with_its_first_claim(project: Path) -> None:
    """Until then it is left alone: looking changes nothing."""
    path = project / ".bough" / "journal.db"

    def layout() -> int:
        db = sqlite3.connect(path)
        try:
            return int(db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()[0])
        finally:
            db.close()

    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = 1 WHERE key = 'format'")
    db.close()
    assert read(project, OLD) and layout() == 1

    async def hold() -> None:
        store = SqliteStore(path)
        async with store.claim(OLD, GOAL, "w", 15):
            pass
        await store.close()

    asyncio.run(hold())
    assert layout() == e.LAYOUT
