"""Models behind a chat completions interface: OpenAI's, and every server that speaks it.

Promises: requests streaming and understands a server that does not stream; accepts tool calls in all the shapes that
servers send (whole or in pieces, without index or id, an index used twice); keeps what must be sent back to the same
model (reasoning, signatures of calls) in `extra`; encodes each message's bytes once.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from bough.adapters.models import wire
from bough.adapters.models.dialect import HttpModel, Progress, add_counts, get_arguments
from bough.core import messages as m
from bough.core.errors import QuotaExhausted, TooLong, TransientError, Unavailable
from bough.core.textual.cleaning import repair_surrogates

IMAGES = "The images that the calls above show, in order:"
ECHOED = ("reasoning_content", "reasoning_details")
"""Fields of an answer that its provider wants sent back in later requests."""


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: Any = None
    id: Any = None
    function: _Function | None = None
    extra_content: dict[str, Any] | None = None


class _Piece(Struct):
    """A chunk's delta, or the whole message of a server that does not stream."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None


class _Choice(Struct):
    index: Any = None
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _ChatChunk(Struct):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    model: str | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_ChatChunk)


class _OpenCall(Struct):
    """A tool call that is still arriving."""

    index: Any
    id: str = ""
    name: str = ""
    arguments: list[str] = []
    extra: dict[str, Any] = {}


