"""A model that has not been reached yet. Where nothing listens at all, waiting in silence helps no one."""

from __future__ import annotations

from collections.abc import Callable

from bough.core.errors import Passing, Refused
from bough.core.messages import Answer, Prompt
from bough.ports import Model


class FirstContact:
    """Passes everything through. Until the server has answered once, a refused connection is not retried: the run
    halts, and says so at once. Later it is a passing error like any other."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model
        self._met = False

    @property
    def window(self) -> int:
        return self._model.window

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        try:
            answer = await self._model.ask(prompt, progress)
        except Passing as error:
            if error.nobody and not self._met:
                raise Refused(str(error)) from error
            self._met = True
            raise
        self._met = True
        return answer

    async def close(self) -> None:
        await self._model.close()
