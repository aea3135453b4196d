"""No model at all, for written plans that ask none. Should one be needed after all, the run halts."""

from __future__ import annotations

from collections.abc import Callable

from bough.core.errors import Refused
from bough.core.messages import Answer, Prompt

NOBODY = "none"


class AbsentModel:
    name = NOBODY
    window = 0

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        raise Refused("A model is needed here, and the run was begun without one: `bough resume --model NAME` goes on.")

    async def close(self) -> None: ...