class ChatReader(wire.BaseReader):
    """Assembles an answer from chunks."""

    stops: ClassVar[dict[str, m.Stop]] = {
        "length": "length",
        "max_tokens": "length",
        "content_filter": "refusal",
        "refusal": "refusal",
    }

    def __init__(self, name: str, progress: Progress) -> None:
        super().__init__(name, progress)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] | None = None
        self._details: list[dict[str, Any]] = []
        self._calls: list[_OpenCall] = []
        self._others: dict[int, list[str]] = {}

    def event(self, payload: bytes) -> None:
        if payload[:6] == b"[DONE]":
            self.finished = True
        elif payload:
            self._chunk(wire.decode(_CHUNK, payload))

    def whole(self, body: bytes) -> None:
        self._chunk(wire.decode(_CHUNK, body))
        self.finished = True

    def answer(self) -> m.Answer:
        calls = tuple(self._call(call) for call in self._calls if call.name or call.arguments)
        text = "".join(self._text)
        others = tuple(repair_surrogates("".join(pieces)) for pieces in self._others.values())
        return replace(self._answer(text, calls, self._extra(), "".join(self._refusal)), others=others)

    def _chunk(self, chunk: _ChatChunk) -> None:
        if chunk.error:
            raise wire.Complaint(chunk.error)
        if chunk.usage is not None:
            details = chunk.usage.get("prompt_tokens_details")
            cached = add_counts(details, "cached_tokens") if isinstance(details, dict) else 0
            read = add_counts(chunk.usage, "prompt_tokens")
            self._usage = m.Usage(
                input=read,
                # Gemini counts thoughts, which are charged as output, only in the total.
                output=max(
                    add_counts(chunk.usage, "completion_tokens"), add_counts(chunk.usage, "total_tokens") - read
                ),
                cache_read=cached or add_counts(chunk.usage, "prompt_cache_hit_tokens"),
            )
        if chunk.model:
            self._model = chunk.model
        for place, choice in enumerate(chunk.choices or ()):
            piece = choice.delta or choice.message
            number = choice.index if isinstance(choice.index, int) else place
            if number:
                self._add_other(number, piece, choice.finish_reason)
                continue
            if piece is not None:
                self._add_piece(piece)
            if choice.finish_reason == "error":
                raise wire.Complaint({"message": "the answer ended with an error without a message"})
            if choice.finish_reason:
                self._stop = choice.finish_reason

    def _add_other(self, number: int, piece: _Piece | None, finish: str | None) -> None:
        """Add a piece of a further answer. Only its text is used, and only if the answer ends normally."""
        pieces = self._others.setdefault(number, [])
        if piece is not None:
            pieces.append(_join_text(piece))
        if self.stops.get(finish or ""):
            del self._others[number]

    def _add_piece(self, piece: _Piece) -> None:
        if piece.content:
            text = _join_text(piece)
            self._text.append(text)
            self._progress(text)
        if piece.refusal:
            self._refusal.append(piece.refusal)
        if piece.reasoning_content is not None:
            self._reasoning = self._reasoning or []
            self._reasoning.append(piece.reasoning_content)
        if piece.reasoning_details:
            self._details += [detail for detail in piece.reasoning_details if isinstance(detail, dict)]
        for call in piece.tool_calls or ():
            self._add_call_piece(call)

    def _add_call_piece(self, piece: _CallPiece) -> None:
        function = piece.function or _Function()
        call = self._open_call(piece, function.name or "")
        if piece.id is not None and not call.id:
            call.id = str(piece.id)
        # Some servers send a name in pieces, others repeat the whole name with every piece.
        if function.name and function.name != call.name:
            call.name += function.name
        if isinstance(function.arguments, str):
            call.arguments.append(function.arguments)
        elif function.arguments is not None:
            call.arguments.append(wire.encode_json(function.arguments))
        if piece.extra_content:
            call.extra |= piece.extra_content

    def _open_call(self, piece: _CallPiece, name: str) -> _OpenCall:
        """Find the call that a piece belongs to, or begin one. Some servers use one index for all calls, or leave out
        the index or the ids: there a piece with a name is a new call if it has another id, or comes after a complete
        call."""
        call = next((call for call in reversed(self._calls) if piece.index in (None, call.index)), None)
        if call is not None and name:
            complete = piece.id is None and wire.parse_fields("".join(call.arguments)) is not None
            another = piece.id is not None and call.id and str(piece.id) != call.id
            call = None if complete or another else call
        if call is None:
            call = _OpenCall(piece.index)
            self._calls.append(call)
        return call

    def _call(self, call: _OpenCall) -> m.Call:
        extra = self._pack_extra({"extra_content": call.extra}) if call.extra else ""
        return m.Call(call.id, call.name, "".join(call.arguments), extra)

    def _extra(self) -> str:
        kept: dict[str, Any] = {}
        if self._reasoning is not None:
            kept["reasoning_content"] = "".join(self._reasoning)
        if self._details:
            # Join the pieces of reasoning details: consecutive pieces of one type and index are one detail.
            runs: list[list[dict[str, Any]]] = []
            for detail in self._details:
                same = runs and all(detail.get(key) == runs[-1][0].get(key) for key in ("type", "index"))
                if same and detail.get("index") is not None:
                    runs[-1].append(detail)
                else:
                    runs.append([detail])
            kept["reasoning_details"] = [_join_pieces(run) if len(run) > 1 else run[0] for run in runs]
        return self._pack_extra(kept) if kept else ""

    def _pack_extra(self, kept: dict[str, Any]) -> str:
        return wire.encode_json({"by": self._name, **kept})


def _join_text(piece: _Piece) -> str:
    """Return the text of a piece. Content may come in parts; thinking is left out."""
    parts = [{"text": piece.content}] if isinstance(piece.content, str) else piece.content or ()
    read = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(each for each in read if isinstance(each, str))


