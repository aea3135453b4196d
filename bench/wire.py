"""A chat-completions endpoint whose answers a function gives."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Document = dict[str, Any]


def calling(tool: str, **arguments: Any) -> Document:
    """A message with one call."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


class Wire:
    """Listens on loopback while it is entered. `answer` makes the message that answers a request; its `usage` is what
    the provider says that it used."""

    def __init__(self, answer: Callable[[Document], Document]) -> None:
        self.answer = answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "Wire":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing is printed."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                request = json.loads(body)
                message = wire.answer(request)
                said = len(json.dumps(message.get("tool_calls") or "")) + len(message.get("content") or "")
                used = message.pop("usage", None) or {
                    "prompt_tokens": len(body) // 4,
                    "completion_tokens": said // 4 + 1,
                }
                reason = "tool_calls" if message.get("tool_calls") else "stop"
                choice = {"index": 0, "message": message, "finish_reason": reason}
                answer = {"id": "x", "object": "chat.completion", "model": request["model"], "choices": [choice]}
                document = json.dumps(answer | {"usage": used}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(document)))
                with suppress(BrokenPipeError, ConnectionResetError):  # Whoever asked was killed.
                    self.end_headers()
                    self.wfile.write(document)

        return Handler
