"""What all models behind HTTP share: one POST per round, each message encoded once, an answer assembled as it arrives.

An answer is read as it streams in (server-sent events) or as one JSON document when a server does not stream. Any error
on the way is raised as `TransientError` or `RequestRefused`; see faults.py.

A new protocol is one file with a `HttpModel` and its reader, and one row in `providers.DIALECTS`."""

import asyncio
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct, field

from bough.adapters.models import faults, wire
from bough.adapters.models.faults import Endpoint, LinkError, Reply, Timeouts
from bough.adapters.models.prices import Price, Window
from bough.core.conversation.compaction import measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.text_fitting import BYTES
from bough.core.errors import RequestRefused, TooLong, TransientError, Unavailable, UsageError
from bough.core.messages import Answer, Call, Message, ModelMessage, Picture, Prompt, ToolSpec, Usage
from bough.core.textual.spelling import UNREADABLE

Encode = Callable[[Message, str], tuple[bytes, str]]
"""Takes a message and the state in which the bytes before it ended ("" at the start); returns its bytes and the state
after them."""

CONNECT_TIMEOUT = 30.0
LONGEST = 3600.0
"""Seconds that a call may take in all, unless set otherwise."""
CONTENT = 8_000_000
"""The most bytes of text in an answer; much of a stream is not text. A conversation keeps the text, and is sent again
every round."""
LINGER = 0.25
"""Seconds spent on reading past an answer's end mark, so that the connection can be reused."""
MOST = 256
"""The most encoded conversations kept."""
ROOM = 64_000_000
"""The most bytes of encoded conversations kept; the latest conversation is kept whatever its size."""


class _EncodedConversation(Struct, eq=False):
    """One conversation: the bytes of its messages, and where each message ends in them."""

    trail: PersistentList[Message]
    body: bytearray = field(default_factory=bytearray)
    ends: list[int] = []
    state: str = ""


class Prefixes:
    """The encoded conversations in use. Providers store nothing between calls, so every round sends the whole
    conversation; only the new part of it is encoded, whatever the length of the rest.

    Safe to share among any number of agents of one event loop: nothing here waits. A trail (a list of messages) that
    branched off has a root of its own and is encoded again; a shorter trail of a known root is only copied."""

    def __init__(self, encode: Encode, most: int = MOST, room: int = ROOM) -> None:
        self._encode = encode
        self._most = most
        self._room = room
        self._kept: list[_EncodedConversation] = []
        self._size = 0
        self.encoded = 0
        """How many messages were encoded so far; each is encoded once, however often it is sent."""

    def bytes_of(self, trail: PersistentList[Message]) -> bytes | bytearray:
        """Return the bytes of all messages of the trail. A bytearray belongs to this object and will grow: copy it
        before anything waits."""
        kept = self._find(trail)
        count = len(kept.ends)
        if len(trail) < count:
            end = kept.ends[len(trail) - 1] if len(trail) else 0
            return bytes(memoryview(kept.body)[:end])
        for message in trail.since(count):
            piece, kept.state = self._encode(message, kept.state)
            kept.body += piece
            kept.ends.append(len(kept.body))
            self._size += len(piece)
            self.encoded += 1
        while len(self._kept) > 1 and (len(self._kept) > self._most or self._size > self._room):
            self._size -= len(self._kept.pop(0).body)
        return kept.body

    def end_of(self, trail: PersistentList[Message], count: int) -> int:
        """Return where the first `count` messages of a trail end in the bytes just returned for it."""
        return self._find(trail).ends[count - 1] if count else 0

    def clear(self) -> None:
        self._kept.clear()
        self._size = 0

    def _find(self, trail: PersistentList[Message]) -> _EncodedConversation:
        """Find the stored conversation, or add one, and move it to the end: the list is in order of use."""
        kept = next((each for each in reversed(self._kept) if each.trail.same_root(trail)), None)
        if kept is None:
            kept = _EncodedConversation(trail)
        else:
            self._kept.remove(kept)
        self._kept.append(kept)
        return kept


Progress = Callable[[str], None]
ABOUT_IMAGES = re.compile(r"(?i)image|vision|multi-?modal|inline_?data")


class Options(Struct, frozen=True):
    """Differences among models of one protocol."""

    usage: bool = True
    """Whether to ask for the token usage. Some servers reject that option, and send the usage anyway."""
    temperature: bool = True
    """Whether to send a temperature. Some servers' models reject one."""
    foreign_call: dict[str, Any] | None = None
    """The `extra_content` to send with a call that another model made: Gemini rejects a turn whose calls have none."""
    images: bool = False
    price: Price = lambda usage, model: None
    window: Window = lambda: 0
    longest: float = LONGEST


DEFAULT = Options()


