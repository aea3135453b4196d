"""The straight way to a server: HTTP/1.1 over the event loop's own streams.

A whole HTTP library also does HTTP/2, other event loops and proxies; loading it takes 130 ms, and a request three times
as long. What is written and read is h11's in both. Promises: the timeouts of a request are kept; what goes wrong is one
of the errors of link.py; a connection is used again only when its last answer was read to its end.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import h11
from msgspec import Struct

from bough.adapters.models.link import (
    BadAddress,
    Headers,
    LinkError,
    Reply,
    Silent,
    Timeouts,
    Unreachable,
    UnreachableInTime,
)

if TYPE_CHECKING:
    import ssl

READ = 65_536
"""Bytes that are taken from a connection at once."""
HEAD = 100_000
"""Bytes of an answer's head, at most."""
SECOND_ADDRESS = 0.25
"""Seconds after which a host's next address is tried beside the one that has not answered."""
ENOUGH = "%/:@!$&'()*+,;=~?"
"""Characters of a path and a query that stay as they are, beside letters, digits and `_.-`."""

Origin = tuple[bool, str, int]


class Address(Struct, frozen=True):
    """Where a URL leads."""

    origin: Origin
    """Whether it is secure, the host and the port."""
    target: str
    headers: Headers
    """Those that follow from the URL: the host, and credentials that are in it, which go before any others."""


class DirectLink:
    """Keeps a connection for `idle` seconds after its last use. As many at once as there are requests."""

    def __init__(self, authorities: Callable[[], ssl.SSLContext], idle: float) -> None:
        self._authorities = authorities
        self._keep = idle
        self._idle: dict[Origin, list[_Connection]] = {}
        self._closed = False

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Reply]:
        address = addressed(url)
        own = {name for name, _ in address.headers}
        size = (b"content-length", b"%d" % len(body))
        all_headers = [*address.headers, *(header for header in headers if header[0] not in own), size]
        try:
            head = h11.Request(method=method, target=address.target, headers=all_headers)
        except h11.LocalProtocolError as error:  # characters that no request can have
            raise BadAddress(str(error)) from error
        connection = self._waiting(address.origin) or await self._connected(address.origin, timeouts.connect)
        try:
            await connection.send(head, body, timeouts.quiet)
            answer = await connection.head(timeouts.first)
            named = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
            packed = named.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate")
            pieces = connection.body(timeouts.first, timeouts.quiet)
            async with aclosing(_unpacked(pieces) if packed else pieces) as content:
                yield Reply(answer.status_code, named, content)
        finally:
            self._put_back(address.origin, connection)

    async def close(self) -> None:
        self._closed = True
        for idle in self._idle.values():
            while idle:
                await idle.pop().close()

    def _waiting(self, origin: Origin) -> _Connection | None:
        """An open connection that nobody uses. The one used last: others may then grow old and go."""
        idle = self._idle.get(origin, [])
        oldest = time.monotonic() - self._keep
        while idle and idle[0].since < oldest:
            idle.pop(0).drop()
        while idle:
            connection = idle.pop()
            if connection.open:
                return connection
            connection.drop()
        return None

    def _put_back(self, origin: Origin, connection: _Connection) -> None:
        if self._closed or not connection.again():
            connection.drop()
        else:
            self._idle.setdefault(origin, []).append(connection)

    async def _connected(self, origin: Origin, timeout: float) -> _Connection:
        secure, host, port = origin
        async with _within(timeout, UnreachableInTime, Unreachable):
            streams = await asyncio.open_connection(
                host, port, ssl=self._authorities() if secure else None, happy_eyeballs_delay=SECOND_ADDRESS
            )
        return _Connection(*streams)


@lru_cache(maxsize=64)
def addressed(url: str) -> Address:
    """What the URL says. Raises `BadAddress`."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna" if parts.hostname and not parts.hostname.isascii() else "ascii")
        port = parts.port
    except ValueError as error:  # UnicodeError is one
        raise BadAddress(str(error)) from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadAddress(f"{parts.scheme or 'no scheme'}: http or https, and a host, are needed")
    shown = b"[%b]" % host if b":" in host else host
    headers = [(b"host", shown if port is None else b"%b:%d" % (shown, port))]
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers.append((b"authorization", b"Basic " + b64encode(pair.encode())))
    target = quote(parts.path or "/", safe=ENOUGH) + (f"?{quote(parts.query, safe=ENOUGH)}" if parts.query else "")
    secure = parts.scheme == "https"
    return Address((secure, host.decode(), port or (443 if secure else 80)), target, headers)


class _Unsent(LinkError):
    """The rest of a request found nobody."""


class _Connection:
    """One request after the other, each with its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD)
        self.since = 0.0
        """When it was used last."""

    @property
    def open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def send(self, head: h11.Request, body: bytes, timeout: float) -> None:
        pieces = [self._talk.send(event) for event in (head, h11.Data(data=body), h11.EndOfMessage())]
        self._writer.writelines(piece for piece in pieces if piece)
        # Who refuses a request may close before all of it has arrived; the answer says why.
        with suppress(_Unsent):
            async with _within(timeout, Silent, _Unsent):
                await self._writer.drain()

    async def head(self, timeout: float | None) -> h11.Response:
        while True:
            event = self._next()
            if isinstance(event, h11.Response):
                return event
            if event is h11.NEED_DATA:
                await self._receive(timeout)

    async def body(self, first: float | None, later: float) -> AsyncGenerator[bytes, None]:
        """All that is there already comes in one piece, however many the server made of it."""
        there: list[bytes] = []
        timeout = first
        while True:
            event = self._next()
            if isinstance(event, h11.Data):
                there.append(bytes(event.data))
                continue
            if there:
                yield b"".join(there)
                there.clear()
                timeout = later
            if event is not h11.NEED_DATA:
                return
            await self._receive(timeout)

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._talk.next_event()
        except h11.RemoteProtocolError as error:
            raise LinkError(str(error)) from error

    async def _receive(self, timeout: float | None) -> None:
        async with _within(timeout, Silent, LinkError):
            received = await self._reader.read(READ)
        if not received and self._talk.their_state is h11.SEND_RESPONSE:
            raise LinkError("the server closed the connection without an answer")
        self._talk.receive_data(received)

    def again(self) -> bool:
        """Whether another request may follow; then everything is ready for it."""
        if not (self._talk.our_state is self._talk.their_state is h11.DONE):
            return False
        self._talk.start_next_cycle()
        self.since = time.monotonic()
        return True

    def drop(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self.drop()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _unpacked(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """What a server packed although it was asked not to."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    async with aclosing(pieces):
        async for piece in pieces:
            try:
                yield unpacking.decompress(piece)
            except zlib.error as error:
                raise LinkError(f"the answer cannot be unpacked: {error}") from error


@asynccontextmanager
async def _within(timeout: float | None, late: type[LinkError], wrong: type[LinkError]) -> AsyncIterator[None]:
    """Errors of the system, and of having waited too long, as the link's."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise late(f"nothing for {timeout or 0:g} s") from error
    except (OSError, UnicodeError) as error:  # UnicodeError: a host's name that cannot be one
        raise wrong(str(error)) from error
