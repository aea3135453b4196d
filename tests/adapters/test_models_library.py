"""Bedrock, Vertex and OpenAI's Responses API through pydantic-ai, each against its own protocol on loopback, signed in
as one would be.

Needs the extras: `pip install 'bough-agent[bedrock,openai-responses,vertex]'`.
"""

import asyncio
import json
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.providers import make_model, probe_model
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import RequestRefused, TooLong, TransientError, UsageError
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, ToolSpec, Usage, UserMessage
from tests.wire import Item, Raw, Status, WireModel, WireRequest
from tests.wire_dialects import sse

CLAUDE = "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0"
RESPONSES = "openai-responses:gpt-5"
OPENAI = {"OPENAI_API_KEY": "sk-very-secret-key"}
READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}, False)
AWS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "very-secret-key", "AWS_REGION": "eu-west-1"}


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bough.adapters.models.library.find_spec", lambda name: None)
    for name in (CLAUDE, "vertex:gemini-2.5-pro", RESPONSES):
        with pytest.raises(UsageError, match=rf"needs an extra. Install it with: .*\[{name.partition(':')[0]}\]"):
            make_model(name, client=wires.Client(), timeout=60, env=OPENAI)
        assert not asyncio.run(probe_model(name, client=wires.Client(), env=OPENAI)).ok


with_the_extra = pytest.mark.skipif(
    not all(map(find_spec, ("pydantic_ai", "boto3", "anthropic"))),
    reason="the extras bedrock and vertex are not installed",
)


def prompt(*messages: Message) -> Prompt:
    return Prompt("goal#1#1", "You are an agent.", PersistentList(messages), (READ,))


def ask(
    name: str, script: list[Item], env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, *prompts: Prompt
) -> tuple[list[Answer], list[WireRequest], str]:
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    streamed: list[str] = []

    async def go(url: str) -> list[Answer]:
        model = make_model(name, base_url=url, client=wires.Client(), timeout=60, env=env)
        try:
            return [await model.ask(each, streamed.append) for each in prompts or (prompt(UserMessage("Begin.")),)]
        finally:
            await model.close()

    with WireModel(script) as wire:
        answers = asyncio.run(go(wire.url))
        return answers, wire.requests, "".join(streamed)


def frames(*events: tuple[str, dict[str, Any]]) -> Raw:
    """Amazon's event stream."""
    made = b""
    for kind, payload in events:
        named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
        headers = b"".join(
            bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()
            for name, value in named.items()
        )
        body = json.dumps(payload).encode()
        prelude = (16 + len(headers) + len(body)).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
        frame = prelude + zlib.crc32(prelude).to_bytes(4, "big") + headers + body
        made += frame + zlib.crc32(frame).to_bytes(4, "big")
    return Raw(made, "application/vnd.amazon.eventstream")


