"""A model whose answers a test writes down in advance.

model = ScriptedModel([call("write", path="a.py", content="x = 1\n"), call("done", summary="written")])
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from bough.core.messages import Answer, Call, Prompt

Reply = Answer | Awaitable[Answer]
Item = Answer | Callable[[Prompt], Reply] | BaseException
"""An item of a script: an answer, a function of the prompt, or an error to raise."""


class ScriptExhausted(AssertionError):
    """Raised if the engine asks the model more often than the test expected."""


class ScriptedModel:
    """Gives the answers of its script in order, and keeps the prompts in `prompts`.

    The script is a list, or one function that makes every answer from the prompt.
    """

    def __init__(
        self, script: Sequence[Item] | Callable[[Prompt], Reply], name: str = "scripted:model", window: int = 0
    ) -> None:
        """`window`: the context window in tokens; 0: unknown."""
        self.name = name
        self.window = window
        self.prompts: list[Prompt] = []
        self._script = script if callable(script) else list(script)
        self._next = 0

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        self.prompts.append(prompt)
        item = self._script if callable(self._script) else self._take(prompt)
        if isinstance(item, BaseException):
            raise item
        reply = item(prompt) if callable(item) else item
        answer = await reply if inspect.isawaitable(reply) else reply
        if answer.text:
            progress(answer.text)
        return replace(answer, calls=self._add_ids(answer.calls), model=answer.model or self.name)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    @property
    def left(self) -> int:
        """Return how many items of the script have not been used."""
        return 0 if callable(self._script) else len(self._script) - self._next

    def _take(self, prompt: Prompt) -> Item:
        assert not callable(self._script)
        if self._next >= len(self._script):
            last = repr(prompt.messages[-1]) if len(prompt.messages) else "nothing"
            raise ScriptExhausted(
                f"the script has {len(self._script)} answers and all are used; asked again as {prompt.key!r}, "
                f"after {last[:500]}"
            )
        self._next += 1
        return self._script[self._next - 1]

    def _add_ids(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        turn = len(self.prompts)
        return tuple(c if c.id else replace(c, id=f"call_{turn}_{number}") for number, c in enumerate(calls))


def say(text: str) -> Answer:
    """Return an answer without a tool call."""
    return Answer(text=text)


def call(tool: str, /, **arguments: Any) -> Answer:
    """Return an answer that calls one tool."""
    return Answer(calls=(Call("", tool, msgspec.json.encode(arguments).decode()),), stop="calls")
