"""Everything that can go wrong on the way to a model, in both dialects: which error it is, and what it says."""

from __future__ import annotations

import asyncio
import socket
import ssl
import traceback
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.faults import Endpoint, of_link, of_status, retry_after
from bough.adapters.models.link import Unreachable
from bough.core.errors import Passing, Refused, TooLong, Unavailable, UsageError
from bough.core.messages import Answer, Call, Prompt, Said, Usage
from bough.core.trail import Trail
from tests.wire import KEY, Cut, Hang, Item, Raw, Status, WireModel, anthropic_events, chat_events, sse

PROMPT = Prompt("goal#1#1", "system", Trail((Said("Begin."),)), ())
WHOLE = Answer("Some text.", (Call("c", "read", '{"path": "a"}'),), "calls", Usage(10, 5))
DIALECTS = ("chat", "anthropic")


def model(dialect: str, client: wires.Client, url: str, timeout: float, key: str = KEY) -> ChatModel | AnthropicModel:
    if dialect == "chat":
        return ChatModel(client, Endpoint("openai:gpt-x", f"{url}/v1", key, "OPENAI_API_KEY"), timeout)
    return AnthropicModel(client, Endpoint("anthropic:claude-x", url, key, "ANTHROPIC_API_KEY"), timeout)


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


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_statuses(dialect: str, status: int) -> None:
    error = fails(dialect, Status(status, {"retry-after": "7"}, {"error": {"message": "busy", "type": "x"}}))
    assert isinstance(error, Passing)
    assert error.retry_after == 7
    assert f"({status})" in str(error) and "busy" in str(error) and "127.0.0.1" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
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
    assert isinstance(error, Refused)
    assert advice in str(error) and "127.0.0.1" in str(error) and "wrong [key] for you" in str(error)


def test_a_missing_key_is_said_to_be_missing() -> None:
    assert "set OPENAI_API_KEY" in str(fails("chat", Status(401), key=""))


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size. try increasing the context size",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ],
)
def test_a_conversation_that_is_too_long_is_called_so(message: str) -> None:
    error = fails("chat", Status(400, {}, {"error": {"message": message}}))
    assert isinstance(error, Refused)
    assert "too long" in str(error) and "longer context window" in str(error)


def test_no_credit_is_final_although_its_status_is_passing() -> None:
    body = {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}
    assert isinstance(fails("chat", Status(429, {}, body)), Refused)


@pytest.mark.parametrize(
    "body",
    [
        b"<html><script>x()</script><h1>502 Bad Gateway</h1></html>",
        b'[{"error": {"message": "502 Bad Gateway"}}]',
        b'{"error": "502 Bad Gateway"}',
        b'{"message": "502 Bad Gateway"}',
        b'{"detail": [{"msg": "502 Bad Gateway"}]}',
        b"502\tBad\x1b[31m Gateway",
        b"\xff\xfe502 Bad Gateway",
    ],
)
def test_error_bodies_of_all_shapes_are_read(body: bytes) -> None:
    text = str(fails("chat", Status(502, {}, body)))
    assert "502" in text and "Gateway" in text
    assert text.isprintable() and "x()" not in text


def test_long_words_of_a_provider_are_cut() -> None:
    assert len(str(fails("chat", Status(400, {}, {"error": {"message": "x" * 5000}})))) < 600


def test_a_part_of_the_key_is_struck_out_too() -> None:
    at = Endpoint("openai:m", f"https://user:{KEY}@host.example:8443/v1?key={KEY}", KEY, "OPENAI_API_KEY")
    error = of_status(at, 401, {}, f"Incorrect API key provided: {KEY[:9]}****cdef.".encode())
    assert KEY[:9] not in str(error) and "host.example:8443" in str(error)
    assert "Incorrect API key provided: [key]" in str(error)
    assert KEY not in repr(at)


