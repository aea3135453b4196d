"""What all models behind HTTP share: one POST per round, each message encoded once, an answer assembled as it arrives.

A new protocol is one file with a `HttpModel` and its reader, and one row in `providers.DIALECTS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from bough.adapters.models.faults import Endpoint
from bough.adapters.models.prefix import Heads, Prefixes
from bough.adapters.models.prices import Price, Window, no_price, unknown_window
from bough.adapters.models.wire import (
    EMPTY,
    LONGEST,
    UNREADABLE,
    AnswerReader,
    Client,
    Wire,
    parse_fields,
)
from bough.core.errors import Refused, TooLong
from bough.core.messages import Answer, Call, Message, Picture, Prompt, Replied, Stop, ToolSpec, Usage
from bough.core.textual.cleaning import repair_surrogates

Progress = Callable[[str], None]
ABOUT_IMAGES = re.compile(r"(?i)image|vision|multi-?modal|inline_?data")


class Options(Struct, frozen=True):
    """What varies among servers of one protocol."""

    usage: bool = True
    """Ask for the usage. Some servers reject that, and send the usage anyway."""
    temperature: bool = True
    """Send a temperature. Some servers' models reject one."""
    max_tokens: int = 32_000
    """Sent where the protocol requires a number."""
    images: bool = False
    """The model takes images."""


class HttpModel(ABC):
    """One model of one endpoint. Shared by any number of agents."""

    listing: ClassVar[str] = "/models"
    """Where the endpoint lists its models."""

    def __init__(
        self,
        client: Client,
        at: Endpoint,
        timeout: float,
        *,
        price: Price = no_price,
        window: Window = unknown_window,
        longest: float = LONGEST,
        options: Options | None = None,
    ) -> None:
        self.name = at.name
        self._price = price
        self._window = window
        self._options = options or Options()
        self._wire = Wire(client, at, self.path(at.model), self.headers(at.key), timeout, longest)
        self._heads = Heads(self._system, self._tools)
        self._prefixes = Prefixes(self._encode)
        self._fixed = msgspec.json.encode(self._always(at.model))[:-1]
        self._sees = self._options.images
        self._pictures: dict[str, bytes] = {}

    @cached_property
    def window(self) -> int:
        return self._window()

    async def ask(self, prompt: Prompt, progress: Progress) -> Answer:
        reader = self._reader(progress)
        try:
            await self._wire.post(self.body(prompt), reader)
        except TooLong as error:
            self.window = error.window or self.window
            raise
        except Refused as error:
            if not (self._sees and prompt.pictures and ABOUT_IMAGES.search(str(error))):
                raise
            # It takes none after all, or not this one: text is enough to continue with.
            self._sees = False
            self._prefixes.clear()
            return await self.ask(prompt, progress)
        answer = reader.answer()
        return msgspec.structs.replace(answer, cost=self._price(answer.usage, answer.model))

    async def close(self) -> None:
        self._prefixes.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @staticmethod
    @abstractmethod
    def path(model: str) -> str:
        """The model's path, below the base URL."""

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """What identifies the caller."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @staticmethod
    def root(url: str) -> str:
        """The base URL, without whatever part of the protocol's own path people append to it."""
        return url

    @abstractmethod
    def _always(self, model: str) -> dict[str, Any]:
        """What every request starts with."""

    @abstractmethod
    def body(self, prompt: Prompt) -> bytes:
        """The request for this prompt."""

    @abstractmethod
    def _reader(self, progress: Progress) -> AnswerReader: ...

    @staticmethod
    @abstractmethod
    def _system(text: str) -> bytes:
        """The part of the request that holds the system prompt; empty without one."""

    @staticmethod
    @abstractmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> bytes:
        """The part of the request that offers the tools; empty without any."""

    @abstractmethod
    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        """A message's bytes, after a message that left the state `before`, and the state that it leaves."""

    def _messages(self, prompt: Prompt) -> bytes | bytearray:
        """The conversation's bytes. A bytearray is not ours and will grow: copy it before anything waits."""
        self._pictures = prompt.pictures
        return self._prefixes.bytes_of(prompt.messages)

    def _shown(self, picture: Picture | None) -> str:
        """The image in base64, or nothing for a model that takes no images."""
        raw = self._pictures.get(picture.blob) if picture and self._sees else None
        return b64encode(raw).decode() if raw else ""

    def _kept(self, extra: str) -> dict[str, Raw]:
        """What this very model wants back. Another one, used for the rest of a run, would reject it."""
        kept = parse_fields(extra) if extra else None
        return kept if kept and bytes(kept.get("by", Raw())) == msgspec.json.encode(self.name) else {}


