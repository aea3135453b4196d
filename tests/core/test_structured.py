"""A structure out of whatever a model answers."""

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from bough.core.conversation.structured_answer import LONGEST, parse_answer
from bough.core.messages import Answer, Call, ToolSpec


class Item(Struct, frozen=True):
    name: Annotated[str, Meta(max_length=20)]
    size: int = 1
    tags: tuple[str, ...] = ()


class Order(Struct, frozen=True):
    items: tuple[Item, ...]
    note: str = ""


SPEC = ToolSpec(
    "order",
    "Order things.",
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "size": {"type": "integer"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["name"],
                },
            },
            "note": {"type": "string"},
        },
        "required": ["items"],
    },
    writes=False,
)
PEN = Order((Item("pen", 2, ("blue",)),))
RAW = '{"items": [{"name": "pen", "size": 2, "tags": ["blue"]}]}'


def called(arguments: str, name: str = "order", **more: Any) -> Answer:
    return Answer(calls=(Call("1", name, arguments),), **more)


def reading(answer: Answer) -> Order | str:
    return parse_answer(answer, SPEC, Order, {"things": "items", "title": "name"})


@pytest.mark.parametrize(
    "answer",
    [
        called(RAW),
        called(RAW, "functions.order"),
        called(json.dumps(RAW)),
        called('{"items": "[{\\"name\\": \\"pen\\", \\"size\\": 2, \\"tags\\": [\\"blue\\"]}]"}'),
        called('{"items": [{"name": "pen", "size": "2", "tags": "blue", "colour": null}], "note": null, "extra": 1}'),
        called('{"things": [{"title": "pen", "size": 2.0, "tags": ["blue"]}]}'),
        called('{"items": [{"name": "pen", "size": 2, "tags": ["blue",],},],}'),
        called("", "order", text=RAW),
        Answer(calls=(Call("1", "order", RAW), Call("2", "order", RAW))),
        Answer(RAW),
        Answer(f"Here is the order:\n\n```json\n{RAW}\n```\nI hope it helps {{you}}."),
        Answer(f'In set notation that is {{pen}}, or {{"a": 1}}, so [x]:\n{RAW}'),
        Answer(f'<think>Maybe {{"items": []}}?</think>{RAW}'),
        Answer('{"name": "order", "arguments": ' + RAW + "}"),
        Answer('{"name": "order", "parameters": ' + json.dumps(RAW) + "}"),
        Answer('{"order": ' + RAW + "}"),
        Answer('[{"name": "pen", "size": 2, "tags": ["blue"]}]'),
        Answer('{"items": [{"name": "p\ud800en", "size": 2, "tags": ["blue\u0000"]}]}'),
        Answer('{"items": [{"name": "p\\ud800en", "size": 2, "tags": ["blue"]}]}'),
    ],
)
def test_an_answer_is_found_however_it_is_given(answer: Answer) -> None:
    assert reading(answer) == PEN


def test_commas_within_texts_stay() -> None:
    got = reading(called('{"items": [{"name": "a,]", "tags": ["x,}", "\\",]"]},], "note": "so, }"}'))
    assert got == Order((Item("a,]", 1, ("x,}", '",]')),), "so, }")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(""), "was empty"),
        (Answer("First we look around. Then we see."), "call the tool `order` once, with `items`, `note`"),
        (Answer('{"answer": 42}'), "call the tool `order`"),
        (Answer('{"items": [{"name": "pe', stop="length"), "cut off"),
        (Answer("I cannot help with that.", stop="refusal"), "declined"),
        (called('{"items": [{"name": "pe'), "not a JSON object"),
        (called('{"items": [{"name": "pe', stop="length"), "cut off"),
        (called("[1, 2]"), "not a JSON object"),
        (called("{}"), "`items` is missing"),
        (called('{"items": [{"name": "a"}, {"size": 1}]}'), "`items[1].name` is missing"),
        (called('{"items": [{"name": "a", "size": "big"}]}'), "`items[0].size` is wrong: expected `int`, got `str`"),
        (called('{"items": {"name": "a"}}'), "`items` is wrong: expected `array`"),
        (called('{"items": [null]}'), "`items[0]` is wrong: expected `object`"),
        (called('{"items": "pens"}'), "`items` is wrong"),
        (
            called('{"items": [{"name": "%s"}]}' % ("a" * 21)),
            "`items[0].name` is wrong: expected `str` of length <= 20",
        ),
        (called('{"items": [{"name": ["a"]}]}'), "`items[0].name` is wrong: expected `str`"),
        (Answer(calls=(Call("1", "order", RAW), Call("2", "order", "{}"))), "2 times"),
        (called(" " * LONGEST + "{}"), "characters"),
        (called('{"items": ' + "[" * 100_000), "nested too deeply"),
        (called('{"items": [{"name": "a", "size": ' + "9" * 5_000 + "}]}"), "not a JSON object"),
        (called('{"items": [{"name": "a", "size": 1e999}]}'), "`items[0].size` is wrong"),
    ],
)
def test_a_wrong_answer_is_answered_with_a_sentence(answer: Answer, said: str) -> None:
    got = reading(answer)
    assert isinstance(got, str)
    assert said in got
    assert got.endswith(".") and "\n" not in got and len(got) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["items", "note", "name", "size", "tags", "order", "arguments"]), inner)
    ),
    max_leaves=20,
)


@given(JSON, st.text(max_size=40), st.sampled_from(["end", "calls", "length", "refusal"]), st.booleans())
def test_any_json_is_read_or_refused(value: Any, around: str, stop: Any, call: bool) -> None:
    raw = json.dumps(value)
    answer = called(around + raw, stop=stop) if call else Answer(around + raw + around, stop=stop)
    got = reading(answer)
    assert isinstance(got, Order | str)
    if isinstance(got, Order):
        json.dumps([item.name for item in got.items]).encode()
        "".join(item.name for item in got.items).encode("utf-8")


@given(st.text(alphabet='{}[]",:\\ \nai\ud800', max_size=300), st.booleans())
def test_any_text_is_read_or_refused(text: str, call: bool) -> None:
    assert isinstance(reading(called(text) if call else Answer(text)), Order | str)


@pytest.mark.parametrize("unit", ["{", "[", '{"', '{"a', '{"a\\"', '{"a":', ",]", "[{},"])
def test_a_hostile_text_costs_little(unit: str) -> None:
    text = unit * (LONGEST // len(unit))
    assert isinstance(reading(Answer(text)), str)
