"""A request and its answer, and what can go wrong between them. The one way there is, is http.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

Headers = Sequence[tuple[bytes, bytes]]


class LinkError(Exception):
    """The connection broke, or what came over it was no HTTP."""


class BadAddress(LinkError):
    """The URL cannot be asked at all."""


class Unreachable(LinkError):
    """There was no connection."""


class UnreachableInTime(Unreachable):
    """There was none yet when the time was up."""


class Silent(LinkError):
    """There was a connection, and nothing came over it for too long."""


class Timeouts(Struct, frozen=True):
    connect: float
    quiet: float
    """Seconds without a byte, either way."""
    patient: bool = False
    """Silence before the first byte of the content is not limited: whoever asks has a limit for the whole."""

    @property
    def first(self) -> float | None:
        return None if self.patient else self.quiet


class Reply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Names in small letters."""
    pieces: AsyncGenerator[bytes, None]
    """The content as it comes in, unpacked."""


class Link(Protocol):
    """Any number of exchanges at once; connections are kept and used again."""

    def exchange(
        self, method: str, url: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Reply]:
        """Send the request; the reply can be read until the context ends."""
        ...

    async def close(self) -> None: ...
