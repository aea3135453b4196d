"""Programs that run alongside the commands of a checkout."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

ENDING = ".services"
"""Suffix of the folder next to a checkout's temporary files where its services keep theirs, which outlive checks."""


class Service(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A program that runs alongside the commands of a checkout: a database, a queue."""

    run: str
    """Its command, in the foreground. `$PORT` is a free port of its own, `$DATA` an empty folder of its own."""
    ready: str | None = None
    """A command that succeeds once it can be used; otherwise it is ready when it listens on `$PORT`."""
    before: str | None = None
    """A command that prepares it, once."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables that the checkout's commands get: `$PORT` in a value is the service's."""
    timeout: Annotated[float, Meta(gt=0)] = 30.0
    """Seconds within which it must be ready."""
