"""Models behind Gemini's own interface (`generateContent`).

Promises: roles alternate; thought signatures are kept in `extra` and sent back on the very parts that they came with;
a call of another model gets the signature that Google documents for it; each part's bytes are encoded once.
"""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.dialect import (
    OpenPart,
    OrderedModel,
    OrderedReader,
    add_counts,
    encode_turn,
    ensure_content,
    get_arguments,
)
from bough.adapters.models.wire import Complaint, decode, encode_json, sanitize_name
from bough.core.messages import Call, Message, Prompt, Replied, Result, Said, Stop, ToolSpec, Usage

VERSION = "/v1beta"
FOREIGN = "skip_thought_signature_validator"
"""Replaces the signature of a call that this model did not make: newer models reject a turn without any."""
REFUSALS = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR")


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


class _GeminiChunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_GeminiChunk)


class GeminiReader(OrderedReader):
    """Assembles an answer from chunks. The last one has the finish reason and the usage."""

    TEXT, CALL = "text", "call"
    stops: ClassVar[dict[str, Stop]] = {"MAX_TOKENS": "length", **dict.fromkeys(REFUSALS, "refusal")}

    def event(self, payload: bytes) -> None:
        self._chunk(decode(_CHUNK, payload))

    def whole(self, body: bytes) -> None:
        self._chunk(decode(_CHUNK, body))
        if not self._stop:
            raise msgspec.DecodeError("no candidates, and no reason for that")
        self.finished = True

    def _chunk(self, chunk: _GeminiChunk) -> None:
        if chunk.error:
            raise Complaint(chunk.error)
        if chunk.usage_metadata is not None:
            self._usage = Usage(
                input=add_counts(chunk.usage_metadata, "promptTokenCount", "toolUsePromptTokenCount"),
                # Thoughts are charged as output and counted separately.
                output=add_counts(chunk.usage_metadata, "candidatesTokenCount", "thoughtsTokenCount"),
                cache_read=add_counts(chunk.usage_metadata, "cachedContentTokenCount"),
            )
        self._model = chunk.model_version or self._model
        # A prompt that is blocked has no candidate, and so no finish reason.
        if (chunk.prompt_feedback or {}).get("blockReason"):
            self._stop = "PROHIBITED_CONTENT"
        for candidate in (chunk.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                self._part(part)
            self._stop = candidate.finish_reason or self._stop
        self.finished = bool(self._stop and chunk.usage_metadata)

    def _part(self, part: _Part) -> None:
        called, text = part.function_call, "" if part.thought else part.text or ""
        signature = {"thoughtSignature": part.thought_signature} if part.thought_signature else {}
        if called is not None:
            self._parts[len(self._parts)] = OpenPart({"type": self.CALL, "called": called} | signature)
            return
        if not text and not signature:
            return
        last = self._parts[len(self._parts) - 1] if self._parts else None
        # A signature belongs to the very part that it came with, even to an empty one.
        if last is None or last.kind != self.TEXT or signature or "thoughtSignature" in last.start:
            last = self._parts[len(self._parts)] = OpenPart({"type": self.TEXT if text else "empty"} | signature)
        if text:
            last.add("text", text)
            self._progress(text)

    def _call(self, part: OpenPart) -> Call:
        called: _FunctionCall = part.start["called"]
        return Call(called.id or "", called.name or "", encode_json(called.args or {}))

    def _mark(self, part: OpenPart) -> dict[str, Any]:
        return {"type": part.kind} | _get_signature(part.start)

    def _verbatim(self, part: OpenPart) -> list[dict[str, Any]]:
        return [part.start]


def _get_signature(mark: dict[str, Any]) -> dict[str, Any]:
    return {"thoughtSignature": mark["thoughtSignature"]} if mark.get("thoughtSignature") else {}


# ── what bough sends ────────────────────────────────────────────────────────────────────────────────────────────


class GeminiModel(OrderedModel):
    reader = GeminiReader
    closing = b"}]}]}"
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

    def _settings(self, prompt: Prompt) -> dict[str, Any]:
        options: dict[str, Any] = dict(self._temperature(prompt))
        if prompt.schema is not None:
            options |= {"responseMimeType": "application/json", "responseJsonSchema": prompt.schema.parameters}
        return {"generationConfig": options}

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
        return {"text": text} | _get_signature(mark)

    def _call(self, call: Call, mark: dict[str, Any]) -> dict[str, Any]:
        called = {"id": call.id, "name": sanitize_name(call.name, "unknown"), "args": Raw(get_arguments(call))}
        return {"functionCall": called} | _get_signature(mark)

    def _verbatim(self, part: dict[str, Any]) -> Any:
        return self._text(str(part.get("text") or ""), part)

    @staticmethod
    def _system(text: str) -> bytes:
        shaped = msgspec.json.encode({"parts": [{"text": text}]})
        return (b',"systemInstruction":' + shaped if text.strip() else b"") + b',"contents":['

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> list[Any]:
        shaped = [{"name": s.name, "description": s.description, "parametersJsonSchema": s.parameters} for s in specs]
        return [{"functionDeclarations": shaped}]
