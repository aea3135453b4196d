"""What a task knows from its parents and siblings when it begins."""

from __future__ import annotations

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange


class Inherited(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task's knowledge from elsewhere, recorded when it begins so that prompts depend on the journal alone."""

    above: tuple[str, ...] = ()
    """The purposes of the tasks above this one, the goal first."""
    results: tuple[str, ...] = ()
    """The results of finished siblings, one line each."""
    dead_ends: tuple[str, ...] = ()
    """Approaches that failed in other tasks."""
    decisions: tuple[str, ...] = ()
    """Decisions of other tasks that hold here too."""
    beside: tuple[str, ...] = ()
    """The siblings that run when this task begins, one line each."""
    later: tuple[str, ...] = ()
    """The steps after this one, one line each, if this one is a phase that is planned when it begins."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided elsewhere in the run."""
    requirements: tuple[Requirement, ...] = ()
    """The goal's requirements that this task has to meet, in full."""
    conventions: tuple[str, ...] = ()
    """Conventions for every step of the plan."""
    interfaces: tuple[str, ...] = ()
    """Names and signatures that the steps which this one needs provide, and those that it must provide to others."""
    loop: bool = False
    """Whether a step above this one repeats, so that `break` and `continue` may mean that step."""


class Subject(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The work that a critic judges."""

    since: str
    """The git tree before the change; the change is everything since then."""
    verdicts: tuple[str, ...] = ()
    """The results of the checks of the work."""
    earlier: str = ""
    """The critic's last findings; only in old journals."""
    probes: tuple[Probe, ...] = ()
    """The critic's probes that failed last time; they run again and count."""
