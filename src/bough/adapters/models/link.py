"""An HTTP request's time limits, its answer and its errors, as direct.py has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence

from msgspec import Struct

Headers = Sequence[tuple[bytes, bytes]]


class LinkError(Exception):
    """The connection broke, or its data was not HTTP."""


class BadAddress(LinkError):
    """The URL is unusable."""


class Unreachable(LinkError):
    """No connection could be made."""


class UnreachableInTime(Unreachable):
    """No connection could be made before the timeout."""


class Silent(LinkError):
    """Nothing arrived on the connection for too long."""


class Timeouts(Struct, frozen=True):
    connect: float
    quiet: float
    """The most seconds without a byte in either direction."""
    patient: bool = False
    """Whether silence before the content's first byte is unlimited: then the caller limits the whole exchange."""

    @property
    def first(self) -> float | None:
        return None if self.patient else self.quiet


class Reply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    pieces: AsyncGenerator[bytes, None]
    """The content as it arrives, decompressed."""
