"""One thing that a critic found."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["low", "medium", "high"]


class Finding(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that has to change."""

    file: str
    line: int
    """The line in the file as it is now; 0: the file as a whole."""
    severity: Severity
    what: str
    why: str = ""
