"""Models behind OpenAI's responses interface.

Promises: nothing is stored with the provider; reasoning comes back encrypted, is kept in `extra` and sent back in its
place, as is the phase of what the model says; each item's bytes are encoded once.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from bough.adapters.models.dialect import (
    OpenPart,
    OrderedModel,
    OrderedReader,
    add_counts,
    ensure_content,
    get_arguments,
)
from bough.adapters.models.wire import Complaint, decode, sanitize_name
from bough.core.messages import Call, Message, Prompt, Replied, Result, Said, Stop, ToolSpec, Usage

NO_REASONING = re.compile(r"(^|[/:])(gpt-[34]|chatgpt)|-chat\b")
"""Models that do not reason, and reject requests for their reasoning."""
CACHE_KEY = 64
"""Longest name in characters under which requests with the same beginning share a cache."""


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _Response(Struct):
    status: str | None = None
    model: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    incomplete_details: dict[str, Any] | None = None


class _ResponsesEvent(Struct):
    type: str = ""
    output_index: int = 0
    item: dict[str, Any] | None = None
    delta: Any = None
    response: _Response | None = None
    error: Any = None
    code: Any = None
    message: Any = None


_EVENT = msgspec.json.Decoder(_ResponsesEvent)
_RESPONSE = msgspec.json.Decoder(_Response)


class ResponsesReader(OrderedReader):
    """Assembles an answer from events."""

    TEXT, CALL = "message", "function_call"
    stops: ClassVar[dict[str, Stop]] = {"max_output_tokens": "length", "content_filter": "refusal"}

    def event(self, payload: bytes) -> None:
        if payload[:6] == b"[DONE]":
            return
        event = decode(_EVENT, payload)
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta" | "response.function_call_arguments.delta":
                self._piece(event.type, event.output_index, event.delta)
            case "response.output_item.added" | "response.output_item.done":
                self._item(event.output_index, event.item or {})
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(event.response or _Response())
            case "response.created" | "response.in_progress":
                self._model = (event.response.model if event.response else None) or self._model
            case "error":
                raise Complaint(event.error or {"code": event.code, "message": event.message})

    def whole(self, body: bytes) -> None:
        response = decode(_RESPONSE, body)
        if response.output is None and not response.error:
            raise msgspec.DecodeError("no output, and no error")
        self._end(response)

    def _item(self, index: int, item: dict[str, Any]) -> None:
        known = self._parts.setdefault(index, OpenPart(item))
        known.start = item
        if known.kind == self.TEXT and not known.join("text") and (text := self._read(known)):
            known.add("text", text)
            self._progress(text)

    def _piece(self, kind: str, index: int, delta: Any) -> None:
        if not isinstance(delta, str):
            return
        calls = "arguments" in kind
        part = self._parts.setdefault(index, OpenPart({"type": self.CALL if calls else self.TEXT}))
        part.add("arguments" if calls else "refusal" if "refusal" in kind else "text", delta)
        if not calls and "refusal" not in kind:
            self._progress(delta)

    def _end(self, response: _Response) -> None:
        if response.usage is not None:
            details = response.usage.get("input_tokens_details")
            self._usage = Usage(
                input=add_counts(response.usage, "input_tokens"),
                output=add_counts(response.usage, "output_tokens"),
                cache_read=add_counts(details, "cached_tokens") if isinstance(details, dict) else 0,
            )
        if response.error or response.status == "failed":
            raise Complaint(response.error or {"message": "the answer ended with an error without a message"})
        self._model = response.model or self._model
        # Compatible servers may leave out the events in between and send items only here.
        for index, item in enumerate(response.output or ()):
            if index not in self._parts:
                self._item(index, item)
        self._stop = str((response.incomplete_details or {}).get("reason") or response.status or "completed")
        self.finished = True

    def _read(self, part: OpenPart) -> str:
        return _read_content(part, "output_text", "text")

    def _refused(self, part: OpenPart) -> str:
        return _read_content(part, "refusal", "refusal")

    def _call(self, part: OpenPart) -> Call:
        whole = part.start.get("arguments")
        arguments = whole if isinstance(whole, str) and whole else part.join("arguments")
        called, name = (str(part.start.get(key) or "") for key in ("call_id", "name"))
        return Call(called, name, arguments or "{}")

    def _mark(self, part: OpenPart) -> dict[str, Any]:
        phase = part.start.get("phase")
        return {"type": part.kind} | ({"phase": phase} if isinstance(phase, str) else {})

    def _verbatim(self, part: OpenPart) -> list[dict[str, Any]]:
        """Reasoning as it is sent back. What is neither encrypted nor plain text is only a name, which the provider
        does not keep for us."""
        item = part.start
        if part.kind != "reasoning" or not (item.get("encrypted_content") or item.get("content")):
            return []
        kept = {key: item[key] for key in ("type", "id", "summary", "content", "encrypted_content") if item.get(key)}
        return [{"summary": []} | kept]


def _read_content(part: OpenPart, kind: str, name: str) -> str:
    """The part's own content of that kind once it arrives, else the pieces so far."""
    content = part.start.get("content")
    listed = content if isinstance(content, list) else []
    found = [each.get(name) for each in listed if isinstance(each, dict) and each.get("type") == kind]
    return "".join(text for text in found if isinstance(text, str)) or part.join(name)


