"""What every `Store` promises, one function a promise. A new store adds itself to the list in `test_stores.py`."""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence

import pytest

from bough.adapters.stores.liveness import worker_id
from bough.core.errors import ClaimHeld, ClaimLost, NotFound, VersionConflict
from bough.core.events import AnyEvent, DoneClaimed, NoteKept, Record, StopRequested, ToolFinished
from bough.core.ids import CONTROL, GOAL, OWN, RUN
from bough.ports import Store

LEASE = 15.0
SHORT = 0.3
"""A lease that can be waited for: of a worker elsewhere nobody knows more than that no heartbeat comes for so long."""


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


Promise = Callable[[Store, Clock], Awaitable[None]]
PROMISES: list[Promise] = []


def promise(function: Promise) -> Promise:
    PROMISES.append(function)
    return function


def note(text: str) -> NoteKept:
    return NoteKept("decision", text)


def texts(records: Sequence[Record]) -> list[str]:
    return [record.event.text for record in records if isinstance(record.event, NoteKept)]


async def fill(store: Store, run: str, task: str, count: int) -> list[Record]:
    async with store.claim(run, task, "filler", LEASE) as claim:
        return await store.append(claim, [note(f"{task} {number}") for number in range(1, count + 1)], 0)


def ended_worker() -> str:
    """The name of a worker whose process is gone."""
    script = "from bough.adapters.stores.liveness import worker_id; print(worker_id())"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


# ── appending and reading ───────────────────────────────────────────────────────────────────────────────────────


@promise
async def what_was_appended_is_read_back(store: Store, clock: Clock) -> None:
    events: list[AnyEvent] = [note("first"), ToolFinished("c1", False, "no", seconds=0.25), DoneClaimed("second")]
    async with store.claim("amber-heron", GOAL, "w", LEASE) as claim:
        clock.now = 1_234.5
        kept = await store.append(claim, events[:2], 0)
        clock.now = 1_240.0
        kept += await store.append(claim, events[2:], 2)
    assert [record.event for record in kept] == events
    assert [record.version for record in kept] == [1, 2, 3]
    assert [record.at for record in kept] == [1_234.5, 1_234.5, 1_240.0]
    assert {(record.run, record.task) for record in kept} == {("amber-heron", GOAL)}
    assert await store.read("amber-heron", GOAL) == kept
    assert await store.read("amber-heron") == kept


