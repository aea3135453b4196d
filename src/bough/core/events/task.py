"""The events of a task itself (its beginning, its states, its workspace, and what stops or rewinds it), of its steps,
and of steps that run without an agent."""

from typing import Literal

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.events.base import Event, Halt
from bough.core.ladder.escalation import EscalationOptions
from bough.core.merge.conflict_hunks import Merge
from bough.core.planning.plan import Step, Tier
from bough.core.rules import Rules
from bough.core.tree.task_state import Inheritance, State, Subject


class TaskCreated(Event, frozen=True):
    step: Step
    base: str
    """The git tree that the task starts from."""
    limits: Limits
    """The task's grant: its share of the run's budget."""
    rules: Rules
    means: EscalationOptions = EscalationOptions()
    inherited: Inheritance = Inheritance()
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
    """When the task can resume, if known."""


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


class ChildStarted(Event, frozen=True):
    """A smaller step begins. Its grant (share of the budget) is reserved until it ends."""

    step: str
    task: str
    """The last segment of the task's path: the step's name, with `@2` and so on if the step runs again."""
    grant: Limits


class ChildHeld(Event, frozen=True):
    """A ready step does not begin yet, because a running step changes the same files."""

    step: str
    other: str
    """The running step for which this one waits."""
    files: tuple[str, ...]


class MergeStarted(Event, frozen=True):
    """A finished step's work is about to be merged with the work merged so far (the head) and checked there."""

    child: str


class ChildMerged(Event, frozen=True):
    """A finished step's work was merged with work merged meanwhile, and checked. If there are conflicts or the check
    fails, the merge is not kept, and a merge task below the step's task has to make both sides work together."""

    child: str
    """The step's name."""
    tree: str
    conflicts: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """The verdict of the step's check on the merged files; None if conflicts left nothing to check."""
    both: tuple[str, ...] = ()
    """Files to which both sides only added at the same place: both additions were kept, and no model was asked."""
    remade: tuple[str, ...] = ()
    """Lock files that were regenerated; only in old journals."""
    ahead: bool = False
    """Whether the work was checked before its turn, merged with the work that was expected before it."""


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
    """The summaries of the step's agents."""
    summary: str = ""
    """The summary of the agent that did the work."""
    files: tuple[str, ...] = ()
    """The files that the step changed."""
    dead_ends: tuple[str, ...] = ()
    errors: bool = False
    """Whether the step left a failing check or, for a critic, found something severe."""
    verdict: str = ""
    """The result of the step's check, in one sentence."""
    decisions: tuple[str, ...] = ()
    """The decisions that the step noted."""
    shared: bool = False
    """Whether the step shares its parent's context, so that its notes are the parent's too."""
    do: Literal["", "break", "continue"] = ""
    """Whether the step leaves the nearest enclosing step that repeats, or begins its next pass."""
    task: str = ""
    """The last segment of the task's path; empty if the step never began."""
    key: str = ""
    """A key of everything that the outcome depended on, if a later run may reuse the work."""
    source: str = ""
    """The run and the task whose work was reused, if the step did not run itself."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided for this step."""
    cases: str = ""
    """The key, in the blob store, of the outcomes of every test of the step's last verdict."""
    probes: tuple[Probe, ...] = ()
    """The probes that the step passed; they run again on the whole work."""
    refuting: tuple[Probe, ...] = ()
    """A critic's probes that fail or, for a step that did not succeed, the probes that it has to pass."""
    not_asked: tuple[str, ...] = ()
    """Names of other steps' probes that a judge dropped while this step's work was merged."""


class ChildrenReopened(Event, frozen=True):
    """Failed steps are reopened, with a stronger model."""

    children: tuple[str, ...]
    why: str


class PassEnded(Event, frozen=True):
    """A repeated step with smaller steps begins another pass."""

    number: int
    why: str


class TransitionTaken(Event, frozen=True):
    """A state of a state machine has finished, and another one follows."""

    state: str
    to: str
    why: str


class CommandStarted(Event, frozen=True):
    """The command that is the whole step is about to run."""

    command: str


class CommandFinished(Event, frozen=True):
    ok: bool
    output: str
    """The beginning and the end of what the command printed."""
    exit_status: int | None = None
    """The command's exit status; None if it was killed or interrupted."""
    blob: str = ""
    """The key of the whole output in the blob store, if it was longer."""
    tree: str = ""
    """The git tree of the workspace after the command."""
    seconds: float = 0.0
    killed: str = ""
    """When the command was killed, as a phrase."""
    interrupted: bool = False
    """Whether bough stopped while the command ran. It runs again only if the plan or a person says so."""


class Reviewed(Event, frozen=True):
    """A critic finished. Only a review without problems and findings approves the work."""

    findings: tuple[dict[str, str | int], ...] = ()
    """What has to change, the most severe first."""
    problems: tuple[str, ...] = ()
    """Why there is no review, if the critic gave no readable one."""


class Summarized(Event, frozen=True):
    """The results of a task's steps were summarised for the tasks above it."""

    text: str
    by: Literal["model", "rule"]