class RemoteModel(ABC):
    """One model of one endpoint. Shared by any number of agents."""

    def __init__(self, at: Endpoint, timeout: float, options: Options) -> None:
        self.name = at.name
        self._at = at
        self._timeout = timeout
        self._options = options
        self._sees = options.images

    @cached_property
    def window(self) -> int:
        return self._options.window()

    async def ask(self, prompt: Prompt, progress: Progress) -> Answer:
        try:
            answer = await self._ask(prompt, progress)
        except TooLong as error:
            self.window = error.window or self.window
            raise
        return msgspec.structs.replace(answer, cost=self._options.price(answer.usage, answer.model))

    @abstractmethod
    async def _ask(self, prompt: Prompt, progress: Progress) -> Answer:
        """Return the answer, without its cost."""

    def _kept(self, extra: str) -> dict[str, Raw]:
        """Return what this model wants sent back; empty if another model wrote it, because this one would reject it."""
        kept = wire.parse_fields(extra) if extra else None
        return kept if kept and bytes(kept.get("by", Raw())) == msgspec.json.encode(self.name) else {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class HttpModel(RemoteModel):
    listing: ClassVar[str] = "/models"
    """The path of the endpoint's list of models."""
    reader: ClassVar[type[wire.BaseReader]]
    path: ClassVar[str]
    """The path of the model's requests, below the base URL."""

    def __init__(self, client: wire.Client, at: Endpoint, timeout: float, options: Options = DEFAULT) -> None:
        super().__init__(at, timeout, options)
        if not (at.key.isascii() and at.key.isprintable()) or " " in at.key:
            raise UsageError(f"The value of {at.key_variable} is not a key: it has characters that keys never have.")
        self._client, self._url = client, wire.join_url(at.base_url, self.path)
        # Ask for no compression: a proxy that compresses a stream holds it back until a block is full.
        fixed = {"accept": "text/event-stream", "accept-encoding": "identity", "content-type": "application/json"}
        named = {**fixed, "user-agent": "bough", **self.headers(at.key)}
        self._headers = [(name.encode(), value.encode()) for name, value in named.items()]
        self._timeouts = Timeouts(min(timeout, CONNECT_TIMEOUT), timeout, patient=True)
        self._head = lru_cache(MOST)(self._system)
        """The part before the messages, which stays the same from round to round."""
        self._offers: dict[int, tuple[tuple[ToolSpec, ...], bytes]] = {}
        self._prefixes = Prefixes(self._encode)
        self._pictures: dict[str, bytes] = {}

    async def _ask(self, prompt: Prompt, progress: Progress) -> Answer:
        reader = self.reader(self.name, progress)
        try:
            await self._post(self.body(prompt), reader)
        except RequestRefused as error:
            if not (self._sees and prompt.pictures and ABOUT_IMAGES.search(str(error))):
                raise
            # The model takes no images after all, or not this one: continue with text.
            self._sees = False
            self._prefixes.clear()
            return await self._ask(prompt, progress)
        return reader.answer()

    async def close(self) -> None:
        self._prefixes.clear()

    async def _post(self, body: bytes, reader: wire.BaseReader) -> None:
        """Send the body and pass the reader everything that comes back."""
        try:
            async with asyncio.timeout(self._options.longest):
                link = self._client.link(self._url)
                async with link.exchange("POST", self._url, self._headers, body, self._timeouts) as reply:
                    await self._read(reply, reader)
        except TimeoutError as error:
            raise _attach_usage(faults.explain_timeout(self._at, self._options.longest), reader) from error
        except LinkError as error:
            raise _attach_usage(faults.explain_link_error(self._at, error, self._timeout), reader) from error
        except wire.Complaint as complaint:
            raise _attach_usage(faults.explain_error(self._at, complaint.error), reader) from None
        except TransientError as error:
            raise _attach_usage(error, reader) from error.__cause__

    async def _read(self, reply: Reply, reader: wire.BaseReader) -> None:
        chunks = reply.pieces
        if reply.status // 100 != 2:
            raise faults.explain_status(self._at, reply.status, reply.headers, await wire.read_everything(chunks))
        first = b""  # Skip leading blanks: `first` becomes the first chunk with anything else.
        async for chunk in chunks:
            if first := chunk.lstrip(b"\xef\xbb\xbf \t\r\n"):
                break
        # Go by the first byte, not by the content type: gateways and local servers send streams and errors under any.
        if first[:1] == b"{":
            body = first + await wire.read_everything(chunks)
            if len(body) > wire.LIMIT:
                raise faults.explain_oversize(self._at, wire.LIMIT)
            self._take(reader.whole, body)
            self._check_size(len(body), reader)
        elif first[:1] == b"<":
            at = self._at
            raise RequestRefused(f"{at.host} sent a web page, not a model's answer, for {at.name}; check the base URL.")
        else:
            await self._read_stream(first, chunks, reader)

    async def _read_stream(self, first: bytes, chunks: AsyncGenerator[bytes, None], reader: wire.BaseReader) -> None:
        events = wire.Events()
        size = len(first)
        for payload in events.feed(first):
            self._take(reader.event, payload)
        if not reader.finished:
            async for chunk in chunks:
                size += len(chunk)
                if size > wire.LIMIT:
                    raise faults.explain_oversize(self._at, wire.LIMIT)
                for payload in events.feed(chunk):
                    self._take(reader.event, payload)
                # Do not wait for the connection's end: some servers keep it open for minutes after their end mark.
                if reader.finished:
                    break
        self._check_size(size, reader)
        if reader.finished:
            # The answer is complete. Read what the server still sends after it, so that the connection can be reused.
            with suppress(TimeoutError, LinkError):
                async with asyncio.timeout(LINGER):
                    async for _ in chunks:
                        pass
            return
        for payload in events.close():
            self._take(reader.event, payload)
        # An answer cut off between two tool calls looks whole: acting on half of it is worse than asking again.
        if not reader.finished and not reader.ended():
            raise faults.explain_cut_stream(self._at)

    def _check_size(self, size: int, reader: wire.BaseReader) -> None:
        if size <= CONTENT:
            return
        said = reader.answer()
        if measure_messages((ModelMessage(said.text, said.calls, said.extra),)) * BYTES > CONTENT:
            raise faults.explain_oversize(self._at, CONTENT)

    def _take(self, read: Callable[[bytes], None], payload: bytes) -> None:
        try:
            read(payload)
        except UNREADABLE as error:
            raise faults.explain_garbled(self._at, payload) from error

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """Return the headers that identify the caller."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @staticmethod
    def root(url: str) -> str:
        """Return the base URL without the parts of the protocol's own path that people append."""
        return url

    def body(self, prompt: Prompt) -> bytes:
        # The conversation's bytes belong to `_prefixes` and will grow: copy them before anything waits.
        self._pictures = prompt.pictures
        messages = self._prefixes.bytes_of(prompt.messages)
        settings = msgspec.json.encode(self._settings(prompt))[:-1]
        return b"".join(
            (settings, self._offer(prompt.tools), self._head(prompt.system), *self._finish(prompt, messages))
        )

    @abstractmethod
    def _settings(self, prompt: Prompt) -> dict[str, Any]:
        """Return the fields besides the system prompt, the tools and the messages."""

    @staticmethod
    @abstractmethod
    def _system(text: str) -> bytes:
        """Return the beginning of the request with the system prompt, if any, up to the first message."""

    @abstractmethod
    def _finish(self, prompt: Prompt, messages: bytes | bytearray) -> Iterable[bytes | bytearray]:
        """Return the messages, and the end of the request."""

    @staticmethod
    @abstractmethod
    def _tools(specs: tuple[ToolSpec, ...]) -> list[Any]:
        """Return the tools in the protocol's form."""

    @abstractmethod
    def _encode(self, message: Message, before: str) -> tuple[bytes, str]:
        """Encode a message after one that left the state `before`; return its bytes and its own state."""

    def _offer(self, specs: tuple[ToolSpec, ...]) -> bytes:
        """Return the encoded tools, cached by how many there are: the last round has fewer than the others."""
        known = self._offers.get(len(specs))
        if known is None or known[0] != specs:
            offered = b',"tools":' + msgspec.json.encode(self._tools(specs)) if specs else b""
            known = self._offers[len(specs)] = (specs, offered)
        return known[1]

    def _shown(self, picture: Picture | None) -> str:
        """Return the image in base64, or nothing for a model that takes no images."""
        raw = self._pictures.get(picture.blob) if picture and self._sees else None
        return b64encode(raw).decode() if raw else ""


def _attach_usage(error: Unavailable, reader: wire.BaseReader) -> Unavailable:
    """Add the estimated usage of the part that has arrived to the error, so that it is charged."""
    if isinstance(error, TransientError):
        came = reader.answer()
        output = came.usage.output or measure_messages((ModelMessage(came.text, came.calls, came.extra),))
        if output or came.usage.input:
            error.usage = Usage(came.usage.input, output, came.usage.cache_read, came.usage.cache_write, estimated=True)
    return error


def ensure_content(text: str) -> str:
    """Return the text, or a placeholder if it is blank: most servers reject blank texts in a request."""
    return text if text.strip() else wire.EMPTY


def add_counts(found: dict[str, Any], *names: str) -> int:
    """Sum these token counts; anything but a number counts as zero."""
    return sum(wire.clamp_count(count) for name in names if isinstance(count := found.get(name), int | float))


def get_arguments(call: Call) -> str:
    """Return the arguments of a call, or `{}` if they are malformed, which servers reject. The call's result told the
    model so, and the journal has the actual text."""
    return call.arguments if wire.parse_fields(call.arguments) is not None else "{}"
