"""What holds of every protocol: answers and what is asked, and everything that can go wrong on the way."""

import asyncio
import json
import socket
from base64 import b64encode
from typing import Any

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.dialect import Options
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import QuotaExhausted, RequestRefused, TooLong, TransientError, Unavailable
from bough.core.messages import (
    Answer,
    Call,
    Message,
    ModelMessage,
    Picture,
    Prompt,
    Result,
    ToolSpec,
    Usage,
    UserMessage,
)
from tests.conformance.models import DIALECTS, PROMPT, WHOLE, fails, failure, model
from tests.wire import KEY, Cut, Hang, Item, Raw, Slow, Status, Whole, WireModel, WireRequest
from tests.wire_dialects import EVENTS, sse

TOOLS = tuple(ToolSpec(name, "Does it.", {"type": "object"}, False) for name in ("read", "done"))
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def ask(dialect: str, script: list[Item], *prompts: Prompt) -> tuple[list[Answer], list[WireRequest], str]:
    """The answers, the requests, and what was shown while they came in."""
    streamed: list[str] = []

    async def go(url: str) -> list[Answer]:
        client = wires.Client()
        asked = model(dialect, client, url, 5)
        try:
            return [await asked.ask(prompt, streamed.append) for prompt in (prompts or (PROMPT,))]
        finally:
            await asked.close()
            await client.close()

    with WireModel(script) as wire:
        answers = asyncio.run(go(wire.url))
        return answers, wire.requests, "".join(streamed)


SAID = {
    "text": Answer("Here: äöü 🌳.", usage=Usage(120, 30, 80), model="m-2026"),
    "a call": Answer(calls=(Call("c1", "read", '{"path":"x.py"}'),), stop="calls", usage=Usage(9, 6), model="m"),
    "text and parallel calls": Answer(
        "Let me look.",
        (Call("c1", "read", '{"path":"x"}'), Call("c2", "read", '{"path":"ü"}'), Call("c3", "done", "{}")),
        "calls",
        Usage(9, 6),
        model="m",
    ),
    "cut by the limit": Answer("Half a", stop="length", usage=Usage(9, 6), model="m"),
    "a refusal": Answer("No.", stop="refusal", usage=Usage(9, 6), model="m"),
}


@every_dialect
@pytest.mark.parametrize("said", SAID)
def test_an_answer_in_pieces_and_whole(dialect: str, said: str) -> None:
    answers, _, streamed = ask(dialect, [SAID[said], Whole(SAID[said]), Slow(SAID[said], 0.001)], *[PROMPT] * 3)
    assert answers == [SAID[said]] * 3
    assert streamed == SAID[said].text * 3


@every_dialect
def test_a_request_names_the_model_and_carries_the_key_and_nothing_else_does(dialect: str) -> None:
    prompt = Prompt("goal#1#1", "You are an agent.", PersistentList((UserMessage("Begin."),)), TOOLS)
    _, (request,), _ = ask(dialect, [WHOLE], prompt)
    body = request.body.decode()
    assert [name for name, value in request.headers.items() if KEY in value] and KEY not in body + request.path
    for text in ("You are an agent.", "Begin.", "Does it."):
        assert json.dumps(text)[1:-1] in body
    named = request.json.get("model") or request.path
    assert any(name in named for name in ("gpt-x", "claude-x"))


def values(found: Any) -> list[str]:
    """Every text in a decoded request, in order."""
    if isinstance(found, dict):
        return [text for value in found.values() for text in values(value)]
    return [text for value in found for text in values(value)] if isinstance(found, list) else [str(found)]


@every_dialect
def test_results_find_their_calls_and_a_conversation_grows_at_its_end(dialect: str) -> None:
    trail: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
    trail = trail.then(
        ModelMessage("Looking.", (Call("000000001", "read", '{"path": "a"}'), Call("000000002", "done", '{"half'))),
        Result("000000001", "content of a", True),
        Result("000000002", "", False),
        UserMessage("Go on."),
    )
    longer = trail.then(ModelMessage("Done.", ()), UserMessage("Thanks."))
    prompts = [Prompt("goal#1#1", "system", each, TOOLS) for each in (trail, longer)]
    _, requests, _ = ask(dialect, [WHOLE, WHOLE], *prompts)
    key = next(key for key in ("messages", "input") if key in requests[0].json)
    first, second = ([text for text in values(request.json[key]) if text != "ephemeral"] for request in requests)
    for text in ("Begin.", "Looking.", "content of a", "Go on."):
        assert first.count(text) == 1
    for call in ("000000001", "000000002"):
        assert first.count(call) == 2
    assert "half" not in "".join(first), "arguments that are no JSON are refused for good by most servers"
    tail = first.index("Go on.") + 1
    assert second[:tail] == first[:tail] and second[-1] not in first


