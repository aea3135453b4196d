"""Models behind Gemini's own interface (`generateContent`).

Promises: roles alternate; thought signatures are kept in `extra` and sent back on the very parts that they came with;
a call of another model gets the signature that Google documents for it; each part's bytes are encoded once.
"""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import quote

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

VERSION = "/v1beta"
FOREIGN = "skip_thought_signature_validator"
"""Replaces the signature of a call that this model did not make: newer models reject a turn without any."""
REFUSALS = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR")


class GeminiModel(OrderedModel):
    """One model of one endpoint. Shared by any number of agents."""

    TEXT, CALL = "text", "call"
    listing = f"{VERSION}/models?pageSize=1000"

    @staticmethod
    def path(model: str) -> str:
        return f"{VERSION}/models/{quote(model)}:streamGenerateContent?alt=sse"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    @staticmethod
    def root(url: str) -> str:
        return url.removesuffix(VERSION)

    def _always(self, model: str) -> dict[str, Any]:
        return {}

    def _reader(self, progress: Progress) -> GeminiReader:
        return GeminiReader(self.name, progress)

    def body(self, prompt: Prompt) -> bytes:
        messages = self._messages(prompt)
        return b"".join(
            (
                self._fixed,
                b'"contents":[',
                messages,
                b"}]}]" if messages else b"]",
                self._head(prompt.system),
                self._offer(prompt.tools),
                self._variable(prompt),
                b"}",
            )
        )

    def _variable(self, prompt: Prompt) -> bytes:
        options: dict[str, Any] = {}
        if prompt.temperature is not None:
            options["temperature"] = prompt.temperature
        if prompt.schema is not None:
            options |= {"responseMimeType": "application/json", "responseJsonSchema": prompt.schema.parameters}
        return b',"generationConfig":' + msgspec.json.encode(options) if options else b""

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        """The state is the role, and the names of the calls whose results come next: a result must name its tool."""
        role, _, names = before.partition(" ")
        called: dict[str, str] = msgspec.json.decode(names) if names else {}
        match message:
            case Said(text):
                return encode_turn("parts", "user", role, [{"text": ensure_content(text)}]), f"user {names}".strip()
            case Result(call, text, ok, picture):
                response = {"output" if ok else "error": text}
                part = {"id": call, "name": called.get(call, "unknown"), "response": response}
                parts: list[dict[str, Any]] = [{"functionResponse": part}]
                if picture and (data := self._shown(picture)):
                    parts.append({"inlineData": {"mimeType": picture.kind, "data": data}})
                return encode_turn("parts", "user", role, parts), f"user {names}".strip()
            case Replied(_, calls):
                parts = self._parts(message) or [{"text": ensure_content("")}]
                first = next((part for part in parts if "functionCall" in part), {})
                if first:
                    first.setdefault("thoughtSignature", FOREIGN)
                called = {call.id: sanitize_name(call.name, "unknown") for call in calls}
                return encode_turn("parts", "model", role, parts), f"model {msgspec.json.encode(called).decode()}"

    def _text(self, text: str, mark: dict[str, Any]) -> dict[str, Any]:
        return {"text": text} | _make_signature(mark)

    def _call(self, call: Call, mark: dict[str, Any]) -> dict[str, Any]:
        # The interface takes only an object here; what the model actually wrote is in the journal.
        arguments = Raw(call.arguments) if parse_fields(call.arguments) is not None else {}
        called = {"id": call.id, "name": sanitize_name(call.name, "unknown"), "args": arguments}
        return {"functionCall": called} | _make_signature(mark)

    def _verbatim(self, part: dict[str, Any]) -> Any:
        return self._text(str(part.get("text") or ""), part)

    @staticmethod
    def _system(text: str) -> bytes:
        shaped = {"parts": [{"text": text}]}
        return b',"systemInstruction":' + msgspec.json.encode(shaped) if text.strip() else b""

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> bytes:
        shaped = [{"name": s.name, "description": s.description, "parametersJsonSchema": s.parameters} for s in specs]
        return b',"tools":' + msgspec.json.encode([{"functionDeclarations": shaped}]) if shaped else b""


