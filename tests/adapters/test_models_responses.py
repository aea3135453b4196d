"""OpenAI's responses at the wire: what is sent, what is kept of the model's reasoning, and what comes back of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.responses import ResponsesModel, ResponsesReader
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import Answer, Call, Message, Prompt, Replied, Result, Said, ToolSpec

NAME = "openai-responses:gpt-x"
READ = ToolSpec("read", "Reads a file.", {"type": "object"}, False)
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}


def request(*messages: Message, name: str = NAME) -> dict[str, Any]:
    model = ResponsesModel(wires.Client(), Endpoint(name, "http://127.0.0.1:1"), 1)
    prompt = Prompt("goal#1#7", "You are an agent.", PersistentList(messages or (Said("Begin."),)), (READ,))
    decoded: dict[str, Any] = json.loads(model.body(prompt))
    return decoded


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}], **more}


def call(number: int) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "read", "arguments": "{}"}


def answer(*output: dict[str, Any]) -> Answer:
    reader = ResponsesReader(NAME, lambda text: None)
    for index, item in enumerate(output):
        begun = item | ({"encrypted_content": None} if item["type"] == "reasoning" else {})
        for kind, content in (("added", begun), ("done", item)):
            event = {"type": f"response.output_item.{kind}", "output_index": index, "item": content}
            reader.event(json.dumps(event).encode())
    reader.event(b'{"type": "response.completed", "response": {"status": "completed", "output": []}}')
    assert reader.finished
    return reader.answer()


def said_again(given: Answer, name: str = NAME) -> list[dict[str, Any]]:
    """What is sent back of an answer whose calls the engine has named."""
    calls = tuple(Call(f"00000000{n}", each.name, each.arguments) for n, each in enumerate(given.calls))
    items: list[dict[str, Any]] = request(Replied(given.text, calls, given.extra), name=name)["input"]
    return items


def test_the_whole_request() -> None:
    assert request() == {
        "model": "gpt-x",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "goal#1",
        "instructions": "You are an agent.",
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads a file.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "input": [{"role": "user", "content": "Begin."}],
    }


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-5-chat-latest", "openai/gpt-4.1", "chatgpt-4o-latest"])
def test_models_that_do_not_reason_are_not_asked_what_they_thought(model: str) -> None:
    assert "include" not in request(name=f"openai-responses:{model}")


def test_reasoning_comes_back_encrypted_and_in_its_place() -> None:
    given = answer(REASONING, message("Looking.", phase="commentary"), REASONING | {"id": "rs_2"}, call(1), call(2))
    assert (given.text, [each.id for each in given.calls]) == ("Looking.", ["c1", "c2"])
    called = {"type": "function_call", "name": "read", "arguments": "{}"}
    assert said_again(given) == [
        REASONING,
        {"role": "assistant", "content": "Looking.", "phase": "commentary"},
        REASONING | {"id": "rs_2"},
        called | {"call_id": "000000000"},
        called | {"call_id": "000000001"},
    ]
    # Another model could not read it.
    assert [item.get("type", "message") for item in said_again(given, "openai-responses:other")] == [
        "message",
        "function_call",
        "function_call",
    ]


def test_two_messages_stay_two_and_nothing_is_kept_of_a_plain_answer() -> None:
    given = answer(message("First.", phase="commentary"), message("Second.", phase="final_answer"))
    assert given.text == "First.Second."
    assert [(item["content"], item["phase"]) for item in said_again(given)] == [
        ("First.", "commentary"),
        ("Second.", "final_answer"),
    ]
    assert answer(message("Plain."), call(1)).extra == ""


def test_reasoning_that_cannot_be_read_again_is_left_out() -> None:
    assert answer(REASONING | {"encrypted_content": None}, message("Hm.")).extra == ""
    plain = REASONING | {"encrypted_content": None, "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert said_again(answer(plain, message("Hm.")))[0]["content"] == plain["content"]


def test_an_answer_of_nothing_but_reasoning_is_followed_by_something() -> None:
    assert [item.get("type") for item in said_again(answer(REASONING))] == ["reasoning", None]


def test_results_and_arguments_that_are_not_json() -> None:
    sent = request(Replied("", (Call("1", "odd name", '{"half'),)), Result("1", "no such tool", False))["input"]
    assert sent == [
        {"type": "function_call", "call_id": "1", "name": "odd_name", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "no such tool"},
    ]


def test_a_refusal_and_a_failure() -> None:
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    given = answer(refused)
    assert (given.text, given.stop) == ("I cannot.", "refusal")
    reader = ResponsesReader(NAME, lambda text: None)
    failed = {"status": "failed", "error": {"code": "server_error", "message": "Oh."}, "usage": {"input_tokens": 7}}
    with pytest.raises(wires.Complaint):
        reader.event(json.dumps({"type": "response.failed", "response": failed}).encode())
    assert reader.answer().usage.input == 7