@every_dialect
def test_what_another_model_thought_is_not_sent(dialect: str) -> None:
    extra = json.dumps({"by": "other:m", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text"}]})
    trail: PersistentList[Message] = PersistentList(
        (UserMessage("Begin."), ModelMessage("Said.", (), extra), UserMessage("Go on."))
    )
    _, (request,), _ = ask(dialect, [WHOLE], Prompt("goal#1#1", "system", trail, TOOLS))
    assert b"hm" not in request.body and request.body.count(b"Said.") == 1


@every_dialect
def test_usage_of_an_answer_that_broke_off_is_estimated(dialect: str) -> None:
    error = fails(dialect, Cut(Answer("word " * 400, usage=Usage(10, 500)), 2_500))
    assert isinstance(error, TransientError) and error.usage is not None
    assert error.usage.estimated and error.usage.output > 0


@every_dialect
def test_an_exhausted_quota_says_until_when(dialect: str) -> None:
    error = fails(dialect, Status(429, {"retry-after": "7200"}, {"error": {"message": "weekly limit"}}))
    assert isinstance(error, QuotaExhausted) and "exhausted until" in str(error)


TOO_LONG: dict[str, dict[str, Any]] = {
    "chat": {"error": {"message": "This model's maximum context length is 8192 tokens.", "type": "x"}},
    "anthropic": {"type": "error", "error": {"type": "x", "message": "prompt is too long: 9000 tokens > 8192 maximum"}},
    "responses": {
        "error": {
            "message": "Your input exceeds the context window of this model.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    },
}


@every_dialect
def test_a_conversation_that_is_too_long(dialect: str) -> None:
    error = fails(dialect, Status(400, {}, TOO_LONG[dialect]))
    assert isinstance(error, TooLong) and error.window == (0 if dialect == "responses" else 8192)


def test_what_google_says_of_a_wrong_key_and_a_long_conversation() -> None:
    body = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "X"}}
    assert "OPENAI_API_KEY" in str(fails("chat", Status(400, {}, body)))
    message = "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."
    error = fails("chat", Status(400, {}, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}))
    assert isinstance(error, TooLong) and error.window == 8192


@every_dialect
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_statuses(dialect: str, status: int) -> None:
    error = fails(dialect, Status(status, {"retry-after": "7"}, {"error": {"message": "busy", "type": "x"}}))
    assert isinstance(error, TransientError)
    assert error.retry_after == 7
    assert f"({status})" in str(error) and "busy" in str(error) and "127.0.0.1" in str(error)


@every_dialect
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "check the model's name"),
        (401, "check the value of"),
        (402, "no credit"),
        (403, "_API_KEY"),
        (404, "check the model's name and the base URL"),
        (413, "too long"),
        (422, "can call tools"),
    ],
)
def test_final_statuses(dialect: str, status: int, advice: str) -> None:
    error = fails(dialect, Status(status, {}, {"error": {"message": f"wrong {KEY} for you"}}))
    assert isinstance(error, RequestRefused)
    assert advice in str(error) and "127.0.0.1" in str(error) and "wrong [key] for you" in str(error)


