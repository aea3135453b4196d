"""The way through a proxy: the HTTP library's own client, which knows what the environment says about proxies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

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


class ProxiedLink:
    """Keeps a connection for `idle` seconds after its last use. As many at once as there are requests."""

    def __init__(self, idle: float) -> None:
        # No bound on connections: how many agents run at once is decided elsewhere, and none shall wait here.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=idle)
        try:
            self._http = httpx2.AsyncClient(limits=limits, follow_redirects=False)
        except (ImportError, ValueError) as error:
            raise Refused(
                f"The proxy that the environment names cannot be used ({error}); "
                "correct HTTPS_PROXY and ALL_PROXY, or unset them."
            ) from None

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Reply]:
        # This library knows one limit for all reading: the longer one, since a whole call has its own limit anyway.
        limits = httpx2.Timeout(timeouts.quiet, connect=timeouts.connect, read=timeouts.first, pool=None)
        try:
            async with self._http.stream(method, url, headers=list(headers), content=body, timeout=limits) as response:
                # The lines of a stream arrive as they are; only what a server packed against our wish is unpacked.
                packed = "content-encoding" in response.headers
                async with aclosing(response.aiter_bytes() if packed else response.aiter_raw()) as pieces:
                    yield Reply(response.status_code, response.headers, pieces)
        except httpx2.ConnectTimeout as error:
            raise UnreachableInTime(str(error)) from error
        except httpx2.TimeoutException as error:
            raise Silent(str(error)) from error
        except httpx2.ConnectError as error:
            raise Unreachable(str(error)) from error
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise BadAddress(str(error)) from error
        except httpx2.HTTPError as error:
            raise LinkError(str(error)) from error

    async def close(self) -> None:
        await self._http.aclose()
