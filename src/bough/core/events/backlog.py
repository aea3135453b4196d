"""What happens in streams that are no run: lists of goals, and lessons."""

from __future__ import annotations

from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.events.base import Event
from bough.core.lessons import ProvenLesson


class GoalListed(Event, frozen=True):
    """The first event of a goal's stream: a person has put it on the list."""

    entry: GoalEntry
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


class GoalTaken(Event, frozen=True):
    """A process works on the goal. Durable before the run starts, so that after a crash the run is found again."""

    run: str
    base: str
    """The tree that it starts from."""
    origin: str = ""
    """The tree that the night started from, where the goal starts from the work of the goals that it needs."""
    cost: float | None = None
    """Dollars reserved for it this night."""
    before: float = 0.0
    """Dollars that its run had cost before this night."""
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
    """What came of it."""

    branch: str = ""
    """Empty: nothing could be put onto it."""
    commit: str = ""
    landed: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    """Goals that conflict or break others, and how."""
    why: str = ""


class NightEnded(Event, frozen=True):
    why: str


class LessonKept(Event, frozen=True):
    """A finished run has proved something about the repository."""

    lesson: ProvenLesson


class LessonRetired(Event, frozen=True):
    """A verdict contradicts it, or a person has forgotten it."""

    number: int
    why: str
    by: str = ""
