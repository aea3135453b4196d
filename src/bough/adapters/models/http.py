"""The connection to a server: httpx2, with a limit on silence that starts with the answer, and the errors of
link.py."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache

import httpx2

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
from bough.core.errors import Refused

SLACK = 0.1
"""The share by which the limit on silence may be exceeded."""


class HttpLink:
    """Keeps a connection for `idle` seconds after its last use. As many at once as there are requests.

    Each connection has a client to itself. One client for all would look at every connection, with a system call for
    each that is idle, at the beginning and at the end of every request: at 100 agents that was half of a round.
    """

    def __init__(self, idle: float, authorities: ssl.SSLContext | None, proxies: bool = False) -> None:
        """`authorities`: None for a link that nothing encrypted goes through. `proxies`: use the one that the
        environment names."""
        self._keep = idle
        # A fresh context trusts nobody, so that an encrypted address fails rather than passes unchecked.
        self._authorities = authorities or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._proxies = proxies
        self._idle: list[tuple[float, httpx2.AsyncClient]] = []
        """With the time until which each is kept. The last is used next, so that the first grow old."""
        self._closed = False

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Reply]:
        limits = {"connect": timeouts.connect, "read": timeouts.first, "write": timeouts.quiet, "pool": None}
        http = self._idle.pop()[1] if self._idle else self._make_client()
        try:
            address, host = _parse_url(url)
            all_headers = [(b"host", host), *headers, (b"content-length", b"%d" % len(body))]
            content = httpx2.ByteStream(body)
            request = httpx2.Request(
                method, address, headers=all_headers, stream=content, extensions={"timeout": limits}
            )
            async with asyncio.timeout(None) as silence:
                response = await http.send(request, stream=True)
                try:
                    # The lines of a stream arrive as they are; only what a server compressed unasked is decompressed.
                    packed = "content-encoding" in response.headers
                    pieces = response.aiter_bytes() if packed else response.aiter_raw()
                    async with aclosing(_limit_silence(pieces, silence, timeouts.quiet)) as answer:
                        yield Reply(response.status_code, response.headers, answer)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise Silent(f"nothing for {timeouts.quiet:g} s") from error
        except httpx2.ConnectTimeout as error:
            raise UnreachableInTime(str(error)) from error
        except httpx2.TimeoutException as error:
            raise Silent(str(error)) from error
        except httpx2.ConnectError as error:
            raise Unreachable(str(error)) from error
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise BadAddress(str(error)) from error
        except httpx2.HTTPError as error:
            raise LinkError(str(error) or "the server closed the connection") from error
        finally:
            # Also after an error: the library has closed the broken connection, and the next request opens another.
            await self._put_back(http)

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop()[1].aclose()

    def _make_client(self) -> httpx2.AsyncClient:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=self._keep)
        try:
            return httpx2.AsyncClient(
                limits=limits, follow_redirects=False, verify=self._authorities, trust_env=self._proxies
            )
        except (ImportError, ValueError) as error:
            raise Refused(
                f"The proxy that the environment names cannot be used ({error}); "
                "fix HTTPS_PROXY and ALL_PROXY, or unset them."
            ) from None

    async def _put_back(self, http: httpx2.AsyncClient) -> None:
        now = time.monotonic()
        old = [] if self._closed else [self._idle.pop(0)[1] for until, _ in tuple(self._idle) if until < now]
        if self._closed:
            old.append(http)
        else:
            self._idle.append((now + self._keep, http))
        for client in old:
            await client.aclose()


@lru_cache(maxsize=64)
def _parse_url(url: str) -> tuple[httpx2.URL, bytes]:
    """The URL, and its host for the header. An agent asks the same few all the time, and parsing one costs more than
    sending the request."""
    parsed = httpx2.URL(url)
    if not parsed.host:
        raise httpx2.InvalidURL("it names no host")
    return parsed, parsed.netloc


async def _limit_silence(
    pieces: AsyncIterator[bytes], silence: asyncio.Timeout, quiet: float
) -> AsyncGenerator[bytes, None]:
    """The pieces. Once the first arrives, silence is limited: the library has one limit for all reads, and before the
    first byte a slow model may read for minutes."""
    now, again = asyncio.get_running_loop().time, 0.0
    async for piece in pieces:
        if (at := now()) >= again:  # Not for every piece: setting a timer costs more than reading one.
            silence.reschedule(at + quiet * (1 + SLACK))
            again = at + quiet * SLACK
        yield piece
    silence.reschedule(None)
