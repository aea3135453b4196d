"""The events of a task's steps, and of steps that run without an agent."""

from __future__ import annotations

from typing import Literal

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import AllowedChange, Finding, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.events.base import Event
from bough.core.tree.task_state import State


class ChildStarted(Event, frozen=True):
    """A smaller step begins. Its grant is reserved from here on."""

    step: str
    task: str
    """The last segment of its path: the step's name, with `@2` and so on if it runs again."""
    grant: Limits


class ChildHeld(Event, frozen=True):
    """A ready step does not begin yet: a running one changes the same files."""

    step: str
    other: str
    """The step that it waits for."""
    files: tuple[str, ...]


class MergeStarted(Event, frozen=True):
    """A finished step's work is about to be merged onto the head and proven there."""

    child: str


class ChildMerged(Event, frozen=True):
    """A finished step's work was merged with what landed meanwhile, and checked there. With conflicts or a failing
    check it does not land like that: a task below the step's has to make both work."""

    child: str
    """The step's name."""
    tree: str
    conflicts: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """The verdict of the step's check at the merged tree; None if conflicts left nothing to check."""
    both: tuple[str, ...] = ()
    """Files to which both sides only added at the same place: both additions were kept, and no model was asked."""
    remade: tuple[str, ...] = ()
    """Lock files that an earlier version regenerated."""
    ahead: bool = False
    """It was checked ahead of its turn, on the expected head."""


class ChildSettled(Event, frozen=True):
    """A smaller step ended, and its work was merged if it succeeded."""

    child: str
    """The step's name."""
    state: State
    why: str
    tree: str
    """The tree of the task's workspace from here on: with the child's work if it is completed, otherwise unchanged."""
    spend: Spend
    """What the child and all below it have spent."""
    result: str = ""
    """Its agents' summaries, side by side."""
    summary: str = ""
    """The summary of the agent that did the work."""
    files: tuple[str, ...] = ()
    """Changed files."""
    dead_ends: tuple[str, ...] = ()
    errors: bool = False
    """It left a failing check; for a critic: it found something severe."""
    verdict: str = ""
    """What its check said, in one sentence."""
    decisions: tuple[str, ...] = ()
    """Its notes, if it shares its parent's context."""
    shared: bool = False
    """It works in its parent's context: its notes are the parent's too."""
    do: Literal["", "break", "continue"] = ""
    """What it asks of the nearest enclosing step that repeats."""
    task: str = ""
    """The last segment of its path; empty if it never began."""
    key: str = ""
    """Identifies everything its outcome depended on, if a later run may reuse it."""
    source: str = ""
    """The run and the task that it was reused from, instead of running again."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided for it."""
    cases: str = ""
    """Every test of its last verdict with its outcome, in the blob store."""
    probes: tuple[Probe, ...] = ()
    """The probes it passed, which run again on the whole."""
    refuting: tuple[Probe, ...] = ()
    """The probes of a critic that fail; of a step that did not succeed, the probes it has to pass."""
    not_asked: tuple[str, ...] = ()
    """Probes of other steps that a judge dropped while its work was merged, by name."""


class ChildrenReopened(Event, frozen=True):
    """Failed steps are reopened, with a stronger model."""

    children: tuple[str, ...]
    why: str


class PassEnded(Event, frozen=True):
    """A compound step that repeats starts over."""

    number: int
    why: str


class TransitionTaken(Event, frozen=True):
    """A state has finished, and another one follows."""

    state: str
    to: str
    why: str


class CommandStarted(Event, frozen=True):
    """The command that is the whole step is about to run."""

    command: str


class CommandFinished(Event, frozen=True):
    ok: bool
    output: str
    """Head and tail of what it printed."""
    exit_status: int | None = None
    """None when it was killed or interrupted."""
    blob: str = ""
    """The whole output in the blob store, if it was longer."""
    tree: str = ""
    """Tree of the workspace after it."""
    seconds: float = 0.0
    killed: str = ""
    """Why it was killed, as a phrase."""
    interrupted: bool = False
    """bough itself stopped while it ran. It does not run again unless the plan or a person says so."""


class Reviewed(Event, frozen=True):
    """A critic finished. Only a review without problems and findings approves the work."""

    findings: tuple[Finding, ...] = ()
    """What has to change, the most severe first."""
    problems: tuple[str, ...] = ()
    """Why there is no review, if the critic gave no readable one."""


class Summarized(Event, frozen=True):
    """The results of a task's steps, for the tasks above it."""

    text: str
    by: Literal["model", "rule"]
