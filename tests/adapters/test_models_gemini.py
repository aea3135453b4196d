"""Gemini's own interface at the wire: what is sent, and the signatures that its parts have to come back with."""

from __future__ import annotations

import json
from typing import Any

from bough.adapters.models import wire as wires
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.gemini import FOREIGN, GeminiModel, GeminiReader
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import Answer, Call, Message, Prompt, Replied, Result, Said, ToolSpec, Usage

NAME = "gemini:gemini-x"
READ = ToolSpec("read", "Reads a file.", {"type": "object"}, False)


def request(*messages: Message, name: str = NAME, **more: Any) -> dict[str, Any]:
    model = GeminiModel(wires.Client(), Endpoint(name, "http://127.0.0.1:1"), 1)
    prompt = Prompt("goal#1#7", "You are an agent.", PersistentList(messages or (Said("Begin."),)), (READ,), **more)
    decoded: dict[str, Any] = json.loads(model.body(prompt))
    return decoded


def answer(*parts: dict[str, Any], reason: str = "STOP") -> Answer:
    reader = GeminiReader(NAME, lambda text: None)
    for part in parts:
        reader.event(json.dumps({"candidates": [{"content": {"parts": [part]}}]}).encode())
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "cachedContentTokenCount": 4}
    reader.event(json.dumps({"candidates": [{"finishReason": reason}], "usageMetadata": usage}).encode())
    assert reader.finished
    return reader.answer()


def said_again(given: Answer, name: str = NAME) -> list[dict[str, Any]]:
    calls = tuple(Call(f"00000000{n}", each.name, each.arguments) for n, each in enumerate(given.calls))
    (turn,) = request(Replied(given.text, calls, given.extra), name=name)["contents"]
    parts: list[dict[str, Any]] = turn["parts"]
    return parts


def called(path: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "read", "args": {"path": path}}, **more}


def test_the_whole_request() -> None:
    schema = ToolSpec("plan", "", {"type": "object", "title": "a plan"}, False)
    assert request(temperature=0.5, schema=schema) == {
        "contents": [{"role": "user", "parts": [{"text": "Begin."}]}],
        "systemInstruction": {"parts": [{"text": "You are an agent."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Reads a file.", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
        "generationConfig": {
            "temperature": 0.5,
            "responseMimeType": "application/json",
            "responseJsonSchema": schema.parameters,
        },
    }
    assert GeminiModel.path("gemini-x") == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


def test_signatures_come_back_on_the_parts_that_they_came_with() -> None:
    given = answer({"text": "Let me"}, {"text": " look."}, called("a", thoughtSignature="sigA"), called("b"))
    assert given.text == "Let me look." and given.usage == Usage(10, 12, 4)
    assert said_again(given) == [
        {"text": "Let me look."},
        {
            "functionCall": {"id": "000000000", "name": "read", "args": {"path": "a"}},
            "thoughtSignature": "sigA",
        },
        {"functionCall": {"id": "000000001", "name": "read", "args": {"path": "b"}}},
    ]
    given = answer({"text": "Thinking …", "thought": True}, {"text": "Done."}, {"text": "", "thoughtSignature": "end"})
    assert given.text == "Done."
    assert said_again(given) == [{"text": "Done."}, {"text": "", "thoughtSignature": "end"}]


def test_a_call_of_another_model_gets_the_documented_signature() -> None:
    given = answer(called("a", thoughtSignature="sigA"), called("b"))
    parts = said_again(given, "gemini:other")
    assert [part.get("thoughtSignature") for part in parts] == [FOREIGN, None]


def test_results_name_their_tool_and_roles_alternate() -> None:
    contents = request(
        Said("Fix it."),
        Replied("Reading.", (Call("1", "read", '{"path": "a"}'), Call("2", "done", '{"half'))),
        Result("1", "content", True),
        Said("By the way."),
        Result("2", "malformed", False),
        Replied("", ()),
        Said("Go on."),
    )["contents"]
    assert [turn["role"] for turn in contents] == ["user", "model", "user", "model", "user"]
    assert contents[1]["parts"][2] == {"functionCall": {"id": "2", "name": "done", "args": {}}}
    assert contents[2]["parts"] == [
        {"functionResponse": {"id": "1", "name": "read", "response": {"output": "content"}}},
        {"text": "By the way."},
        {"functionResponse": {"id": "2", "name": "done", "response": {"error": "malformed"}}},
    ]
    assert contents[3]["parts"] == [{"text": "(empty answer)"}]


def test_a_prompt_that_is_blocked_is_a_refusal() -> None:
    reader = GeminiReader(NAME, lambda text: None)
    reader.event(b'{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}')
    assert reader.finished and reader.answer().stop == "refusal"
    assert answer({"text": "x"}, reason="RECITATION").stop == "refusal"
