"""Runs the goal's check on the base, the files as they are before the run. A check that misses something there (a
command, a package, a service) halts the run early, because no agent can repair the machine. If the project's own files
do not show how it is tested, a scout (a model that looks around) proposes a check."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from bough.core import events as e
from bough.core.acceptance.verdict import Check
from bough.core.budget.limits import Spend, seconds_left
from bough.core.errors import PermissionNeeded, SetupFailed
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.tree.task import Task
from bough.engine.scout import scout
from bough.ports import Ports
from bough.ports.verifier import Work

T = TypeVar("T")


async def check_base(
    run: Run, ports: Ports, *, fresh: bool = False, asks: bool = False, seen: Callable[[], None] = lambda: None
) -> AsyncIterator[Sequence[e.AnyEvent]]:
    """Run the check on the base, and yield the events to record. After a crash it simply runs again. `fresh`: run it
    even if its result on these files is known; then `asks` says whether to ask a scout, even if one was asked before.
    `seen`: called when the first test runs."""
    goal = run.plan.goal
    task = Task(GOAL, step=goal, base=run.base, tree=run.base, rules=run.rules)
    check = await ports.verifier.find(task) if goal.requires_testing else None
    found = e.BaseChecked()
    if check is not None:
        yield [e.BaseStarted(check.command, check.why, check.environment)]
        looked = await _finish(
            _run_base_check(ports, run, task, check, fresh, seen), run, ports, "the base check finished"
        )
        if isinstance(looked, e.RunHalted):
            yield [looked]
            return
        found = looked
    weak = asks and found.exit_status == 0 and bool(found.belief) and not found.believed
    unclear = goal.requires_testing and not goal.test_command and (found.absent or not found.command or weak)
    told: list[e.AnyEvent] = []
    if unclear and (asks if fresh else run.rules.scout and not await ports.verifier.was_asked(run, task)):
        asked = await _finish(
            scout(run, task, ports, partial(ports.progress, GOAL)), run, ports, "a model said how it is tested"
        )
        if isinstance(asked, e.RunHalted):
            yield [asked]
            return
        found = asked[1] or found
        told = [asked[0]] if asked[0].commands or asked[0].refused else []
    if found.command and (check is None or found.command != check.command):
        told.append(e.BaseStarted(found.command, found.why, found.environment))
    halt = [e.RunHalted("environment", f"{found.lacking}. {found.way_out}")] if found.lacking else []
    yield [*told, found, *halt]


async def _finish(work: Coroutine[Any, Any, T], run: Run, ports: Ports, what: str) -> T | e.RunHalted:
    """Return the result of `work`, or the halt of the run if its time is spent or a person stops it before that. `what`
    says in the halt's message what had not happened yet."""
    doing = asyncio.create_task(work)
    watching = ports.stop.watch(doing.cancel)
    try:
        async with asyncio.timeout(seconds_left(Spend(), run.limits)):
            return await doing
    except TimeoutError:
        return e.RunHalted("budget", f"the budget of {run.limits.minutes:,} minutes was spent before {what}")
    except asyncio.CancelledError:
        if not ports.stop.requested:
            raise
        return e.RunHalted(*ports.stop.halt)
    finally:
        doing.cancel()
        watching.close()


async def _run_base_check(
    ports: Ports, run: Run, task: Task, check: Check, fresh: bool, seen: Callable[[], None]
) -> e.BaseChecked:
    try:
        return await ports.verifier.at_base(Work(run, task, check, seen), partial(ports.progress, GOAL), fresh=fresh)
    except (SetupFailed, PermissionNeeded) as error:
        said, _, more = str(error).partition(": ")
        return e.BaseChecked(check.command, check.why, check.environment, lacking=said, way_out=more)
