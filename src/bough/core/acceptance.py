"""How a task proves that it is done."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Ruling = Literal["passed", "failed", "not_verified"]


class Verdict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What came of running a task's check. Only bough makes one; nothing a model says can."""

    ruling: Ruling
    reason: str
    """One sentence for people."""
    command: str = ""
    exit_status: int | None = None
    """None when there was no command, or it was killed."""
    seconds: float = 0.0
    output: str = ""
    """Head and tail of what the command printed."""
    blob: str = ""
    """The whole output in the blob store, when it was longer."""
    tree: str = ""
    """The tree of the workspace that the check ran on."""
