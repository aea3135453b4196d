"""The endpoint is the attacker: it drips, asks to wait, and answers nonsense."""

import gzip
import http.server
import json
import time

from .attempts import attempt
from .scene import ESCAPE, Scene


def stream(handler: http.server.BaseHTTPRequestHandler) -> None:
    """Begin an answer in pieces."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("connection", "close")
    handler.end_headers()


@attempt("time")
def endpoint_drips(scene: Scene) -> None:
    """An endpoint sends a comment every second, or a byte, or nothing, and outlives the person's limit of minutes."""
    for piece in (b": wait\n\n", b"x", b"", b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'):

        def reply(handler: http.server.BaseHTTPRequestHandler, piece: bytes = piece) -> bool:
            stream(handler)
            try:
                for _ in range(200):
                    handler.wfile.write(piece)
                    handler.wfile.flush()
                    time.sleep(0.5)
            except OSError:
                pass
            return True

        scene.model.reply = reply
        scene.run("--max-minutes", "0.1", limit=40)


@attempt("time")
def endpoint_asks_to_wait(scene: Scene) -> None:
    """An endpoint answers that it is busy for years, and bough waits beyond the person's minutes."""
    for status, wait in ((429, "99999999"), (503, "1e300"), (429, "-1"), (529, "nan"), (500, "x" * 9000)):

        def reply(handler: http.server.BaseHTTPRequestHandler, status: int = status, wait: str = wait) -> bool:
            handler.send_response(status)
            handler.send_header("retry-after", wait)
            handler.send_header("x-ratelimit-reset-requests", wait)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return True

        scene.model.reply = reply
        scene.run("--max-minutes", "0.1", limit=40)


@attempt("faults")
def endpoint_answers_nonsense(scene: Scene) -> None:
    """An endpoint answers with bombs, wrong types, negative usage, escapes and a lead to the attacker's port."""
    bomb = gzip.compress(b"a" * 300_000_000)
    choice = {"index": 0, "delta": {"content": ESCAPE}, "finish_reason": ESCAPE}
    bodies: list[bytes] = [
        b"data: " + b"[" * 200000 + b"\n\n",
        b"data: {}\n\ndata: null\n\ndata: 5\n\n",
        b"\xff\xfe\0",
        b"",
        json.dumps({"choices": [choice], "usage": {"prompt_tokens": -(10**12), "completion_tokens": "x"}})
        .join(("data: ", "\n\n"))
        .encode(),
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":99999999,"function":{"name":5}}]}}]}\n\n',
        b"data: " + b"x" * 60_000_000,
        b'data: {"error": "' + b"e" * 100000 + b'"}\n\n',
    ]
    for number, body in enumerate([*bodies, bomb, b"redirect"]):

        def reply(handler: http.server.BaseHTTPRequestHandler, number: int = number, body: bytes = body) -> bool:
            try:
                if body == b"redirect":
                    handler.send_response(307)
                    handler.send_header("location", scene.port.url + "/chat/completions")
                    body = b""
                else:
                    handler.send_response(200)
                    handler.send_header("content-type", "text/event-stream")
                if body is bomb:
                    handler.send_header("content-encoding", "gzip")
                handler.send_header("content-length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)
            except OSError:
                pass
            return True

        scene.model.reply = reply
        scene.run("--max-minutes", "0.15", limit=45)
        scene.bough("show")
