"""How a live run is steered: by stop requests and by people's messages. A fence stops a process whose run another
process has taken over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import ExitStack, asynccontextmanager
from itertools import takewhile
from typing import Any, TypeVar

from bough.core.events import AnyEvent, Halt, Record

T = TypeVar("T")
U = TypeVar("U")


class _Watchable:
    """Something whose changes others can watch."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> ExitStack:
        """Call `wake` at every change, until the returned stack is closed."""
        self._watchers.append(wake)
        watching = ExitStack()
        watching.callback(self._watchers.remove, wake)
        return watching

    def _wake_all(self) -> None:
        for wake in list(self._watchers):
            wake()


class Stop(_Watchable):
    """A person's request to stop: after the current action (a model call, a tool, a check), or at once (`now`)."""

    def __init__(self) -> None:
        super().__init__()
        self.requested = False
        self.now = False
        self.halt: tuple[Halt, str] = ("stopped", "a person stopped it")
        """The reason and the message of the halt that follows."""

    def request(self, now: bool = False, halt: tuple[Halt, str] | None = None) -> None:
        self.requested, self.now = True, self.now or now
        self.halt = halt or self.halt
        self._wake_all()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a stop request. Return False if this many seconds pass without one."""
        stopped = asyncio.Event()
        with self.watch(stopped.set):
            try:
                await asyncio.wait_for(stopped.wait(), 0 if self.requested else seconds)
            except TimeoutError:
                return self.requested
        return True


class Inbox(_Watchable):
    """People's messages to the run, oldest first. The process that holds the run fills it."""

    def __init__(self) -> None:
        super().__init__()
        self._said: list[Record] = []
        self.look: Callable[[], Awaitable[None]] | None = None
        """Reads new messages from the journal into the inbox."""
        self.post: Callable[[AnyEvent], Awaitable[Record]] | None = None
        """Appends an event to the stream that people's messages are posted to."""

    def add(self, record: Record) -> None:
        self._said.append(record)
        self._wake_all()

    def after(self, seq: int) -> list[Record]:
        """Return the messages after the one with this number."""
        return list(takewhile(lambda record: record.seq > seq, reversed(self._said)))[::-1]

    async def first(self, find: Callable[[], T | None], here: Awaitable[U]) -> T | U:
        """Return the first answer to a question: what `find` finds among the messages, now or later, or the result of
        `here`. If a message is first, `here` is cancelled."""
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
    """Checks before every action whether this process still holds its run. A process that was suspended while another
    took over the run gets an error here."""

    def __init__(self) -> None:
        self._check: Callable[[], Awaitable[None]] | None = None

    def hold(self, check: Callable[[], Awaitable[None]] | None) -> None:
        """Require from now on that `check` raises no error; None: require nothing."""
        self._check = check

    async def cross(self) -> None:
        if self._check is not None:
            await self._check()


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run the work as a task beside this block, and cancel it at the end of the block."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        await cancel_tasks([task])


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks, and wait until they have ended."""
    under_way = list(tasks)
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
