"""Models behind Anthropic's messages interface.

Promises: roles alternate (results of calls and what bough says next are one user turn); the provider caches the
conversation from round to round; thinking is kept in `extra` and sent back in its place, as its signatures require;
each block's bytes are encoded once.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.dialect import OrderedModel, Progress, encode_turn, ensure_content
from bough.adapters.models.wire import (
    BaseReader,
    Complaint,
    clamp_count,
    decode,
    encode_json,
    parse_fields,
    sanitize_name,
)
from bough.core.messages import Answer, Call, Message, Prompt, Replied, Result, Said, Stop, ToolSpec, Usage

VERSION = "2023-06-01"
MARK = b'"cache_control":{"type":"ephemeral"}'
"""Cache marks: the tools and the system prompt, which all agents of a kind share; each conversation up to its newest
block, which the next round repeats; and up to where the last round ended, since a provider looks for cached content no
further back than 20 blocks, and a round with many calls is longer."""
CLOSED = b",%b}]}]}" % MARK
NO_OUTPUT = "(no output)"
"""Replaces the empty text of a failed call, which the interface rejects."""


class AnthropicModel(OrderedModel):
    """One model of one endpoint. Shared by any number of agents."""

    TEXT, CALL = "text", "tool_use"
    listing = "/v1/models?limit=1000"
    """The list of models; without a number the server sends only the first page."""

    def _always(self, model: str) -> dict[str, Any]:
        return {"model": model, "max_tokens": self._options.max_tokens, "stream": True}

    @staticmethod
    def path(model: str) -> str:
        return "/v1/messages"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    @staticmethod
    def root(url: str) -> str:
        return url.removesuffix("/v1")

    def _reader(self, progress: Progress) -> AnthropicReader:
        return AnthropicReader(self.name, progress)

    def body(self, prompt: Prompt) -> bytes:
        """The request for this prompt."""
        messages = self._messages(prompt)
        # How many of the messages the last round sent; 0: this is the first.
        place = len(prompt.messages)
        while place and not isinstance(prompt.messages[place - 1], Replied):
            place -= 1
        before = self._prefixes.end_of(prompt.messages, max(place - 1, 0))
        return b"".join(
            (
                self._fixed,
                self._head(prompt.system),
                self._offer(prompt.tools),
                b',"messages":[',
                # Marked where the last request ended, because its cache entry ends there, and the provider looks back
                # only 20 blocks from a mark for one.
                messages[:before] + b"," + MARK if before else b"",
                messages[before:],
                CLOSED if messages else b"]}",
            )
        )

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        role = "assistant" if isinstance(message, Replied) else "user"
        return encode_turn("content", role, before, self._blocks(message)), role

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
        # The interface takes only an object here; what the model actually wrote is in the journal.
        arguments = Raw(call.arguments) if parse_fields(call.arguments) is not None else {}
        return {
            "type": "tool_use",
            "id": sanitize_name(call.id, "call"),
            "name": sanitize_name(call.name, "unknown"),
            "input": arguments,
        }

    @staticmethod
    def _system(text: str) -> bytes:
        return (
            b',"system":[%b,%b}]' % (msgspec.json.encode({"type": "text", "text": text})[:-1], MARK)
            if text.strip()
            else b""
        )

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> bytes:
        shaped = [{"name": s.name, "description": s.description, "input_schema": s.parameters} for s in specs]
        return b',"tools":' + msgspec.json.encode(shaped) if shaped else b""


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _AnthropicUsage(Struct):
    input_tokens: float | None = None
    output_tokens: float | None = None
    cache_creation_input_tokens: float | None = None
    cache_read_input_tokens: float | None = None

    def tokens(self) -> Usage:
        written, read = clamp_count(self.cache_creation_input_tokens), clamp_count(self.cache_read_input_tokens)
        return Usage(
            # Anthropic's input_tokens leaves out what was written to the cache or read from it; other providers count
            # it.
            input=clamp_count(self.input_tokens) + written + read,
            output=clamp_count(self.output_tokens),
            cache_read=read,
            cache_write=written,
        )


class _Delta(Struct):
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class _Whole(Struct):
    """A message: at the start of a stream without its content, or whole from a server that does not stream."""

    model: str | None = None
    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None
    usage: _AnthropicUsage | None = None
    type: str | None = None
    error: Any = None


class _AnthropicEvent(Struct):
    type: str = ""
    index: int = 0
    message: _Whole | None = None
    content_block: dict[str, Any] | None = None
    delta: _Delta | None = None
    usage: _AnthropicUsage | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_AnthropicEvent)
_WHOLE = msgspec.json.Decoder(_Whole)


class _ContentBlock(Struct):
    """A content block that is still arriving: as it was started, and the pieces since."""

    start: dict[str, Any]
    text: list[str] = []
    thinking: list[str] = []
    signature: list[str] = []
    json: list[str] = []

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))

    def read(self) -> str:
        return str(self.start.get("text") or "") + "".join(self.text)

    def call(self) -> Call:
        arguments = "".join(self.json) or encode_json(self.start.get("input") or {})
        return Call(
            str(self.start.get("id") or ""),
            str(self.start.get("name") or ""),
            arguments,
        )

    def verbatim(self) -> dict[str, Any]:
        block = dict(self.start)
        for key, pieces in (("thinking", self.thinking), ("signature", self.signature)):
            if pieces:
                block[key] = str(block.get(key) or "") + "".join(pieces)
        if self.json:
            block["input"] = parse_fields("".join(self.json)) or {}
        return block


class AnthropicReader(BaseReader):
    """Assembles an answer from events."""

    stops: ClassVar[dict[str, Stop]] = {
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._blocks: dict[int, _ContentBlock] = {}
        self._counts = _AnthropicUsage()

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
                self._stop = (event.delta.stop_reason if event.delta else None) or self._stop
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

    def answer(self) -> Answer:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = tuple(block.call() for block in blocks if block.kind == "tool_use")
        text = "".join(block.read() for block in blocks if block.kind == "text")
        return self._answer(text, calls, self._extra(blocks))

    def _take_message(self, message: _Whole) -> None:
        self._model = message.model or self._model
        self._stop = message.stop_reason or self._stop
        self._count(message.usage)

    def _start(self, index: int, start: dict[str, Any]) -> None:
        block = self._blocks[index] = _ContentBlock(start)
        if block.kind == "text" and start.get("text"):
            self._progress(block.read())

    def _add_piece(self, index: int, delta: _Delta) -> None:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _ContentBlock({"type": "text"} if delta.text is not None else {})
        if delta.text:
            block.text.append(delta.text)
            self._progress(delta.text)
        if delta.partial_json:
            block.json.append(delta.partial_json)
        if delta.thinking:
            block.thinking.append(delta.thinking)
        if delta.signature:
            block.signature.append(delta.signature)

    def _count(self, usage: _AnthropicUsage | None) -> None:
        """Counts are totals; a later count replaces an earlier one."""
        for name in _AnthropicUsage.__struct_fields__:
            value = getattr(usage, name) if usage is not None else None
            if value is not None:
                setattr(self._counts, name, value)
        self._usage = self._counts.tokens()

    def _extra(self, blocks: list[_ContentBlock]) -> str:
        """What must be sent back besides text and calls, with their places marked."""
        kinds = [block.kind for block in blocks]
        if all(kind in ("text", "tool_use") for kind in kinds):
            return ""
        content: list[dict[str, Any]] = []
        for block in blocks:
            if block.kind == "tool_use" or (block.kind == "text" and kinds.count("text") == 1):
                content.append({"type": block.kind})
            elif block.kind == "text":
                content += [{"type": "text", "text": block.read()}] if block.read().strip() else []
            elif block.kind:
                whole = block.verbatim()
                # Thinking cut off by the token limit has no signature and would be rejected.
                cut = self.stops.get(self._stop) == "length" and block.kind == "thinking" and not whole.get("signature")
                content += [] if cut else [whole]
        return encode_json({"by": self._name, "content": content})
