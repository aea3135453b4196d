"""A provider on loopback: speaks chat completions, Anthropic's messages and OpenAI's responses, streaming or not, as a
script says.

    with WireModel([Answer(calls=(Call("c1", "done", '{"summary": "ok"}'),)), Status(503)]) as wire:
        run_something(base_url=wire.base_url)           # or wire.anthropic_url
    assert wire.requests[0].json["messages"][0]["role"] == "system"

Nothing but the standard library, so that any process can be pointed at it. A script is a list of items that are used up
in order, or one function of the request that is asked every time.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from types import TracebackType
from typing import Any

from bough.core.messages import Answer, Stop

KEY = "sk-planted-0123456789abcdef"
"""A key for tests to plant: it must turn up nowhere but in a request's header."""


@dataclass(frozen=True)
class Status:
    """An HTTP error."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | dict[str, Any] = b""


@dataclass(frozen=True)
class Whole:
    """The answer as one JSON document, although a stream was asked for."""

    answer: Answer


@dataclass(frozen=True)
class Headed:
    """The answer as a stream, with these headers."""

    answer: Answer
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Cut:
    """The connection is closed after so many bytes of the stream; 0: before any byte of the response at all."""

    answer: Answer
    after: int


@dataclass(frozen=True)
class Hang:
    """Nothing more comes after so many bytes of the stream; 0: no byte of the response at all."""

    answer: Answer = field(default_factory=Answer)
    after: int = 0


@dataclass(frozen=True)
class Slow:
    """Each event of the stream comes after a pause."""

    answer: Answer
    pause: float


@dataclass(frozen=True)
class Raw:
    """These bytes as the body, whatever they are."""

    body: bytes
    content_type: str = "text/event-stream"


Reply = Answer | Status | Whole | Headed | Cut | Hang | Slow | Raw
Item = Reply | Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @cached_property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


class WireModel:
    """The provider, listening from `with` on until its end."""

    def __init__(
        self,
        script: Sequence[Item] | Callable[[dict[str, Any]], Reply] = (),
        *,
        models: Sequence[str] = (),
        piece: int = 7,
    ) -> None:
        """`models` is what `GET /models` lists; `piece` how many characters a streamed piece has."""
        self.requests: list[Seen] = []
        self.looks: list[Seen] = []
        """What it was asked about itself, which is no round of a conversation."""
        self.models = list(models)
        self.piece = piece
        self.connections = 0
        self.over = threading.Event()
        self._script = script if callable(script) else list(script)
        self._used = 0
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.wire = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """For chat completions (`--base-url`, `OPENAI_BASE_URL`)."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """For messages (`ANTHROPIC_BASE_URL`)."""
        return self.url

    def __enter__(self) -> WireModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._sockets:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self._server.server_close()

    @property
    def left(self) -> int:
        """Items of the script that have not been used."""
        return 0 if callable(self._script) else len(self._script) - self._used

    def reply(self, seen: Seen) -> Reply:
        with self._lock:
            self.requests.append(seen)
            if callable(self._script):
                item: Item = self._script
            elif self._used < len(self._script):
                item = self._script[self._used]
                self._used += 1
            else:
                return Status(400, body={"error": {"message": "the script of the test is used up"}})
        return item(seen.json) if callable(item) else item

    def joined(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self._sockets.add(connection)

    def gone(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256
    wire: WireModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not an error of the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.wire.joined(self.connection)

    def finish(self) -> None:
        self.server.wire.gone(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""

    def do_GET(self) -> None:
        if self.path == "/props":  # A server of another make.
            self._send(404, {}, b"", "text/plain")
            return
        self._keep(b"")
        listing = {"object": "list", "data": [{"id": model, "object": "model"} for model in self.server.wire.models]}
        self._send(200, {}, json.dumps(listing).encode(), "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        reply = self.server.wire.reply(self._keep(body))
        match reply:
            case Status(code, headers, error):
                kind = "application/json" if isinstance(error, dict) else "text/plain"
                self._send(code, headers, json.dumps(error).encode() if isinstance(error, dict) else error, kind)
            case Whole(answer):
                document = DOCUMENTS[dialect_of(self.path)](answer)
                self._send(200, {}, json.dumps(document).encode(), "application/json")
            case Headed(answer, headers):
                self._stream(self._events(answer), headers=headers)
            case Raw(content, kind):
                self._send(200, {}, content, kind)
            case Cut(answer, after):
                self._stop(self._events(answer), after)
            case Hang(answer, after):
                self._stop(self._events(answer), after, hang=True)
            case Slow(answer, pause):
                self._stream(self._events(answer), pause)
            case Answer():
                self._stream(self._events(reply))

    def _keep(self, body: bytes) -> Seen:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, body)
        if self.command == "GET":
            self.server.wire.looks.append(seen)
        return seen

    def _events(self, answer: Answer) -> Iterator[bytes]:
        return EVENTS[dialect_of(self.path)](answer, self.server.wire.piece)

    def _send(self, code: int, headers: Mapping[str, str], body: bytes, kind: str) -> None:
        self.send_response(code)
        for name, value in ({"content-type": kind, "content-length": str(len(body))} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, headers: Mapping[str, str]) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _stream(self, events: Iterator[bytes], pause: float = 0.0, headers: Mapping[str, str] | None = None) -> None:
        self._begin(headers or {})
        for event in events:
            if pause and self.server.wire.over.wait(pause):
                break
            self._chunk(event)
            if pause:
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _stop(self, events: Iterator[bytes], after: int, hang: bool = False) -> None:
        self.close_connection = True
        if after:
            self._begin({})
            self._chunk(b"".join(events)[:after])
            self.wfile.flush()
        if hang:
            self.server.wire.over.wait()

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))


# ── the dialects ────────────────────────────────────────────────────────────────────────────────────────────

CHAT_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"}
ANTHROPIC_STOP: dict[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}


def sse(*payloads: Any) -> bytes:
    """Events with these payloads: text as it is, anything else as JSON."""
    return b"".join(b"data: %s\n\n" % (p if isinstance(p, str) else json.dumps(p)).encode() for p in payloads)


def chat_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, number: int = 0) -> bytes:
        choice = {"index": number, "delta": delta, "finish_reason": finish}
        return sse({"id": "x", "object": "chat.completion.chunk", "model": _model(answer), "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    # Several answers arrive side by side.
    for row in zip_longest(*(_pieces(text, piece) for text in (answer.text, *answer.others))):
        yield from (chunk({"content": text}, number=number) for number, text in enumerate(row) if text)
    for number in range(1, len(answer.others) + 1):
        yield chunk({}, "stop", number)
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for text in _pieces(call.arguments, piece):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chunk({}, CHAT_FINISH[_stop(answer)])
    yield sse({"id": "x", "model": _model(answer), "choices": [], "usage": _chat_usage(answer)})
    yield sse("[DONE]")


def chat_document(answer: Answer) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]
    message = {"role": "assistant", "content": answer.text or None} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": CHAT_FINISH[_stop(answer)]}
    others = [
        {"index": number, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for number, text in enumerate(answer.others, 1)
    ]
    return {"id": "x", "model": _model(answer), "choices": [choice, *others], "usage": _chat_usage(answer)}


def _chat_usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def anthropic_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return b"event: %s\n" % kind.encode() + sse({"type": kind, **fields})

    usage = _anthropic_usage(answer)
    start = {"id": "x", "type": "message", "role": "assistant", "model": _model(answer), "content": []}
    yield event("message_start", message=start | {"stop_reason": None, "usage": usage | {"output_tokens": 1}})
    yield event("ping")
    index = 0
    if answer.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for text in _pieces(answer.text, piece):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": text})
        yield event("content_block_stop", index=index)
        index += 1
    for call in answer.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for text in _pieces(call.arguments, piece):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": text})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": ANTHROPIC_STOP[_stop(answer)], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": answer.usage.output})
    yield event("message_stop")


def anthropic_document(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for call in answer.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)})
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": _model(answer),
        "content": content,
        "stop_reason": ANTHROPIC_STOP[_stop(answer)],
        "usage": _anthropic_usage(answer),
    }


def _anthropic_usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }


def responses_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return b"event: %s\n" % kind.encode() + sse({"type": kind, **fields})

    document = responses_document(answer)
    yield event("response.created", response=document | {"status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(document["output"]):
        empty: dict[str, Any] = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        yield event("response.output_item.added", output_index=index, item=item | empty)
        said = item.get("arguments") or item["content"][0]["text"]
        kind = "function_call_arguments" if item["type"] == "function_call" else "output_text"
        for text in _pieces(said, piece):
            yield event(f"response.{kind}.delta", output_index=index, item_id=item["id"], delta=text)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{document['status']}", response=document)


def responses_document(answer: Answer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for call in answer.calls:
        item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
        output.append(item | {"arguments": call.arguments, "status": "completed"})
    reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(answer.stop)
    usage = {
        "input_tokens": answer.usage.input,
        "input_tokens_details": {"cached_tokens": answer.usage.cache_read},
        "output_tokens": answer.usage.output,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "model": _model(answer),
        "output": output,
        "usage": usage,
    }


EVENTS: dict[str, Callable[[Answer, int], Iterator[bytes]]] = {
    "anthropic": anthropic_events,
    "chat": chat_events,
    "responses": responses_events,
}
DOCUMENTS: dict[str, Callable[[Answer], dict[str, Any]]] = {
    "anthropic": anthropic_document,
    "chat": chat_document,
    "responses": responses_document,
}


def dialect_of(path: str) -> str:
    """Which one a request is in, by where it goes."""
    path = path.partition("?")[0]
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/responses"):
        return "responses"
    return "chat"


def _stop(answer: Answer) -> Stop:
    """Scripts need not say that an answer with calls stops for them."""
    return "calls" if answer.calls and answer.stop == "end" else answer.stop


def _model(answer: Answer) -> str:
    return answer.model or "wire-model"


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def main() -> None:
    """`python -m tests.wire`: answer every request with the same words, for trying things out by hand."""
    with WireModel(lambda request: Answer(text="I am a fake on loopback.")) as wire:
        print(wire.base_url, flush=True)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    main()
