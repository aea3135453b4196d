"""A question that a person can answer here or from elsewhere: the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bough.ports import Inbox

T = TypeVar("T")
U = TypeVar("U")


async def wait_for_first(inbox: Inbox, find: Callable[[], T | None], here: Awaitable[U]) -> T | U:
    """What `find` finds among the messages, now or once one arrives, or the result of `here`. Then `here` is
    cancelled."""
    came = asyncio.Event()
    unwatch = inbox.watch(came.set)
    asking = asyncio.ensure_future(here)
    try:
        while True:
            if (found := find()) is not None:
                return found
            if asking.done():
                return asking.result()
            came.clear()
            elsewhere = asyncio.ensure_future(came.wait())
            await asyncio.wait((asking, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            elsewhere.cancel()
    finally:
        unwatch()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
