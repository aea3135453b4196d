"""Wakes waiters when somebody has written to a journal, so that they need not poll."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from bough.adapters.workspaces.checkout_watch import call_inotify
from bough.ports import Store

LOOK = 5.0
"""Seconds between polls if the system sends no events: a database on another machine, or no inotify."""
_WRITTEN = 0x2 | 0x100
"""IN_MODIFY and IN_CREATE: SQLite appends to a file beside its database."""


class News:
    def __init__(self, store: Store) -> None:
        path = getattr(getattr(store, "inner", store), "path", None)
        self._handle: int | None = None
        if isinstance(path, Path):
            with suppress(OSError, AttributeError):  # Not Linux, or no watches are left.
                self._handle = call_inotify("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
                call_inotify("inotify_add_watch", self._handle, os.fsencode(path.parent), _WRITTEN)

    def clear(self) -> None:
        """Forget earlier writes. Call this before reading the journal, so that no later write is missed."""
        if self._handle is not None:
            with suppress(BlockingIOError):
                while os.read(self._handle, 1 << 16):
                    pass

    async def wait(self) -> None:
        """Wait until somebody has written since the last `clear`. It may return for a write to another file, too."""
        if self._handle is None:
            await asyncio.sleep(LOOK)
            return
        loop, written = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._handle, written.set)
        try:
            await written.wait()
        finally:
            loop.remove_reader(self._handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
