"""Models behind Anthropic's messages interface.

Promises: roles alternate (results of calls and what bough says next are one user turn); the provider caches the
conversation from round to round; thinking is kept in `extra` and sent back in its place, as its signatures require;
each block's bytes are encoded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.dialect import (
    OpenPart,
    OrderedModel,
    OrderedReader,
    Progress,
    add_counts,
    encode_turn,
    ensure_content,
    get_arguments,
)
from bough.adapters.models.wire import Complaint, decode, encode_json, parse_fields, sanitize_name
from bough.core.messages import Call, Message, Prompt, Replied, Result, Said, Stop, ToolSpec, Usage

VERSION = "2023-06-01"
MARK = b'"cache_control":{"type":"ephemeral"}'
"""Cache marks: the tools and the system prompt, which all agents of a kind share; each conversation up to its newest
block, which the next round repeats; and, after a round with many calls, up to where the one before ended, since a
provider looks for cached content no further back than 20 blocks."""
MANY = 8
"""Results of a round from which on it may be longer than that, with as many calls, a text and its thinking."""
CLOSED = b",%b}]}]}" % MARK
PIECES = ("text", "partial_json", "thinking", "signature")
"""What a block arrives in."""
NO_OUTPUT = "(no output)"
"""Replaces the empty text of a failed call, which the interface rejects."""


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _Whole(Struct):
    """A message: at the start of a stream without its content, or whole from a server that does not stream."""

    model: str | None = None
    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None
    type: str | None = None
    error: Any = None


class _AnthropicEvent(Struct):
    type: str = ""
    index: int = 0
    message: _Whole | None = None
    content_block: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_AnthropicEvent)
_WHOLE = msgspec.json.Decoder(_Whole)


class AnthropicReader(OrderedReader):
    """Assembles an answer from events."""

    TEXT, CALL = "text", "tool_use"
    stops: ClassVar[dict[str, Stop]] = {
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._counts: dict[str, Any] = {}

    def event(self, payload: bytes) -> None:
        event = decode(_EVENT, payload)
        match event.type:
            case "content_block_delta":
                if event.delta is not None:
                    self._add_piece(event.index, event.delta)
            case "content_block_start":
                self._start(event.index, event.content_block or {})
            case "message_start":
                if event.message is not None:
                    self._take_message(event.message)
            case "message_delta":
                self._stop = str((event.delta or {}).get("stop_reason") or self._stop)
                self._count(event.usage)
            case "message_stop":
                self.finished = True
            case "error":
                raise Complaint(event.error)

    def whole(self, body: bytes) -> None:
        message = decode(_WHOLE, body)
        if message.error:
            raise Complaint(message.error)
        self._take_message(message)
        for index, block in enumerate(message.content or ()):
            self._start(index, block)
        self.finished = True

    def _take_message(self, message: _Whole) -> None:
        self._model = message.model or self._model
        self._stop = message.stop_reason or self._stop
        self._count(message.usage)

    def _start(self, index: int, start: dict[str, Any]) -> None:
        block = self._parts[index] = OpenPart(start)
        if block.kind == self.TEXT and start.get("text"):
            self._progress(self._read(block))

    def _add_piece(self, index: int, delta: dict[str, Any]) -> None:
        pieces = {name: delta[name] for name in PIECES if isinstance(delta.get(name), str)}
        block = self._parts.get(index)
        if block is None:
            block = self._parts[index] = OpenPart({"type": self.TEXT} if "text" in pieces else {})
        for name, piece in pieces.items():
            block.add(name, piece)
        if pieces.get("text"):
            self._progress(pieces["text"])

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Counts are totals; a later count replaces an earlier one."""
        counts = self._counts = self._counts | {
            name: count for name, count in (usage or {}).items() if count is not None
        }
        written, read = "cache_creation_input_tokens", "cache_read_input_tokens"
        self._usage = Usage(
            # Anthropic's input_tokens leaves out what was written to the cache or read from it; other providers count
            # it.
            input=add_counts(counts, "input_tokens", written, read),
            output=add_counts(counts, "output_tokens"),
            cache_read=add_counts(counts, read),
            cache_write=add_counts(counts, written),
        )

    def _read(self, part: OpenPart) -> str:
        return str(part.start.get("text") or "") + part.join("text")

    def _call(self, part: OpenPart) -> Call:
        arguments = part.join("partial_json") or encode_json(part.start.get("input") or {})
        return Call(str(part.start.get("id") or ""), str(part.start.get("name") or ""), arguments)

    def _verbatim(self, part: OpenPart) -> list[dict[str, Any]]:
        block = dict(part.start)
        for key in ("thinking", "signature"):
            if pieces := part.join(key):
                block[key] = str(block.get(key) or "") + pieces
        if given := part.join("partial_json"):
            block["input"] = parse_fields(given) or {}
        # Thinking cut off by the token limit has no signature and would be rejected.
        cut = self.stops.get(self._stop) == "length" and part.kind == "thinking" and not block.get("signature")
        return [] if cut else [block]


