"""A provider on loopback: speaks chat completions, Anthropic's messages and OpenAI's responses, streaming or not, as a
script says.

    with WireModel([Answer(calls=(Call("c1", "done", '{"summary": "ok"}'),)), Status(503)]) as wire:
        run_something(base_url=wire.base_url)           # or wire.anthropic_url
    assert wire.requests[0].json["messages"][0]["role"] == "system"

Nothing but the standard library, so that any process can be pointed at it. A script is a list of items that are used up
in order, or one function of the request that is asked every time.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from bough.core.messages import Answer
from tests.wire_dialects import DOCUMENTS, EVENTS, dialect_of

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


Reply = Answer | Status | Whole | Cut | Hang | Slow | Raw
Item = Reply | Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class WireRequest:
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
        self.requests: list[WireRequest] = []
        self.looks: list[WireRequest] = []
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

    def __enter__(self) -> "WireModel":
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

    def reply(self, seen: WireRequest) -> Reply:
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

    def _keep(self, body: bytes) -> WireRequest:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = WireRequest(self.command, self.path, headers, body)
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

    def _stream(self, events: Iterator[bytes], pause: float = 0.0) -> None:
        self._begin({})
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


def main() -> None:
    """`python -m tests.wire`: answer every request with the same words, for trying things out by hand."""
    with WireModel(lambda request: Answer(text="I am a fake on loopback.")) as wire:
        print(wire.base_url, flush=True)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    main()
