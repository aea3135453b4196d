"""What a task knows from above and beside it when it begins."""

from __future__ import annotations

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange


class Inherited(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kept with the task's beginning, so that a prompt is always a projection of the journal."""

    above: tuple[str, ...] = ()
    """What the tasks above it are for, the goal first."""
    results: tuple[str, ...] = ()
    """What finished siblings made, one line each."""
    dead_ends: tuple[str, ...] = ()
    """What was tried elsewhere and does not work."""
    decisions: tuple[str, ...] = ()
    """What was decided elsewhere and holds here too."""
    beside: tuple[str, ...] = ()
    """What siblings are at while it begins, one line each."""
    later: tuple[str, ...] = ()
    """For a phase, which is planned as it begins: the steps that come after it, one line each."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change: decided elsewhere in the run."""
    requirements: tuple[Requirement, ...] = ()
    """What it has to meet of what the goal asks, whole."""
    conventions: tuple[str, ...] = ()
    """What holds for every step of the plan."""
    interfaces: tuple[str, ...] = ()
    """Names and signatures that the steps it needs leave to it, and those that it has to leave to others."""
    loop: bool = False
    """A step above it repeats: `break` and `continue` may mean that one."""


class Subject(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a critic is to judge."""

    since: str
    """The change is what happened since this tree."""
    verdicts: tuple[str, ...] = ()
    """What checks said of it."""
    earlier: str = ""
    """In old journals: what this critic found the last time."""
    probes: tuple[Probe, ...] = ()
    """Those of its probes that failed the last time: whether they still do decides too."""
