"""The events of a task itself: its beginning, its states, its workspace, and what stops or rewinds it."""

from __future__ import annotations

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.events.base import Event, Halt
from bough.core.ladder.escalation import EscalationOptions
from bough.core.merge.conflict_hunks import Merge
from bough.core.planning.plan import Step, Tier
from bough.core.rules import Rules
from bough.core.tree.inherited import Inherited, Subject
from bough.core.tree.task_state import State


class TaskCreated(Event, frozen=True):
    step: Step
    base: str
    """Tree that the task starts from."""
    limits: Limits
    """The task's grant."""
    rules: Rules
    means: EscalationOptions = EscalationOptions()
    inherited: Inherited = Inherited()
    grows: bool = False
    """Its grant may still be raised: it halts before its hand-over round."""
    key: str = ""
    """Identifies everything the step's outcome depends on. A later run with the same key can reuse it."""
    subject: Subject | None = None
    """The work that a critic judges."""
    merge: Merge | None = None
    """Both sides and the first tree of a task that merges a step's work onto a moved head."""
    heard: int = 0
    """The last message from people by then, by its `seq`: the task above got it and passes it on."""
    worker: str = ""
    """The worker that runs it, where tasks are dispatched to workers."""
    spent: Spend = Spend()
    """Spend on its behalf before it began: by a scout."""


class StateChanged(Event, frozen=True):
    to: State
    why: str


class WorkspaceOpened(Event, frozen=True):
    tree: str


class WorkspaceRestored(Event, frozen=True):
    tree: str
    why: str


class CheckpointMade(Event, frozen=True):
    commit: str
    tree: str
    files: tuple[str, ...]
    """Changed since the task's base."""


class WorkTaken(Event, frozen=True):
    """The step's work is that of a finished run: its changes, its verdict and the probes that it passed."""

    run: str
    base: str
    """The tree that work started from."""
    tree: str
    summary: str = ""
    verdict: Verdict | None = None
    probes: tuple[Probe, ...] = ()
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that could change there: nobody is asked again."""


class TakenUp(Event, frozen=True):
    """A blocked task continues."""

    tier: Tier
    why: str


class TaskHalted(Event, frozen=True):
    reason: Halt
    message: str
    seconds: float = 0.0
    """Spent in an effect that was cut off because time ran out."""
    until: float = 0.0
    """When it can resume, if known."""


class TaskResumed(Event, frozen=True):
    limits: Limits
    means: EscalationOptions = EscalationOptions()
    grows: bool = False
    check: str = ""
    """The command that proves it from here on; empty: as before."""
    accept_failing: bool | None = None
    worker: str = ""
    """The worker that runs it from here on, where tasks are dispatched to workers."""


class TaskRewound(Event, frozen=True):
    """Everything after `version` no longer counts, except for its cost."""

    version: int
    """0: it has not begun."""
    tree: str
    children: dict[str, Spend] = {}
    """Spend of its smaller steps by then that it was not charged for yet; by path segment."""
