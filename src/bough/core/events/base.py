"""The base of all events, and the words that several of them share."""

from typing import Literal

from msgspec import Struct

Halt = Literal["stopped", "budget", "unavailable", "needs_approval", "environment", "paused", "waiting", "quota"]
ChangesBy = Literal["judge", "person", "earlier"]
End = Literal["completed", "not_proven", "failed"]
"""How a run ended; `not_proven` means finished, but nothing shows that the work made the difference."""


class Event(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True, tag_field="event"):
    """The base of all events; `event` in the JSON is the class name."""
