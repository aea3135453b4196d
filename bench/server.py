"""A fake chat-completions server that answers from a script, fast enough to be no part of what is measured.

It promises: the same answer to the same request, whoever asks; JSON or server-sent events, as the request asks; no
state between requests, since the round is the number of assistant messages in the request's body (found by counting
bytes, not by parsing JSON). The script comes with the address, so that one server drives any client:
`http://HOST:PORT/SCRIPT/v1`, where SCRIPT is what `Script.encode` gives. `GET /stats` says, per script, how many
requests came and when, and what the process has used of the processor; it starts the counting afresh.

    python bench/server.py [--port 8123]        prints the port; ends when its standard input is closed
"""

import argparse
import asyncio
import base64
import json
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

ROUND = "@N@"
"""Stands for the number of the round in a script's arguments, so that no two calls of a conversation are the same."""
MODEL = "gpt-4o"
"""A name that every peer knows the price and the abilities of, so that each does its usual work."""


@dataclass(frozen=True)
class Script:
    """What the model does: `rounds` times the tool call, then the final call (or text when `final_tool` is empty)."""

    label: str
    rounds: int
    tool: str
    arguments: str
    final_tool: str
    final: str
    """Arguments of the final call, or the final text."""

    def encode(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> "Script":
        return cls(**json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))


@dataclass
class RequestCounts:
    """The requests of one script."""

    requests: int = 0
    streamed: int = 0
    first: float = 0.0
    second: float = 0.0
    """When the second request had arrived: the first round, which warms up, ends there."""
    last: float = 0.0
    body: int = 0
    """Bytes of the longest request."""

    def note(self, now: float, streamed: bool, body: int) -> None:
        self.requests += 1
        self.streamed += streamed
        if self.requests == 1:
            self.first = now
        elif self.requests == 2:
            self.second = now
        self.last = now
        self.body = max(self.body, body)


@dataclass
class Counters:
    seen: dict[str, RequestCounts] = field(default_factory=dict)
    cpu: float = field(default_factory=time.process_time)

    def take(self) -> dict[str, Any]:
        now = time.process_time()
        stats = {"cpu": now - self.cpu, "scripts": {label: asdict(seen) for label, seen in self.seen.items()}}
        self.seen, self.cpu = {}, now
        return stats


def _message(script: Script, done: int) -> tuple[str, str, str]:
    """Text, tool and arguments of the answer to a conversation with `done` assistant messages."""
    if done < script.rounds:
        return f"I look at part {done + 1} next.", script.tool, script.arguments.replace(ROUND, str(done + 1))
    if script.final_tool:
        return "That was the last part.", script.final_tool, script.final
    return script.final, "", ""


def _usage(body: int) -> dict[str, int]:
    prompt = body // 4
    return {"prompt_tokens": prompt, "completion_tokens": 24, "total_tokens": prompt + 24}


def _frame(done: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{done}", "object": kind, "created": 1_700_000_000, "model": MODEL}


def whole(script: Script, done: int, body: int) -> bytes:
    """The answer as one JSON object."""
    text, tool, arguments = _message(script, done)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool:
        function = {"name": tool, "arguments": arguments}
        message["tool_calls"] = [{"id": f"call_{done + 1}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
    answer = json.dumps({**_frame(done, "chat.completion"), "choices": [choice], "usage": _usage(body)}).encode()
    return _head("application/json", f"Content-Length: {len(answer)}") + answer


def streamed(script: Script, done: int, body: int) -> bytes:
    """The answer as server-sent events, a word of text and a few characters of arguments at a time."""
    text, tool, arguments = _message(script, done)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word + " "} for word in text.split()]
    if tool:
        call = {"id": f"call_{done + 1}", "type": "function", "function": {"name": tool, "arguments": ""}}
        deltas.append({"tool_calls": [{"index": 0, **call}]})
        parts = [arguments[at : at + 12] for at in range(0, len(arguments), 12)]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in parts]
    frame = _frame(done, "chat.completion.chunk")
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if tool else "stop"})
    events = [json.dumps({**frame, "choices": [choice]}) for choice in choices]
    events += [json.dumps({**frame, "choices": [], "usage": _usage(body)}), "[DONE]"]
    pieces = [f"data: {event}\n\n".encode() for event in events]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return _head("text/event-stream", "Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n"


def _head(kind: str, length: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}\r\nConnection: keep-alive\r\n\r\n".encode()


def _plain(answer: bytes, status: str = "200 OK") -> bytes:
    return _head("application/json", f"Content-Length: {len(answer)}", status) + answer


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as much of it as clients of chat completions use."""

    def __init__(self, counters: Counters, scripts: dict[str, Script]) -> None:
        self.counters = counters
        self.scripts = scripts
        self.buffer = bytearray()
        self.needed = 0
        """Length of the request that is coming in, once its head is there."""
        self.body_at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while self._complete():
            request = bytes(self.buffer[: self.needed])
            del self.buffer[: self.needed]
            body_at, self.needed = self.body_at, 0
            self.transport.write(self._answer(request, body_at))

    def _complete(self) -> bool:
        if not self.needed:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return False
            head = bytes(self.buffer[:end]).lower()
            if b"\r\ntransfer-encoding:" in head:
                self.transport.write(_plain(b'{"error": {"message": "send a Content-Length"}}', "411 Length Required"))
                self.transport.close()
                self.buffer.clear()
                return False
            at = head.find(b"\r\ncontent-length:")
            length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            self.body_at = end + 4
            self.needed = self.body_at + length
        return len(self.buffer) >= self.needed

    def _answer(self, request: bytes, body_at: int) -> bytes:
        now = time.perf_counter()
        path = request.split(b" ", 2)[1].decode()
        if path == "/stats":
            return _plain(json.dumps(self.counters.take()).encode())
        name, _, rest = path[1:].partition("/")
        if rest != "v1/chat/completions":
            return _plain(b'{"error": {"message": "only chat completions"}}', "404 Not Found")
        script = self.scripts.get(name)
        if script is None:
            script = self.scripts[name] = Script.decode(name)
        done = sum(request.count(mark, body_at) for mark in (b'"role":"assistant"', b'"role": "assistant"'))
        stream = any(request.find(mark, body_at) >= 0 for mark in (b'"stream":true', b'"stream": true'))
        body = len(request) - body_at
        self.counters.seen.setdefault(script.label, RequestCounts()).note(now, stream, body)
        return streamed(script, done, body) if stream else whole(script, done, body)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    counters, scripts, closed = Counters(), dict[str, Script](), asyncio.Event()
    server = await loop.create_server(lambda: Connection(counters, scripts), "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(closed.set)

    threading.Thread(target=wait, daemon=True).start()
    await closed.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="a free one when not given")
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
