"""The straight way to a server: HTTP/1.1 over the event loop's own streams, as a transport of the HTTP client.

The library's own transport also does HTTP/2, other event loops and proxies, and takes three times as long for a
request. What is written and read is h11's in both. Promises: the timeouts of a request are kept; what goes wrong is
raised as the library's own errors; a connection is used again only when its last answer was read to its end.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import h11
import httpx2

READ = 65_536
"""Bytes that are taken from a connection at once."""
HEAD = 100_000
"""Bytes of an answer's head, at most."""
SECOND_ADDRESS = 0.25
"""Seconds after which a host's next address is tried beside the one that has not answered."""

Origin = tuple[bytes, bytes, int | None]


class DirectTransport(httpx2.AsyncBaseTransport):
    """Keeps a connection for `idle` seconds after its last use. As many at once as there are requests."""

    def __init__(self, authorities: ssl.SSLContext, idle: float) -> None:
        self._authorities = authorities
        self._keep = idle
        self._idle: dict[Origin, list[_Connection]] = {}
        self._closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        origin = (request.url.raw_scheme, request.url.raw_host, request.url.port)
        timeouts = request.extensions["timeout"]
        connection = self._waiting(origin) or await self._connected(request.url, timeouts["connect"])
        try:
            await connection.send(request, await request.aread(), timeouts["write"])
            head = await connection.head(timeouts["read"])
        except BaseException:
            connection.drop()
            raise
        body = _Body(connection.body(timeouts["read"]), partial(self._put_back, origin, connection))
        version = {"http_version": b"HTTP/" + head.http_version}
        return httpx2.Response(head.status_code, headers=head.headers.raw_items(), stream=body, extensions=version)

    async def aclose(self) -> None:
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

    async def _connected(self, url: httpx2.URL, timeout: float | None) -> _Connection:
        secure = url.scheme == "https"
        if not secure and url.scheme != "http":
            raise httpx2.UnsupportedProtocol(f"{url.scheme} is not http or https")
        async with _within(timeout, httpx2.ConnectTimeout, httpx2.ConnectError):
            streams = await asyncio.open_connection(
                url.raw_host.decode("ascii"),
                url.port or (443 if secure else 80),
                ssl=self._authorities if secure else None,
                happy_eyeballs_delay=SECOND_ADDRESS,
            )
        return _Connection(*streams)


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

    async def send(self, request: httpx2.Request, body: bytes, timeout: float | None) -> None:
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        try:
            pieces = [self._talk.send(event) for event in (head, h11.Data(data=body), h11.EndOfMessage())]
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        self._writer.writelines(piece for piece in pieces if piece)
        # Who refuses a request may close before all of it has arrived; the answer says why.
        with suppress(httpx2.WriteError):
            async with _within(timeout, httpx2.WriteTimeout, httpx2.WriteError):
                await self._writer.drain()

    async def head(self, timeout: float | None) -> h11.Response:
        while True:
            event = self._next()
            if isinstance(event, h11.Response):
                return event
            if event is h11.NEED_DATA:
                await self._receive(timeout)

    async def body(self, timeout: float | None) -> AsyncGenerator[bytes, None]:
        """All that is there already comes in one piece, however many the server made of it."""
        there: list[bytes] = []
        while True:
            event = self._next()
            if isinstance(event, h11.Data):
                there.append(bytes(event.data))
                continue
            if there:
                yield b"".join(there)
                there.clear()
            if event is not h11.NEED_DATA:
                return
            await self._receive(timeout)

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._talk.next_event()
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error

    async def _receive(self, timeout: float | None) -> None:
        async with _within(timeout, httpx2.ReadTimeout, httpx2.ReadError):
            received = await self._reader.read(READ)
        if not received and self._talk.their_state is h11.SEND_RESPONSE:
            raise httpx2.RemoteProtocolError("the server closed the connection without an answer")
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


class _Body(httpx2.AsyncByteStream):
    """An answer's content as it comes in; `done` is called once, when nobody reads it any more."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], done: Callable[[], None]) -> None:
        self._pieces = pieces
        self._done: Callable[[], None] | None = done

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            done()
            await self._pieces.aclose()


@asynccontextmanager
async def _within(
    timeout: float | None, late: type[httpx2.TimeoutException], wrong: type[httpx2.NetworkError]
) -> AsyncIterator[None]:
    """Errors of the system, and of having waited too long, as the library's."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise late(f"nothing for {timeout:g} s") from error
    except (OSError, UnicodeError) as error:  # UnicodeError: a host's name that cannot be one
        raise wrong(str(error)) from error
