"""What can go wrong on the way to a model, whatever it is spoken to in: which error it is, and what it says."""

import asyncio
import socket
import ssl
from email.utils import formatdate
from time import time

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.faults import Endpoint, Unreachable, explain_link_error, explain_status, parse_retry_after
from bough.core.errors import RequestRefused, TooLong, TransientError, UsageError
from tests.conformance.models import PROMPT, fails, failure, model
from tests.wire import KEY, Raw, Status


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
    assert isinstance(error, RequestRefused)
    assert "too long" in str(error) and "larger context window" in str(error)


def test_no_credit_is_final_although_its_status_is_passing() -> None:
    body = {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}
    assert isinstance(fails("chat", Status(429, {}, body)), RequestRefused)


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
    error = explain_status(at, 401, {}, f"Incorrect API key provided: {KEY[:9]}****cdef.".encode())
    assert KEY[:9] not in str(error) and "host.example:8443" in str(error)
    assert "Incorrect API key provided: [key]" in str(error)
    assert KEY not in repr(at)


def test_a_redirect_is_not_followed() -> None:
    error = fails("chat", Status(301, {"location": "https://elsewhere.example/v1"}))
    assert isinstance(error, RequestRefused) and "elsewhere.example" in str(error)


def test_a_name_that_does_not_exist() -> None:
    assert isinstance(asyncio.run(failure("chat", "http://no-such-host.invalid")), TransientError)


def test_ollama_that_is_not_running() -> None:
    async def go(port: int) -> str:
        client = wires.Client()
        asked = ChatModel(client, Endpoint("ollama:qwen3", f"http://127.0.0.1:{port}/v1"), 2)
        with pytest.raises(TransientError) as caught:
            await asked.ask(PROMPT, lambda text: None)
        await client.close()
        return str(caught.value)

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert "ollama serve" in asyncio.run(go(bound.getsockname()[1]))


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://127.0.0.1:1")
    error = asyncio.run(failure("chat", "http://model.invalid:1"))
    assert isinstance(error, RequestRefused) and "ALL_PROXY" in str(error)


def test_a_certificate_that_is_not_accepted_is_final() -> None:
    problem = Unreachable("certificate verify failed: self-signed certificate")
    problem.__cause__ = ssl.SSLCertVerificationError("self-signed")
    error = explain_link_error(Endpoint("openai:m", "https://host.example/v1", KEY), problem, 5)
    assert isinstance(error, RequestRefused) and "certificate of host.example was not accepted" in str(error)


def test_deep_garbage() -> None:
    assert isinstance(fails("chat", Raw(b'data: {"error":' + b"[" * 100_000 + b"\n\n")), TransientError)


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
    assert parse_retry_after(headers) == wait


def test_how_long_to_wait_by_a_date() -> None:
    wait = parse_retry_after({"retry-after": formatdate(time() + 30, usegmt=True)})
    assert wait is not None and 25 < wait <= 30


def test_how_long_to_wait_by_the_body() -> None:
    body = {"error": {"message": "quota", "details": [{"retryDelay": "17.5s"}]}}
    error = fails("chat", Status(429, {}, body))
    assert isinstance(error, TransientError) and error.retry_after == 17.5


def test_a_value_that_is_not_a_key_is_refused_without_being_shown() -> None:
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


def test_a_server_that_gives_the_number_separately() -> None:
    error = {"code": 400, "message": "too much", "type": "exceed_context_size_error", "n_ctx": 4096}
    raised = fails("chat", Status(400, body={"error": error}))
    assert isinstance(raised, TooLong)
    assert raised.window == 4096
