"""A backlog as a fold over its events."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalFault, GoalReport
from bough.core.budget.limits import Spend
from bough.core.errors import NotFound, UsageError
from bough.core.ids import BACKLOG
from bough.core.planning.plan import find_circle

REVIEW = "@review"
"""The name under which a night's list of runs has the cost of reviewing the backlog."""
TOGETHER = "@together"
"""Stands in for a goal's name where the finished branches are merged: in the process's claim, and for their run."""


class BacklogItem(Struct, frozen=True):
    name: str
    number: int
    entry: GoalEntry
    version: int = 0
    """The version of the goal's own stream."""
    dropped: bool = False
    run: str = ""
    """The run that works or worked on the goal."""
    taken: e.GoalTaken | None = None
    report: GoalReport | None = None
    """The goal's outcome; None while it runs or has not begun."""
    settled_at: float = 0.0
    night: int = 0
    """The night in which the goal was last taken or settled."""
    edited: bool = False
    """Whether the person changed the goal since it was settled: then it is worth another try."""
    removed: e.RunRemoved | None = None
    """Set if the person has removed the goal's run."""
    findings: tuple[GoalFault, ...] | None = None
    """The review's findings; None: nobody has reviewed it since it was added or changed."""

    @property
    def running(self) -> bool:
        return self.taken is not None and self.report is None


class NightRun(Struct, frozen=True):
    """A run that a night has worked on."""

    item: str
    before: Spend = Spend()
    """What the run had spent before this night."""
    known: Spend = Spend()
    """The run's spend at the backlog's last event about it: all that is known once the run is removed."""


class Night(Struct, frozen=True):
    """A night: one stretch of work on the backlog (`bough backlog run`), from one state of the person's files."""

    number: int
    started: e.NightStarted
    at: float
    ended_at: float = 0.0
    why: str = ""
    together: str = ""
    """The run that merges the finished branches, while it does."""
    joined: e.NightJoined | None = None
    runs: Mapping[str, NightRun] = {}
    """All its runs by name, also those of goals that were dropped, or changed and begun again."""


class Backlog(Struct, frozen=True):
    name: str
    items: Mapping[str, BacklogItem] = {}
    """The goals by name, in the order of the list."""
    night: Night | None = None
    """The last night."""
    count: int = 0
    gone: int = 0
    """Goals in a row this night whose model was unavailable."""
    reviewed: Spend = Spend()
    """The cost of `backlog check` since the last night, which the next one pays."""
    seq: int = 0

    @property
    def stream(self) -> str:
        return make_stream(self.name)

    @property
    def open_night(self) -> Night | None:
        return self.night if self.night is not None and not self.night.ended_at else None

    def find(self, name: str) -> BacklogItem:
        """Find the goal that a name, a number or a unique beginning of a name refers to."""
        live = {item.name: item for item in self.items.values() if not item.dropped}
        found = [item for item in live.values() if name in (item.name, str(item.number))]
        found = found or [item for item in live.values() if item.name.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"`{name}` is ambiguous: {', '.join(item.name for item in found)}.")
        raise NotFound(f"There is no goal `{name}` in the backlog {self.name}: `bough backlog list` lists them.")


def make_stream(name: str) -> str:
    """Return the store's stream name for a backlog."""
    return f"{BACKLOG}{name}"