# ── what bough sends ────────────────────────────────────────────────────────────────────────────────────────────


class ResponsesModel(OrderedModel):
    reader = ResponsesReader

    @staticmethod
    def path(model: str) -> str:
        return "/responses"

    def _settings(self, prompt: Prompt) -> dict[str, Any]:
        key = prompt.key.rpartition("#")[0][-CACHE_KEY:]
        made: dict[str, Any] = {"model": self._at.model, "stream": True, "store": False, "prompt_cache_key": key}
        if not NO_REASONING.search(self._at.model):
            made["include"] = ["reasoning.encrypted_content"]
        if prompt.schema is not None:
            shape = {"type": "json_schema", "name": prompt.schema.name, "schema": prompt.schema.parameters}
            made["text"] = {"format": shape}
        return made | self._temperature(prompt)

    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        comma = b"," if before else b""
        return comma + msgspec.json.encode(self._items(message))[1:-1], "more"

    def _items(self, message: Message) -> list[Any]:
        match message:
            case Said(text):
                return [{"role": "user", "content": ensure_content(text)}]
            case Result(call, text, _, picture):
                output: Any = text
                if picture and (data := self._shown(picture)):
                    image = {"type": "input_image", "image_url": f"data:{picture.kind};base64,{data}"}
                    output = [{"type": "input_text", "text": ensure_content(text)}, image]
                return [{"type": "function_call_output", "call_id": call, "output": output}]
            case Replied():
                items = self._parts(message)
                # Reasoning must be followed by its result.
                ends = items and items[-1].get("type") != "reasoning"
                return items if ends else [*items, self._text("", {})]

    def _text(self, text: str, mark: dict[str, Any]) -> dict[str, Any]:
        phase = {"phase": mark["phase"]} if mark.get("phase") else {}
        return {"role": "assistant", "content": ensure_content(text), **phase}

    def _call(self, call: Call, mark: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "function_call",
            "call_id": call.id,
            "name": sanitize_name(call.name, "unknown"),
            "arguments": get_arguments(call),
        }

    def _verbatim(self, part: dict[str, Any]) -> Any:
        return self._text(str(part["text"]), part) if part.get("type") == self.reader.TEXT else part

    @staticmethod
    def _system(text: str) -> bytes:
        return (b',"instructions":' + msgspec.json.encode(text) if text.strip() else b"") + b',"input":['

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> list[Any]:
        return [
            {
                "type": "function",
                "name": s.name,
                "description": s.description,
                "parameters": s.parameters,
                # Strict mode wants every property to be required, and ours have defaults.
                "strict": False,
            }
            for s in specs
        ]
