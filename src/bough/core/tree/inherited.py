"""A task's knowledge from its parents and siblings when it begins."""

from __future__ import annotations

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange


class Inherited(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Recorded when the task begins, so that a prompt is always a projection of the journal."""

    above: tuple[str, ...] = ()
    """The purposes of the tasks above it, the goal first."""
    results: tuple[str, ...] = ()
    """The results of finished siblings, one line each."""
    dead_ends: tuple[str, ...] = ()
    """Failed approaches elsewhere."""
    decisions: tuple[str, ...] = ()
    """Decisions from elsewhere that hold here too."""
    beside: tuple[str, ...] = ()
    """The work of siblings when it begins, one line each."""
    later: tuple[str, ...] = ()
    """The steps after a phase, which is planned when it begins, one line each."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided elsewhere in the run."""
    requirements: tuple[Requirement, ...] = ()
    """The goal's requirements that it has to meet, in full."""
    conventions: tuple[str, ...] = ()
    """Conventions for every step of the plan."""
    interfaces: tuple[str, ...] = ()
    """Names and signatures that the steps it needs provide, and those that it must provide to others."""
    loop: bool = False
    """A step above it repeats: `break` and `continue` may mean that one."""


class Subject(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The work that a critic judges."""

    since: str
    """The change is everything since this tree."""
    verdicts: tuple[str, ...] = ()
    """The results of its checks."""
    earlier: str = ""
    """The critic's last findings; only in old journals."""
    probes: tuple[Probe, ...] = ()
    """Its probes that failed last time; they run again and count."""
