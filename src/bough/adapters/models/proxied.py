"""The connection to a server through a proxy, by httpx2, with a limit on silence that starts with the answer, and with
the errors of link.py."""

from __future__ import annotations

import asyncio
import ssl
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


class ProxiedLink:
    """Uses the proxy that the environment names, unless it excepts the host (`NO_PROXY`). Opens a connection for each
    concurrent request, and keeps it for `idle` seconds after its last use."""

    def __init__(self, idle: float, authorities: ssl.SSLContext) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=idle)
        try:
            self._http = httpx2.AsyncClient(limits=limits, follow_redirects=False, verify=authorities)
        except (ImportError, ValueError) as error:
            raise Refused(
                f"The proxy that the environment names cannot be used ({error}); "
                "fix HTTPS_PROXY and ALL_PROXY, or unset them."
            ) from None

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Reply]:
        limits = {"connect": timeouts.connect, "read": timeouts.first, "write": timeouts.quiet, "pool": None}
        try:
            address, host = _parse_url(url)
            all_headers = [(b"host", host), *headers, (b"content-length", b"%d" % len(body))]
            content = httpx2.ByteStream(body)
            request = httpx2.Request(
                method, address, headers=all_headers, stream=content, extensions={"timeout": limits}
            )
            async with asyncio.timeout(None) as silence:
                response = await self._http.send(request, stream=True)
                try:
                    # Pass a stream's bytes on as they come. A server may compress although bough did not ask for that.
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

    async def close(self) -> None:
        await self._http.aclose()


@lru_cache(maxsize=64)
def _parse_url(url: str) -> tuple[httpx2.URL, bytes]:
    """Return the parsed URL, and its host for the header. Cached, since an agent uses the same few URLs and parsing one
    costs more than sending a request."""
    parsed = httpx2.URL(url)
    if not parsed.host:
        raise httpx2.InvalidURL("it names no host")
    return parsed, parsed.netloc


async def _limit_silence(
    pieces: AsyncIterator[bytes], silence: asyncio.Timeout, quiet: float
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces, and limit the silence after the first one: the library has a single limit for all reads, and
    before the first byte a slow model may take minutes to read its prompt."""
    now, again = asyncio.get_running_loop().time, 0.0
    async for piece in pieces:
        if (at := now()) >= again:  # Not for every piece: setting a timer costs more than reading one.
            silence.reschedule(at + quiet * (1 + SLACK))
            again = at + quiet * SLACK
        yield piece
    silence.reschedule(None)
