"""The kept prefix: what is sent is what a naive encoding of everything would be, and only what is new is encoded."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.dialect import Prefixes
from bough.adapters.models.faults import Endpoint
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, ToolSpec, UserMessage
from tests.wire import KEY, WireModel

TOOLS = tuple(ToolSpec(name, "Does it.", {"type": "object"}, False) for name in ("read", "done"))


def chat() -> ChatModel:
    return ChatModel(wires.Client(), Endpoint("openai:m", "http://127.0.0.1:1"), 1)


def anthropic() -> AnthropicModel:
    return AnthropicModel(wires.Client(), Endpoint("anthropic:m", "http://127.0.0.1:1"), 1)


def naive_chat(prompt: Prompt) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": prompt.system}]
    for message in prompt.messages:
        match message:
            case UserMessage(text):
                messages.append({"role": "user", "content": text})
            case Result(call, text):
                messages.append({"role": "tool", "tool_call_id": call, "content": text})
            case ModelMessage(text, calls):
                tool_calls = [
                    {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                    for c in calls
                ]
                content = text or (None if calls else "(empty answer)")
                messages.append(
                    {"role": "assistant", "content": content} | ({"tool_calls": tool_calls} if calls else {})
                )
    return messages


def naive_anthropic(prompt: Prompt) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in prompt.messages:
        blocks: list[dict[str, Any]] = []
        role = "user"
        match message:
            case UserMessage(text):
                blocks = [{"type": "text", "text": text if text.strip() else "(empty answer)"}]
            case Result(call, text, ok):
                result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call}
                if not ok:
                    result |= {"is_error": True, "content": text if text.strip() else "(no output)"}
                elif text:
                    result["content"] = text
                blocks = [result]
            case ModelMessage(text, calls):
                role = "assistant"
                blocks = [{"type": "text", "text": text}] if text.strip() else []
                for c in calls:
                    blocks.append({"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments)})
                blocks = blocks or [{"type": "text", "text": "(empty answer)"}]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def unmarked(body: bytes) -> list[dict[str, Any]]:
    """The messages without marks for the cache, which move from round to round."""
    turns: list[dict[str, Any]] = json.loads(body)["messages"]
    for turn in turns:
        for block in turn["content"] if isinstance(turn["content"], list) else ():
            block.pop("cache_control", None)
    return turns


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CALL = st.builds(
    Call, st.from_regex(r"[a-z0-9_]{1,6}", fullmatch=True), st.sampled_from(["read", "done"]), st.just('{"a": 1}')
)
MESSAGE: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, TEXT),
    st.builds(ModelMessage, TEXT, st.lists(CALL, max_size=2).map(tuple)),
    st.builds(Result, st.from_regex(r"[a-z0-9_]{1,6}", fullmatch=True), TEXT, st.booleans()),
)
GROWTH = st.lists(st.tuples(st.integers(0, 7), st.lists(MESSAGE, max_size=3)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(GROWTH, st.integers(1, 4), st.integers(1, 400))
def test_bodies_are_what_a_naive_encoding_gives(growth: list[tuple[int, list[Message]]], most: int, room: int) -> None:
    """Trails grow, branch off earlier ones and are asked again, with caches far too small for all of them."""
    kept_chat, kept_anthropic = chat(), anthropic()
    for model in (kept_chat, kept_anthropic):
        model._prefixes._most, model._prefixes._room = most, room
    trails: list[PersistentList[Message]] = [PersistentList((UserMessage("Begin."),))]
    for which, more in growth:
        trails.append(trails[-1 - which % len(trails)].then(*more))
        prompt = Prompt("k", "system", trails[-1], TOOLS)
        assert json.loads(kept_chat.body(prompt))["messages"] == naive_chat(prompt)
        assert unmarked(kept_anthropic.body(prompt)) == naive_anthropic(prompt)
    for trail in trails:
        prompt = Prompt("k", "system", trail, TOOLS)
        assert kept_chat.body(prompt) == chat().body(prompt)
        assert kept_anthropic.body(prompt) == anthropic().body(prompt)


@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
def test_a_long_conversation_at_the_wire(dialect: str) -> None:
    prompts: list[Prompt] = []

    async def go(url: str) -> int:
        client = wires.Client()
        model: ChatModel | AnthropicModel
        if dialect == "chat":
            model = ChatModel(client, Endpoint("openai:m", f"{url}/v1", KEY), 5)
        else:
            model = AnthropicModel(client, Endpoint("anthropic:m", url, KEY), 5)
        trail: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
        for turn in range(60):
            prompts.append(Prompt(f"goal#1#{turn}", "system", trail, TOOLS))
            answer = await model.ask(prompts[-1], lambda text: None)
            trail = trail.then(ModelMessage(answer.text, answer.calls, answer.extra))
            trail = trail.then(Result(answer.calls[0].id, f"output {turn} ü\n", turn % 3 != 0))
            if turn % 10 == 9:
                trail = trail.then(UserMessage("Go on."))
        await client.close()
        return model._prefixes.encoded

    with WireModel(
        lambda request: Answer("Next.", (Call(f"c{len(request['messages'])}", "read", '{"a": 1}'),))
    ) as wire:
        encoded = asyncio.run(go(wire.url))
    naive = naive_chat if dialect == "chat" else naive_anthropic
    assert [unmarked(request.body) for request in wire.requests] == [naive(prompt) for prompt in prompts]
    assert encoded == len(prompts[-1].messages)


def test_a_round_encodes_what_is_new_however_long_the_rest_is() -> None:
    for model in (chat(), anthropic()):
        trail: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
        for turn in range(400):
            before = model._prefixes.encoded
            model.body(Prompt("k", "system", trail, TOOLS))
            assert model._prefixes.encoded - before == (2 if turn else 1)
            trail = trail.then(ModelMessage("", (Call("c", "read", "{}"),)), Result("c", "x", True))
        before = model._prefixes.encoded
        model.body(Prompt("k", "system", trail, TOOLS))
        model.body(Prompt("k", "another system", trail, TOOLS[:1]))
        assert model._prefixes.encoded - before == 2


def test_tools_and_system_may_change_within_a_conversation() -> None:
    for model in (chat(), anthropic()):
        trail: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
        seen = []
        for system, tools in (
            ("a", TOOLS),
            ("b", TOOLS),
            ("b", TOOLS[:1]),
            ("a", ()),
            ("a", (TOOLS[1],)),
            ("a", TOOLS),
        ):
            body = json.loads(model.body(Prompt("k", system, trail, tuple(tools))))
            names = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]
            said = body["system"][0]["text"] if "system" in body else body["messages"][0]["content"]
            seen.append((said, names))
        assert seen == [
            ("a", ["read", "done"]),
            ("b", ["read", "done"]),
            ("b", ["read"]),
            ("a", []),
            ("a", ["done"]),
            ("a", ["read", "done"]),
        ]


def test_an_empty_conversation_and_no_system() -> None:
    prompt = Prompt("k", "", PersistentList(), ())
    assert json.loads(chat().body(prompt))["messages"] == []
    assert json.loads(anthropic().body(prompt))["messages"] == []
    prompt = Prompt("k", "", PersistentList((UserMessage("x"),)), ())
    assert json.loads(chat().body(prompt))["messages"] == [{"role": "user", "content": "x"}]


def test_what_is_kept_is_bounded() -> None:
    prefixes = Prefixes(lambda message, before: (b"x" * 10, "more"), most=3, room=95)
    trails: list[PersistentList[Message]] = [PersistentList((UserMessage("a"), UserMessage("b"))) for _ in range(5)]
    for trail in trails:
        prefixes.bytes_of(trail)
    assert len(prefixes._kept) == 3 and prefixes._size == 60
    prefixes.bytes_of(trails[2])  # Used again: it stays, the one after it goes.
    grown = trails[4]
    for _ in range(5):
        grown = grown.then(UserMessage("more"))
    assert bytes(prefixes.bytes_of(grown)) == b"x" * 70
    assert [kept.trail.same_root(trails[2]) for kept in prefixes._kept] == [True, False]
    assert prefixes._size == 90
    prefixes.clear()
    assert prefixes._size == 0 and not prefixes._kept
