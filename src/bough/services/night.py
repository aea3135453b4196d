"""Works through a backlog, which is called a night: each goal is a run, and several run at once if the person allows.

`core.backlog.decide` chooses what to do next, and this module does it. Only the holder of a goal's claim may work on
it, and each intent is recorded first: after `kill -9` the next process finds the runs again, and no goal is taken
twice, here or on another machine that shares the store."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from math import inf
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bough.adapters.stores.liveness import worker_id
from bough.adapters.workspaces import deliver
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core import errors
from bough.core import events as e
from bough.core.backlog.decide import CallOff, End, Join, Move, NightSituation, Take, Wait, decide, wants_joining
from bough.core.backlog.entry import GoalReport
from bough.core.backlog.state import TOGETHER, Backlog, BacklogItem, Night, evolve_backlog
from bough.core.budget.limits import LAST_SHARE, Spend, sum_spends
from bough.core.ids import CONTROL, GOAL, slug
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import build_goal_step
from bough.ports import Claim
from bough.ports.steering import Stop, cancel_tasks, run_beside
from bough.services.backlog import LEASE, find_held, is_of, load_backlog, look_at_runs, make_listing, measure_night
from bough.services.earlier_runs import StartingPoint
from bough.services.night_branch import (
    NightBranch,
    find_conflicts,
    find_full_disk,
    find_touched,
    is_outdated,
    make_branch_once,
    require_delivered,
)
from bough.services.permissions import list_barred
from bough.services.recheck import recheck_night
from bough.services.run_messages import find_person
from bough.views.run_view import Outcome

OFTEN = 1.0
"""Seconds between two looks at whether somebody has written to the journal."""
SELDOM = 5.0
"""Seconds between two reads of a journal on a server."""

Deliver = Callable[[Session, str, str], Awaitable[tuple[str, str]]]
"""Opens a pull request for a run's branch, and returns its address and an optional remark."""


class NightPlan(Struct, frozen=True):
    """The person's choices for the night."""

    name: str
    jobs: int = 1
    until: float = 0.0
    cost: float | None = None
    per_goal: float | None = None
    """The most dollars for one goal."""
    together: str = ""
    """The name of a branch for the proven work of all goals; empty: none."""
    max_disk: int = 0
    """The most bytes that bough's files of the project may take; 0: no limit."""
    partial: bool = False
    """Whether finished work without proof gets a branch, too."""
    ask: bool = True
    """Whether a stuck goal waits for the person's answer; otherwise it is given up."""
    deliver: Deliver | None = None


class NightObserver(Struct, frozen=True):
    stop: Stop = field(default_factory=Stop)
    listed: Callable[[Backlog, e.Record], None] = lambda backlog, record: None
    recorded: Callable[[e.Record], None] = lambda record: None
    merged: Callable[[e.Record], None] = lambda record: None
    """Called when a goal was merged into the common branch, or left out of it."""
    doing: Callable[[str, str, str], None] = lambda goal, task, what: None
    """Called with an activity of a goal's task that has no event; empty: the activity ended."""


class _Live(Struct, frozen=True, eq=False):
    """A goal that this process works on."""

    item: BacklogItem
    stop: Stop
    work: asyncio.Task[None]


async def work_through(session: Session, plan: NightPlan, choices: Choices, watch: NightObserver) -> Backlog:
    """Work through the backlog until nothing is left to do or a limit is reached, and return its state then."""
    if plan.together and not await asyncio.to_thread(deliver.find_commit, session.root, "HEAD"):
        raise errors.UsageError(
            "--apply-together needs a git repository with a commit: run `git init` and commit your files."
        )
    if plan.together:
        known = (await load_backlog(session, plan.name)).open_night
        # If a night is open, an earlier process of it may have made the branch.
        if known is None or not known.together:
            deliver.require_free_branch(session.root, plan.together)
    session.require_models(replace(choices, cost=plan.cost or plan.per_goal))
    worker = NightWorker(session, plan, choices, watch, await load_backlog(session, plan.name))
    if worker.backlog.open_night is None and await worker.has_nothing_to_do():
        return worker.backlog  # An empty night would replace the last one on the report's page.

    async def beat() -> None:
        """Renew the claims of goals whose run is just beginning or has just ended."""
        while True:
            await asyncio.sleep(LEASE / 3)
            with suppress(errors.StoreError):  # The next append notices a lost claim.
                await session.store.renew(worker_id(), LEASE)

    async with run_beside(beat()):
        await worker.begin()
        try:
            why = await worker.run_to_end()
        finally:
            await worker.leave()
        return await worker.finish(why)


