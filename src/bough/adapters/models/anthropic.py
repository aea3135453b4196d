"""Models behind Anthropic's messages interface.

Promises: roles alternate (results of calls and what bough says next are one user turn); the conversation is cached by
the provider from round to round; thinking is kept in `extra` and sent back in its place, as its signatures demand; each
block's bytes are encoded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.faults import Endpoint
from bough.adapters.models.prefix import Heads, Prefixes
from bough.adapters.models.prices import Price, Window, unknown, unpriced
from bough.adapters.models.wire import (
    EMPTY,
    LONGEST,
    UNREADABLE,
    Client,
    Complaint,
    Wire,
    count,
    decode,
    fields,
    mended,
    packed,
    word,
)
from bough.core.errors import TooLong
from bough.core.messages import Answer, Call, Message, Prompt, Replied, Result, Said, Stop, ToolSpec, Usage

VERSION = "2023-06-01"
MAX_TOKENS = 32_000
NO_OUTPUT = "(no output)"
"""Stands for the text of a failed call that has none, which the interface refuses."""
STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicModel:
    """One model of one endpoint. Shared by any number of agents."""

    def __init__(
        self,
        client: Client,
        at: Endpoint,
        timeout: float,
        price: Price = unpriced,
        max_tokens: int = MAX_TOKENS,
        window: Window = unknown,
        longest: float = LONGEST,
    ) -> None:
        self.name = at.name
        self._price = price
        self._window = window
        headers = {"anthropic-version": VERSION} | ({"x-api-key": at.key} if at.key else {})
        self._wire = Wire(client, at, "/v1/messages", headers, timeout, longest)
        self._heads = Heads(_system, _tools)
        self._prefixes = Prefixes(self._encode)
        options = {
            "model": at.model,
            "max_tokens": max_tokens,
            "stream": True,
            "cache_control": {"type": "ephemeral"},
        }
        self._options = msgspec.json.encode(options)[:-1]

    @cached_property
    def window(self) -> int:
        return self._window()

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        reader = AnthropicReader(self.name, progress)
        try:
            await self._wire.post(self.body(prompt), reader)
        except TooLong as error:
            self.window = error.window or self.window
            raise
        answer = reader.answer()
        return msgspec.structs.replace(answer, cost=self._price(answer.usage, answer.model))

    async def close(self) -> None:
        self._prefixes.clear()

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"

    def body(self, prompt: Prompt) -> bytes:
        """The request that asks with this prompt."""
        messages = self._prefixes.bytes_of(prompt.messages)
        return b"".join(
            (
                self._options,
                self._heads.system(prompt.system),
                self._heads.tools(prompt.tools),
                b',"messages":[',
                messages,
                b"]}]}" if messages else b"]}",
            )
        )

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        """The blocks of a message, in a turn of their own or added to the open one. The last turn stays open: `body`
        closes it, so that what comes next can still join it."""
        role = "assistant" if isinstance(message, Replied) else "user"
        blocks = msgspec.json.encode(self._blocks(message))[1:-1]
        if role == before:
            return b"," + blocks, role
        opening = b'{"role":"%s","content":[' % role.encode()
        return (b"]}," if before else b"") + opening + blocks, role

    def _blocks(self, message: Message) -> list[Any]:
        match message:
            case Said(text):
                return [_text(text)]
            case Result(call, text, ok):
                block: dict[str, Any] = {"type": "tool_result", "tool_use_id": word(call, "call")}
                if not ok:
                    return [block | {"is_error": True, "content": text if text.strip() else NO_OUTPUT}]
                return [block | ({"content": text} if text else {})]
            case Replied(text, calls, extra):
                blocks = self._in_order(text, calls, extra)
                if blocks is None:
                    blocks = ([_text(text)] if text.strip() else []) + [_use(call) for call in calls]
                return blocks or [_text("")]

    def _in_order(self, text: str, calls: tuple[Call, ...], extra: str) -> list[Any] | None:
        """The blocks as this very model sent them, thinking in its place; None when there is nothing to keep."""
        kept = fields(extra) if extra else None
        if not kept or bytes(kept.get("by", Raw())) != msgspec.json.encode(self.name):
            return None
        try:
            content = msgspec.json.decode(kept.get("content", Raw(b"[]")), type=list[dict[str, Any]])
        except UNREADABLE:
            return None
        blocks: list[Any] = []
        waiting = list(calls)
        for block in content:
            if block == {"type": "tool_use"}:
                blocks += [_use(waiting.pop(0))] if waiting else []
            elif block == {"type": "text"}:
                blocks += [_text(text)] if text.strip() else []
            else:
                blocks.append(block)
        blocks += [_use(call) for call in waiting]
        # A turn may not end with thinking.
        return blocks if blocks and blocks[-1].get("type") in ("text", "tool_use") else [*blocks, _text("")]


def _system(text: str) -> bytes:
    return b',"system":' + msgspec.json.encode(text) if text.strip() else b""


def _tools(specs: tuple[ToolSpec, ...]) -> bytes:
    shaped = [{"name": s.name, "description": s.description, "input_schema": s.parameters} for s in specs]
    return b',"tools":' + msgspec.json.encode(shaped) if shaped else b""


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else EMPTY}


def _use(call: Call) -> dict[str, Any]:
    # The interface takes nothing but an object here; what the model really wrote is in the journal.
    arguments = Raw(call.arguments) if fields(call.arguments) is not None else {}
    return {"type": "tool_use", "id": word(call.id, "call"), "name": word(call.name, "unknown"), "input": arguments}


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _Usage(Struct):
    input_tokens: float | None = None
    output_tokens: float | None = None
    cache_creation_input_tokens: float | None = None
    cache_read_input_tokens: float | None = None

    def tokens(self) -> Usage:
        written, read = count(self.cache_creation_input_tokens), count(self.cache_read_input_tokens)
        return Usage(
            input=count(self.input_tokens) + written + read,
            output=count(self.output_tokens),
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
    usage: _Usage | None = None
    type: str | None = None
    error: Any = None


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Whole | None = None
    content_block: dict[str, Any] | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Event)
_WHOLE = msgspec.json.Decoder(_Whole)


class _Block:
    """A content block that is still coming in: as it was started, and the pieces since."""

    __slots__ = ("json", "signature", "start", "text", "thinking")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.signature: list[str] = []
        self.json: list[str] = []

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))

    def read(self) -> str:
        return mended(str(self.start.get("text") or "") + "".join(self.text))

    def call(self) -> Call:
        arguments = "".join(self.json) or packed(self.start.get("input") or {})
        return Call(
            mended(str(self.start.get("id") or "")), mended(str(self.start.get("name") or "")), mended(arguments)
        )

    def verbatim(self) -> dict[str, Any]:
        block = dict(self.start)
        for key, pieces in (("thinking", self.thinking), ("signature", self.signature)):
            if pieces:
                block[key] = mended(str(block.get(key) or "") + "".join(pieces))
        if self.json:
            block["input"] = fields("".join(self.json)) or {}
        return block


class AnthropicReader:
    """Puts an answer together from events."""

    def __init__(self, name: str, progress: Callable[[str], None]) -> None:
        self.finished = False
        self._name = name
        self._progress = progress
        self._blocks: dict[int, _Block] = {}
        self._stop = ""
        self._model = ""
        self._usage = _Usage()

    def event(self, payload: bytes) -> None:
        event = decode(_EVENT, payload)
        match event.type:
            case "content_block_delta":
                if event.delta is not None:
                    self._piece(event.index, event.delta)
            case "content_block_start":
                self._start(event.index, event.content_block or {})
            case "message_start":
                if event.message is not None:
                    self._message(event.message)
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
        self._message(message)
        for index, block in enumerate(message.content or ()):
            self._start(index, block)
        self.finished = True

    def ended(self) -> bool:
        return bool(self._stop)

    def answer(self) -> Answer:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = tuple(block.call() for block in blocks if block.kind == "tool_use")
        return Answer(
            text="".join(block.read() for block in blocks if block.kind == "text"),
            calls=calls,
            stop=STOPS.get(self._stop, "calls" if calls else "end"),
            usage=self._usage.tokens(),
            model=mended(self._model) or self._name.partition(":")[2],
            extra=self._extra(blocks),
        )

    def _message(self, message: _Whole) -> None:
        self._model = message.model or self._model
        self._stop = message.stop_reason or self._stop
        self._count(message.usage)

    def _start(self, index: int, start: dict[str, Any]) -> None:
        block = self._blocks[index] = _Block(start)
        if block.kind == "text" and start.get("text"):
            self._progress(block.read())

    def _piece(self, index: int, delta: _Delta) -> None:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block({"type": "text"} if delta.text is not None else {})
        if delta.text:
            block.text.append(delta.text)
            self._progress(mended(delta.text))
        if delta.partial_json:
            block.json.append(delta.partial_json)
        if delta.thinking:
            block.thinking.append(delta.thinking)
        if delta.signature:
            block.signature.append(delta.signature)

    def _count(self, usage: _Usage | None) -> None:
        """Counts are totals; a later event that has one knows better than an earlier one."""
        for name in _Usage.__struct_fields__:
            value = getattr(usage, name) if usage is not None else None
            if value is not None:
                setattr(self._usage, name, value)

    def _extra(self, blocks: list[_Block]) -> str:
        """What has to come back besides text and calls, with their places marked."""
        kinds = [block.kind for block in blocks]
        if all(kind in ("text", "tool_use") for kind in kinds):
            return ""
        content: list[dict[str, Any]] = []
        for block in blocks:
            if block.kind == "tool_use" or (block.kind == "text" and kinds.count("text") == 1):
                content.append({"type": block.kind})
            elif block.kind == "text":
                content += [{"type": "text", "text": block.read()}] if block.read().strip() else []
            elif block.kind and not self._torn(block):
                content.append(block.verbatim())
        return packed({"by": self._name, "content": content})

    def _torn(self, block: _Block) -> bool:
        """Thinking that was cut off by the limit of tokens has no signature and would be refused."""
        return STOPS.get(self._stop) == "length" and block.kind == "thinking" and not block.verbatim().get("signature")
