"""The connection to a server, or through a proxy: HTTP/1.1 by h11 over the event loop's own streams.

A whole HTTP library also has HTTP/2 and other event loops: loading it takes 45 ms and 10 MB, and a request takes three
times as long as here."""

import asyncio
import os
import ssl
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

import h11

from bough.adapters.models import faults
from bough.core.errors import RequestRefused

READ = 65_536
"""The most bytes read from a connection at once."""
HEAD = 100_000
"""The most bytes of an answer's status line and headers."""
SECOND_ADDRESS = 0.25
"""Seconds after which a host's next address is tried in parallel if the first has not answered."""
KEPT = "%/:@!$&'()*+,;=~?"
"""Characters of a path and a query that stay unescaped, beside letters, digits and `_.-`."""

Origin = tuple[bool, str, int]
"""Whether the connection is encrypted, the host and the port."""
Proxy = tuple[Origin, faults.Headers]
"""Where a proxy is, and the headers that it wants."""


class DirectLink:
    """Opens a connection for each concurrent request, and keeps it for `idle` seconds after its last use."""

    def __init__(
        self, idle: float, authorities: ssl.SSLContext | None, proxies: Mapping[str, str] | None = None
    ) -> None:
        """Make the link. `authorities`: None for a link without encryption; `proxies`: see `find_proxies`."""
        self._keep = idle
        self._proxies = proxies or {}
        # A fresh context trusts nobody, so an encrypted address fails rather than passes unchecked.
        self._authorities = authorities or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._idle: dict[Origin, list[_Connection]] = {}
        self._closed = False

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: faults.Headers, body: bytes, timeouts: faults.Timeouts
    ) -> AsyncIterator[faults.Reply]:
        origin, target, own = _parse_url(url)
        names = {name for name, _ in own}
        size = (b"content-length", b"%d" % len(body))
        all_headers = [*own, *(header for header in headers if header[0] not in names), size]
        proxy = self._find_proxy(origin) if self._proxies else None
        if proxy is not None and not origin[0]:
            target = f"http://{own[0][1].decode()}{target}"
            all_headers += proxy[1]
        try:
            head = h11.Request(method=method, target=target, headers=all_headers)
        except h11.LocalProtocolError as error:  # The request has characters that no request can have.
            raise faults.BadAddress(str(error)) from error
        connection = self._take_idle(origin) or await self._connect(origin, proxy, timeouts.connect)
        try:
            await connection.send(head, body, timeouts.quiet)
            answer = await connection.read_head(timeouts.first)
            named = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
            pieces = connection.read_body(timeouts)
            compressed = named.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate")
            async with aclosing(_decompress(pieces) if compressed else pieces) as content:
                yield faults.Reply(answer.status_code, named, content)
        finally:
            if self._closed or not connection.make_ready():
                connection.drop()
            else:
                self._idle.setdefault(origin, []).append(connection)

    async def close(self) -> None:
        self._closed = True
        for idle in self._idle.values():
            while idle:
                await idle.pop().close()

    def _take_idle(self, origin: Origin) -> "_Connection | None":
        """Take the connection that was used last, so that the others may expire."""
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

    def _find_proxy(self, origin: Origin) -> Proxy | None:
        """Find the proxy for a server, unless `NO_PROXY` excepts it. Raises `RequestRefused` for a bad one."""
        from urllib.request import proxy_bypass

        encrypted, host, port = origin
        url = self._proxies.get("https" if encrypted else "http") or self._proxies.get("all", "")
        if not url or proxy_bypass(f"{host}:{port}"):
            return None
        try:
            place, _, headers = _parse_url(url if "://" in url else f"http://{url}")
        except faults.BadAddress as error:
            raise RequestRefused(
                f"The proxy that the environment names cannot be used ({error}); "
                "fix HTTPS_PROXY and ALL_PROXY, or unset them."
            ) from None
        return place, [(b"proxy-authorization", value) for _, value in headers[1:]]

    async def _connect(self, origin: Origin, proxy: Proxy | None, timeout: float) -> "_Connection":
        encrypted, host, port = proxy[0] if proxy is not None else origin
        context = self._authorities if encrypted else None
        async with _within(timeout, faults.UnreachableInTime, faults.Unreachable):
            reader, writer = await asyncio.open_connection(host, port, ssl=context, happy_eyeballs_delay=SECOND_ADDRESS)
            if proxy is not None and origin[0]:
                try:
                    await self._open_tunnel(reader, writer, origin, proxy[1], timeout)
                except BaseException:
                    writer.transport.abort()
                    raise
            return _Connection(reader, writer)

    async def _open_tunnel(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        origin: Origin,
        headers: faults.Headers,
        timeout: float,
    ) -> None:
        """Make the proxy at the other end pass everything on to a server, and begin encryption with that server."""
        _, host, port = origin
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        proxy = _Connection(reader, writer)
        await proxy.send(
            h11.Request(method="CONNECT", target=target, headers=[(b"host", target.encode()), *headers]), b"", timeout
        )
        if (answer := await proxy.read_head(timeout)).status_code // 100 != 2:
            raise faults.Unreachable(f"the proxy refuses with status {answer.status_code}")
        await writer.start_tls(self._authorities, server_hostname=host)


