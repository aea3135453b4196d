"""Anthropic's messages at the wire: what is sent, and what is made of what comes back."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel
from bough.adapters.models.faults import Endpoint
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import Answer, Call, ModelMessage, Prompt, Result, ToolSpec, Usage, UserMessage
from tests.wire import KEY, Item, Raw, Whole, WireModel, WireRequest
from tests.wire_dialects import sse

READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}, False)
NAME = "anthropic:claude-x"


def prompt(*messages: UserMessage | ModelMessage | Result) -> Prompt:
    return Prompt("goal#1#1", "You are an agent.", PersistentList(messages or (UserMessage("Begin."),)), (READ,))


def ask(script: Sequence[Item], *prompts: Prompt) -> tuple[list[Answer], list[WireRequest], str]:
    streamed: list[str] = []

    async def go(url: str) -> list[Answer]:
        client = wires.Client()
        model = AnthropicModel(client, Endpoint(NAME, url, KEY, "ANTHROPIC_API_KEY"), 5)
        try:
            return [await model.ask(p, streamed.append) for p in (prompts or (prompt(),))]
        finally:
            await model.close()
            await client.close()

    with WireModel(script) as wire:
        answers = asyncio.run(go(wire.anthropic_url))
        return answers, wire.requests, "".join(streamed)


def sent(*messages: UserMessage | ModelMessage | Result, name: str = NAME) -> list[dict[str, Any]]:
    """The messages of the request that asks with these."""
    model = AnthropicModel(wires.Client(), Endpoint(name, "http://127.0.0.1:1"), 1)
    decoded: list[dict[str, Any]] = json.loads(model.body(prompt(*messages)))["messages"]
    for turn in decoded:
        for each in turn["content"]:
            each.pop("cache_control", None)
    return decoded


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    pieces = [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [
        event("content_block_start", index=index, content_block=start),
        *pieces,
        event("content_block_stop", index=index),
    ]


def stopped(reason: str = "end_turn") -> list[dict[str, Any]]:
    return [event("message_delta", delta={"stop_reason": reason}), event("message_stop")]


def test_an_answer_streams_in_with_text_calls_and_usage() -> None:
    said = Answer(
        text="Let me look: äöü 🌳.",
        calls=(Call("toolu_1", "read", '{"path": "x.py"}'), Call("toolu_2", "read", '{"path": "ü"}')),
        stop="calls",
        usage=Usage(input=120, output=30, cache_read=80, cache_write=20),
        model="claude-x-2026",
    )
    (answer,), (request,), streamed = ask([said])
    assert answer == said
    assert streamed == said.text
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    assert request.json == {
        "model": "claude-x",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "read", "description": "Reads a file.", "input_schema": READ.parameters}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Begin.", "cache_control": {"type": "ephemeral"}}],
            }
        ],
    }


def test_a_server_may_answer_without_streaming() -> None:
    said = Answer("Here.", (Call("a", "read", '{"path":"x"}'),), "calls", Usage(9, 6, 1, 2), model="m")
    (answer,), _, streamed = ask([Whole(said)])
    assert answer == said
    assert streamed == "Here."


def test_results_and_what_is_said_next_are_one_turn() -> None:
    messages = sent(
        UserMessage("Fix it."),
        UserMessage("Quickly."),
        ModelMessage("Reading.", (Call("c1", "read", '{"path": "a"}'), Call("c2", "read", "{}"))),
        Result("c1", "content", True),
        Result("c2", "no path", False),
        UserMessage("Go on."),
        ModelMessage("", (Call("call_1.2_0", "odd name", '{"broken'),)),
        Result("call_1.2_0", "", False),
    )
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}, {"type": "text", "text": "Quickly."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "content"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no path", "is_error": True},
                {"type": "text", "text": "Go on."},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1_2_0", "name": "odd_name", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1_2_0", "is_error": True, "content": "(no output)"}
            ],
        },
    ]


def test_malformed_arguments_are_kept_raw() -> None:
    broken = '{"path": "a", '
    (answer,), _, _ = ask([Answer(calls=(Call("c", "read", broken),))])
    assert answer.calls[0].arguments == broken


def test_blank_texts_are_never_sent() -> None:
    messages = sent(
        UserMessage("x"),
        ModelMessage(" \n"),
        UserMessage("Say something."),
        ModelMessage("", (Call("c", "read", "{}"),)),
    )
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "(empty answer)"}]}
    assert messages[3]["content"] == [{"type": "tool_use", "id": "c", "name": "read", "input": {}}]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
    ],
)
def test_why_it_stopped(reason: str, stop: str) -> None:
    body = sse(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hm"}), *stopped(reason))
    (answer,), _, _ = ask([Raw(body)])
    assert (answer.text, answer.stop) == ("hm", stop)


def test_an_empty_answer_is_an_answer() -> None:
    (answer,), _, _ = ask([Raw(sse(event("message_start", message={"usage": {"input_tokens": 3}}), *stopped()))])
    assert (answer.text, answer.calls, answer.stop, answer.usage) == ("", (), "end", Usage(input=3))


def test_counts_that_come_late_are_believed() -> None:
    start = event("message_start", message={"model": "m", "usage": {"input_tokens": 0, "output_tokens": 1}})
    late = {"input_tokens": 50, "output_tokens": 7, "cache_read_input_tokens": 10, "cache_creation_input_tokens": None}
    end = event("message_delta", delta={"stop_reason": "end_turn"}, usage=late)
    (answer,), _, _ = ask([Raw(sse(start, end, event("message_stop")))])
    assert answer.usage == Usage(input=60, output=7, cache_read=10)


def test_a_call_without_pieces_has_the_input_it_was_started_with() -> None:
    use = {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}}
    bare = {"type": "tool_use", "id": "u", "name": "list"}
    (answer,), _, _ = ask([Raw(sse(*block(0, use), *block(1, bare), *stopped("tool_use")))])
    assert [json.loads(call.arguments) for call in answer.calls] == [{"path": "a"}, {}]


THINKING = [
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Let me "},
        {"type": "thinking_delta", "thinking": "think."},
        {"type": "signature_delta", "signature": "c2lnbmVk"},
    ),
    *block(1, {"type": "redacted_thinking", "data": "hidden"}),
    *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I will read."}),
    *block(
        3,
        {"type": "tool_use", "id": "t1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": "{}"},
    ),
    *block(4, {"type": "thinking", "thinking": "More."}, {"type": "signature_delta", "signature": "bW9yZQ"}),
    *block(5, {"type": "tool_use", "id": "t2", "name": "read", "input": {}}),
    *stopped("tool_use"),
]


def test_thinking_goes_back_in_its_place() -> None:
    (answer,), _, streamed = ask([Raw(sse(*THINKING))])
    assert answer.text == streamed == "I will read."
    assert [call.id for call in answer.calls] == ["t1", "t2"]
    renamed = (Call("r1", "read", '{"a": 1}'), Call("r2", "read", "{}"))  # The engine may give calls other ids.
    messages = sent(UserMessage("x"), ModelMessage(answer.text, renamed, answer.extra), Result("r1", "a", True))
    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "text", "text": "I will read."},
        {"type": "tool_use", "id": "r1", "name": "read", "input": {"a": 1}},
        {"type": "thinking", "thinking": "More.", "signature": "bW9yZQ"},
        {"type": "tool_use", "id": "r2", "name": "read", "input": {}},
    ]


def test_thinking_goes_to_no_other_model() -> None:
    (answer,), _, _ = ask([Raw(sse(*THINKING))])
    messages = sent(UserMessage("x"), ModelMessage(answer.text, answer.calls, answer.extra), name="anthropic:another")
    assert [part["type"] for part in messages[1]["content"]] == ["text", "tool_use", "tool_use"]


def test_several_texts_between_thinking_stay_apart() -> None:
    body = sse(
        *block(0, {"type": "text", "text": "One. "}),
        *block(1, {"type": "thinking", "thinking": "x", "signature": "s"}),
        *block(2, {"type": "text", "text": "Two."}),
        *stopped(),
    )
    (answer,), _, streamed = ask([Raw(body)])
    assert answer.text == streamed == "One. Two."
    content = sent(UserMessage("x"), ModelMessage(answer.text, (), answer.extra), UserMessage("y"))[1]["content"]
    assert [part.get("text", part["type"]) for part in content] == ["One. ", "thinking", "Two."]


def test_thinking_that_was_cut_off_is_not_sent_back() -> None:
    cut = {"type": "thinking_delta", "thinking": "so long"}
    body = sse(*block(0, {"type": "thinking", "thinking": "", "signature": ""}, cut), *stopped("max_tokens"))
    (answer,), _, _ = ask([Raw(body)])
    assert answer.stop == "length"
    content = sent(UserMessage("x"), ModelMessage(answer.text, (), answer.extra), UserMessage("y"))[1]["content"]
    assert content == [{"type": "text", "text": "(empty answer)"}]


def test_a_turn_never_ends_with_thinking() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    (answer,), _, _ = ask([Raw(sse(*block(0, thinking), *stopped()))])
    content = sent(UserMessage("x"), ModelMessage("", (), answer.extra), UserMessage("y"))[1]["content"]
    assert content == [thinking, {"type": "text", "text": "(empty answer)"}]


def test_what_is_kept_may_be_damaged() -> None:
    for extra in ("{", '{"by": "anthropic:claude-x", "content": 7}', '{"by": "anthropic:claude-x"}'):
        assert sent(UserMessage("x"), ModelMessage("Hello.", (), extra))[1]["content"][0]["type"] == "text"


def marked(messages: Sequence[UserMessage | ModelMessage | Result]) -> list[str]:
    """The text of each block that is marked for the cache."""
    model = AnthropicModel(wires.Client(), Endpoint(NAME, "http://127.0.0.1:1"), 1)
    body = json.loads(model.body(prompt(*messages)))
    blocks = [*body["system"], *(block for turn in body["messages"] for block in turn["content"])]
    return [block.get("text") or block["content"] for block in blocks if "cache_control" in block]


def test_the_cache_is_marked_after_the_system_at_the_end_and_before_a_round_of_many_calls() -> None:
    calls = tuple(Call(f"c{n}", "read", "{}") for n in range(30))
    results = [Result(call.id, f"content {n}", True) for n, call in enumerate(calls)]
    first: list[UserMessage | ModelMessage | Result] = [UserMessage("Begin."), UserMessage("Quickly.")]
    assert marked(first) == ["You are an agent.", "Quickly."]
    second = [*first, ModelMessage("Looking.", calls), *results]
    assert marked(second) == ["You are an agent.", "Quickly.", "content 29"]
    third = [*second, ModelMessage("Again.", calls[:1]), Result("c0", "more", True), UserMessage("Go on.")]
    assert marked(third) == ["You are an agent.", "Go on."]


def test_nearly_all_of_a_request_is_the_head_of_the_next_byte_by_byte() -> None:
    model = AnthropicModel(wires.Client(), Endpoint(NAME, "http://127.0.0.1:1"), 1)
    messages: list[UserMessage | ModelMessage | Result] = [UserMessage("Begin. " * 500)]
    before = model.body(prompt(*messages))
    for at in range(40):
        call = Call(f"c{at}", "read", "{}")
        messages += [ModelMessage("Looking.", (call,)), Result(call.id, f"line {at}\n" * 100, True)]
        body = model.body(prompt(*messages))
        same = next(index for index, (old, new) in enumerate(zip(before, body, strict=False)) if old != new)
        assert same > 0.98 * len(before)
        before = body
