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
    """The git tree that the task starts from."""
    limits: Limits
    """The task's grant: its share of the run's budget."""
    rules: Rules
    means: EscalationOptions = EscalationOptions()
    inherited: Inherited = Inherited()
    grows: bool = False
    """Whether the grant may still be raised, so that the task halts before its hand-over round."""
    key: str = ""
    """Identifies everything the step's outcome depends on. A later run with the same key can reuse it."""
    subject: Subject | None = None
    """The work that a critic judges."""
    merge: Merge | None = None
    """Both sides and the first tree, if the task merges a step's work with work that was merged meanwhile."""
    heard: int = 0
    """The `seq` of the last message from people at that time, which the task above has received and passes on."""
    worker: str = ""
    """The worker that runs the task, if tasks are dispatched to workers."""
    spent: Spend = Spend()
    """What was spent on the task before it began: by the model that looked for its check."""


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
    """The files that changed since the task began."""


class WorkTaken(Event, frozen=True):
    """The step took over the work of a finished run: its changes, its verdict and the probes that it passed."""

    run: str
    base: str
    """The git tree that the taken work started from."""
    tree: str
    summary: str = ""
    verdict: Verdict | None = None
    probes: tuple[Probe, ...] = ()
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that were allowed to change in that run, so that nobody is asked again."""


class TakenUp(Event, frozen=True):
    """A blocked task continues."""

    tier: Tier
    why: str


class TaskHalted(Event, frozen=True):
    reason: Halt
    message: str
    seconds: float = 0.0
    """Seconds spent in an effect that was cut off because time ran out."""
    until: float = 0.0
    """When it can resume, if known."""


class TaskResumed(Event, frozen=True):
    limits: Limits
    means: EscalationOptions = EscalationOptions()
    grows: bool = False
    check: str = ""
    """The command that proves the task from now on; empty if it stays the same."""
    accept_failing: bool | None = None
    worker: str = ""
    """The worker that runs the task from now on, if tasks are dispatched to workers."""


class TaskRewound(Event, frozen=True):
    """Everything after `version` no longer counts, except for its cost."""

    version: int
    """The version to which the task is rewound; 0 means that it has not begun."""
    tree: str
    children: dict[str, Spend] = {}
    """What the smaller steps had spent by then and the task was not charged for yet, by path segment."""
