"""Whatever a server sends, a reader gives an answer that can be kept and sent back, or raises what it may raise."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel, AnthropicReader
from bough.adapters.models.chat import ChatModel, ChatReader
from bough.adapters.models.dialect import HttpModel
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.wire import BaseReader
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import ModelMessage, Prompt, UserMessage
from bough.core.textual.spelling import UNREADABLE

LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "{}", '{"a": 1}', "\ud83c", "\udf33", "text", "tool_use", "thinking", "stop", "error"]),
)


def shaped(names: list[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        LEAF,
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(names), inner)),
        max_leaves=9,
    )


CALL_PIECE = st.fixed_dictionaries(
    {},
    optional={
        "index": LEAF,
        "id": LEAF,
        "function": st.fixed_dictionaries({}, optional={"name": LEAF, "arguments": shaped(["a", "b"])}),
        "extra_content": shaped(["google"]),
    },
)
PIECE = st.fixed_dictionaries(
    {},
    optional={
        "content": shaped(["text", "type"]),
        "refusal": LEAF,
        "tool_calls": st.lists(CALL_PIECE, max_size=3),
        "reasoning_content": LEAF,
        "reasoning_details": st.lists(shaped(["type", "index", "text"]), max_size=3),
    },
)
CHUNK = st.one_of(
    shaped(["choices", "usage", "error", "model"]),
    st.builds(lambda piece, finish: {"choices": [{"delta": piece, "finish_reason": finish}]}, PIECE, LEAF),
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "thinking", "redacted_thinking", "other", ""])},
    optional={"text": LEAF, "id": LEAF, "name": LEAF, "input": shaped(["a"]), "thinking": LEAF, "signature": LEAF},
)
EVENT = st.one_of(
    shaped(["type", "index", "delta", "message", "error", "usage"]),
    st.builds(lambda i, b: {"type": "content_block_start", "index": i, "content_block": b}, st.integers(0, 3), BLOCK),
    st.builds(
        lambda i, d: {"type": "content_block_delta", "index": i, "delta": d},
        st.integers(0, 3),
        st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(
                ("text", "partial_json", "thinking", "signature"), st.text('{}a\ud83c"', max_size=3)
            ),
        ),
    ),
    st.builds(lambda reason: {"type": "message_delta", "delta": {"stop_reason": reason}}, LEAF),
)


def check(reader: BaseReader, model: HttpModel, events: list[Any]) -> None:
    try:
        for event in events:
            reader.event(json.dumps(event).encode())
    except (wires.Complaint, *UNREADABLE):
        return
    answer = reader.answer()
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer
    said = ModelMessage(answer.text, answer.calls, answer.extra)
    json.loads(model.body(Prompt("k", "s", PersistentList((UserMessage("x"), said, UserMessage("y"))), ())))


@settings(max_examples=50, deadline=None)
@given(st.lists(CHUNK, max_size=6))
def test_chunks_of_any_shape(chunks: list[Any]) -> None:
    at = Endpoint("openai:m", "http://127.0.0.1:1")
    check(ChatReader("openai:m", lambda text: None), ChatModel(wires.Client(), at, 1), chunks)


@settings(max_examples=50, deadline=None)
@given(st.lists(EVENT, max_size=8))
def test_events_of_any_shape(events: list[Any]) -> None:
    at = Endpoint("anthropic:m", "http://127.0.0.1:1")
    check(AnthropicReader("anthropic:m", lambda text: None), AnthropicModel(wires.Client(), at, 1), events)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from([b"data: a", b"data:b", b"\n", b"\r\n", b"\n\n", b": c", b"event: x\n", b""])), st.data()
)
def test_events_do_not_depend_on_where_the_bytes_are_cut(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    once, cut = wires.Events(), wires.Events()
    expected = once.feed(whole) + once.close()
    found: list[bytes] = []
    for start, end in zip([0, *places], [*places, len(whole)], strict=True):
        found += cut.feed(whole[start:end])
    assert found + cut.close() == expected
