"""A run's current state, kept up to date for every viewer.

The journal is read once, in pieces, and from then on only for new events: one reader per run, however many pages are
open. The engine is not involved.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bough.app import Journal
from bough.app.plan_proposals import KINDS as PROPOSAL_KINDS
from bough.app.plan_proposals import Proposals
from bough.core import events as e
from bough.core.ids import child_path, parent_path
from bough.interfaces.cli.targets import find_standing
from bough.interfaces.terminal.run_tree import TaskRow, list_rows
from bough.views.charts import CHART_KINDS, Charts
from bough.views.run_view import LIVE_KINDS, RunView

KINDS = tuple(dict.fromkeys((*LIVE_KINDS, *CHART_KINDS, *PROPOSAL_KINDS, "PersonSaid")))
PIECE = 2000
"""Events processed at once: about 20 ms in which no other request is answered."""
BEAT = 0.1
"""Seconds between polls of the journal of a live run …"""
REST = 1.0
"""… and of one that is not."""
RESHAPING = (e.RunStarted, e.TaskCreated, e.Planned, e.PlanChanged)
"""Events that may add or remove lines of the tree."""


class LiveRun:
    """One run: its tree, its charts, and which line changed when."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._lock = asyncio.Lock()
        self.view = RunView(name)
        self.charts = Charts()
        self.proposals = Proposals()
        self.seq = 0
        """The last event processed."""
        self.status = "running"
        self.holder: str | None = None
        self.missing = ""
        """What it waits for on many machines: a worker, a tag."""
        self.answered = False
        """The open question has an answer, which the run has not read yet."""
        self.reshaped = 0
        """The event that last added, removed or moved lines."""
        self._changed: dict[str, int] = {}
        self._rows: tuple[int, list[TaskRow]] = (-1, [])
        self._message: tuple[tuple[int, int, str], bytes] = ((-1, -1, ""), b"")
        self._watchers = 0
        self._tail: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    @property
    def rows(self) -> list[TaskRow]:
        """The tree, parents before their children."""
        if self._rows[0] != self.seq:
            self._rows = (self.seq, list_rows(self.view))
            for row in self._rows[1]:
                self._changed.setdefault(row.task.path, self.seq)
        return self._rows[1]

    async def catch_up(self) -> None:
        """Process the events since the last one."""
        async with self._lock:
            while True:
                records = await self._journal.store.read(self.view.name, since=self.seq, kinds=KINDS, limit=PIECE)
                for record in records:
                    self._take(record)
                if len(records) < PIECE:
                    break
            self.status, self.holder = await find_standing(self._journal, self.view)
            self.missing = await self._journal.waiting(self.view.name) if self.holder else ""

    def _take(self, record: e.Record) -> None:
        self.view.see(record)
        self.charts.see(record)
        self.proposals.see(record)
        self.seq = record.seq
        if isinstance(record.event, e.QuestionAsked | e.PersonSaid):
            self.answered = isinstance(record.event, e.PersonSaid)
        if isinstance(record.event, RESHAPING):
            self.reshaped = record.seq
        self._mark(record.task, record.seq)
        match record.event:
            case e.ChildHeld(step=name) | e.ChildSettled(child=name):
                child = child_path(record.task, name)
                began = child in self.view.tasks and self.view.tasks[child].started_at
                for path in (
                    [child] if began else [p for p in self.view.tasks if p == child or p.startswith(f"{child}/")]
                ):
                    self._changed[path] = record.seq
            case _:
                pass
        lane = self.charts.lanes.get(record.task)
        if lane is not None and isinstance(record.event, e.RoundStarted):
            lane.rounds.append(record.seq)

    def _mark(self, task: str, seq: int) -> None:
        path: str | None = task
        while path is not None and self._changed.get(path) != seq:  # Its spend counts above it too.
            self._changed[path] = seq
            path = parent_path(path) if path else None

    def changed_since(self, seq: int) -> list[TaskRow]:
        return [row for row in self.rows if self._changed.get(row.task.path, 0) > seq]

    def message(self, since: int, make: Callable[[LiveRun, int], bytes]) -> bytes:
        """The message for a page that has seen the event `since`, made once for all such pages."""
        key = (since, self.seq, self.status)
        if self._message[0] != key:
            self._message = (key, make(self, since))
        return self._message[1]

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Keep it up to date while anyone is watching."""
        self._watchers += 1
        if self._tail is None:
            self._tail = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers and self._tail is not None:
                # A watcher that arrives while this one ends starts another.
                tail, self._tail = self._tail, None
                tail.cancel()
                await asyncio.gather(tail, return_exceptions=True)

    async def news(self, seq: int, known: str) -> None:
        """Wait for a newer event or another status, or for a while. Raises if the journal can no longer be read."""
        try:
            async with asyncio.timeout(15), self._news:
                await self._news.wait_for(lambda: self.seq > seq or self.status != known)
        except TimeoutError:
            if self._tail is not None and self._tail.done():
                tail, self._tail = self._tail, None
                tail.result()

    async def _follow(self) -> None:
        while True:
            before = (self.seq, self.status)
            await self.catch_up()
            if (self.seq, self.status) != before:
                async with self._news:
                    self._news.notify_all()
            await asyncio.sleep(BEAT if self.holder else REST)


class LiveRuns:
    """The runs of one project that have been viewed."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._runs: dict[str, LiveRun] = {}

    async def run(self, name: str) -> LiveRun:
        """Up to date."""
        found = self._runs.get(name)
        if found is None:
            name = await self.journal.find(name)
            found = self._runs.setdefault(name, LiveRun(self.journal, name))
        await found.catch_up()
        return found

    async def names(self) -> list[str]:
        """Newest first."""
        return (await self.journal.store.runs())[::-1]