def evolve_backlog(backlog: Backlog, record: e.Record) -> Backlog:
    backlog = replace(backlog, seq=max(backlog.seq, record.seq))
    match record.event:
        case e.GoalListed(entry):
            backlog = _list_goals(backlog, {record.task: entry})
        case e.GoalsListed(entries):
            backlog = _list_goals(backlog, entries)
        case e.GoalEdited(item, entry):
            backlog = _change(backlog, item, entry=entry, edited=True, findings=None)
        case e.GoalDropped(item):
            backlog = _change(backlog, item, dropped=True)
        case e.GoalMoved(item, before):
            backlog = replace(backlog, items=_move(backlog.items, item, before))
        case e.GoalsReviewed(findings, spend):
            for name, found in findings.items():
                backlog = _change(backlog, name, findings=found)
            backlog = _count_review(replace(backlog, reviewed=backlog.reviewed.plus(spend)))
        case e.GoalTaken() as taken:
            number = backlog.night.number if backlog.night is not None else 0
            fields = {"run": taken.run, "taken": taken, "report": None, "removed": None, "edited": False}
            backlog = _change(backlog, record.task, **fields, night=number)
            spent = taken.before if isinstance(taken.before, Spend) else Spend(cost=taken.before)
            backlog = _count(backlog, taken.run, NightRun(record.task, spent, spent))
        case e.GoalSettled(report):
            number = backlog.night.number if backlog.night is not None else 0
            backlog = _change(backlog, record.task, report=report, settled_at=record.at, night=number)
            if record.task in backlog.items:
                backlog = _know(backlog, backlog.items[record.task].run, report.spend)
            backlog = replace(backlog, gone=backlog.gone + 1 if report.status == "unavailable" else 0)
        case e.NightStarted() as started if backlog.open_night is None:
            number = backlog.night.number + 1 if backlog.night is not None else 1
            backlog = replace(backlog, night=Night(number, started, record.at), gone=0)
            backlog = _count_review(backlog)
        case e.NightStarted() as again if (night := backlog.open_night) is not None:
            # A process that joins uses the same files; a new budget or branch counts from now on.
            cost = again.cost if again.cost is not None else night.started.cost
            started = replace(night.started, cost=cost, together=again.together or night.started.together)
            backlog = replace(backlog, night=replace(night, started=started), gone=0)
            # A person started work on the backlog again while it is under way: a model that was unavailable may be
            # back, so its goals wait no longer.
            for gone in [
                one.name for one in backlog.items.values() if one.report and one.report.status == "unavailable"
            ]:
                backlog = _change(backlog, gone, settled_at=0.0)
        case e.NightJoining(run) if backlog.night is not None:
            backlog = replace(backlog, night=replace(backlog.night, together=run))
            backlog = _count(backlog, run, NightRun(TOGETHER))
        case e.RunRemoved(run, spend) as removed:
            for name in [known.name for known in backlog.items.values() if known.run == run]:
                backlog = _change(backlog, name, removed=removed)
            backlog = _know(backlog, run, spend, removed=True)
        case e.NightJoined() as joined if backlog.night is not None:
            backlog = replace(backlog, night=replace(backlog.night, joined=joined, together=""))
        case e.NightEnded(why) if backlog.open_night is not None:
            backlog = replace(backlog, night=replace(backlog.open_night, ended_at=record.at, why=why))
        case _:
            pass
    if record.task in backlog.items:
        backlog = _change(backlog, record.task, version=record.version)
    return backlog


def fold_backlog(name: str, records: Iterable[e.Record]) -> Backlog:
    backlog = Backlog(name)
    for record in records:
        backlog = evolve_backlog(backlog, record)
    return backlog


def _list_goals(backlog: Backlog, entries: Mapping[str, GoalEntry]) -> Backlog:
    """Put these goals on the backlog. If two people use the same name at once, the first goal keeps it."""
    new = {name: entry for name, entry in entries.items() if name not in backlog.items}
    listed = {name: BacklogItem(name, at, entry) for at, (name, entry) in enumerate(new.items(), backlog.count + 1)}
    return replace(backlog, items={**backlog.items, **listed}, count=backlog.count + len(listed))


def _change(backlog: Backlog, item: str, **fields: Any) -> Backlog:
    if item not in backlog.items:  # A foreign journal may edit a goal that is not listed.
        return backlog
    return replace(backlog, items={**backlog.items, item: replace(backlog.items[item], **fields)})


def _count(backlog: Backlog, run: str, begun: NightRun) -> Backlog:
    night = backlog.night
    if night is None or run in night.runs:
        return backlog
    return replace(backlog, night=replace(night, runs={**night.runs, run: begun}))


def _count_review(backlog: Backlog) -> Backlog:
    night = backlog.open_night
    if night is None or backlog.reviewed == Spend():
        return backlog
    before = night.runs[REVIEW].known if REVIEW in night.runs else Spend()
    runs = {**night.runs, REVIEW: NightRun(REVIEW, known=before.plus(backlog.reviewed))}
    return replace(backlog, night=replace(night, runs=runs), reviewed=Spend())


def _know(backlog: Backlog, run: str, spend: Spend, *, removed: bool = False) -> Backlog:
    """Record the total spend of a run of the night. The spend of a removed run still counts, but under another name,
    since a new run of its goal may get the same name."""
    night = backlog.night
    if night is None or run not in night.runs:
        return backlog
    begun = night.runs[run]
    runs = {f"{run} removed {len(night.runs)}" if removed else run: replace(begun, known=spend)}
    runs |= {run: NightRun(begun.item)} if removed else {}
    return replace(backlog, night=replace(night, runs={**night.runs, **runs}))


def _move(items: Mapping[str, BacklogItem], item: str, before: str) -> Mapping[str, BacklogItem]:
    if item not in items:
        return items
    names = [name for name in items if name != item]
    names.insert(names.index(before) if before in names else len(names), item)
    return {name: items[name] for name in names}


def check_needs(known: Mapping[str, GoalEntry], changed: Mapping[str, GoalEntry]) -> None:
    """Refuse a change after which a changed goal needs a missing one, or goals need each other. An unchanged goal that
    needs a dropped one is no reason to refuse: it waits, and the page says for what."""
    entries = {**known, **changed}
    for name, entry in changed.items():
        for need in entry.needs:
            if need not in entries:
                raise UsageError(f"`{name}` needs `{need}`, which is not in the backlog: add that goal first.")
    if circle := find_circle({name: entry.needs for name, entry in entries.items()}):
        raise UsageError(f"Goals need each other: {' → '.join(circle)}. Remove one of these needs.")
