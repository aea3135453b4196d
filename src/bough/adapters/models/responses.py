"""Models behind OpenAI's responses interface.

Promises: nothing is stored with the provider; reasoning comes back encrypted, is kept in `extra` and sent back in its
place, as is the phase of what the model says; each item's bytes are encoded once.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from bough.adapters.models.dialect import OrderedModel, Progress, ensure_content
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

NO_REASONING = re.compile(r"(^|[/:])(gpt-[34]|chatgpt)|-chat\b")
"""Models that do not reason, and reject requests for their reasoning."""
CACHE_KEY = 64
"""Longest name in characters under which requests with the same beginning share a cache."""


class ResponsesModel(OrderedModel):
    """One model of one endpoint. Shared by any number of agents."""

    TEXT, CALL = "message", "function_call"

    @staticmethod
    def path(model: str) -> str:
        return "/responses"

    def _always(self, model: str) -> dict[str, Any]:
        include = {} if NO_REASONING.search(model) else {"include": ["reasoning.encrypted_content"]}
        return {"model": model, "stream": True, "store": False, **include}

    def _reader(self, progress: Progress) -> ResponsesReader:
        return ResponsesReader(self.name, progress)

    def body(self, prompt: Prompt) -> bytes:
        return b"".join(
            (
                self._fixed,
                self._variable(prompt),
                self._head(prompt.system),
                self._offer(prompt.tools),
                b',"input":[',
                self._messages(prompt),
                b"]}",
            )
        )

    def _variable(self, prompt: Prompt) -> bytes:
        options: dict[str, Any] = {"prompt_cache_key": prompt.key.rpartition("#")[0][-CACHE_KEY:]}
        if prompt.temperature is not None and self._options.temperature:
            options["temperature"] = prompt.temperature
        if prompt.schema is not None:
            shape = {"type": "json_schema", "name": prompt.schema.name, "schema": prompt.schema.parameters}
            options["text"] = {"format": shape}
        return b"," + msgspec.json.encode(options)[1:-1]

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
        # The server parses the arguments and fails for good on malformed ones; the result has told the model.
        arguments = call.arguments if parse_fields(call.arguments) is not None else "{}"
        return {
            "type": "function_call",
            "call_id": call.id,
            "name": sanitize_name(call.name, "unknown"),
            "arguments": arguments,
        }

    def _verbatim(self, part: dict[str, Any]) -> Any:
        return self._text(str(part["text"]), part) if part.get("type") == self.TEXT else part

    @staticmethod
    def _system(text: str) -> bytes:
        return b',"instructions":' + msgspec.json.encode(text) if text.strip() else b""

    @staticmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> bytes:
        shaped = [
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
        return b',"tools":' + msgspec.json.encode(shaped) if shaped else b""


# ── what the server sends ───────────────────────────────────────────────────────────────────────────────────────


class _ResponsesUsageDetails(Struct):
    cached_tokens: float | None = None


class _ResponsesUsage(Struct):
    input_tokens: float | None = None
    output_tokens: float | None = None
    input_tokens_details: _ResponsesUsageDetails | None = None

    def tokens(self) -> Usage:
        cached = self.input_tokens_details.cached_tokens if self.input_tokens_details else None
        return Usage(clamp_count(self.input_tokens), clamp_count(self.output_tokens), clamp_count(cached))


class _Incomplete(Struct):
    reason: str | None = None


class _Response(Struct):
    status: str | None = None
    model: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: _ResponsesUsage | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


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


class _Item(Struct):
    """An output item: as it began or as it ended, and the pieces between."""

    item: dict[str, Any]
    text: list[str] = []
    refusal: list[str] = []
    arguments: list[str] = []

    @property
    def kind(self) -> str:
        return str(self.item.get("type") or "")

    def read(self, kind: str, name: str, pieces: list[str]) -> str:
        """The item's own parts of that kind once they arrive, else the pieces so far."""
        parts = self.item.get("content")
        listed = parts if isinstance(parts, list) else []
        found = [part.get(name) for part in listed if isinstance(part, dict) and part.get("type") == kind]
        return "".join(text for text in found if isinstance(text, str)) or "".join(pieces)

    def said(self) -> str:
        return self.read("output_text", "text", self.text)

    def refused(self) -> str:
        return self.read("refusal", "refusal", self.refusal)

    def call(self) -> Call:
        whole = self.item.get("arguments")
        arguments = whole if isinstance(whole, str) and whole else "".join(self.arguments)
        called, name = (str(self.item.get(key) or "") for key in ("call_id", "name"))
        return Call(called, name, arguments or "{}")

    def mark(self) -> dict[str, Any]:
        phase = self.item.get("phase")
        return {"type": self.kind} | ({"phase": phase} if isinstance(phase, str) else {})


class ResponsesReader(BaseReader):
    """Assembles an answer from events."""

    stops: ClassVar[dict[str, Stop]] = {"max_output_tokens": "length", "content_filter": "refusal"}

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._items: dict[int, _Item] = {}

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

    def answer(self) -> Answer:
        items = [self._items[index] for index in sorted(self._items)]
        calls = tuple(item.call() for item in items if item.kind == "function_call")
        spoke = [item for item in items if item.kind == "message"]
        text = "".join(item.said() for item in spoke)
        return self._answer(text, calls, self._extra(items), "".join(item.refused() for item in spoke))

    def _item(self, index: int, item: dict[str, Any]) -> None:
        known = self._items.setdefault(index, _Item(item))
        known.item = item
        if known.kind == "message" and not known.text and (text := known.said()):
            known.text.append(text)
            self._progress(text)

    def _piece(self, kind: str, index: int, delta: Any) -> None:
        if not isinstance(delta, str):
            return
        calls = "arguments" in kind
        item = self._items.setdefault(index, _Item({"type": "function_call" if calls else "message"}))
        if calls:
            item.arguments.append(delta)
        elif "refusal" in kind:
            item.refusal.append(delta)
        else:
            item.text.append(delta)
            self._progress(delta)

    def _end(self, response: _Response) -> None:
        if response.usage is not None:
            self._usage = response.usage.tokens()
        if response.error or response.status == "failed":
            raise Complaint(response.error or {"message": "the answer ended with an error without a message"})
        self._model = response.model or self._model
        # Compatible servers may leave out the events in between and send items only here.
        for index, item in enumerate(response.output or ()):
            if index not in self._items:
                self._item(index, item)
        details = response.incomplete_details
        self._stop = (details.reason if details else None) or response.status or "completed"
        self.finished = True

    def _extra(self, items: list[_Item]) -> str:
        """What must be sent back besides text and calls, with their places marked."""
        kinds = [item.kind for item in items]
        alone = kinds.count("message") == 1
        content: list[dict[str, Any]] = []
        for item in items:
            if item.kind == "function_call" or (item.kind == "message" and alone):
                content.append(item.mark())
            elif item.kind == "message":
                content += [item.mark() | {"text": item.said()}] if item.said().strip() else []
            elif item.kind == "reasoning":
                content += _encode_reasoning(item.item)
        if all(part in ({"type": "message"}, {"type": "function_call"}) for part in content):
            return ""
        return encode_json({"by": self._name, "content": content})


def _encode_reasoning(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Reasoning as it is sent back. What is neither encrypted nor plain text is only a name, which the provider does
    not keep for us."""
    if not (item.get("encrypted_content") or item.get("content")):
        return []
    kept = {key: item[key] for key in ("type", "id", "summary", "content", "encrypted_content") if item.get(key)}
    return [{"summary": []} | kept]
