"""The states of a task and the allowed transitions between them."""

from __future__ import annotations

from enum import StrEnum

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
