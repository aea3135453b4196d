"""The queue in front of each endpoint: agents wait in order until it can take their request (see pace.py).

Waiting is not a failure: nothing is recorded, no retry is counted, and a run's limits end the wait as they end a
call. The one exception: if the request that probes whether a server is back fails, it counts as a failure for every
waiting agent, so that the run gives up as soon as it would with a single agent.

The state is in memory, per process. The journal records the outcome of every call; the server's rate changes by the
minute, and a new process learns it from its first answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from bough.adapters.models.pace import Pace, Sent, read_allowance
from bough.core.conversation.compaction import measure_messages
from bough.core.conversation.text_fitting import estimate_tokens
from bough.core.errors import Exhausted, NotServed, TransientError, Unavailable, WaitEnded
from bough.core.messages import Answer, Prompt
from bough.ports import Model
from bough.ports.steering import Stop

Say = Callable[[str], None]
FRESH = 60.0
"""Seconds for which a quota that one agent found exhausted also counts as exhausted for the others."""


class Admission(Struct, frozen=True, eq=False):
    """A request that may be sent."""

    gate: Gate
    sent: Sent

    def hear(self, headers: Mapping[str, str]) -> None:
        """Read the token allowance from the headers of the request's answer."""
        if allowance := read_allowance(headers, time.time()):
            self.gate.pace.hear(self.gate.timer(), self.sent, allowance)


ADMITTED: ContextVar[Admission | None] = ContextVar("admitted", default=None)
"""The admission of the current context's request. The HTTP client (`wire.py`) passes it the server's headers."""


class _Applicant(Struct, frozen=True, eq=False):
    model: str
    tokens: int
    let_in: asyncio.Future[Sent]
    say: Say


class Gate:
    """The queue in front of one endpoint."""

    def __init__(self, host: str, pace: Pace, timer: Callable[[], float] = time.monotonic) -> None:
        self.pace = pace
        self.timer = timer
        self._host = host
        self._waiting: list[_Applicant] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._exhausted: tuple[float, Exhausted] | None = None

    @asynccontextmanager
    async def turn(self, model: str, tokens: int, say: Say, stop: Stop) -> AsyncIterator[Admission]:
        """Wait until a request may be sent to the endpoint. Raises `WaitEnded` if a person stops the run meanwhile, and
        other requests' errors that concern everyone (an exhausted quota, a server that is down)."""
        if self._exhausted is not None:
            heard, known = self._exhausted
            if self.timer() - heard < FRESH and time.time() < known.until:
                raise _copy(known)
            self._exhausted = None
        sent = await self._wait(model, tokens, say, stop)
        try:
            yield Admission(self, sent)
        except TransientError as error:
            probe = self.pace.probing and sent.number > self.pace.cut
            self.pace.failed(self.timer(), sent, error.sign, error.retry_after)
            if probe and error.sign:
                self._tell_all(error)
            else:
                for waiting in self._waiting:
                    waiting.say(f"\n{self._explain()}\n")
            raise
        except Exhausted as error:
            self.pace.drop(sent)
            self._exhausted = (self.timer(), error)
            self._tell_all(error)
            raise
        except BaseException:
            self.pace.drop(sent)
            raise
        else:
            self.pace.answered(sent)
        finally:
            self._let_in()

    async def _wait(self, model: str, tokens: int, say: Say, stop: Stop) -> Sent:
        let_in: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        waiting = _Applicant(model, tokens, let_in, say)
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
                self.pace.drop(let_in.result())
            raise
        finally:
            watching.close()
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            self._let_in()

    def _let_in(self) -> None:
        """Admit every request that may go now. A lack of tokens holds up only requests to the same model."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        now, short, soonest = self.timer(), set[str](), None
        for waiting in list(self._waiting):
            if waiting.let_in.done() or waiting.model in short:
                continue
            wait = self.pace.wait(now, waiting.model, waiting.tokens)
            if wait is None:
                break
            if wait > 0:
                soonest = wait if soonest is None else min(soonest, wait)
                short.add(waiting.model)
                continue
            self._waiting.remove(waiting)
            waiting.let_in.set_result(self.pace.send(now, waiting.model, waiting.tokens))
        if soonest is not None:
            self._alarm = asyncio.get_running_loop().call_later(soonest, self._let_in)

    def _tell_all(self, error: Unavailable) -> None:
        for waiting in self._waiting:
            if not waiting.let_in.done():
                waiting.let_in.set_exception(_copy(error))

    def _explain(self) -> str:
        """Explain the wait to observers."""
        left, pace = self.pace.until - self.timer(), self.pace
        if pace.probing:
            return f"waiting: {self._host} does not answer, and one request at a time asks whether it is back"
        if left > 0:
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
            return f"waiting until {until}: {self._host} asks to slow down"
        if pace.newer >= int(pace.window):
            return f"waiting: {self._host} takes {int(pace.window)} requests at once for now"
        return f"waiting for {self._host}: its tokens per minute are used up"


class PacedModel:
    """A model behind a gate."""

    def __init__(self, model: Model, gate: Gate, stop: Stop) -> None:
        self.name = model.name
        self._model, self._gate, self._stop = model, gate, stop
        self._weight = 1.0
        """How many tokens the provider counts for each token that we estimate, averaged over the last requests."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def ask(self, prompt: Prompt, progress: Say) -> Answer:
        # Estimate the prompt's tokens only if the provider has announced a token limit.
        counts = self.name in self._gate.pace.buckets
        tokens = estimate_tokens(prompt.system) + measure_messages(prompt.messages) if counts else 0
        async with self._gate.turn(self.name, int(tokens * self._weight), progress, self._stop) as turn:
            before = ADMITTED.set(turn)
            try:
                answer = await self._model.ask(prompt, progress)
            finally:
                ADMITTED.reset(before)
        if tokens and answer.usage.input and not answer.usage.estimated:
            # Anthropic does not count tokens read from the cache towards its limit; other providers do.
            free = answer.usage.cache_read if self.name.startswith("anthropic:") else 0
            counted = (answer.usage.input - free) / tokens
            self._weight = min(max(0.5 * self._weight + 0.5 * counted, 0.01), 4.0)
        return answer


class FirstContact(Struct, eq=False):
    """A model that has not been reached yet. Until its server has answered once, a refused connection is not retried:
    if nothing listens there, the run halts and says so. Later it is a transient error like any other."""

    _model: Model
    _met: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def ask(self, prompt: Prompt, progress: Say) -> Answer:
        try:
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
    if isinstance(error, Exhausted):
        return Exhausted(str(error), error.until)
    assert isinstance(error, TransientError)
    return TransientError(str(error), error.retry_after, error.sign)