def find_proxies() -> dict[str, str]:
    """Return the addresses of proxies that the environment names, or the system where it has such settings, by scheme
    (`all`: any other)."""
    named = {"http_proxy", "https_proxy", "all_proxy"} & {name.lower() for name, value in os.environ.items() if value}
    if not named and sys.platform != "darwin":
        return {}
    from urllib.request import getproxies

    return getproxies()


@lru_cache(maxsize=64)
def _parse_url(url: str) -> tuple[Origin, str, faults.Headers]:
    """Split a URL into the server, the request's target, and the headers that it implies: the host, and credentials in
    the URL, which replace any others. Raises `faults.BadAddress`."""
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
        host = name if name.isascii() else name.encode("idna").decode()
        port = parts.port
    except ValueError as error:  # UnicodeError is a ValueError, too.
        raise faults.BadAddress(str(error)) from error
    if parts.scheme not in ("http", "https") or not host:
        raise faults.BadAddress("it needs http:// or https://, and a host")
    headers = [(b"host", parts.netloc.rpartition("@")[2].replace(name, host).encode())]
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers.append((b"authorization", b"Basic " + b64encode(pair.encode())))
    target = quote(parts.path or "/", safe=KEPT) + (f"?{quote(parts.query, safe=KEPT)}" if parts.query else "")
    encrypted = parts.scheme == "https"
    return (encrypted, host, port or (443 if encrypted else 80)), target, headers


class _SendFailed(faults.LinkError):
    """The server did not take the rest of a request."""


class _Connection:
    """A connection that carries one request after the other, each with its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD)
        self.since = 0.0
        """When the connection was used last."""

    @property
    def open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def send(self, head: h11.Request, body: bytes, timeout: float) -> None:
        pieces = [self._state.send(event) for event in (head, h11.Data(data=body), h11.EndOfMessage())]
        self._writer.write(b"".join(piece for piece in pieces if piece))
        # A server that refuses a request may close before all of it has arrived; its answer says why.
        with suppress(_SendFailed):
            async with _within(timeout, faults.Silent, _SendFailed):
                await self._writer.drain()

    async def read_head(self, timeout: float | None) -> h11.Response:
        while not isinstance(event := self._next_event(), h11.Response):
            if event is h11.NEED_DATA:
                await self._receive(timeout)
        return event

    async def read_body(self, timeouts: faults.Timeouts) -> AsyncGenerator[bytes, None]:
        """Yield the content as it arrives. The wait for the first byte has a time limit of its own, or none, because a
        slow model may take minutes to read its prompt."""
        there: list[bytes] = []
        timeout = timeouts.first
        while True:
            event = self._next_event()
            if isinstance(event, h11.Data):
                there.append(bytes(event.data))
                continue
            if there:
                yield b"".join(there)
                there.clear()
                timeout = timeouts.quiet
            if event is not h11.NEED_DATA:
                return
            await self._receive(timeout)

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._state.next_event()
        except h11.RemoteProtocolError as error:
            raise faults.LinkError(str(error)) from error

    async def _receive(self, timeout: float | None) -> None:
        async with _within(timeout, faults.Silent, faults.LinkError):
            received = await self._reader.read(READ)
        if not received and self._state.their_state is h11.SEND_RESPONSE:
            raise faults.LinkError("the server closed the connection without an answer")
        self._state.receive_data(received)

    def make_ready(self) -> bool:
        """Make the connection ready for another request; return False if the last answer was not read to its end."""
        if not (self._state.our_state is self._state.their_state is h11.DONE):
            return False
        self._state.start_next_cycle()
        self.since = time.monotonic()
        return True

    def drop(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self.drop()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _decompress(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Decompress an answer that the server compressed although bough did not ask for that."""
    packed = zlib.decompressobj(zlib.MAX_WBITS | 32)
    async with aclosing(pieces):
        async for piece in pieces:
            try:
                yield packed.decompress(piece)
            except zlib.error as error:
                raise faults.LinkError(f"the answer cannot be decompressed: {error}") from error


@asynccontextmanager
async def _within(timeout: float | None, late: type[Exception], broken: type[Exception]) -> AsyncIterator[None]:
    """Limit the time, and raise a timeout as `late` and an error of the system as `broken`."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        # The operating system has a time limit of its own, even if there is none here.
        raise late(f"nothing for {timeout:g} s" if timeout else str(error)) from error
    except (OSError, UnicodeError) as error:  # UnicodeError: the host's name is invalid
        raise broken(str(error)) from error
