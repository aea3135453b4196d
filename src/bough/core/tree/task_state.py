"""The states of a task, the allowed transitions between them, and what it knows from others when it begins."""

from enum import StrEnum

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange
from bough.core.errors import IllegalTransition


class State(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    TESTING = "testing"
    TEST_FAILED = "test_failed"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    DECOMPOSED = "decomposed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


S = State
TRANSITIONS: dict[State, frozenset[State]] = {
    S.PENDING: frozenset({S.IN_PROGRESS, S.SKIPPED, S.CANCELLED, S.FAILED}),
    S.IN_PROGRESS: frozenset({S.TESTING, S.DECOMPOSED, S.BLOCKED, S.SKIPPED, S.FAILED, S.CANCELLED}),
    S.TESTING: frozenset({S.COMPLETED, S.TEST_FAILED, S.IN_PROGRESS, S.BLOCKED, S.FAILED, S.CANCELLED}),
    S.TEST_FAILED: frozenset({S.IN_PROGRESS, S.DECOMPOSED, S.BLOCKED, S.SKIPPED, S.FAILED, S.CANCELLED}),
    S.DECOMPOSED: frozenset({S.TESTING, S.IN_PROGRESS, S.BLOCKED, S.SKIPPED, S.FAILED, S.CANCELLED}),
    S.BLOCKED: frozenset({S.IN_PROGRESS, S.TESTING, S.SKIPPED, S.FAILED, S.CANCELLED}),
    S.COMPLETED: frozenset(),
    S.SKIPPED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}

SETTLED = frozenset({S.COMPLETED, S.BLOCKED, S.SKIPPED, S.FAILED, S.CANCELLED})
"""States in which bough does nothing more for a task; a step of escalation may still reopen a blocked one."""


def check_transition(current: State, to: State) -> State:
    """Return `to`, or raise an error if the table does not allow it."""
    if to not in TRANSITIONS[current]:
        allowed = ", ".join(sorted(TRANSITIONS[current])) or "nothing: it is final"
        raise IllegalTransition(f"A task cannot go from {current} to {to} (from {current} it can go to {allowed}).")
    return to


EXIT_STATUS: dict[str, int] = {
    "completed": 0,
    "accepted": 0,
    "failed": 3,
    "budget": 4,
    "not_proven": 5,
    "stopped": 6,
    "unavailable": 7,
    "needs_approval": 8,
    "environment": 2,
    "paused": 6,
    "waiting": 8,
    "quota": 7,
}
"""The program's exit status for each way in which a run ends or halts."""


class Inheritance(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
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