def block(index: int, *deltas: dict[str, Any], start: dict[str, Any] | None = None) -> list[tuple[str, dict[str, Any]]]:
    begun = [("contentBlockStart", {"contentBlockIndex": index, "start": start})] if start else []
    pieces = [("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas]
    return [*begun, *pieces, ("contentBlockStop", {"contentBlockIndex": index})]


def turn(*blocks: list[tuple[str, dict[str, Any]]], stop: str) -> Raw:
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 19, "cacheReadInputTokens": 4}
    end: list[tuple[str, dict[str, Any]]] = [
        ("messageStop", {"stopReason": stop}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ]
    return frames(("messageStart", {"role": "assistant"}), *(event for each in blocks for event in each), *end)


@with_the_extra
@pytest.mark.filterwarnings("default")
def test_a_conversation_with_claude_on_bedrock(monkeypatch: pytest.MonkeyPatch) -> None:
    thought = [
        {"reasoningContent": {"text": "Let me see."}},
        {"reasoningContent": {"signature": "c2lnbmVk"}},
    ]
    first = turn(
        block(0, *thought),
        block(1, {"text": "Look"}, {"text": "ing."}),
        block(
            2,
            {"toolUse": {"input": '{"path":'}},
            {"toolUse": {"input": ' "a"}'}},
            start={"toolUse": {"toolUseId": "tooluse_1", "name": "read"}},
        ),
        stop="tool_use",
    )
    (answer,), (request,), streamed = ask(CLAUDE, [first], AWS, monkeypatch)
    assert (answer.text, streamed, answer.stop) == ("Looking.", "Looking.", "calls")
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [("read", {"path": "a"})]
    assert answer.usage == Usage(14, 5, 4)
    assert request.path.endswith("/converse-stream") and "claude-sonnet-4-5" in request.path
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert b"very-secret" not in request.body
    assert "cachePoint" in json.dumps(request.json["system"]) + json.dumps(request.json["messages"])

    calls = (Call("010001000", "read", answer.calls[0].arguments),)
    again = prompt(
        UserMessage("Begin."),
        ModelMessage(answer.text, calls, answer.extra),
        Result("010001000", "no such file", False),
    )
    (final,), (request,), _ = ask(CLAUDE, [turn(block(0, {"text": "Done."}), stop="end_turn")], AWS, monkeypatch, again)
    assert (final.text, final.extra) == ("Done.", "")
    said = request.json["messages"][1]["content"]
    assert said[0]["reasoningContent"]["reasoningText"]["signature"] == "c2lnbmVk"
    assert said[2]["toolUse"]["toolUseId"] == "010001000"
    result = request.json["messages"][2]["content"][0]["toolResult"]
    assert (result["toolUseId"], result["status"]) == ("010001000", "error")
    # Another model gets the words, and not the signature.
    other = CLAUDE.replace("sonnet-4-5-20250929", "opus-4-1-20250805")
    _, (request,), _ = ask(other, [turn(block(0, {"text": "Done."}), stop="end_turn")], AWS, monkeypatch, again)
    assert b"c2lnbmVk" not in request.body and b"Looking." in request.body


@with_the_extra
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("status", "kind", "words", "error"),
    [
        (429, "ThrottlingException", "Too many requests", TransientError),
        (503, "ServiceUnavailableException", "Busy", TransientError),
        (403, "AccessDeniedException", "You don't have access to the model", RequestRefused),
        (400, "ValidationException", "Input is too long for requested model: prompt is too long", TooLong),
        (404, "ResourceNotFoundException", "Could not resolve the model", RequestRefused),
    ],
)
def test_what_bedrock_refuses(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: str, words: str, error: type[Exception]
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    reply = Status(status, {"x-amzn-errortype": kind}, {"message": words})
    with pytest.raises(error) as caught:
        ask(CLAUDE, [reply], AWS, monkeypatch)
    assert type(caught.value) is error and words.partition(":")[0] in str(caught.value)
    if status == 403:
        assert "AWS_REGION" in str(caught.value)


@with_the_extra
@pytest.mark.filterwarnings("default")
def test_a_person_who_is_not_signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in AWS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(RequestRefused, match="sign in to AWS"):
        ask(CLAUDE, [], {"AWS_REGION": "eu-west-1"}, monkeypatch)
    found = asyncio.run(probe_model(CLAUDE, client=wires.Client(), env={"AWS_REGION": "eu-west-1"}))
    assert found.ok and "is set up" in found.sentence


@pytest.fixture
def signed_in(tmp_path: Path) -> Path:
    """A service account's file; where its tokens are given out is filled in later."""
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason="the extras are not installed")
    from cryptography.hazmat.primitives import serialization as s

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()).decode()
    account = {"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": pem}
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account | {"client_email": "bough@p.example", "client_id": "1"}))
    return file


