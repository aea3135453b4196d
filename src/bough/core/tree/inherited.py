"""What a task knows from its parents and siblings when it begins."""

from __future__ import annotations

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange


class Inherited(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Recorded when the task begins, so that a prompt is always a projection of the journal."""

    above: tuple[str, ...] = ()
    """What the tasks above it are for, the goal first."""
    results: tuple[str, ...] = ()
    """What finished siblings made, one line each."""
    dead_ends: tuple[str, ...] = ()
    """What was tried elsewhere and does not work."""
    decisions: tuple[str, ...] = ()
    """What was decided elsewhere and holds here too."""
    beside: tuple[str, ...] = ()
    """What siblings are working on when it begins, one line each."""
    later: tuple[str, ...] = ()
    """The steps after a phase, which is planned when it begins, one line each."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided elsewhere in the run."""
    requirements: tuple[Requirement, ...] = ()
    """The goal's requirements that it has to meet, in full."""
    conventions: tuple[str, ...] = ()
    """What holds for every step of the plan."""
    interfaces: tuple[str, ...] = ()
    """Names and signatures that the steps it needs provide, and those that it must provide to others."""
    loop: bool = False
    """A step above it repeats: `break` and `continue` may mean that one."""


class Subject(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a critic judges."""

    since: str
    """The change is everything since this tree."""
    verdicts: tuple[str, ...] = ()
    """What checks said about it."""
    earlier: str = ""
    """What this critic found last time; only old journals have it."""
    probes: tuple[Probe, ...] = ()
    """Its probes that failed last time; they run again and count."""