@promise
async def appending_at_another_version_is_a_conflict(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        await store.append(claim, [note("one")], 0)
        for expected in (0, 2, -1):
            with pytest.raises(VersionConflict, match="version 1"):
                await store.append(claim, [note("two"), note("three")], expected)
        await store.append(claim, [note("four")], 1)
    assert texts(await store.read("run")) == ["one", "four"]


@promise
async def a_cancelled_append_is_settled_when_it_raises(store: Store, clock: Clock) -> None:
    """Whoever continues after a cancellation reads which version the stream has: nothing may still be on its way."""
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        version = 0
        for turns in range(12):
            appending = asyncio.ensure_future(store.append(claim, [note(str(turns))], version))
            for _ in range(turns):
                await asyncio.sleep(0)
            appending.cancel()
            await asyncio.wait({appending})
            version = len(await store.read("run", GOAL))
            assert len(await store.append(claim, [note("next")], version)) == 1
            version += 1


@promise
async def no_events_are_no_change(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        assert await store.append(claim, [], 0) == []
    assert await store.read("run") == []
    assert await store.runs() == []


@promise
async def streams_are_apart(store: Store, clock: Clock) -> None:
    await fill(store, "run", "a", 2)
    await fill(store, "run", "a/b", 1)
    await fill(store, "run", RUN, 1)
    await fill(store, "run-2", "a", 3)
    assert [record.version for record in await store.read("run", "a")] == [1, 2]
    assert [record.version for record in await store.read("run", "a/b")] == [1]
    assert texts(await store.read("run", RUN)) == [" 1"]
    assert len(await store.read("run")) == 4
    assert len(await store.read("run-2")) == 3
    assert await store.read("ru") == await store.read("run", "b") == await store.read("nothing") == []


@promise
async def a_run_is_read_in_the_order_of_its_events(store: Store, clock: Clock) -> None:
    async with store.claim("run", "b", "w", LEASE) as b, store.claim("run", "a", "w", LEASE) as a:
        for version in range(3):
            await store.append(b, [note(f"b{version}")], version)
            await store.append(a, [note(f"a{version}")], version)
    records = await store.read("run")
    assert texts(records) == ["b0", "a0", "b1", "a1", "b2", "a2"]
    assert [r.seq for r in records] == sorted({r.seq for r in records})


@promise
async def reading_goes_on_from_a_sequence_number(store: Store, clock: Clock) -> None:
    records = await fill(store, "run", "a", 4)
    later = await fill(store, "run", "b", 2)
    assert await store.read("run", since=records[1].seq) == records[2:] + later
    assert await store.read("run", "a", since=records[1].seq) == records[2:]
    assert await store.read("run", "b", since=records[1].seq) == later
    assert await store.read("run", since=later[-1].seq) == await store.read("run", since=later[-1].seq + 9) == []


@promise
async def reading_can_be_in_parts(store: Store, clock: Clock) -> None:
    records = await fill(store, "run", "a", 4)
    later = await fill(store, "run", "b", 2)
    assert await store.read("run", limit=3) == records[:3]
    assert await store.read("run", since=records[2].seq, limit=3) == [records[3], *later]
    assert await store.read("run", "b", limit=1) == later[:1]
    assert await store.read("run", "a", kinds=["NoteKept"], limit=9) == records


@promise
async def reading_can_be_of_some_kinds_only(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        kept = await store.append(claim, [note("a"), DoneClaimed("b"), note("c"), ToolFinished("d", True, "")], 0)
    posted = await store.post("run", CONTROL, StopRequested())
    assert await store.read("run", kinds=["NoteKept"]) == [kept[0], kept[2]]
    assert await store.read("run", GOAL, kinds=["DoneClaimed", "ToolFinished"]) == [kept[1], kept[3]]
    assert await store.read("run", kinds=("StopRequested", "NoteKept"), since=kept[0].seq) == [kept[2], posted]
    assert await store.read("run", GOAL, kinds=["StopRequested"]) == await store.read("run", kinds=[]) == []


@promise
async def runs_are_named_oldest_first(store: Store, clock: Clock) -> None:
    for run in ("violet-yak", "amber-heron", "moss-owl"):
        await fill(store, run, GOAL, 2)
    await store.post("violet-yak", CONTROL, StopRequested())
    await store.post(f"{OWN}backlog/x", CONTROL, StopRequested())  # bough's own: a stream, and no run
    assert len(await store.read(f"{OWN}backlog/x")) == 1
    async with store.claim("only-claimed", GOAL, "w", LEASE):
        assert await store.runs() == ["violet-yak", "amber-heron", "moss-owl"]
        assert await store.names() == [*await store.runs(), f"{OWN}backlog/x"]


@promise
async def odd_text_does_not_lose_an_event(store: Store, clock: Clock) -> None:
    odd = ["a\0b", "\ud800 lone", "é 漢字 🌳", "\x1b[31m\r\n\u2028", "", '"\\', "\ufffe\uffff"]
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        kept = await store.append(claim, [note(text) for text in odd], 0)
    assert await store.read("run") == kept
    expected = [text for text in odd if "\ud800" not in text]
    assert [text for text in texts(kept) if "lone" not in text] == expected


@promise
async def large_events_are_kept_whole(store: Store, clock: Clock) -> None:
    text = "0123456789" * 100_000
    async with store.claim("run", GOAL, "w", LEASE) as claim:
        await store.append(claim, [note(text)], 0)
    assert texts(await store.read("run", GOAL)) == [text]


@promise
async def fifty_may_append_at_once(store: Store, clock: Clock) -> None:
    async def work(task: str) -> None:
        async with store.claim("run", task, "w", LEASE) as claim:
            for version in range(0, 10, 2):
                await store.append(claim, [note(f"{version + 1}"), note(f"{version + 2}")], version)

    await asyncio.gather(*(work(f"t{number}") for number in range(50)))
    records = await store.read("run")
    assert len({r.seq for r in records}) == len(records) == 500
    for number in range(50):
        stream = await store.read("run", f"t{number}")
        assert [r.version for r in stream] == list(range(1, 11))
        assert texts(stream) == [str(version) for version in range(1, 11)]


@promise
async def one_conflict_is_no_other_ones(store: Store, clock: Clock) -> None:
    await fill(store, "run", "stale", 1)
    names = [f"t{number}" for number in range(20)]

    async def work(task: str) -> list[Record]:
        async with store.claim("run", task, "w", LEASE) as claim:
            return await store.append(claim, [note(task)], 0)

    outcomes = await asyncio.gather(*(work(task) for task in [*names, "stale"]), return_exceptions=True)
    assert isinstance(outcomes.pop(), VersionConflict)
    assert [texts(outcome) for outcome in outcomes if not isinstance(outcome, BaseException)] == [[n] for n in names]


@promise
async def anyone_may_post(store: Store, clock: Clock) -> None:
    first = await store.post("run", CONTROL, StopRequested())
    async with store.claim("run", CONTROL, "w", LEASE) as claim:
        second = await store.post("run", CONTROL, StopRequested(now=True))
        with pytest.raises(VersionConflict):
            await store.append(claim, [note("late")], 1)
        (third,) = await store.append(claim, [note("in time")], 2)
    assert [r.version for r in (first, second, third)] == [1, 2, 3]
    assert await store.read("run", CONTROL) == [first, second, third]


@promise
async def blobs_are_kept_by_content(store: Store, clock: Clock) -> None:
    bodies = [b"", b"\0\xff" * 1_000, b"x" * 3_000_000]
    names = [await store.put_blob(body) for body in bodies]
    assert names == [hashlib.sha256(body).hexdigest() for body in bodies]
    assert await store.put_blob(bodies[1]) == names[1]
    assert [await store.get_blob(name) for name in names] == bodies
    with pytest.raises(NotFound, match="0000"):
        await store.get_blob("0" * 64)


# ── claims ──────────────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def a_held_stream_is_refused(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, worker_id(), LEASE) as claim:
        assert (claim.run, claim.task, claim.worker) == ("run", GOAL, worker_id())
        for worker in ("second", worker_id()):
            with pytest.raises(ClaimHeld, match=str(os.getpid())) as refused:
                async with store.claim("run", GOAL, worker, LEASE):
                    raise AssertionError("held twice")
            assert refused.value.holder == worker_id()
        async with store.claim("run", "other", "second", LEASE), store.claim("run-2", GOAL, "second", LEASE):
            await store.append(claim, [note("still ours")], 0)


@promise
async def leaving_the_block_releases_the_claim(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "first", LEASE) as first:
        pass
    with pytest.raises(ClaimLost):
        await store.append(first, [note("too late")], 0)
    with pytest.raises(KeyError):
        async with store.claim("run", GOAL, "second", LEASE) as second:
            raise KeyError
    async with store.claim("run", GOAL, "first", LEASE) as third:
        with pytest.raises(ClaimLost):
            await store.append(second, [note("too late")], 0)
        await store.append(third, [note("ours")], 0)
    assert first.epoch < second.epoch < third.epoch


@promise
async def a_cancelled_claim_is_not_held(store: Store, clock: Clock) -> None:
    async def hold(started: asyncio.Event) -> None:
        started.set()
        async with store.claim("run", GOAL, "first", LEASE):
            await asyncio.Event().wait()

    for steps in range(6):  # before, while and after it is taken
        started = asyncio.Event()
        task = asyncio.create_task(hold(started))
        await started.wait()
        for _ in range(steps):
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with store.claim("run", GOAL, "second", LEASE):
            pass


@promise
async def an_expired_claim_is_taken_over(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "slow", LEASE) as slow:
        await store.append(slow, [note("one")], 0)
        clock.now += LEASE + 1
        async with store.claim("run", GOAL, "quick", SHORT) as quick:
            assert quick.epoch > slow.epoch
            with pytest.raises(ClaimLost, match="run"):
                await store.append(slow, [note("late")], 1)
            with pytest.raises(ClaimLost, match="run"):
                await store.check(slow)
            await store.check(quick)
            await store.append(quick, [note("two")], 1)
            assert await store.holder("run", GOAL) == "quick"
    assert texts(await store.read("run")) == ["one", "two"]


@promise
async def a_late_holder_releases_only_its_own(store: Store, clock: Clock) -> None:
    slow, quick = store.claim("run", GOAL, "w", LEASE), store.claim("run", GOAL, "w", SHORT)
    await slow.__aenter__()
    clock.now += LEASE + 1
    claim = await quick.__aenter__()
    await slow.__aexit__(None, None, None)
    assert await store.holder("run", GOAL) == "w"
    await store.append(claim, [note("ours")], 0)
    await quick.__aexit__(None, None, None)


@promise
async def an_expired_claim_that_nobody_took_still_holds(store: Store, clock: Clock) -> None:
    async with store.claim("run", GOAL, "slow", LEASE) as claim:
        clock.now += 10 * LEASE
        await store.append(claim, [note("one")], 0)
        await store.renew("slow", LEASE)
        assert await store.holder("run", GOAL) == "slow"


async def beat(store: Store, worker: str) -> None:
    while True:
        await store.renew(worker, LEASE)
        await asyncio.sleep(SHORT / 5)


@promise
async def the_heartbeat_extends_all_claims_of_a_worker(store: Store, clock: Clock) -> None:
    async with (
        store.claim("run", "a", "steady", LEASE),
        store.claim("run", "b", "steady", LEASE),
        store.claim("run", "c", "other", LEASE),
    ):
        clock.now += LEASE - 1
        heart = asyncio.create_task(beat(store, "steady"))
        await asyncio.sleep(0)
        clock.now += 2
        for task in "ab":
            with pytest.raises(ClaimHeld):
                async with store.claim("run", task, "heir", 10 * SHORT):
                    pass
        async with store.claim("run", "c", "heir", SHORT):
            assert [await store.holder("run", task) for task in "abc"] == ["steady", "steady", "heir"]
        heart.cancel()
        await asyncio.gather(heart, return_exceptions=True)
    await store.renew("steady", LEASE)
    assert await store.holder("run", "a") is None


@promise
async def the_claim_of_a_dead_process_is_taken_over_at_once(store: Store, clock: Clock) -> None:
    dead = ended_worker()
    async with store.claim("run", GOAL, dead, 1e6) as lost:
        assert await store.holder("run", GOAL) is None
        async with store.claim("run", GOAL, worker_id(), LEASE) as claim:
            with pytest.raises(ClaimLost):
                await store.append(lost, [note("from the grave")], 0)
            await store.append(claim, [note("alive")], 0)
            assert await store.holder("run", GOAL) == worker_id()


@promise
async def the_holder_is_named_while_it_holds(store: Store, clock: Clock) -> None:
    assert await store.holder("run", GOAL) is None
    async with store.claim("run", GOAL, "w", LEASE):
        assert await store.holder("run", GOAL) == "w"
        assert await store.holder("run", RUN) is None
        assert await store.holder("run-2", GOAL) is None
    assert await store.holder("run", GOAL) is None


@promise
async def closing_twice_is_closing_once(store: Store, clock: Clock) -> None:
    await fill(store, "run", GOAL, 1)
    await store.close()
    await store.close()
