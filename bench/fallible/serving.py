"""The model at the wire: chat completions on loopback. Setting and seed are in the address; who asks is not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from fallible.mind import Reply, reply
from fallible.rates import SETTINGS
from fallible.shown import read_request


class FallibleModel:
    """The server, listening from `with` on until its end."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def base_url(self, setting: str, seed: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{setting}/{seed}/v1"

    def __enter__(self) -> "FallibleModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        setting, seed = self.path.split("/")[1:3]
        request = json.loads(body)
        answer = reply(read_request(request), SETTINGS[setting][0], seed)
        document = json.dumps(_document(answer, request["model"], len(body))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(document)))
        self.end_headers()
        self.wfile.write(document)


def _document(answer: Reply, model: str, size: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.tool:
        function = {"name": answer.tool, "arguments": answer.arguments}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
    used = {"prompt_tokens": size // 4, "completion_tokens": (len(answer.text) + len(answer.arguments)) // 4 + 1}
    return {"id": "x", "object": "chat.completion", "model": model, "choices": [choice], "usage": used}
