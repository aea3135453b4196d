"""The current state of runs, kept up to date for the pages that show them.

A run's journal is read once, in pieces, and from then on only for new events, by one reader per run, however many pages
are open. The engine is not involved."""

import asyncio
import time
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager, suppress

from bough.app import Journal
from bough.core import events as e
from bough.core.backlog.state import Backlog, evolve_backlog
from bough.core.errors import BoughError, NewerRun, NotFound
from bough.core.ids import GOAL, RUN, child_path, parent_path
from bough.core.tree.task_state import SETTLED
from bough.ports.steering import cancel_tasks
from bough.services.activity import TaskActivity, load_activity
from bough.services.backlog import find_held, list_backlogs, load_page
from bough.views.charts import CHART_KINDS, Charts
from bough.views.night import NightPage
from bough.views.run_view import LIVE_KINDS, RunView
from bough.views.task_rows import TaskRow, list_rows
from bough.views.waiting import KINDS as WAITING_KINDS
from bough.views.waiting import WaitingView

KINDS = tuple(dict.fromkeys((*LIVE_KINDS, *CHART_KINDS, *WAITING_KINDS)))
PIECE = 2000
"""The number of events processed at once, in about 20 ms, during which no other request is answered."""
BEAT = 0.2
"""Seconds between polls of the journal of a run in progress. A shorter delay costs more, and nobody would notice it."""
REST = 1.0
"""Seconds between polls of the journal of a run that nobody works on."""
RECHECK = 30.0
"""Seconds until a finished run is looked at again, because it may have been reopened."""
STANDING = ("RunStarted", "RunResumed", "RunHalted", "RunFinished", "RunReopened")
RESHAPING = (e.RunStarted, e.TaskCreated, e.Planned, e.PlanChanged)
"""The events that may add or remove lines of the tree."""


class RunGone(NotFound):
    """The run existed, but was removed."""


class LiveRun:
    """One run: its tree, its charts, and the event that last changed each line of the tree."""

    def __init__(self, journal: Journal, name: str, project: str) -> None:
        """`project`: the name under which the pages know the journal's project."""
        self.journal = journal
        self.project = project
        self._lock = asyncio.Lock()
        self.view = RunView(name)
        self.charts = Charts()
        self.waiting = WaitingView()
        self.seq = 0
        self.status = "running"
        self.holder: str | None = None
        self.missing = ""
        """What a run on several machines waits for: a worker, or one with some tag; empty: nothing."""
        self.activity: dict[str, TaskActivity] = {}
        """What tasks are doing that no event describes, by task."""
        self.progress = 0.0
        """The share of tasks that have ended, from 0 to 1. It does not fall when the plan grows."""
        self._settled: set[str] = set()
        self.reshaped = 0
        """The number of the event that last added, removed or moved lines of the tree."""
        self.changed: dict[str, int] = {}
        self._rows: tuple[int, list[TaskRow]] = (-1, [])
        self._watchers = 0
        self._tail: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._looked = 0.0
        self._failed: BoughError | None = None
        """The error that ended the task which follows the journal."""

    @property
    def rows(self) -> list[TaskRow]:
        """Return the lines of the tree, parents before their children."""
        if self._rows[0] != self.seq:
            self._rows = (self.seq, list_rows(self.view))
            for row in self._rows[1]:
                self.changed.setdefault(row.task.path, self.seq)
        return self._rows[1]

    async def catch_up(self) -> None:
        """Process the events since the last one. Raises `RunGone` when the run was removed."""
        async with self._lock:
            while True:
                records = await self.journal.store.read(self.view.name, since=self.seq, kinds=KINDS, limit=PIECE)
                for record in records:
                    self._take(record)
                if len(records) < PIECE:
                    break
            if self.seq and time.monotonic() - self._looked > REST:
                self._looked = time.monotonic()
                if not await self.journal.store.read(self.view.name, RUN, limit=1):
                    self._looked = 0.0
                    raise RunGone(f"{self.view.name} was removed.")
            self.status, self.holder = await self.journal.standing(self.view)
            self.missing = await self.journal.waiting(self.view.name) if self.holder else ""
            self.activity = load_activity(self.journal.root / ".bough", self.view.name) if self.holder else {}

    def _take(self, record: e.Record) -> None:
        self.view.see(record)
        self.charts.see(record)
        self.waiting.see(record)
        self.seq = record.seq
        if isinstance(record.event, RESHAPING):
            self.reshaped = record.seq
        self._mark(record.task, record.seq)
        match record.event:
            case e.RunFinished():
                self.progress = 1.0
            case e.RunReopened():
                self.progress = 0.0
            case e.StateChanged(to=state):
                self._count_settled(record.task, state in SETTLED)
            case e.ChildHeld(step=name):
                self.changed[child_path(record.task, name)] = record.seq
            case e.ChildSettled(child=name):
                child = child_path(record.task, name)
                self._count_settled(child, True)
                for path, task in self.view.tasks.items():  # A task that never began has no own events.
                    if path == child or (path.startswith(f"{child}/") and not task.started_at):
                        self.changed[path] = record.seq

    def _count_settled(self, path: str, settled: bool) -> None:
        if path != GOAL:
            (self._settled.add if settled else self._settled.discard)(path)
            # Settled tasks bring `progress` to 0.97 at most, because the goal's own check still follows.
            self.progress = max(self.progress, 0.97 * min(1.0, len(self._settled) / max(1, len(self.view.tasks) - 1)))

    def _mark(self, task: str, seq: int) -> None:
        path: str | None = task
        # A task's spend is part of its parents' spend, so their lines change, too.
        while path is not None and self.changed.get(path) != seq:
            self.changed[path] = seq
            path = parent_path(path) if path else None

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Keep the run up to date while the `with` block runs, and as long as anyone else watches it."""
        self._watchers += 1
        if self._tail is None or self._failed:
            self._failed = None
            self._tail = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers and self._tail is not None:
                # Clear `_tail` before cancelling it: a watcher that arrives meanwhile then starts a new one.
                tail, self._tail = self._tail, None
                await cancel_tasks([tail])

    @property
    def mark(self) -> tuple[int, str, dict[str, TaskActivity]]:
        """Identify the current state: a page that has seen the same mark needs no message."""
        return self.seq, self.status, self.activity

    async def news(self, known: object) -> None:
        """Wait until the mark differs from `known`, at most 15 seconds. Raises if the journal can no longer be read, or
        no longer has the run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(15), self._news:
                await self._news.wait_for(lambda: self.mark != known or self._failed)
        if self._failed:
            raise self._failed

    async def _follow(self) -> None:
        try:
            while True:
                before = self.mark
                await self.catch_up()
                if self.mark != before:
                    async with self._news:
                        self._news.notify_all()
                await asyncio.sleep(BEAT if self.holder else REST)
        except BoughError as error:
            self._failed = error
            async with self._news:
                self._news.notify_all()


