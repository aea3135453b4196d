"""The merge queue's head start: while one step is being proven at the head, the next one is already proven on what the
head will be if that one lands. Kept when it lands, discarded when it does not; nothing is recorded before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from bough.core.acceptance.verdict import Verdict
from bough.core.merge.conflict_hunks import Merge, Needed
from bough.slots import UrgentSlots

AHEAD = 4
"""Steps that may be proven at once ahead of their turn; 0: none."""


class Guess(Struct, frozen=True):
    """The result of a step on top of an expected head."""

    merge: Merge
    verdict: Verdict
    both: tuple[str, ...] = ()


class QueuedStep:
    """A step in the queue."""

    def __init__(self, need: Needed | None, ahead: QueuedStep | None) -> None:
        self.need = need
        """What must still hold after later steps have landed; None: it changes nothing."""
        self.ahead = ahead
        self._tree: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.guess: Guess | None = None

    def expect_tree(self, tree: str | None) -> None:
        """What the head will be once it has landed; None: unknown."""
        if not self._tree.done():
            self._tree.set_result(tree)

    async def tree(self) -> str | None:
        return await asyncio.shield(self._tree)

    @property
    def needed(self) -> tuple[Needed, ...]:
        """What all that are ahead of it need."""
        found, queued = [], self.ahead
        while queued is not None:
            found += [queued.need] if queued.need is not None else []
            queued = queued.ahead
        return tuple(reversed(found))


class MergeQueue:
    """The steps of one task that wait for the head, in order. The order is settled only for those that are proven ahead
    of their turn; of the others, the most urgent is next: a chain of steps waits for each of its merges."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._queued: list[QueuedStep] = []
        self._places = UrgentSlots(1 + AHEAD)

    @asynccontextmanager
    async def turn(
        self, need: Needed | None, guess: Callable[[QueuedStep, str], Awaitable[Guess | None]], head: Callable[[], str]
    ) -> AsyncIterator[QueuedStep]:
        """Hold the head alone. Meanwhile `guess` tries the step on the expected head."""
        await self._places.take()
        queued = QueuedStep(need, self._queued[-1] if self._queued else None)
        self._queued.append(queued)
        guessing: asyncio.Task[Guess | None] | None = None
        if need is not None and queued.ahead is not None:
            # While it waits for its turn: what that saves is a whole run of the check.
            guessing = asyncio.create_task(_make_guess(queued, guess))
        try:
            async with self._lock:
                if guessing is not None and queued.ahead is not None:
                    expected = await queued.ahead.tree()
                    # The one ahead may have landed otherwise than expected (made again by an agent, or not at all).
                    if expected is not None and expected == head():
                        queued.guess = await guessing
                queued.ahead = None
                yield queued
        finally:
            queued.expect_tree(None)
            self._queued.remove(queued)
            self._places.release()
            if guessing is not None:
                guessing.cancel()
                await asyncio.gather(guessing, return_exceptions=True)


async def _make_guess(queued: QueuedStep, guess: Callable[[QueuedStep, str], Awaitable[Guess | None]]) -> Guess | None:
    assert queued.ahead is not None
    tree = await queued.ahead.tree()
    found = await guess(queued, tree) if tree is not None else None
    if found is None:
        queued.expect_tree(None)
    return found