class OrderedModel(HttpModel):
    """A protocol whose answers are a list of parts, some of which (signed reasoning …) must be sent back in place. An
    answer's `extra` then lists the parts, with a mark where its text and each of its calls belong."""

    TEXT: ClassVar[str]
    CALL: ClassVar[str]
    """The `type` of those marks."""

    def _parts(self, message: Replied) -> list[Any]:
        """The parts as this model sent them, or just the text and the calls."""
        listed = self._listed(message.extra)
        waiting = list(message.calls)
        if listed is None:
            listed = [{"type": self.TEXT}]
        parts: list[Any] = []
        for part in listed:
            kind = part.get("type")
            if kind == self.CALL:
                parts += [self._call(waiting.pop(0), part)] if waiting else []
            elif kind == self.TEXT and "text" not in part:
                parts += [self._text(message.text, part)] if message.text.strip() else []
            else:
                parts.append(self._verbatim(part))
        return parts + [self._call(call, {}) for call in waiting]

    def _listed(self, extra: str) -> list[dict[str, Any]] | None:
        kept = self._kept(extra)
        if "content" not in kept:
            return None
        try:
            return msgspec.json.decode(kept["content"], type=list[dict[str, Any]])
        except UNREADABLE:
            return None

    @abstractmethod
    def _text(self, text: str, mark: dict[str, Any]) -> Any:
        """The part with the text; the mark has what else belongs to it."""

    @abstractmethod
    def _call(self, call: Call, mark: dict[str, Any]) -> Any:
        """The part with a call; the mark has what else belongs to it."""

    def _verbatim(self, part: dict[str, Any]) -> Any:
        return part


def encode_turn(key: str, role: str, before: str, parts: Iterable[dict[str, Any]]) -> bytes:
    """The parts, in a turn of their own or added to the open one: roles alternate. The last turn, and the last part in
    it, stay open, so that what comes next can still join; the caller that completes the request closes both."""
    encoded = msgspec.json.encode(list(parts))[1:-2]
    if role == before:
        return b"}," + encoded
    opening = b'{"role":"%s","%s":[' % (role.encode(), key.encode())
    return (b"}]}," if before else b"") + opening + encoded


def ensure_content(text: str) -> str:
    """Text that a server accepts back: most reject one without content."""
    return text if text.strip() else EMPTY


def repair_calls(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls with texts that JSON can hold."""
    return tuple(Call(*(repair_surrogates(part) for part in (c.id, c.name, c.arguments, c.extra))) for c in calls)


class BaseReader(ABC):
    """Assembles an answer from what a server sends."""

    stops: ClassVar[dict[str, Stop]] = {}
    """The protocol's reasons why an answer ended, where that is neither its end nor a call."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.finished = False
        self._name = name
        self._progress: Progress = lambda text: progress(repair_surrogates(text))
        self._model = ""
        self._stop = ""

    @abstractmethod
    def event(self, payload: bytes) -> None: ...

    @abstractmethod
    def whole(self, body: bytes) -> None: ...

    @abstractmethod
    def answer(self) -> Answer: ...

    def ended(self) -> bool:
        return bool(self._stop)

    def _answer(self, text: str, calls: tuple[Call, ...], usage: Usage, extra: str, refused: str = "") -> Answer:
        stop = self.stops.get(self._stop, "calls" if calls else "end")
        return Answer(
            text=repair_surrogates(text or refused),
            calls=repair_calls(calls),
            stop="refusal" if refused and not calls else stop,
            usage=usage,
            model=repair_surrogates(self._model) or self._name.partition(":")[2],
            extra=extra,
        )
