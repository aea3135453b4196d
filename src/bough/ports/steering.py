"""The steering of a live run: stop requests and people's messages reach it, and a fence stops a process whose run
another process has taken over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import ExitStack, asynccontextmanager
from itertools import takewhile
from typing import Any, TypeVar

from bough.core.events import AnyEvent, Halt, Record

T = TypeVar("T")
U = TypeVar("U")


class _Watched:
    """Something that others wait for."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> ExitStack:
        """Call `wake` whenever something comes, from now on and until the block ends."""
        self._watchers.append(wake)
        watching = ExitStack()
        watching.callback(self._watchers.remove, wake)
        return watching

    def _wake_all(self) -> None:
        for wake in list(self._watchers):
            wake()


class Stop(_Watched):
    """A person's request to stop: after the current effect, or (`now`) at once."""

    def __init__(self) -> None:
        super().__init__()
        self.requested = False
        self.now = False
        self.halt: tuple[Halt, str] = ("stopped", "a person stopped it")
        """The halt that follows."""

    def request(self, now: bool = False, halt: tuple[Halt, str] | None = None) -> None:
        self.requested, self.now = True, self.now or now
        self.halt = halt or self.halt
        self._wake_all()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a request; False when that many seconds pass without one."""
        stopped = asyncio.Event()
        with self.watch(stopped.set):
            try:
                await asyncio.wait_for(stopped.wait(), 0 if self.requested else seconds)
            except TimeoutError:
                return self.requested
        return True


class Inbox(_Watched):
    """People's messages to the run, oldest first. The run's holder fills it."""

    def __init__(self) -> None:
        super().__init__()
        self._said: list[Record] = []
        self.look: Callable[[], Awaitable[None]] | None = None
        """Reads new posts."""
        self.post: Callable[[AnyEvent], Awaitable[Record]] | None = None
        """Writes to the stream that people post to."""

    def add(self, record: Record) -> None:
        self._said.append(record)
        self._wake_all()

    def after(self, seq: int) -> list[Record]:
        """Messages after that one."""
        newer = takewhile(lambda record: record.seq > seq, reversed(self._said))
        return list(newer)[::-1]

    async def first(self, find: Callable[[], T | None], here: Awaitable[U]) -> T | U:
        """Return the first answer to a question: what `find` finds among the messages, now or once one arrives, or the
        result of `here`, which is cancelled then."""
        came = asyncio.Event()
        watching, asking = self.watch(came.set), asyncio.ensure_future(here)
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
            watching.close()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)


class Fence:
    """Decides whether this process may still act for its run: crossed before every effect. A process that was away
    (stopped, suspended) while another took the run over is turned back here."""

    def __init__(self) -> None:
        self._check: Callable[[], Awaitable[None]] | None = None

    def hold(self, check: Callable[[], Awaitable[None]] | None) -> None:
        """Require that `check` passes from now on; None: require nothing."""
        self._check = check

    async def cross(self) -> None:
        if self._check is not None:
            await self._check()


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Start the work. It does not outlive the block."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        await cancel_tasks([task])


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel them, and wait until they have ended."""
    under_way = list(tasks)
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
