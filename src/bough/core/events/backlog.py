"""The events of streams that are no run: lists of goals."""

from __future__ import annotations

from bough.core.backlog.entry import GoalEntry, GoalFault, GoalReport
from bough.core.budget.limits import Spend
from bough.core.events.base import Event


class GoalListed(Event, frozen=True):
    """The first event of a goal's stream in old journals: a person has put it on the list."""

    entry: GoalEntry
    by: str = ""


class GoalsListed(Event, frozen=True):
    """A person has put these goals on the list, all at once: no process can die between two of them."""

    entries: dict[str, GoalEntry]
    by: str = ""


class GoalEdited(Event, frozen=True):
    """A person changed a goal. Edits, moves and drops are in the control stream: a person may change the list while
    another process works on it."""

    item: str
    entry: GoalEntry
    by: str = ""


class GoalDropped(Event, frozen=True):
    item: str
    by: str = ""


class GoalMoved(Event, frozen=True):
    item: str
    before: str = ""
    """The goal that it comes before from now on; empty: it is the last."""
    by: str = ""


class GoalsReviewed(Event, frozen=True):
    """Goals were reviewed before the night, each with its findings: usually none."""

    findings: dict[str, tuple[GoalFault, ...]]
    spend: Spend = Spend()
    by: str = ""


class GoalTaken(Event, frozen=True):
    """A process works on the goal. Durable before the run starts, so that after a crash the run is found again."""

    run: str
    base: str
    """The tree that it starts from."""
    origin: str = ""
    """The tree that the night started from, if the goal starts from the work of the goals that it needs."""
    cost: float | None = None
    """Dollars reserved for it this night."""
    before: Spend | float = 0.0
    """Its run's spend before this night; in old journals only the dollars."""
    commit: str = ""
    """The commit that its branch is made on."""
    worker: str = ""


class GoalSettled(Event, frozen=True):
    """Its run has ended or halted."""

    report: GoalReport


class NightStarted(Event, frozen=True):
    """Work on the list begins. While it lasts, a process that joins uses the same files."""

    base: str
    """The person's files, in bough's own repository."""
    commit: str = ""
    """The last commit then, on which branches are made; empty: there is none."""
    cost: float | None = None
    """Dollars that the night may spend."""
    together: str = ""
    """The branch that all finished work goes onto."""
    by: str = ""


class NightJoining(Event, frozen=True):
    """The finished branches are about to be merged and proven together, as steps of this run."""

    run: str


class NightJoined(Event, frozen=True):
    """The finished branches were merged, or left out."""

    branch: str = ""
    """Empty: nothing could be merged."""
    commit: str = ""
    landed: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    """Goals that conflict or break others, and how."""
    why: str = ""


class NightEnded(Event, frozen=True):
    why: str
    spend: Spend = Spend()
    """What all its runs have spent."""


class RunRemoved(Event, frozen=True):
    """A person removed a run of the list: what it spent stays spent."""

    run: str
    spend: Spend = Spend()
    applied: bool = False
    """Its work is in the person's files."""


class LessonKept(Event, frozen=True):
    """A lesson from a finished run, of releases up to 0.2. Nothing reads it; journals that have it still open."""

    lesson: dict[str, object]


class LessonRetired(Event, frozen=True):
    """A lesson of that kind no longer counted. Nothing reads it."""

    number: int
    why: str
    by: str = ""
