"""Limits how many checks run at once: agents mostly wait for a model, but a check needs a processor.

A slot is held while one process of a check runs, and never while waiting for anything else. So every holder finishes,
and nobody waits forever, here or in the merge queue.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from bough.ports import CommandResult, Sandbox


def count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class CheckSlots:
    """The slots that all runs of a process share."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count or count_processors()
        self.free = asyncio.Semaphore(self.count)

    def limit(self, sandbox: Sandbox) -> Sandbox:
        """Return a wrapper of the sandbox, for checks, in which every command takes a slot."""
        return cast(Sandbox, _LimitedSandbox(sandbox, self))


class _LimitedSandbox:
    def __init__(self, sandbox: Sandbox, slots: CheckSlots) -> None:
        self._sandbox, self._slots = sandbox, slots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def run(
        self, argv: Sequence[str], *, progress: Callable[[str], None] = lambda line: None, **given: Any
    ) -> CommandResult:
        count = self._slots.count
        if waits := self._slots.free.locked():
            progress(f"waiting for a check slot: {count} of {count} in use (--checks)")
        async with self._slots.free:
            if waits:
                # Clear the reason: otherwise it would stay on the screen until the check prints something.
                progress("")
            return await self._sandbox.run(argv, progress=progress, **given)