def _make_signature(mark: dict[str, Any]) -> dict[str, Any]:
    return {"thoughtSignature": mark["thoughtSignature"]} if mark.get("thoughtSignature") else {}


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _FunctionCall(Struct):
    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _GeminiUsage(Struct, rename="camel"):
    prompt_token_count: float | None = None
    tool_use_prompt_token_count: float | None = None
    candidates_token_count: float | None = None
    thoughts_token_count: float | None = None
    cached_content_token_count: float | None = None

    def tokens(self) -> Usage:
        return Usage(
            input=clamp_count(self.prompt_token_count) + clamp_count(self.tool_use_prompt_token_count),
            # Thoughts are charged as output and counted separately.
            output=clamp_count(self.candidates_token_count) + clamp_count(self.thoughts_token_count),
            cache_read=clamp_count(self.cached_content_token_count),
        )


class _GeminiChunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _GeminiUsage | None = None
    model_version: str | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_GeminiChunk)


class _Segment(Struct):
    """A call, or a stretch of text; both may carry a signature."""

    call: Call | None
    signature: str
    pieces: list[str] = []

    def read(self) -> str:
        return "".join(self.pieces)

    def listed(self, alone: bool) -> dict[str, Any]:
        mark: dict[str, Any] = {"type": "call" if self.call else "text"}
        if not self.call and not (alone and self.read().strip()):
            mark["text"] = self.read()
        return mark | ({"thoughtSignature": self.signature} if self.signature else {})


class GeminiReader(BaseReader):
    """Assembles an answer from chunks. The last one has the finish reason and the usage."""

    stops: ClassVar[dict[str, Stop]] = {"MAX_TOKENS": "length", **dict.fromkeys(REFUSALS, "refusal")}

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._segments: list[_Segment] = []

    def event(self, payload: bytes) -> None:
        self._chunk(decode(_CHUNK, payload))

    def whole(self, body: bytes) -> None:
        self._chunk(decode(_CHUNK, body))
        if not self._stop:
            raise msgspec.DecodeError("no candidates, and no reason for that")
        self.finished = True

    def answer(self) -> Answer:
        calls = tuple(segment.call for segment in self._segments if segment.call)
        text = "".join(segment.read() for segment in self._segments)
        return self._answer(text, calls, self._extra())

    def _chunk(self, chunk: _GeminiChunk) -> None:
        if chunk.error:
            raise Complaint(chunk.error)
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata.tokens()
        self._model = chunk.model_version or self._model
        # A prompt that is blocked has no candidate, and so no finish reason.
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self._stop = "PROHIBITED_CONTENT"
        for candidate in (chunk.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                self._part(part)
            self._stop = candidate.finish_reason or self._stop
        self.finished = bool(self._stop and chunk.usage_metadata)

    def _part(self, part: _Part) -> None:
        signature = part.thought_signature or ""
        if part.function_call is not None:
            called = part.function_call
            call = Call(
                called.id or "",
                called.name or "",
                encode_json(called.args or {}),
            )
            self._segments.append(_Segment(call, signature))
            return
        text = "" if part.thought else part.text or ""
        if not text and not signature:
            return
        last = self._segments[-1] if self._segments else None
        if last is None or last.call or last.signature or signature:
            last = _Segment(None, signature)
            self._segments.append(last)
        if text:
            last.pieces.append(text)
            self._progress(text)

    def _extra(self) -> str:
        """Note which part had which signature. Parts without one need only their text and their calls."""
        if not any(segment.signature for segment in self._segments):
            return ""
        alone = sum(1 for segment in self._segments if not segment.call and segment.read().strip()) == 1
        return encode_json({"by": self._name, "content": [segment.listed(alone) for segment in self._segments]})