class LiveRuns:
    """The runs of one project that have been viewed."""

    def __init__(self, journal: Journal, project: str) -> None:
        self.journal = journal
        self._project = project
        self._runs: dict[str, LiveRun] = {}
        self._ended: dict[str, float] = {}
        self._nights: dict[str, tuple[Backlog, object, NightPage]] = {}
        """The backlogs by name, each with the state from which its page was built, and the page."""

    async def run(self, name: str) -> LiveRun:
        """Return the run, updated from the journal."""
        found = self._runs.get(name)
        if found is None:
            name = await self.journal.find(name)
            found = self._runs.setdefault(name, LiveRun(self.journal, name, self._project))
        try:
            await found.catch_up()
        except RunGone:
            del self._runs[name]
            raise
        return found

    async def load(self, names: list[str]) -> list[LiveRun]:
        """Load the runs. Those that a newer version of bough wrote are left out: their own pages report that."""
        found = []
        for name in names:
            with suppress(NewerRun):
                found.append(await self.run(name))
        return found

    async def nights(self) -> list[NightPage]:
        """Return one page per backlog of the project, the latest first. A page is rebuilt only after an event of its
        backlog or of one of its runs, or after a process claimed or released a goal."""
        known, pages = set(await self.names()), []
        for name in await list_backlogs(self.journal):
            backlog, made_from, page = self._nights.get(name, (Backlog(name), None, None))
            for record in await self.journal.store.read(backlog.stream, since=backlog.seq):
                backlog = evolve_backlog(backlog, record)
            runs = [item.run for item in backlog.items.values() if item.run in known and not item.dropped]
            marks = (
                backlog.seq,
                tuple((run.seq, run.status) for run in await self.load(runs)),
                await find_held(self.journal, backlog),
            )
            if page is None or made_from != marks:
                page = await load_page(self.journal, backlog, time.time())
            self._nights[name] = backlog, marks, page
            pages.append(page)
        return sorted((page for page in pages if page.goals), key=lambda page: -page.started_at)

    async def names(self) -> list[str]:
        """List the names of all runs, newest first."""
        return (await self.journal.store.runs())[::-1]

    async def find_wanted(self, names: list[str], followed: Set[str]) -> list[str]:
        """Find the runs that are in progress, wait for someone, or follow up on one of the runs in `followed`. The
        others are looked at again only after `RECHECK` seconds, not at every call."""
        now, found = time.monotonic(), []
        for name in names:
            if self._ended.get(name, -RECHECK) + RECHECK > now:
                continue
            try:
                told = [record.event for record in await self.journal.store.read(name, RUN, kinds=STANDING)]
            except NewerRun:
                continue
            follows = any(isinstance(each, e.RunStarted) and each.continues in followed for each in told)
            over = bool(told) and isinstance(told[-1], e.RunFinished) and not follows
            if over and await self.journal.store.holder(name, RUN) is None:
                self._ended[name] = now
            else:
                found.append(name)
        return found
