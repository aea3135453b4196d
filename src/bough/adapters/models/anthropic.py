"""Models behind Anthropic's messages interface.

Promises: roles alternate (results of calls and what bough says next are one user turn); the provider caches the
conversation from round to round; thinking is kept in `extra` and sent back in its place, as its signatures require;
each block's bytes are encoded once."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.dialect import HttpModel, Progress, add_counts, ensure_content, get_arguments
from bough.adapters.models.wire import BaseReader, Complaint, decode, encode_json, parse_fields, sanitize_name
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, Stop, ToolSpec, Usage, UserMessage
from bough.core.textual.spelling import UNREADABLE

VERSION = "2023-06-01"
LONGEST_ANSWER = 32_000
"""The most tokens of an answer; the protocol requires a number."""
MARK = b'"cache_control":{"type":"ephemeral"}'
"""Marks where a cached part of a request ends: after the tools and the system prompt, which all agents of a kind share;
after a conversation's newest block, since the next round repeats all of it; and, after a round with many calls, where
the round before it ended, since the provider looks for cached content no further back than 20 blocks."""
MANY = 8
"""A round with more results than this may have more than 20 blocks: results, as many calls, a text and thinking."""
CLOSED = b",%b}]}]}" % MARK
PIECES = ("text", "partial_json", "thinking", "signature")
NO_OUTPUT = "(no output)"
"""Replaces the empty text of a failed call, which the interface rejects."""


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


class _OpenBlock(Struct):
    """A part of an answer that is still arriving: its start, and the pieces since."""

    start: dict[str, Any]
    pieces: dict[str, list[str]] = {}

    @property
    def kind(self) -> str:
        return str(self.start.get("type") or "")

    @property
    def text(self) -> str:
        return str(self.start.get("text") or "") + self.join("text")

    def join(self, name: str) -> str:
        return "".join(self.pieces.get(name, ()))


class AnthropicReader(BaseReader):
    """Assembles an answer from events."""

    stops: ClassVar[dict[str, Stop]] = {
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._blocks: dict[int, _OpenBlock] = {}
        self._counts: dict[str, Any] = {}

    def answer(self) -> Answer:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = tuple(_make_call(block) for block in blocks if block.kind == "tool_use")
        return self._answer("".join(block.text for block in blocks if block.kind == "text"), calls, self._extra(blocks))

    def _extra(self, blocks: list[_OpenBlock]) -> str:
        """Return what must be sent back besides text and calls (signed thinking …), with marks in the places of the
        text and the calls."""
        alone = [block.kind for block in blocks].count("text") == 1
        content: list[dict[str, Any]] = []
        for block in blocks:
            if block.kind == "tool_use" or (block.kind == "text" and alone):
                content.append({"type": block.kind})
            elif block.kind == "text":
                content += [{"type": "text", "text": block.text}] if block.text.strip() else []
            elif block.kind:
                content += self._verbatim(block)
        plain = all(each["type"] in ("text", "tool_use") for each in content)
        return "" if plain else encode_json({"by": self._name, "content": content})

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
        block = self._blocks[index] = _OpenBlock(start)
        if block.kind == "text" and start.get("text"):
            self._progress(block.text)

    def _add_piece(self, index: int, delta: dict[str, Any]) -> None:
        pieces = {name: delta[name] for name in PIECES if isinstance(delta.get(name), str)}
        block = self._blocks.setdefault(index, _OpenBlock({"type": "text"} if "text" in pieces else {}))
        for name, piece in pieces.items():
            block.pieces.setdefault(name, []).append(piece)
        if pieces.get("text"):
            self._progress(pieces["text"])

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Record token counts. They are totals, so a later count replaces an earlier one."""
        counts = self._counts = self._counts | {
            name: count for name, count in (usage or {}).items() if count is not None
        }
        written, read = "cache_creation_input_tokens", "cache_read_input_tokens"
        self._usage = Usage(
            # Anthropic's input_tokens leaves out tokens written to or read from the cache; other providers count them.
            input=add_counts(counts, "input_tokens", written, read),
            output=add_counts(counts, "output_tokens"),
            cache_read=add_counts(counts, read),
            cache_write=add_counts(counts, written),
        )

    def _verbatim(self, block: _OpenBlock) -> list[dict[str, Any]]:
        whole = dict(block.start)
        for key in ("thinking", "signature"):
            if pieces := block.join(key):
                whole[key] = str(whole.get(key) or "") + pieces
        if given := block.join("partial_json"):
            whole["input"] = parse_fields(given) or {}
        # Thinking cut off by the token limit has no signature and would be rejected.
        cut = self.stops.get(self._stop) == "length" and block.kind == "thinking" and not whole.get("signature")
        return [] if cut else [whole]


