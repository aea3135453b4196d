"""The protocols that models are spoken to in, each as the same model on loopback."""

import asyncio
import traceback

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.dialect import DEFAULT, HttpModel, Options
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.providers import LIBRARY, PROVIDERS
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import Unavailable
from bough.core.messages import Answer, Call, Prompt, Usage, UserMessage
from tests.wire import KEY, Item, WireModel

PROMPT = Prompt("goal#1#1", "system", PersistentList((UserMessage("Begin."),)), ())
WHOLE = Answer("Some text.", (Call("c", "read", '{"path":"a"}'),), "calls", Usage(10, 5))
MODELS: dict[str, tuple[type[HttpModel], str, str, str]] = {
    "chat": (ChatModel, "openai:gpt-x", "/v1", "OPENAI_API_KEY"),
    "anthropic": (AnthropicModel, "anthropic:claude-x", "", "ANTHROPIC_API_KEY"),
}
"""The class, a model's name, where the protocol is below the server's root, and the variable of its key."""
DIALECTS = tuple(MODELS)
assert set(DIALECTS) == {each.dialect for each in PROVIDERS.values()} - {LIBRARY}, (
    "a protocol that nobody holds to the others' promises"
)


def model(
    dialect: str, client: wires.Client, url: str, timeout: float, key: str = KEY, options: Options = DEFAULT
) -> HttpModel:
    kind, name, below, variable = MODELS[dialect]
    return kind(client, Endpoint(name, f"{url}{below}", key, variable), timeout, options)


async def failure(dialect: str, url: str, timeout: float = 5, key: str = KEY) -> Unavailable:
    """The error of one call. The key is nowhere in it, nor in what led to it."""
    client = wires.Client()
    asked = model(dialect, client, url, timeout, key)
    assert KEY not in repr(asked)
    try:
        with pytest.raises(Unavailable) as caught:
            await asked.ask(PROMPT, lambda text: None)
    finally:
        await asked.close()
        await client.close()
    text = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in text
    return caught.value


def fails(dialect: str, *script: Item, timeout: float = 5, key: str = KEY) -> Unavailable:
    with WireModel(script) as wire:
        error = asyncio.run(failure(dialect, wire.url, timeout, key))
        assert wire.left == 0
        return error
