"""A backlog as a fold over its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.errors import NotFound, UsageError
from bough.core.ids import BACKLOG


class BacklogItem(Struct, frozen=True):
    """A goal of the list, and how far it is."""

    name: str
    number: int
    entry: GoalEntry
    version: int = 0
    """The version of its own stream."""
    dropped: bool = False
    run: str = ""
    """The run that works on it, or did."""
    taken: e.GoalTaken | None = None
    report: GoalReport | None = None
    """What came of it; None while it runs or has not begun."""
    settled_at: float = 0.0
    night: int = 0
    """The night in which it was taken or settled last."""
    edited: bool = False
    """The person has changed it since it was settled: it is worth another try."""

    @property
    def running(self) -> bool:
        return self.taken is not None and self.report is None


class Night(Struct, frozen=True):
    """One stretch of work on the list, from one state of the person's files."""

    number: int
    started: e.NightStarted
    at: float
    ended_at: float = 0.0
    why: str = ""
    together: str = ""
    """The run that brings the finished branches together."""
    joined: e.NightJoined | None = None


class Backlog(Struct, frozen=True):
    name: str
    items: Mapping[str, BacklogItem] = {}
    """The goals by name, in the order of the list."""
    night: Night | None = None
    """The last one."""
    count: int = 0
    gone: int = 0
    """Goals in a row this night whose model was unavailable."""
    seq: int = 0

    @property
    def stream(self) -> str:
        return make_stream(self.name)

    @property
    def open_night(self) -> Night | None:
        return self.night if self.night is not None and not self.night.ended_at else None

    @property
    def spent(self) -> float:
        """Dollars that this night has cost so far, as far as they are known."""
        number = self.night.number if self.night is not None else 0
        return sum(
            item.report.spend.cost - (item.taken.before if item.taken is not None else 0.0)
            for item in self.items.values()
            if item.report is not None and item.night == number
        )

    def find(self, name: str) -> BacklogItem:
        """The goal that a name, a number or a unique beginning of a name refers to."""
        live = {item.name: item for item in self.items.values() if not item.dropped}
        found = [item for item in live.values() if name in (item.name, str(item.number))]
        found = found or [item for item in live.values() if item.name.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"`{name}` is ambiguous: {', '.join(item.name for item in found)}.")
        raise NotFound(f"There is no goal `{name}` in the backlog {self.name}: `bough backlog list` lists them.")


def make_stream(name: str) -> str:
    """The name under which the store keeps a backlog."""
    return f"{BACKLOG}{name}"


def evolve_backlog(backlog: Backlog, record: e.Record) -> Backlog:
    backlog = replace(backlog, seq=max(backlog.seq, record.seq))
    match record.event:
        case e.GoalListed(entry):
            number = backlog.count + 1
            listed = BacklogItem(record.task, number, entry)
            backlog = replace(backlog, items={**backlog.items, record.task: listed}, count=number)
        case e.GoalEdited(item, entry):
            backlog = _change(backlog, item, entry=entry, edited=True)
        case e.GoalDropped(item):
            backlog = _change(backlog, item, dropped=True)
        case e.GoalMoved(item, before):
            backlog = replace(backlog, items=_move(backlog.items, item, before))
        case e.GoalTaken() as taken:
            number = backlog.night.number if backlog.night is not None else 0
            backlog = _change(
                backlog,
                record.task,
                run=taken.run,
                taken=taken,
                report=None,
                edited=False,
                night=number,
            )
        case e.GoalSettled(report):
            backlog = _change(backlog, record.task, report=report, settled_at=record.at)
            backlog = replace(backlog, gone=backlog.gone + 1 if report.status == "unavailable" else 0)
        case e.NightStarted() as started if backlog.open_night is None:
            number = backlog.night.number + 1 if backlog.night is not None else 1
            backlog = replace(backlog, night=Night(number, started, record.at), gone=0)
        case e.NightStarted() as again if (night := backlog.open_night) is not None:
            # Whoever joins uses the same files; what a person says about budget and branch then, counts from now on.
            cost = again.cost if again.cost is not None else night.started.cost
            started = replace(night.started, cost=cost, together=again.together or night.started.together)
            backlog = replace(backlog, night=replace(night, started=started))
        case e.NightJoining(run) if backlog.night is not None:
            backlog = replace(backlog, night=replace(backlog.night, together=run))
        case e.NightJoined() as joined if backlog.night is not None:
            backlog = replace(backlog, night=replace(backlog.night, joined=joined))
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


def _change(backlog: Backlog, item: str, **fields: Any) -> Backlog:
    if item not in backlog.items:  # An edit of a goal that is not in the list, in a journal that somebody wrote.
        return backlog
    return replace(backlog, items={**backlog.items, item: replace(backlog.items[item], **fields)})


def _move(items: Mapping[str, BacklogItem], item: str, before: str) -> Mapping[str, BacklogItem]:
    if item not in items:
        return items
    names = [name for name in items if name != item]
    names.insert(names.index(before) if before in names else len(names), item)
    return {name: items[name] for name in names}


def check_needs(known: Mapping[str, GoalEntry], changed: Mapping[str, GoalEntry]) -> None:
    """Refuse a change after which a goal needs one that is not there, itself, or one that needs it. A known goal whose
    need was dropped is no reason to refuse: it waits, and the page says for what."""
    entries = {**known, **changed}
    for name, entry in changed.items():
        for need in entry.needs:
            if need not in entries:
                raise UsageError(f"`{name}` needs `{need}`, which is not in the backlog: add that goal first.")
    try:
        TopologicalSorter({name: entry.needs for name, entry in entries.items()}).prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise UsageError(f"Goals need each other: {circle}. Remove one of these needs.") from None