# ── what bough sends ────────────────────────────────────────────────────────────────────────────────────────────


class AnthropicModel(OrderedModel):
    reader = AnthropicReader
    closing = CLOSED
    listing = "/v1/models?limit=1000"
    """The list of models; without a number the server sends only the first page."""

    @staticmethod
    def path(model: str) -> str:
        return "/v1/messages"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    @staticmethod
    def root(url: str) -> str:
        return url.removesuffix("/v1")

    def _settings(self, prompt: Prompt) -> dict[str, Any]:
        return {"model": self._at.model, "max_tokens": self._options.max_tokens, "stream": True}

    def _finish(self, prompt: Prompt, messages: bytes | bytearray) -> Iterable[bytes | bytearray]:
        # How many of the messages the last round sent; 0: this is the first.
        place = len(prompt.messages)
        while place and not isinstance(prompt.messages[place - 1], Replied):
            place -= 1
        # A mark that moves changes bytes that were sent before: only where the provider would not find what it has.
        many = place and len(prompt.messages) - place > MANY
        before = self._prefixes.end_of(prompt.messages, place - 1) if many else 0
        marked = messages[:before] + b"," + MARK if before else b""
        return marked, *super()._finish(prompt, messages[before:])

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        role = "assistant" if isinstance(message, Replied) else "user"
        return encode_turn(role, before, self._blocks(message)), role

    def _blocks(self, message: Message) -> list[Any]:
        match message:
            case Said(text):
                return [self._text(text, {})]
            case Result(call, text, ok, picture):
                block: dict[str, Any] = {"type": "tool_result", "tool_use_id": sanitize_name(call, "call")}
                if not ok:
                    return [block | {"is_error": True, "content": text if text.strip() else NO_OUTPUT}]
                if picture and (data := self._shown(picture)):
                    source = {"type": "base64", "media_type": picture.kind, "data": data}
                    return [block | {"content": [self._text(text, {}), {"type": "image", "source": source}]}]
                return [block | ({"content": text} if text else {})]
            case Replied():
                blocks = self._parts(message)
                # A turn may not end with thinking, nor be empty.
                ends = blocks and blocks[-1].get("type") in ("text", "tool_use")
                return blocks if ends else [*blocks, self._text("", {})]

    def _text(self, text: str, mark: dict[str, Any]) -> dict[str, Any]:
        return {"type": "text", "text": ensure_content(text)}

    def _call(self, call: Call, mark: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "tool_use",
            "id": sanitize_name(call.id, "call"),
            "name": sanitize_name(call.name, "unknown"),
            "input": Raw(get_arguments(call)),
        }

    @staticmethod
    def _system(text: str) -> bytes:
        block = msgspec.json.encode({"type": "text", "text": text})[:-1]
        return (b',"system":[%b,%b}]' % (block, MARK) if text.strip() else b"") + b',"messages":['

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> list[Any]:
        return [{"name": s.name, "description": s.description, "input_schema": s.parameters} for s in specs]
