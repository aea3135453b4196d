"""What a round costs around the model, counted and not timed: a busy machine must not fail it."""

import asyncio
from asyncio.events import Handle
from pathlib import Path

import pytest

from bough.adapters.stores.sqlite import SqliteStore
from bough.core.ids import GOAL
from bough.ports import Claim
from tests.conformance.stores import note
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def test_looking_at_a_claim_starts_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at before every effect: a thread would cost more than the rest of a round's journal."""

    async def main() -> None:
        store = SqliteStore(tmp_path / "journal.db")
        async with store.claim("run", GOAL, "w", 15) as claim:
            with monkeypatch.context() as patched:
                patched.setattr(asyncio, "to_thread", None)
                await store.check(claim)
                for version in range(3):
                    await store.append(claim, [note("one")], version)
                    await store.check(claim)
        await store.close()

    asyncio.run(main())


def test_an_append_takes_two_turns_of_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One callback of the writer, and one that wakes who waits: a task of its own would take three more."""
    turns = 0
    run = Handle._run

    def count(self: Handle) -> None:
        nonlocal turns
        turns += 1
        run(self)

    async def fill(store: SqliteStore, claim: Claim) -> None:
        for version in range(20):
            await store.append(claim, [note("one")], version)

    async def main() -> int:
        store = SqliteStore(tmp_path / "journal.db")
        async with store.claim("run", GOAL, "w", 15) as claim:
            with monkeypatch.context() as patched:
                patched.setattr(Handle, "_run", count)
                await fill(store, claim)
        await store.close()
        return turns

    # A wake-up of the loop from the writer's thread comes with a read of the loop's own pipe.
    assert asyncio.run(main()) <= 20 * 3
