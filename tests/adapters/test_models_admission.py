"""Who waits before an endpoint, and what ends the wait."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from time import time

import pytest

from bough.adapters.models.admission import Gate, PacedModel
from bough.adapters.models.pace import Pace
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import QuotaExhausted, Sign, TransientError, WaitEnded
from bough.core.messages import Answer, Prompt, UserMessage
from bough.ports.steering import Stop

PROMPT = Prompt("goal#1#1", "", PersistentList((UserMessage("x" * 30_000),)), ())


def trouble(sign: Sign, wait: float | None = None) -> TransientError:
    error = TransientError("trouble", wait)
    error.sign = sign
    return error


class Server:
    """A model that answers when the test says so."""

    name, window = "openai:m", 0

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[Answer]] = []
        self.came = asyncio.Event()

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        self.asked.append(asyncio.get_running_loop().create_future())
        self.came.set()
        return await self.asked[-1]

    async def close(self) -> None: ...


class Agents:
    def __init__(self, gate: Gate) -> None:
        self.server, self.stop, self.said = Server(), Stop(), list[str]()
        self.gate, self.model = gate, PacedModel(self.server, gate, self.stop)

    def ask(self) -> asyncio.Task[Answer]:
        return asyncio.create_task(self.model.ask(PROMPT, self.said.append))

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def run(work: Callable[[Agents], Awaitable[None]], pace: Pace | None = None) -> None:
    async def main() -> None:
        async with asyncio.timeout(240):
            await work(Agents(Gate("model.example", pace or Pace(first=0.01, chance=lambda: 0.0))))

    asyncio.run(main())


def test_after_a_pause_they_come_back_in_order_and_gradually() -> None:
    async def work(agents: Agents) -> None:
        server = agents.server
        calls = [agents.ask() for _ in range(4)]
        await agents.settle()
        assert len(server.asked) == 4
        server.asked[0].set_exception(trouble("throttled", 0.05))
        with pytest.raises(TransientError):
            await calls[0]
        for number in (1, 2, 3):
            server.asked[number].set_result(Answer(str(number)))
        later = [agents.ask() for _ in range(3)]
        await agents.settle()
        assert len(server.asked) == 4, "nobody asks in the pause"
        assert re.search(r"waiting until [0-9:]{8}: model.example asks to slow down", agents.said[-1])
        server.came.clear()
        await server.came.wait()
        await agents.settle()
        assert len(server.asked) == 5, "one comes first"
        server.asked[4].set_result(Answer("first"))
        assert (await later[0]).text == "first"
        await agents.settle()
        assert len(server.asked) == 7, "its answer lets two more in"
        for number in (5, 6):
            server.asked[number].set_result(Answer())
        await asyncio.gather(*calls[1:], *later)

    run(work)


def test_what_the_one_request_finds_out_counts_for_all_who_wait() -> None:
    async def work(agents: Agents) -> None:
        server = agents.server
        for _ in range(3):
            call = agents.ask()
            await agents.settle()
            server.asked[-1].set_exception(trouble("down"))
            with pytest.raises(TransientError):
                await call
        server.came.clear()
        calls = [agents.ask() for _ in range(5)]
        await server.came.wait()
        await agents.settle()
        assert len(server.asked) == 4
        server.asked[3].set_exception(trouble("down"))
        failed = await asyncio.gather(*calls, return_exceptions=True)
        assert len(server.asked) == 4, "four others failed without asking"
        assert all(isinstance(error, TransientError) for error in failed)
        assert len({id(error) for error in failed}) == 5

    run(work)


def test_a_quota_that_is_used_up_is_asked_about_once() -> None:
    async def work(agents: Agents) -> None:
        server = agents.server
        agents.gate.pace.window = 1.0
        calls = [agents.ask() for _ in range(4)]
        await agents.settle()
        server.asked[0].set_exception(QuotaExhausted("used up", time() + 3600))
        ended = await asyncio.gather(*calls, agents.ask(), return_exceptions=True)
        assert [type(error) for error in ended] == [QuotaExhausted] * 5
        assert len(server.asked) == 1

    run(work)


def test_who_is_called_off_leaves_his_place_to_others() -> None:
    async def work(agents: Agents) -> None:
        server = agents.server
        agents.gate.pace.window = 1.0
        first, second, third = (agents.ask() for _ in range(3))
        await agents.settle()
        second.cancel()
        first.cancel()
        await agents.settle()
        assert len(server.asked) == 2
        server.asked[1].set_result(Answer("third"))
        assert (await third).text == "third"
        assert not agents.gate.pace.under_way
        agents.gate.pace.window = 0.0
        waiting = agents.ask()
        await agents.settle()
        agents.stop.request()
        with pytest.raises(WaitEnded):
            await waiting
        assert agents.gate.pace.number == 2

    run(work)
