"""No more checks at once than there are slots, and nobody waits for ever."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from bough.adapters.verifiers.check_slots import CheckSlots, count_processors
from bough.ports import CommandResult, Sandbox, Workspace


class Machine:
    """Counts what runs in it."""

    says = "nothing"

    def __init__(self) -> None:
        self.running = self.most = self.ran = 0

    async def run(self, argv: Any, **how: Any) -> CommandResult:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
            if argv == ["fails"]:
                raise OSError("no such program")
        finally:
            self.running -= 1
        self.ran += 1
        return CommandResult(0, b"", 0.0)


def test_checks_take_turns_also_when_some_fail_or_are_called_off() -> None:
    async def main() -> None:
        machine, said = Machine(), list[str]()
        checks = CheckSlots(2).limit(cast(Sandbox, machine))
        assert checks.says == "nothing"

        async def check(*argv: str) -> CommandResult:
            where = cast(Workspace, Path())
            return await checks.run(list(argv), workspace=where, timeout=1, limit=1, progress=said.append)

        all_of_them = [asyncio.create_task(check(*argv)) for argv in ([], ["fails"], [], ["fails"], [], [])]
        await asyncio.sleep(0)
        all_of_them[-1].cancel()
        ended = await asyncio.gather(*all_of_them, return_exceptions=True)
        cancelled = asyncio.CancelledError
        assert [type(each) for each in ended] == [
            CommandResult,
            OSError,
            CommandResult,
            OSError,
            CommandResult,
            cancelled,
        ]
        assert (machine.most, machine.running) == (2, 0)
        assert said.count("waiting for a check slot: 2 of 2 in use (--checks)") == 4
        assert said[-1] == "", "and no longer once it runs"
        await check()

    asyncio.run(main())


def test_a_slot_that_is_given_to_someone_called_off_is_not_lost() -> None:
    async def main() -> None:
        slots, order = CheckSlots(1), list[int]()

        async def check(number: int) -> None:
            async with slots.free:
                order.append(number)

        await slots.free.acquire()
        waiting = [asyncio.create_task(check(number)) for number in range(4)]
        await asyncio.sleep(0)
        slots.free.release()  # to the first …
        waiting[0].cancel()  # … who is called off at this very moment
        await asyncio.gather(*waiting, return_exceptions=True)
        assert order == [1, 2, 3]
        await asyncio.wait_for(slots.free.acquire(), 240)

    asyncio.run(main())


@pytest.mark.parametrize("asked", [1, 7])
def test_as_many_as_asked_for_else_as_there_are_processors(asked: int) -> None:
    assert CheckSlots(asked).count == asked
    assert CheckSlots().count == count_processors() >= 1
