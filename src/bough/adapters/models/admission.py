"""The queue in front of each endpoint: agents wait in order until it can take their request (see pace.py).

Waiting is not a failure: nothing is recorded, no retry is counted, and a run's limits end the wait as they end a
call. The one exception: if the request that probes whether a server is back fails, it counts as a failure for every
waiting agent, so that the run gives up as soon as it would with a single agent.

The state is in memory, per process. The journal records the outcome of every call; the server's rate changes by the
minute, and a new process learns it from its first answers.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from bough.adapters.models.pace import Pace
from bough.core.errors import NotServed, QuotaExhausted, TransientError, Unavailable, WaitEnded
from bough.core.messages import Answer, Prompt
from bough.ports import Model
from bough.ports.steering import Stop

Say = Callable[[str], None]
FRESH = 60.0
"""Seconds for which a quota that one agent found exhausted also counts as exhausted for the others."""


class _Applicant(Struct, frozen=True, eq=False):
    let_in: asyncio.Future[int]
    say: Say


class Gate:
    """The queue in front of one endpoint."""

    def __init__(self, host: str, pace: Pace, timer: Callable[[], float] = time.monotonic) -> None:
        self.pace = pace
        self.timer = timer
        self._host = host
        self._waiting: list[_Applicant] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._exhausted: tuple[float, QuotaExhausted] | None = None

    @asynccontextmanager
    async def turn(self, say: Say, stop: Stop) -> AsyncIterator[None]:
        """Wait until a request may be sent to the endpoint. Raises `WaitEnded` if a person stops the run meanwhile, and
        other requests' errors that concern everyone (an exhausted quota, a server that is down)."""
        if self._exhausted is not None:
            heard, known = self._exhausted
            if self.timer() - heard < FRESH and time.time() < known.until:
                raise _copy(known)
            self._exhausted = None
        sent = await self._wait(say, stop)
        try:
            yield
        except TransientError as error:
            probe = self.pace.probing and sent > self.pace.cut
            self.pace.failed(self.timer(), sent, error.sign, error.retry_after)
            if probe and error.sign:
                self._tell_all(error)
            else:
                for waiting in self._waiting:
                    waiting.say(f"\n{self._explain()}\n")
            raise
        except QuotaExhausted as error:
            self.pace.under_way.remove(sent)
            self._exhausted = (self.timer(), error)
            self._tell_all(error)
            raise
        except BaseException:
            self.pace.under_way.remove(sent)
            raise
        else:
            self.pace.answered(sent)
        finally:
            self._let_in()

    async def _wait(self, say: Say, stop: Stop) -> int:
        let_in: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        waiting = _Applicant(let_in, say)
        self._waiting.append(waiting)
        self._let_in()
        if let_in.done():
            return let_in.result()

        def end() -> None:
            if not let_in.done():
                let_in.set_exception(WaitEnded("stopped while it waited for its turn to ask the model"))

        watching = stop.watch(end)
        if stop.requested:
            end()
        say(f"\n{self._explain()}\n")
        try:
            sent = await let_in
            say("\nasking the model now\n")
            return sent
        except asyncio.CancelledError:
            if let_in.done() and not let_in.cancelled() and let_in.exception() is None:
                self.pace.under_way.remove(let_in.result())
            raise
        finally:
            watching.close()
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            self._let_in()

    def _let_in(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        for waiting in list(self._waiting):
            if waiting.let_in.done():
                continue
            if wait := self.pace.wait(self.timer()):
                self._alarm = asyncio.get_running_loop().call_later(wait, self._let_in)
            if wait != 0.0:
                break
            self._waiting.remove(waiting)
            waiting.let_in.set_result(self.pace.send())

    def _tell_all(self, error: Unavailable) -> None:
        for waiting in self._waiting:
            if not waiting.let_in.done():
                waiting.let_in.set_exception(_copy(error))

    def _explain(self) -> str:
        left, pace = self.pace.until - self.timer(), self.pace
        if pace.probing:
            return f"waiting: {self._host} does not answer, and one request at a time asks whether it is back"
        if left > 0:
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
            return f"waiting until {until}: {self._host} asks to slow down"
        return f"waiting: {self._host} takes {int(pace.window)} requests at once for now"


class PacedModel:
    """A model behind a gate. Until its server has answered once, a refused connection is not retried: if nothing
    listens there, the run halts and says so. Later it is a transient error like any other."""

    def __init__(self, model: Model, gate: Gate, stop: Stop) -> None:
        self._model, self._gate, self._stop, self._met = model, gate, stop, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def ask(self, prompt: Prompt, progress: Say) -> Answer:
        try:
            async with self._gate.turn(progress, self._stop):
                answer = await self._model.ask(prompt, progress)
        except TransientError as error:
            if error.nobody and not self._met:
                raise NotServed(str(error)) from error
            self._met = True
            raise
        self._met = True
        return answer


def _copy(error: Unavailable) -> Unavailable:
    """Return a copy of the error, so that every waiter raises an exception of its own."""
    if isinstance(error, QuotaExhausted):
        return QuotaExhausted(str(error), error.until)
    assert isinstance(error, TransientError)
    return TransientError(str(error), error.retry_after, error.sign)
