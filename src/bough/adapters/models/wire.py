"""One HTTP client for all models of a process, and the reading of what providers send: server-sent events and JSON."""

import json
import ssl
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from bough.adapters.models.admission import Gate
from bough.adapters.models.pace import Pace
from bough.core.messages import Answer, Call, Stop, Usage
from bough.core.textual.cleaning import repair_surrogates
from bough.core.textual.spelling import UNREADABLE

if TYPE_CHECKING:
    from bough.adapters.models.direct import DirectLink

T = TypeVar("T")

EMPTY = "(empty answer)"
"""Replaces a text without content, which most servers reject in a request."""
IDLE = 30.0
"""Seconds that an unused connection stays open: tools run between rounds, and a new connection costs a handshake."""
LIMIT = 50_000_000
"""The most bytes of one answer."""


@cache
def _load_authorities() -> ssl.SSLContext:
    """Load the certificate authorities that this system trusts, once: reading them takes 40 ms."""
    if sys.platform == "linux" and ssl.get_default_verify_paths().cafile:
        return ssl.create_default_context()
    import httpx2  # The library knows other places of authorities, but takes 45 ms and 5 MB to load.

    return httpx2.create_ssl_context()


class Client:
    """The HTTP client that all models share. Links are created, and their libraries loaded, on first use."""

    def __init__(self, backoff_first: float = 1.0, backoff_longest: float = 60.0) -> None:
        """Set the first and the longest pause for servers that name none."""
        self._links: dict[tuple[bool, bool], DirectLink] = {}
        self._pauses = backoff_first, backoff_longest
        self._gates: dict[str, Gate] = {}

    def gate(self, address: str) -> Gate:
        """Return the queue of the endpoint at that address, in which all requests wait for their turn."""
        if address not in self._gates:
            host = address.partition("://")[2].partition("/")[0].rpartition("@")[2] or address
            self._gates[address] = Gate(host, Pace(*self._pauses))
        return self._gates[address]

    def link(self, url: str = "") -> "DirectLink":
        """Return the link for a URL: through a proxy if the environment names one, but direct on this machine."""
        host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        # A proxy elsewhere cannot reach servers on this machine's own loopback address.
        local = name == "localhost" or name.endswith(".localhost") or name == "::1" or name.startswith("127.")
        plain = url.startswith("http://")
        if (local, plain) not in self._links:
            from bough.adapters.models.direct import DirectLink, find_proxies

            proxies = {} if local else find_proxies()
            authorities = None if plain and not proxies else _load_authorities()
            self._links[local, plain] = DirectLink(IDLE, authorities, proxies)
        return self._links[local, plain]

    async def close(self) -> None:
        links, self._links = self._links, {}
        for link in links.values():
            await link.close()


class Complaint(Exception):
    """An error object that the server sent instead of an answer, or in the middle of one."""

    def __init__(self, error: Any) -> None:
        super().__init__("the server sent an error")
        self.error = error


class BaseReader(ABC):
    """Assembles an answer from a server's data. Raises `Complaint` for an error."""

    stops: ClassVar[dict[str, Stop]] = {}
    """The protocol's names for the reasons why an answer ended, except its normal end and a call."""

    def __init__(self, name: str, progress: Callable[[str], None]) -> None:
        self.finished = False
        """Whether the answer's end mark was seen."""
        self._name = name
        self._progress: Callable[[str], None] = lambda text: progress(repair_surrogates(text))
        self._model = ""
        self._stop = ""
        self._usage = Usage()

    @abstractmethod
    def event(self, payload: bytes) -> None:
        """Read one event of the stream."""

    @abstractmethod
    def whole(self, body: bytes) -> None:
        """Read the whole answer of a server that does not stream."""

    @abstractmethod
    def answer(self) -> Answer:
        """Return what has arrived so far."""

    def ended(self) -> bool:
        """Whether the answer is complete although the stream ended without its end mark."""
        return bool(self._stop)

    def _answer(self, text: str, calls: tuple[Call, ...], extra: str, refused: str = "") -> Answer:
        return Answer(
            text=repair_surrogates(text or refused),
            calls=repair_calls(calls),
            stop="refusal" if refused and not calls else self.stops.get(self._stop, "calls" if calls else "end"),
            usage=self._usage,
            model=repair_surrogates(self._model) or self._name.partition(":")[2],
            extra=extra,
        )


def repair_calls(calls: Iterable[Call]) -> tuple[Call, ...]:
    """Return the calls with texts that JSON can hold."""
    return tuple(Call(*(repair_surrogates(part) for part in (c.id, c.name, c.arguments, c.extra))) for c in calls)


class Events:
    """Server-sent events, cut out of the bytes as they arrive. Only the data of an event matters here."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that are complete with this chunk."""
        self._rest.append(chunk)
        if b"\n" not in chunk:
            return []
        lines = b"".join(self._rest).split(b"\n")
        self._rest = [lines.pop()]
        events = []
        for line in lines:
            # The standard allows both line ends, and proxies change one into the other.
            if line[-1:] == b"\r":
                line = line[:-1]
            if line[:5] == b"data:":
                self._data.append(line[5:].lstrip(b" "))
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        return events

    def close(self) -> list[bytes]:
        """Return the rest at the end: some servers leave out the closing blank line."""
        return self.feed(b"\n\n")


def decode(decoder: msgspec.json.Decoder[T], payload: bytes) -> T:
    """Decode JSON. Lone surrogates, left where a text was cut in mid-character, are kept: they raise no error."""
    try:
        return decoder.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\ud" not in payload and b"\\uD" not in payload:
            raise
        return msgspec.convert(json.loads(payload), decoder.type)


def encode_json(value: Any) -> str:
    """Return the value as JSON text, with lone surrogates repaired."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return repair_surrogates(json.dumps(value, ensure_ascii=False))


def clamp_count(tokens: float | None) -> int:
    """Return a token count from a server, limited to a plausible range."""
    return int(min(max(tokens or 0, 0), 10**12))


def sanitize_name(text: str, otherwise: str) -> str:
    """Return a name or id with only the characters that all providers accept, or `otherwise` if it is empty."""
    if text.isascii() and text.replace("_", "a").replace("-", "a").isalnum():
        return text
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in text) or otherwise


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def parse_fields(text: str) -> dict[str, msgspec.Raw] | None:
    """Return the fields of a JSON object, or None if the text is anything else."""
    try:
        return _OBJECT.decode(text)
    except UNREADABLE:
        return None


def join_url(base_url: str, path: str) -> str:
    """Return the base URL with the path at its end; a query (`?api-version=…`) stays where it belongs."""
    base, mark, query = base_url.partition("?")
    return base.rstrip("/") + path + ("&" if mark and "?" in path else mark) + query


async def read_everything(chunks: AsyncGenerator[bytes, None]) -> bytes:
    """Read an answer's content, or only its beginning if it exceeds `LIMIT`."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > LIMIT:
            break
    return bytes(body)
