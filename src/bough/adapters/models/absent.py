"""Stands in for a model in runs whose plan needs none. If a model is needed after all, the run halts."""

from collections.abc import Callable

from bough.core.errors import RequestRefused
from bough.core.messages import Answer, Prompt

NOBODY = "none"


class AbsentModel:
    name = NOBODY
    window = 0

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        raise RequestRefused("This needs a model, but the run started without one: use `bough resume --model NAME`.")

    async def close(self) -> None: ...