def _join_pieces(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for key in dict.fromkeys(key for piece in pieces for key in piece):
        values = [piece[key] for piece in pieces if piece.get(key) is not None]
        texts = key in ("text", "summary", "data") and all(isinstance(value, str) for value in values)
        whole[key] = "".join(values) if texts else (values or [None])[-1]
    return whole


class ChatModel(HttpModel):
    reader = ChatReader
    path = "/chat/completions"
    _most_answers = _answers_now = 1_000
    """The most answers to one question that are asked for at once: `_most_answers` is lowered for good after a refusal,
    `_answers_now` for a while after a failure."""

    async def _ask(self, prompt: m.Prompt, progress: Progress) -> m.Answer:
        wanted = min(prompt.answers, self._answers_now)
        try:
            answer = await super()._ask(replace(prompt, answers=wanted), progress)
        except (TooLong, QuotaExhausted):
            raise
        except Unavailable as error:
            if wanted == 1 or (isinstance(error, TransientError) and error.sign == "throttled"):
                raise
            # Fewer answers may succeed where many took too long. Servers that give only one answer, or one per slot,
            # always refuse more.
            self._answers_now = wanted // 2
            if isinstance(error, TransientError):
                raise
            self._most_answers = self._answers_now
            return await self._ask(prompt, progress)
        if prompt.answers > 1:
            self._answers_now = min(2 * self._answers_now, self._most_answers)
        return answer

    def _settings(self, prompt: m.Prompt) -> dict[str, Any]:
        made: dict[str, Any] = {"model": self._at.model, "stream": True}
        if self._options.usage:
            made["stream_options"] = {"include_usage": True}
        if self._options.temperature and prompt.temperature is not None:
            made["temperature"] = prompt.temperature
        if prompt.answers > 1:
            made["n"] = prompt.answers
        if prompt.schema is not None:
            shape = {"name": prompt.schema.name, "schema": prompt.schema.parameters}
            made["response_format"] = {"type": "json_schema", "json_schema": shape}
        return made

    def _finish(self, prompt: m.Prompt, messages: bytes | bytearray) -> Iterable[bytes | bytearray]:
        return b"," if prompt.system and messages else b"", messages, b"]}"

    def _encode(self, message: m.Message, before: str) -> tuple[bytes, str]:
        """Encode a message. The state is the number of results still to come, and the images of those that came: a
        result can only be text, so the images follow in a message of their own after the last result."""
        left, *waiting = before.split()[1:] or ["0"]
        shaped = [self._build_message(message)]
        if isinstance(message, m.ModelMessage):
            left, waiting = str(len(message.calls)), []
        elif isinstance(message, m.Result):
            left = str(max(int(left) - 1, 0))
            waiting += [f"{message.picture.kind}:{message.picture.blob}"] if message.picture else []
            if left == "0" and waiting:
                pictures = [m.Picture(*each.split(":")) for each in waiting]
                urls = [f"data:{each.kind};base64,{data}" for each in pictures if (data := self._shown(each))]
                parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
                shaped += [{"role": "user", "content": [{"type": "text", "text": IMAGES}, *parts]}] if parts else []
                waiting = []
        comma = b"," if before else b""
        return comma + msgspec.json.encode(shaped)[1:-1], " ".join(("more", left, *waiting))

    def _build_message(self, message: m.Message) -> dict[str, Any]:
        match message:
            case m.UserMessage(text):
                return {"role": "user", "content": text}
            case m.Result(call, text):
                return {"role": "tool", "tool_call_id": call, "content": text}
            case m.ModelMessage(text, calls, extra):
                shaped: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else wire.EMPTY)}
                if calls:
                    shaped["tool_calls"] = made = [self._call(call) for call in calls]
                    if self._options.foreign_call and not any("extra_content" in call for call in made):
                        made[0]["extra_content"] = self._options.foreign_call
                return shaped | self._echo(extra, ECHOED)

    def _call(self, call: m.Call) -> dict[str, Any]:
        function = {"name": wire.sanitize_name(call.name, "unknown"), "arguments": get_arguments(call)}
        return {"id": call.id, "type": "function", "function": function} | self._echo(call.extra, ("extra_content",))

    def _echo(self, extra: str, names: tuple[str, ...]) -> dict[str, Raw]:
        kept = self._kept(extra)
        return {name: kept[name] for name in names if name in kept}

    @staticmethod
    def _system(text: str) -> bytes:
        return b',"messages":[' + (msgspec.json.encode({"role": "system", "content": text}) if text else b"")

    @staticmethod
    def _tools(specs: tuple[m.ToolSpec, ...]) -> list[Any]:
        return [
            {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.parameters}}
            for s in specs
        ]
