"""Slots for something that is scarce: the most urgent step gets the next free one (core/tree/urgency.py).

Whoever holds a slot must not wait for another one of the same kind: then everybody gets one in the end.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count

from bough.core.tree.urgency import URGENCY


class UrgentSlots:
    def __init__(self, size: int) -> None:
        self.size = size
        self._used = 0
        self._arrivals = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        """A heap: the most urgent first, among equals whoever came first."""

    @property
    def full(self) -> bool:
        return self._used >= self.size

    async def take(self) -> None:
        """Wait for a slot."""
        if not self.full:
            self._used += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (-URGENCY.get(), next(self._arrivals), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # It was given a slot just now.
                self.release()
            raise

    def release(self) -> None:
        """Give the slot to the next one that still waits."""
        while self._waiting:
            turn = heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._used -= 1