TOKEN = Raw(b'{"access_token": "tok-1", "expires_in": 3600, "token_type": "Bearer"}', "application/json")
GEMINI = Raw(
    sse(
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2lnbmVk"}
                        ],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        }
    )
)
MESSAGES = Raw(
    sse(
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": [],
                "stop_reason": None,
                "usage": {"input_tokens": 10, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "read", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"path": "a"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ).replace(b"data: {", b"event: x\ndata: {")
)


@with_the_extra
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("name", "reply"), [("vertex:gemini-2.5-pro", GEMINI), ("vertex:claude-sonnet-4-5", MESSAGES)])
def test_a_service_account_on_vertex(monkeypatch: pytest.MonkeyPatch, signed_in: Path, name: str, reply: Raw) -> None:
    if name.startswith("vertex:claude"):  # Its client goes by the names of events.
        kinds = [json.loads(line[6:])["type"] for line in reply.body.splitlines() if line.startswith(b"data: ")]
        body = reply.body
        for kind in kinds:
            body = body.replace(b"event: x", b"event: " + kind.encode(), 1)
        reply = Raw(body)

    async def go(url: str) -> Answer:
        account = json.loads(signed_in.read_text()) | {"token_uri": f"{url}/token"}
        signed_in.write_text(json.dumps(account))
        env = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(signed_in),
            "GOOGLE_CLOUD_PROJECT": "p",
            "GOOGLE_CLOUD_LOCATION": "europe-west1",
        }
        for variable, value in env.items():
            monkeypatch.setenv(variable, value)
        model = make_model(name, base_url=url, client=wires.Client(), timeout=60, env=env)
        try:
            return await model.ask(prompt(UserMessage("Begin.")), print)
        finally:
            await model.close()

    with WireModel([TOKEN, reply]) as wire:
        answer = asyncio.run(go(wire.url))
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [("read", {"path": "a"})]
    assert answer.usage.input == 10 and answer.usage.output == 5
    token, asked = wire.requests
    assert token.path == "/token" and b"jwt-bearer" in token.body
    assert asked.headers["authorization"] == "Bearer tok-1"
    assert "europe-west1" in asked.path and name.partition(":")[2] in asked.path
    assert ("c2lnbmVk" in answer.extra) == ("gemini" in name)


def item(index: int, kind: str, **fields: Any) -> list[dict[str, Any]]:
    whole = {"type": kind, "id": f"{kind}_{index}", "status": "completed", **fields}
    return [
        {"type": f"response.output_item.{when}", "output_index": index, "item": whole} for when in ("added", "done")
    ]


def response(*items: list[dict[str, Any]]) -> Raw:
    output = [events[-1]["item"] for events in items]
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
    whole |= {"output": output, "usage": usage, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    events = [{"type": "response.created", "response": whole | {"status": "in_progress", "output": []}}]
    events += [event for each in items for event in each]
    events += [{"type": "response.completed", "response": whole}]
    return Raw(sse(*({"sequence_number": number, **event} for number, event in enumerate(events))))


@pytest.mark.skipif(not all(map(find_spec, ("pydantic_ai", "openai"))), reason="the extra is not installed")
@pytest.mark.filterwarnings("default")
def test_a_conversation_by_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    thought = item(0, "reasoning", summary=[], encrypted_content="c2VjcmV0")
    call = item(1, "function_call", call_id="c1", name="read", arguments='{"path": "a"}')
    (answer,), (request,), _ = ask(RESPONSES, [response(thought, call)], OPENAI, monkeypatch)
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [("read", {"path": "a"})]
    assert (answer.stop, answer.usage) == ("calls", Usage(10, 5, 4))
    assert request.path.endswith("/responses") and request.headers["authorization"] == "Bearer sk-very-secret-key"
    # Nothing is stored with the provider, so reasoning has to come back encrypted.
    assert request.json["store"] is False and "reasoning.encrypted_content" in request.json["include"]
    again = prompt(
        UserMessage("Begin."), ModelMessage("", answer.calls, answer.extra), Result("c1", "no such file", False)
    )
    (final,), (request,), _ = ask(RESPONSES, [Answer("Done.")], OPENAI, monkeypatch, again)
    assert final.text == "Done."
    sent = json.dumps(request.json["input"])
    assert sent.index("c2VjcmV0") < sent.index('"read"') < sent.index("no such file")
    # Retries belong to the task.
    with pytest.raises(TransientError):
        ask(RESPONSES, [Status(503)], OPENAI, monkeypatch)