@every_dialect
def test_nothing_listens(dialect: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        error = asyncio.run(failure(dialect, f"http://127.0.0.1:{port}"))
    assert isinstance(error, TransientError) and error.retry_after is None
    assert f"Nothing answers at 127.0.0.1:{port}" in str(error) and error.nobody


@every_dialect
def test_a_server_may_take_its_time_before_the_first_byte(dialect: str) -> None:
    """A local model may read a long prompt for minutes: only the engine's limit of the whole call ends it."""

    async def go(url: str) -> None:
        client = wires.Client()
        try:
            await asyncio.wait_for(model(dialect, client, url, 0.15).ask(PROMPT, lambda text: None), 0.6)
        finally:
            await client.close()

    with WireModel([Hang(WHOLE, 0)]) as wire, pytest.raises(TimeoutError):
        asyncio.run(go(wire.url))


@every_dialect
@pytest.mark.parametrize("after", [1, 200])
def test_a_server_that_falls_silent(dialect: str, after: int) -> None:
    error = fails(dialect, Hang(WHOLE, after), timeout=0.15)
    assert isinstance(error, TransientError) and "sent nothing for 0.15 s" in str(error)


@every_dialect
def test_a_server_that_does_not_hang_up_after_its_end_mark(dialect: str) -> None:
    async def go(url: str) -> Answer:
        client = wires.Client()
        asked = model(dialect, client, url, 60)
        async with asyncio.timeout(120):
            answer = await asked.ask(PROMPT, lambda text: None)
        await client.close()
        return answer

    with WireModel([Hang(WHOLE, 100_000)]) as wire:
        assert asyncio.run(go(wire.url)).calls == WHOLE.calls


def stages(dialect: str) -> list[int]:
    """Places to cut a stream at: nothing, inside and after every event, and just before its end mark."""
    events = list(EVENTS[dialect](WHOLE, 40))
    places, total = [0], 0
    for event in events[:-1]:
        places += [total + len(event) // 2, total + len(event)]
        total += len(event)
    return places


@every_dialect
def test_a_stream_that_is_cut_at_any_stage(dialect: str) -> None:
    async def go(url: str, times: int) -> None:
        client = wires.Client()
        asked = model(dialect, client, url, 5)
        for _ in range(times):
            with pytest.raises(TransientError) as caught:
                await asked.ask(PROMPT, lambda text: None)
            assert "cut off" in str(caught.value)
        assert (await asked.ask(PROMPT, lambda text: None)).text == WHOLE.text
        await client.close()

    places = stages(dialect)
    with WireModel([*(Cut(WHOLE, place) for place in places), WHOLE], piece=40) as wire:
        asyncio.run(go(wire.url, len(places)))


@every_dialect
def test_a_stream_that_ends_without_an_end(dialect: str) -> None:
    event = {"choices": [{"delta": {"content": "x"}}], "type": "ping"}
    assert "cut off" in str(fails(dialect, Raw(sse(event))))
    assert "cut off" in str(fails(dialect, Raw(b"")))


@every_dialect
@pytest.mark.parametrize(
    "body",
    [
        b"data: nonsense\n\n",
        b'data: {"choices": 7, "type": 7, "candidates": 7}\n\n',
        b"data: \xff\xfe{}\n\n",
        b'{"choices": 7, "content": 7}',
    ],
)
def test_garbage(dialect: str, body: bytes) -> None:
    error = fails(dialect, Raw(body))
    assert isinstance(error, TransientError) and "an invalid answer" in str(error)


@every_dialect
def test_a_web_page_in_place_of_an_answer(dialect: str) -> None:
    error = fails(dialect, Raw(b"<!doctype html><p>Welcome", "text/html"))
    assert isinstance(error, RequestRefused) and "base URL" in str(error)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, TransientError),
        ({"type": "api_error", "message": "Internal"}, TransientError),
        ({"type": "rate_limit_error", "message": "Slow"}, TransientError),
        ({"type": "invalid_request_error", "message": "Wrong"}, RequestRefused),
        ({"type": "authentication_error", "message": "Key"}, RequestRefused),
        ({"code": 502, "message": "Upstream"}, TransientError),
        ({"code": 401, "message": "Who?"}, RequestRefused),
        ({"code": "context_length_exceeded", "message": "Long"}, TooLong),
        ("plain words", TransientError),
    ],
)
@every_dialect
def test_an_error_inside_the_stream(dialect: str, error: Any, kind: type[Unavailable]) -> None:
    first = {"type": "message_start", "choices": [{"delta": {"content": "x"}}]}
    raised = fails(dialect, Raw(sse(first, {"type": "error", "error": error})))
    assert type(raised) is kind
    assert (error if isinstance(error, str) else error["message"]) in str(raised)


@every_dialect
def test_an_error_with_a_good_status(dialect: str) -> None:
    body = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    assert isinstance(fails(dialect, Raw(body, "application/json")), TransientError)


PIXEL = b"\x89PNG a picture"
BEGUN: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
SEEN = BEGUN.then(
    ModelMessage("", (Call("000000001", "read", "{}"), Call("000000002", "read", "{}"))),
    Result("000000001", "(an image)", True, Picture("image/png", "b10b")),
    Result("000000002", "text", True),
)


def look(dialect: str, script: list[Item], images: bool) -> list[WireRequest]:
    async def go(url: str) -> None:
        client = wires.Client()
        asked = model(dialect, client, url, 5, options=Options(images=images))
        again = SEEN.then(ModelMessage("A tree."), UserMessage("Go on."))
        for messages in (SEEN, again):
            await asked.ask(Prompt("goal#1#2", "system", messages, TOOLS, pictures={"b10b": PIXEL}), print)
        await client.close()

    with WireModel(script) as wire:
        asyncio.run(go(wire.url))
        return wire.requests


@every_dialect
def test_an_image_is_shown_to_a_model_that_takes_it(dialect: str) -> None:
    data = b64encode(PIXEL).decode()
    first, second = look(dialect, [WHOLE, WHOLE], images=True)
    for request in (first, second):
        assert request.body.decode().count(data) == 1 and "image/png" in request.body.decode()
    if dialect == "chat":  # All results of a turn come before anything else.
        assert [each["role"] for each in first.json["messages"][-3:]] == ["tool", "tool", "user"]
        assert [each["role"] for each in second.json["messages"][-3:]] == ["user", "assistant", "user"]
    assert b"image/png" not in look(dialect, [WHOLE, WHOLE], images=False)[0].body


@every_dialect
def test_a_model_that_refuses_an_image_continues_without(dialect: str) -> None:
    refusal = Status(400, {}, {"error": {"message": "This model does not support image input."}})
    requests = look(dialect, [refusal, WHOLE, WHOLE], images=True)
    assert [b"image/png" in request.body for request in requests] == [True, False, False]
    assert b"(an image)" in requests[1].body
