"""The two servers of an attempt: the attacker's port, which hears everything, and the person's own model."""

import http.server
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any


class Port:
    """A port of the attacker on loopback that answers every request, and keeps what it heard by TCP and UDP."""

    def __init__(self) -> None:
        """Listen."""
        self.heard: list[bytes] = []
        self.answer = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}'
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.number: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.number))
        for work in (self._accept, self._receive):
            threading.Thread(target=work, daemon=True).start()

    @property
    def url(self) -> str:
        """The address as an endpoint of models."""
        return f"http://127.0.0.1:{self.number}/v1"

    def has(self, *words: str) -> bool:
        """Say whether one of the words arrived."""
        return any(word.encode() in heard for heard in self.heard for word in words)

    def _accept(self) -> None:
        while True:
            connection, _ = self._tcp.accept()
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        number = len(self.heard)
        self.heard.append(b"")
        connection.settimeout(1)
        try:
            while part := connection.recv(65536):
                self.heard[number] += part
                if b"\r\n\r\n" in self.heard[number]:
                    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: "
                    time.sleep(0.2)
                    connection.sendall(head + str(len(self.answer)).encode() + b"\r\n\r\n" + self.answer)
        except OSError:
            pass
        finally:
            connection.close()

    def _receive(self) -> None:
        while True:
            self.heard.append(self._udp.recv(65536))


class Model:
    """The person's model: a builder gets `calls` one after the other, then `done`; everyone else gets `text`."""

    def __init__(self) -> None:
        """Listen."""
        self.calls: list[tuple[str, Any]] = []
        self.text = "ok"
        self.requests: list[str] = []
        self.reply: Callable[[http.server.BaseHTTPRequestHandler], bool] | None = None
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                """Serve no list of models."""
                self._send(b'{"data":[]}', "application/json")

            def do_POST(self) -> None:
                """Answer a conversation."""
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode(errors="replace")
                model.requests.append(body)
                if model.reply is not None and model.reply(self):
                    return
                asked = json.loads(body)
                message = model.message(asked)
                finish = "tool_calls" if "tool_calls" in message else "stop"
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                if not asked.get("stream"):
                    choice = {"index": 0, "message": message, "finish_reason": finish}
                    self._send(json.dumps({"choices": [choice], "usage": usage}).encode(), "application/json")
                    return
                choice = {"index": 0, "delta": message, "finish_reason": finish}
                line = json.dumps({"choices": [choice], "usage": usage})
                self._send(f"data: {line}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")

            def _send(self, body: bytes, kind: str) -> None:
                try:
                    self.send_response(200)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def message(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next message of a conversation."""
        tools = {tool["function"]["name"] for tool in asked.get("tools") or ()}
        number = sum(message["role"] == "assistant" for message in asked["messages"])
        if "bash" not in tools and "done" not in tools:
            return {"role": "assistant", "content": self.text}
        name, arguments = self.calls[number] if number < len(self.calls) else ("done", {"summary": "ok"})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = {"index": 0, "id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    def shown(self, *words: str) -> bool:
        """Say whether the model was sent one of the words."""
        return any(word in request for request in self.requests for word in words)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