def _make_call(block: _OpenBlock) -> Call:
    arguments = block.join("partial_json") or encode_json(block.start.get("input") or {})
    return Call(str(block.start.get("id") or ""), str(block.start.get("name") or ""), arguments)


class AnthropicModel(HttpModel):
    reader = AnthropicReader
    path = "/v1/messages"
    listing = "/v1/models?limit=1000"
    """The path of the list of models, with a page size: without it the server sends only the first page."""

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    @staticmethod
    def root(url: str) -> str:
        return url.removesuffix("/v1")

    def _settings(self, prompt: Prompt) -> dict[str, Any]:
        return {"model": self._at.model, "max_tokens": LONGEST_ANSWER, "stream": True}

    def _finish(self, prompt: Prompt, messages: bytes | bytearray) -> Iterable[bytes | bytearray]:
        # Count the messages up to the model's last answer; 0: this is the first round.
        place = len(prompt.messages)
        while place and not isinstance(prompt.messages[place - 1], ModelMessage):
            place -= 1
        # A moved mark changes bytes that were sent before, so move it only if the cache would not be found otherwise.
        many = place and len(prompt.messages) - place > MANY
        before = self._prefixes.end_of(prompt.messages, place - 1) if many else 0
        marked = messages[:before] + b"," + MARK if before else b""
        return marked, messages[before:], CLOSED if messages else b"]}"

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        role = "assistant" if isinstance(message, ModelMessage) else "user"
        # Roles must alternate, so a message of the same role joins the last turn: leave it and its last block open.
        encoded = msgspec.json.encode(self._blocks(message))[1:-2]
        if role == before:
            return b"}," + encoded, role
        opening = b'{"role":"%s","content":[' % role.encode()
        return (b"}]}," if before else b"") + opening + encoded, role

    def _blocks(self, message: Message) -> list[Any]:
        match message:
            case UserMessage(text):
                return [_make_text(text)]
            case Result(call, text, ok, picture):
                block: dict[str, Any] = {"type": "tool_result", "tool_use_id": sanitize_name(call, "call")}
                if not ok:
                    return [block | {"is_error": True, "content": text if text.strip() else NO_OUTPUT}]
                if picture and (data := self._shown(picture)):
                    source = {"type": "base64", "media_type": picture.kind, "data": data}
                    return [block | {"content": [_make_text(text), {"type": "image", "source": source}]}]
                return [block | ({"content": text} if text else {})]
            case ModelMessage():
                blocks = self._list_blocks(message)
                # The interface rejects a turn that is empty or ends with thinking.
                ends = blocks and blocks[-1].get("type") in ("text", "tool_use")
                return blocks if ends else [*blocks, _make_text("")]

    def _list_blocks(self, message: ModelMessage) -> list[Any]:
        """Return the blocks as this model sent them; of another model's answer just the text and the calls."""
        listed: list[dict[str, Any]] = [{"type": "text"}]
        waiting = [
            {
                "type": "tool_use",
                "id": sanitize_name(call.id, "call"),
                "name": sanitize_name(call.name, "unknown"),
                "input": Raw(get_arguments(call)),
            }
            for call in message.calls
        ]
        kept = self._kept(message.extra)
        with suppress(*UNREADABLE):
            listed = msgspec.json.decode(kept["content"], type=list[dict[str, Any]]) if "content" in kept else listed
        blocks: list[Any] = []
        for block in listed:
            if block.get("type") == "tool_use":
                blocks += [waiting.pop(0)] if waiting else []
            elif block.get("type") == "text" and "text" not in block:
                blocks += [_make_text(message.text)] if message.text.strip() else []
            else:
                blocks.append(block)
        return blocks + waiting

    @staticmethod
    def _system(text: str) -> bytes:
        block = msgspec.json.encode({"type": "text", "text": text})[:-1]
        return (b',"system":[%b,%b}]' % (block, MARK) if text.strip() else b"") + b',"messages":['

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> list[Any]:
        return [{"name": s.name, "description": s.description, "input_schema": s.parameters} for s in specs]


def _make_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": ensure_content(text)}