def test_a_redirect_is_not_followed() -> None:
    error = fails("chat", Status(301, {"location": "https://elsewhere.example/v1"}))
    assert isinstance(error, Refused) and "elsewhere.example" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nobody_listens(dialect: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        error = asyncio.run(failure(dialect, f"http://127.0.0.1:{port}"))
    assert isinstance(error, Passing) and error.retry_after is None
    assert f"Nothing answers at 127.0.0.1:{port}" in str(error) and error.nobody


def test_a_name_that_does_not_exist() -> None:
    assert isinstance(asyncio.run(failure("chat", "http://no-such-host.invalid")), Passing)


def test_ollama_that_is_not_running() -> None:
    async def go(port: int) -> str:
        client = wires.Client()
        asked = ChatModel(client, Endpoint("ollama:qwen3", f"http://127.0.0.1:{port}/v1"), 2)
        with pytest.raises(Passing) as caught:
            await asked.ask(PROMPT, lambda text: None)
        await client.close()
        return str(caught.value)

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert "ollama serve" in asyncio.run(go(bound.getsockname()[1]))


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://127.0.0.1:1")
    error = asyncio.run(failure("chat", "http://model.invalid:1"))
    assert isinstance(error, Refused) and "ALL_PROXY" in str(error)


def test_a_certificate_that_is_not_accepted_is_final() -> None:
    problem = Unreachable("certificate verify failed: self-signed certificate")
    problem.__cause__ = ssl.SSLCertVerificationError("self-signed")
    error = of_link(Endpoint("openai:m", "https://host.example/v1", KEY), problem, 5)
    assert isinstance(error, Refused) and "certificate of host.example was not accepted" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
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


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("after", [1, 200])
def test_a_server_that_falls_silent(dialect: str, after: int) -> None:
    error = fails(dialect, Hang(WHOLE, after), timeout=0.15)
    assert isinstance(error, Passing) and "sent nothing for 0.15 s" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_does_not_hang_up_after_its_end_mark(dialect: str) -> None:
    async def go(url: str) -> Answer:
        client = wires.Client()
        asked = model(dialect, client, url, 60)
        async with asyncio.timeout(10):
            answer = await asked.ask(PROMPT, lambda text: None)
        await client.close()
        return answer

    with WireModel([Hang(WHOLE, 100_000)]) as wire:
        assert asyncio.run(go(wire.url)).calls == WHOLE.calls


def stages(dialect: str) -> list[int]:
    """Places to cut a stream at: nothing, inside and after every event, and just before its end mark."""
    events = list((chat_events if dialect == "chat" else anthropic_events)(WHOLE, 40))
    places, total = [0], 0
    for event in events[:-1]:
        places += [total + len(event) // 2, total + len(event)]
        total += len(event)
    return places


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_is_cut_at_any_stage(dialect: str) -> None:
    async def go(url: str, times: int) -> None:
        client = wires.Client()
        asked = model(dialect, client, url, 5)
        for _ in range(times):
            with pytest.raises(Passing) as caught:
                await asked.ask(PROMPT, lambda text: None)
            assert "cut off" in str(caught.value)
        assert (await asked.ask(PROMPT, lambda text: None)).text == WHOLE.text
        await client.close()

    places = stages(dialect)
    with WireModel([*(Cut(WHOLE, place) for place in places), WHOLE], piece=40) as wire:
        asyncio.run(go(wire.url, len(places)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_ends_without_an_end(dialect: str) -> None:
    event = {"choices": [{"delta": {"content": "x"}}], "type": "ping"}
    assert "cut off" in str(fails(dialect, Raw(sse(event))))
    assert "cut off" in str(fails(dialect, Raw(b"")))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [
        b"data: nonsense\n\n",
        b'data: {"choices": 7, "type": 7}\n\n',
        b"data: \xff\xfe{}\n\n",
        b'{"choices": 7, "content": 7}',
    ],
)
def test_garbage(dialect: str, body: bytes) -> None:
    error = fails(dialect, Raw(body))
    assert isinstance(error, Passing) and "not a model's answer" in str(error)


def test_deep_garbage() -> None:
    assert isinstance(fails("chat", Raw(b'data: {"error":' + b"[" * 100_000 + b"\n\n")), Passing)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_web_page_in_place_of_an_answer(dialect: str) -> None:
    error = fails(dialect, Raw(b"<!doctype html><p>Welcome", "text/html"))
    assert isinstance(error, Refused) and "base URL" in str(error)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, Passing),
        ({"type": "api_error", "message": "Internal"}, Passing),
        ({"type": "rate_limit_error", "message": "Slow"}, Passing),
        ({"type": "invalid_request_error", "message": "Wrong"}, Refused),
        ({"type": "authentication_error", "message": "Key"}, Refused),
        ({"code": 502, "message": "Upstream"}, Passing),
        ({"code": 401, "message": "Who?"}, Refused),
        ({"code": "context_length_exceeded", "message": "Long"}, TooLong),
        ("plain words", Passing),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_inside_the_stream(dialect: str, error: Any, kind: type[Unavailable]) -> None:
    first = {"type": "message_start", "choices": [{"delta": {"content": "x"}}]}
    raised = fails(dialect, Raw(sse(first, {"type": "error", "error": error})))
    assert type(raised) is kind
    assert (error if isinstance(error, str) else error["message"]) in str(raised)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_with_a_good_status(dialect: str) -> None:
    body = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    assert isinstance(fails(dialect, Raw(body, "application/json")), Passing)


def test_an_answer_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "LIMIT", 1_000_000)
    assert "stopped after 1 MB" in str(fails("chat", Raw(b"data: {}\n\n" * 200_000)))
    assert "stopped after 1 MB" in str(fails("chat", Raw(b"{" + b" " * 2_000_000)))


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-4"}, 0),
        ({"retry-after": "999999"}, 8 * 24 * 3_600),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers) == wait


def test_how_long_to_wait_by_a_date() -> None:
    wait = retry_after({"retry-after": formatdate(time() + 30, usegmt=True)})
    assert wait is not None and 25 < wait <= 30


def test_how_long_to_wait_by_the_body() -> None:
    body = {"error": {"message": "quota", "details": [{"retryDelay": "17.5s"}]}}
    error = fails("chat", Status(429, {}, body))
    assert isinstance(error, Passing) and error.retry_after == 17.5


def test_a_value_that_is_no_key_is_refused_without_being_shown() -> None:
    for key in (f"{KEY}\nx: y", f"{KEY} x", f"{KEY}ü"):
        with pytest.raises(UsageError) as caught:
            model("chat", wires.Client(), "http://127.0.0.1:1", 1, key)
        assert KEY not in str(caught.value) and "OPENAI_API_KEY" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9,000 tokens.", 8192),
        ("This endpoint's maximum context length is 131,072 tokens. However, you requested about 140000.", 131_072),
        ("request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("the request exceeds the available context size. try increasing the context size", 0),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072),
        ("However, the model is loaded with context length of only 4096 tokens", 4096),
        ("input length exceeds the context length", 0),
        ("Please reduce the length of the messages or completion.", 0),
    ],
)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_refusal_for_its_length_says_how_much_fits(words: str, window: int, status: int) -> None:
    raised = fails("chat", Status(status, body={"error": {"message": words}}))
    assert isinstance(raised, TooLong), raised
    assert raised.window == window


def test_a_server_that_has_the_number_beside_its_words() -> None:
    error = {"code": 400, "message": "too much", "type": "exceed_context_size_error", "n_ctx": 4096}
    raised = fails("chat", Status(400, body={"error": error}))
    assert isinstance(raised, TooLong)
    assert raised.window == 4096
