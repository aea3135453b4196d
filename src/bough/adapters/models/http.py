"""The way to a server: httpx2, with a limit on silence that begins with the answer, and the errors of link.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    import ssl


class HttpLink:
    """Keeps a connection for `idle` seconds after its last use. As many at once as there are requests."""

    def __init__(self, idle: float, authorities: ssl.SSLContext, proxies: bool = False) -> None:
        """`proxies`: go through the one that the environment names."""
        # No bound on connections: how many agents run at once is decided elsewhere, and none shall wait here.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=idle)
        try:
            self._http = httpx2.AsyncClient(
                limits=limits, follow_redirects=False, verify=authorities, trust_env=proxies
            )
        except (ImportError, ValueError) as error:
            raise Refused(
                f"The proxy that the environment names cannot be used ({error}); "
                "correct HTTPS_PROXY and ALL_PROXY, or unset them."
            ) from None

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Reply]:
        limits = httpx2.Timeout(timeouts.quiet, connect=timeouts.connect, read=timeouts.first, pool=None)
        try:
            async with (
                asyncio.timeout(None) as silence,
                self._http.stream(method, url, headers=list(headers), content=body, timeout=limits) as response,
            ):
                # The lines of a stream arrive as they are; only what a server packed against our wish is unpacked.
                packed = "content-encoding" in response.headers
                pieces = _limit_silence(
                    response.aiter_bytes() if packed else response.aiter_raw(), silence, timeouts.quiet
                )
                async with aclosing(pieces) as content:
                    yield Reply(response.status_code, response.headers, content)
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


async def _limit_silence(
    pieces: AsyncIterator[bytes], silence: asyncio.Timeout, quiet: float
) -> AsyncGenerator[bytes, None]:
    """The pieces. Once the first is there, silence is limited: the library knows one limit for all reading, and before
    the first byte a slow model may read for minutes."""
    now = asyncio.get_running_loop().time
    async for piece in pieces:
        silence.reschedule(now() + quiet)
        yield piece
    silence.reschedule(None)