class NightWorker:
    def __init__(
        self, session: Session, plan: NightPlan, choices: Choices, watch: NightObserver, backlog: Backlog
    ) -> None:
        self.session = session
        self.plan = plan
        self.choices = choices
        self.watch = watch
        self.backlog = backlog
        self.live: dict[str, _Live] = {}
        self._woken = asyncio.Event()
        self._mark: tuple[int, int, float] | None = None
        self._refused: set[str] = set()
        """Goals whose claim another process held a moment ago."""
        self._settling = asyncio.Lock()
        self._measured: dict[str, tuple[int, Spend]] = {}

    # ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def has_nothing_to_do(self) -> bool:
        """Return whether no goal can begin, even if there were disk space."""
        return isinstance(decide(self.backlog, replace(await self._look(), full=""))[0], End)

    async def begin(self) -> None:
        """Start a night, or join the one that another process is working on or was killed in."""
        session, plan, night = self.session, self.plan, self.backlog.open_night
        if night is not None:
            cost, together = plan.cost or night.started.cost, plan.together or night.started.together
            await self._post(replace(night.started, cost=cost, together=together, by=find_person()))
            return
        commit = await asyncio.to_thread(deliver.find_commit, session.root, "HEAD")
        base = await session.workspaces.take()
        await self._post(e.NightStarted(base, commit, plan.cost, plan.together, find_person()))

    async def run_to_end(self) -> str:
        """Work on goals until the night ends; return a phrase that says why it ends."""
        with self.watch.stop.watch(self._woken.set):
            while True:
                self._woken.clear()
                await self._catch_up()
                moves = decide(self.backlog, await self._look())
                for move in moves:
                    if isinstance(move, End):
                        return move.why
                    await self._do(move)
                if all(isinstance(move, CallOff) for move in moves):
                    await self._wait(0.0)

    async def _do(self, move: Move) -> None:
        match move:
            case Take(name, cost):
                if not await self._take(self.backlog.items[name], cost):
                    self._refused.add(name)
                    await self._wait(time.time() + OFTEN)
            case CallOff(name, why):
                live = self.live[name]
                if not live.stop.requested or (self.watch.stop.now and not live.stop.now):
                    live.stop.request(now=self.watch.stop.now, halt=("stopped", why))
            case Join():
                if not await self._join():
                    await self._wait(time.time() + OFTEN)
            case Wait(until):
                await self._wait(until)

    async def _wait(self, until: float) -> None:
        """Sleep until a goal ends, another process writes to the journal, or the time `until` comes."""
        waits = [live.work for live in self.live.values()]
        woken, pause = asyncio.create_task(self._woken.wait()), OFTEN if self._mark else SELDOM
        try:
            while True:
                left = min(pause, max(0.0, until - time.time())) if until else pause
                done, _ = await asyncio.wait([*waits, woken], timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if done or (until and time.time() >= until) or not self._mark or self._find_mark() != self._mark:
                    break
        finally:
            await cancel_tasks((woken,))
        for name in [name for name, live in self.live.items() if live.work.done()]:
            self.live.pop(name).work.result()

    def _find_mark(self) -> tuple[int, int, float] | None:
        """Return what changes with every write to the journal, and once a minute; None for a journal on a server."""
        try:
            written = Path(f"{getattr(self.session.store, 'path', '')}-wal").stat()
        except OSError:
            return None
        return written.st_mtime_ns, written.st_size, time.time() // 60

    async def _catch_up(self) -> None:
        self._mark = self._find_mark()  # Before reading, so that no later write is missed.
        for record in await self.session.store.read(self.backlog.stream, since=self.backlog.seq):
            self.backlog = evolve_backlog(self.backlog, record)
            if isinstance(record.event, e.StopRequested):
                self.watch.stop.request(now=record.event.now)
            self.watch.listed(self.backlog, record)
            self.session.herald.hear(record)

    async def _post(self, event: e.AnyEvent) -> None:
        await self.session.store.post(self.backlog.stream, CONTROL, event)
        await self._catch_up()

    async def _look(self) -> NightSituation:
        session, backlog, mine = self.session, self.backlog, frozenset(self.live)
        refused, self._refused = self._refused, set()
        return NightSituation(
            now=time.time(),
            jobs=self.plan.jobs,
            mine=mine,
            elsewhere=(await find_held(session, backlog) | refused) - mine,
            seen=await look_at_runs(session, backlog, mine),
            barred=await list_barred(session, backlog),
            touched=await find_touched(session, backlog, self.live) if len(mine) < self.plan.jobs else {},
            spent=await self._find_spent() if len(mine) < self.plan.jobs else {},
            per_goal=self.plan.per_goal,
            until=self.plan.until,
            full=await find_full_disk(session, self.plan.max_disk, bool(mine)) if len(mine) < self.plan.jobs else "",
            stopping=self.watch.stop.requested,
        )

    async def _find_spent(self) -> dict[str, float]:
        night = self.backlog.open_night
        if night is None or night.started.cost is None:
            return {}
        spent = await measure_night(self.session, self.backlog, self._measured)
        return {run: spend.cost for run, spend in spent.items()}

    # ── one goal ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _take(self, item: BacklogItem, cost: float | None) -> bool:
        """Claim the goal, record its run and start it. Return False if another process holds the goal."""
        store, night = self.session.store, self.backlog.open_night
        assert night is not None
        try:
            async with AsyncExitStack() as holding:
                claim = await holding.enter_async_context(
                    store.claim(self.backlog.stream, item.name, worker_id(), LEASE)
                )
                try:
                    planned: e.GoalTaken | e.GoalSettled = await self._plan_taking(item, night, cost)
                except (
                    errors.NotFound,
                    errors.UsageError,
                    errors.WorkspaceError,
                ) as error:  # Only this goal fails; the others continue.
                    planned = e.GoalSettled(GoalReport("error", str(error)))
                await store.append(claim, [planned], item.version)
                held = holding.pop_all() if isinstance(planned, e.GoalTaken) else AsyncExitStack()
        except (errors.ClaimHeld, errors.ClaimLost, errors.VersionConflict):
            return False
        await self._catch_up()
        if isinstance(planned, e.GoalSettled):
            return True
        stop = Stop()
        if self.watch.stop.requested:
            stop.request(now=self.watch.stop.now)
        item = self.backlog.items[item.name]
        self.live[item.name] = _Live(item, stop, asyncio.create_task(self._run_goal(item, claim, held, stop)))
        return True

    async def _plan_taking(self, item: BacklogItem, night: Night, cost: float | None) -> e.GoalTaken:
        """Return the event that names the run for a goal: its earlier run if that still fits the goal, or a new one."""
        session = self.session
        name = item.run if item.run == slug(item.run) else ""  # A name from a journal must not be used as a path.
        run = await session.run(name) if name else Run("")
        again = is_of(run, make_listing(self.backlog, item.name)) and not is_outdated(run, item)
        if again or (name and item.running and not run.version):
            spent = (await session.view(item.run)).spend if run.version else Spend()
            # What the run has already spent this night counts towards the night's limit, even if it was halted since.
            before = night.runs[item.run].before if item.run in night.runs else spent
            reserved = cost + spent.cost - before.cost if cost is not None else None
            known = item.taken or e.GoalTaken(item.run, night.started.base, commit=night.started.commit)
            return replace(known, cost=reserved, before=before, worker=worker_id())
        base = night.started.base
        for need in item.entry.needs:
            other = self.backlog.items[need]
            if not (await session.run(other.run)).version:
                await require_delivered(session, other, night)
                continue
            done = await session.work(other.run)
            merged = await session.workspaces.merge(done.base, base, done.tree)
            base = "" if merged.conflicts else merged.tree
            if not base:  # The work of two needed goals conflicts.
                break
        origin = night.started.base if base != night.started.base else ""
        name = await session.find_free_name()
        return e.GoalTaken(name, base, origin, cost, commit=night.started.commit, worker=worker_id())

    async def _run_goal(self, item: BacklogItem, claim: Claim, held: AsyncExitStack, stop: Stop) -> None:
        async with held:
            try:
                report = await self._work_on(item, claim, stop)
            except (errors.ClaimHeld, errors.ClaimLost):
                # A person has resumed the run in another process, or this process was suspended for long and another
                # one took over the goal. That process records the outcome.
                return
            except (errors.BoughError, OSError) as error:
                report = GoalReport("error", str(error))
            if report is None or (report.status == "stopped" and self.watch.stop.requested):
                return  # The next process resumes the goal, as after a crash.
            async with self._settling:  # If two goals end at once, the second must see the first for conflicts.
                backlog = await load_backlog(self.session, self.plan.name)
                item = backlog.items[item.name]
                if item.dropped:
                    report = replace(report, status="dropped", why="removed from the list")
                elif report.status == "completed" and report.files:
                    report = replace(report, conflicts=await find_conflicts(self.session, backlog, item, report))
                with suppress(errors.ClaimLost):
                    await self.session.store.append(claim, [e.GoalSettled(report)], item.version)

    async def _work_on(self, item: BacklogItem, claim: Claim, stop: Stop) -> GoalReport | None:
        session, taken = self.session, item.taken
        assert taken is not None
        if not taken.base:
            return GoalReport(
                "failed", f"the work of the goals that it needs ({', '.join(item.entry.needs)}) conflicts"
            )
        run = await session.run(item.run)
        listing = make_listing(self.backlog, item.name)
        choices = self._choose(item)
        watch = RunObserver(stop, recorded=self.watch.recorded, doing=partial(self.watch.doing, item.name))
        if is_of(run, listing):
            return await self._report(item, await session.resume(item.run, choices, watch))
        step = replace(build_goal_step(item.entry.goal, check=item.entry.check or None), files=item.entry.files)
        point = StartingPoint(item.run, taken.base, taken.origin, listing)
        if run.version:  # Another process has used the name for a different run.
            again = replace(taken, run=await session.find_free_name())
            await session.store.append(claim, [again], item.version)
            return await self._work_on(replace(item, run=again.run, version=item.version + 1), claim, stop)
        return await self._report(item, await session.start(step, choices, watch, point))

    def _choose(self, item: BacklogItem) -> Choices:
        taken, entry, choices = item.taken, item.entry, self.choices
        assert taken is not None
        limits = [limit for limit in (taken.cost, self.plan.per_goal, entry.cost) if limit is not None]
        return replace(
            choices,
            rounds=entry.rounds or choices.rounds,
            tokens=entry.tokens or choices.tokens,
            minutes=entry.minutes or choices.minutes,
            cost=min(limits) + self._find_before(item).cost if limits else None,
            jobs=None,
            ask_later=self.plan.ask,
        )

    def _find_before(self, item: BacklogItem) -> Spend:
        night = self.backlog.night
        return night.runs[item.run].before if night is not None and item.run in night.runs else Spend()

    async def _report(self, item: BacklogItem, outcome: Outcome) -> GoalReport:
        """Return the report on a run's outcome; put proven work on a branch first."""
        session, commit_before = self.session, item.taken.commit if item.taken is not None else ""
        report = GoalReport(outcome.status, outcome.summary, outcome.spend, outcome.until)
        if outcome.status == "budget" and self._is_night_spent(item, outcome.spend):
            report = replace(report, status="stopped", why="its part of the night's budget is spent")
        if not await session.store.read(outcome.run, GOAL, kinds=("TaskCreated",)):
            return report
        task = await session.task(outcome.run)
        counts = await session.workspaces.count_changes(task.base, task.tree)
        files = tuple(one.path for one in counts)
        added, removed = sum(one.added for one in counts), sum(one.removed for one in counts)
        report = replace(report, files=files, added=added, removed=removed)
        if not (outcome.completed or (self.plan.partial and outcome.status == "not_proven")) or not files:
            return report
        if not commit_before:
            return report
        try:
            branch, commit = await make_branch_once(session, outcome.run, f"bough/{outcome.run}", commit_before)
            report = replace(report, branch=branch, commit=commit)
            if self.plan.deliver is not None:
                address, remark = await self.plan.deliver(session, outcome.run, branch)
                report = replace(report, address=address, why=f"{report.why}; {remark}" if remark else report.why)
        except errors.BoughError as error:
            report = replace(report, why=f"{report.why}; {error}")
        return report

    def _is_night_spent(self, item: BacklogItem, spend: Spend) -> bool:
        """Return whether the goal stopped because its part of the night's budget is spent, not its own limit."""
        cost = item.taken.cost if item.taken is not None else None
        own = [limit for limit in (self.plan.per_goal, item.entry.cost) if limit is not None]
        spent = spend.cost - self._find_before(item).cost
        return cost is not None and cost < min(own, default=inf) and spent >= cost * LAST_SHARE

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def leave(self) -> None:
        """Cancel all goals that this process works on. The next process resumes them."""
        await cancel_tasks(live.work for live in self.live.values())

    async def finish(self, why: str) -> Backlog:
        """End the night, unless another process still works on goals: merge the branches if the person wants that, and
        check the work again if main has new commits."""
        await self._catch_up()
        night = self.backlog.open_night
        busy = any(item.running for item in self.backlog.items.values())
        if night is None or (busy and (self.watch.stop.requested or await find_held(self.session, self.backlog))):
            return self.backlog
        joins = wants_joining(self.backlog) or (night.started.together and night.joined is None)
        if joins and not self.watch.stop.requested and not await self._join():
            return self.backlog  # Another process ends the night; if it is killed, the next one does.
        if not self.watch.stop.requested:
            why = "; ".join((why, *await recheck_night(self.session, self.backlog, self.choices)))
            await self._post(e.NightEnded(why, sum_spends((await measure_night(self.session, self.backlog)).values())))
        return self.backlog

    async def _join(self) -> bool:
        """Merge the branches of the goals. Return False if another process is doing that."""
        night = self.backlog.open_night
        assert night is not None

        def recorded(record: e.Record) -> None:
            self.watch.recorded(record)
            if isinstance(record.event, e.ChildSettled):
                self.watch.merged(record)

        try:
            async with self.session.store.claim(self.backlog.stream, TOGETHER, worker_id(), LEASE):
                work = NightBranch(self.session, self.backlog, night, self.choices, self.plan.jobs, self._post)
                doing = partial(self.watch.doing, TOGETHER)
                await work.join(RunObserver(self.watch.stop, recorded=recorded, doing=doing))
        except errors.ClaimHeld:
            return False
        return True
