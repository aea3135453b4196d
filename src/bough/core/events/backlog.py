"""The events of backlogs (lists of goals), whose streams are not runs."""

from bough.core.backlog.entry import GoalEntry, GoalFault, GoalReport
from bough.core.budget.limits import Spend
from bough.core.events.base import Event


class GoalListed(Event, frozen=True):
    """A person put a goal on the backlog; only in old journals."""

    entry: GoalEntry
    by: str = ""


class GoalsListed(Event, frozen=True):
    """A person put these goals on the backlog, all in one event, so that a crash cannot leave only some of them."""

    entries: dict[str, GoalEntry]
    by: str = ""


class GoalEdited(Event, frozen=True):
    """A person changed a goal. Edits, moves and drops are in the control stream, since a person may change the backlog
    while another process works on it."""

    item: str
    entry: GoalEntry
    by: str = ""


class GoalDropped(Event, frozen=True):
    item: str
    by: str = ""


class GoalMoved(Event, frozen=True):
    item: str
    before: str = ""
    """The goal before which it is moved; empty if it is moved to the end."""
    by: str = ""


class GoalsReviewed(Event, frozen=True):
    """Goals were reviewed before a night's work on the backlog, each with its findings (usually none)."""

    findings: dict[str, tuple[GoalFault, ...]]
    spend: Spend = Spend()
    by: str = ""


class GoalTaken(Event, frozen=True):
    """A process took the goal. Recorded before its run starts, so that the run is found again after a crash."""

    run: str
    base: str
    """The git tree that the run starts from."""
    origin: str = ""
    """The git tree that the night started from, if the goal starts from the work of the goals that it needs."""
    cost: float | None = None
    """Dollars that are reserved for the goal this night."""
    before: Spend | float = 0.0
    """What the goal's run had spent before this night; in old journals only the dollars."""
    commit: str = ""
    """The commit on which the goal's branch is made."""
    worker: str = ""


class GoalSettled(Event, frozen=True):
    """The goal's run has ended or halted."""

    report: GoalReport


class NightStarted(Event, frozen=True):
    """Work on the backlog (a night) begins. A process that joins meanwhile starts from the same files."""

    base: str
    """The git tree of the person's files, in bough's own repository."""
    commit: str = ""
    """The project's last commit at that time, on which branches are made; empty if there is none."""
    cost: float | None = None
    """Dollars that the night may spend."""
    together: str = ""
    """The branch into which all finished work is merged."""
    by: str = ""


class NightJoining(Event, frozen=True):
    """The finished branches are about to be merged and proven together, as steps of this run."""

    run: str


class NightJoined(Event, frozen=True):
    """The finished branches were merged, or left out."""

    branch: str = ""
    """The branch with the merged work; empty if nothing could be merged."""
    commit: str = ""
    landed: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    """Goals whose work conflicts with others' or breaks it, and how."""
    why: str = ""


class NightEnded(Event, frozen=True):
    why: str
    spend: Spend = Spend()
    """What all runs of the night have spent."""


class RunRemoved(Event, frozen=True):
    """A person removed a run of the backlog; its spend still counts."""

    run: str
    spend: Spend = Spend()
    applied: bool = False
    """Whether the run's work is in the person's files."""


class LessonKept(Event, frozen=True):
    """A lesson from a finished run, of releases up to 0.2. Nothing reads it; journals that have it still open."""

    lesson: dict[str, object]


class LessonRetired(Event, frozen=True):
    """A lesson (`LessonKept`) no longer counted. Nothing reads this event."""

    number: int
    why: str
    by: str = ""
