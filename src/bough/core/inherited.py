"""What a task knows from above and beside it when it begins."""

from __future__ import annotations

from msgspec import Struct


class Inherited(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kept with the task's beginning, so that a prompt is always a projection of the journal."""

    above: tuple[str, ...] = ()
    """What the tasks above it are for, the goal first."""
    results: tuple[str, ...] = ()
    """What finished siblings made, one line each."""
    dead_ends: tuple[str, ...] = ()
    """What was tried elsewhere and does not work."""
