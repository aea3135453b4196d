"""The typed Python API of bough."""

import asyncio
import re
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from msgspec.structs import replace

from bough.core.backlog.entry import GoalEntry
from bough.core.errors import BoughError
from bough.core.planning.plan import Plan, Step, build_goal_step

if TYPE_CHECKING:
    from bough.app import RunObserver
    from bough.core.events import Record
    from bough.ports import Model
    from bough.services.night import NightObserver
    from bough.views.night import NightPage
    from bough.views.run_view import Outcome


class RunOptions(TypedDict, total=False):
    """Options of any run, new or resumed. The settings decide those that are left out."""

    model: "str | Model"
    fast_model: "str | Model"
    strong_model: "str | Model"
    fallback_model: "tuple[str | Model, ...]"
    agent: str
    strong_agent: str
    agent_env: tuple[str, ...]
    agent_network: str
    base_url: str
    record: Path
    rounds: int
    tokens: int
    cost: float
    minutes: float
    allow_unpriced: bool
    continues: str
    max_depth: int
    flat: bool
    jobs: int
    checks: int
    fresh: bool
    sandbox: Literal["auto", "namespaces", "landlock", "none"]
    network: str
    trust_config: bool


class GoalOptions(RunOptions, total=False):
    """Options of the function `run`: those of any run, and those that only a new run takes."""

    dir: Path | str
    check: str | None
    criteria: tuple[str, ...]
    requires_testing: bool
    apply: bool
    watch: "RunObserver | None"


def _warn(ignored: Mapping[str, str]) -> None:
    listed = ", ".join(f"{name} = {value}" for name, value in ignored.items())
    warnings.warn(
        f"Settings of this repository are ignored ({listed}): allow them with trust_config=True.", stacklevel=2
    )


_RENAMED = {"max_tokens": "tokens", "max_cost": "cost", "max_minutes": "minutes", "continue": "continues"}
_KEYWORDS = {*RunOptions.__annotations__, "dir", "check", "apply"}


def _to_keyword(flag: re.Match[str]) -> str:
    name = flag[1].replace("-", "_")
    name = _RENAMED.get(name, name)
    return f"{name}=" if name in _KEYWORDS else flag[0]


@contextmanager
def _errors_in_python() -> Iterator[None]:
    """Rewrite the errors raised in this block for a Python program: `--max-cost` becomes `cost=`."""
    try:
        yield
    except BoughError as error:
        said, *more = error.args
        error.args = (re.sub(r"--([a-z]+(?:-[a-z]+)*)", _to_keyword, str(said)), *more)
        raise


async def run(
    goal: str | Step | Plan,
    *,
    dir: Path | str = ".",
    check: str | None = None,
    criteria: tuple[str, ...] = (),
    requires_testing: bool = True,
    apply: bool = False,
    watch: "RunObserver | None" = None,
    **chosen: Unpack[RunOptions],
) -> "Outcome":
    """Run a goal in a private workspace of the project that contains `dir`, and return how it ended.

    `check` is the command that proves the goal; without one bough looks for the project's own tests. A goal may also be
    a `Step`, which has its own check and criteria and may have smaller steps: they run first, in order, and then the
    goal's own check proves the whole. A `Plan`, which `load_workflow` makes of a file, runs as it is written. With
    `apply` the changes of a completed run are applied to the project's files; without it the files stay untouched.
    """
    from bough.app import Choices, RunObserver, open_session

    step = goal
    if isinstance(step, str):
        step = build_goal_step(step, check=check, criteria=criteria, requires_testing=requires_testing)
    choices = Choices(**chosen)
    with _errors_in_python():
        async with open_session(dir, create=True, choices=choices, tell=_warn) as opened:
            outcome = await opened.start(step, choices, watch or RunObserver())
            if apply and outcome.completed:
                await opened.apply(outcome.run)
            return outcome


class Stream:
    """Iterates over the events of a run as they are recorded, in the journal's order."""

    def __init__(self, observer: "RunObserver") -> None:
        self._arrived: asyncio.Queue[Record | None] = asyncio.Queue()
        self._observer = observer
        self.outcome: Outcome | None = None
        """How the run ended; None while it is running."""

    def recorded(self, record: "Record") -> None:
        self._observer.recorded(record)
        self._arrived.put_nowait(record)

    async def __aiter__(self) -> "AsyncIterator[Record]":
        while (record := await self._arrived.get()) is not None:
            yield record
        self._arrived.put_nowait(None)

    def ended(self) -> None:
        self._arrived.put_nowait(None)


@asynccontextmanager
async def stream(goal: str | Step | Plan, **options: Unpack[GoalOptions]) -> AsyncIterator[Stream]:
    """Run a goal as `run` does, and watch it: `async with stream(…) as events`, then `async for record in events`.

    Leaving the block early stops the run at once; `resume` continues it.
    """
    from bough.app import RunObserver

    observer = options.get("watch") or RunObserver()
    events = Stream(observer)
    options["watch"] = watched = replace(observer, recorded=events.recorded)
    running = asyncio.ensure_future(run(goal, **options))
    running.add_done_callback(lambda _: events.ended())
    try:
        yield events
    finally:
        if not running.done():
            watched.stop.request(now=True)
        events.outcome = await running


def load_workflow(path: Path | str, /, **inputs: object) -> Plan:
    """Load the plan for `run` from a workflow file, with these inputs filled in. Raises `WorkflowError`, a
    `BoughError`, which lists every fault of the file and the inputs with its line."""
    from bough.app.workflow_files import plan_of

    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in inputs.items()}
    file = Path(path)
    return plan_of(file, file.parent if file.is_file() else Path(), texts)


async def resume(
    run: str | None = None, *, dir: Path | str = ".", watch: "RunObserver | None" = None, **chosen: Unpack[RunOptions]
) -> "Outcome":
    """Resume a run (by default the latest) at its first unfinished action, and return how it ended."""
    from bough.app import Choices, RunObserver, open_session

    choices = Choices(**chosen)
    with _errors_in_python():
        async with open_session(dir, choices=choices) as opened:
            return await opened.resume(await opened.find(run), choices, watch or RunObserver())


def run_sync(goal: str | Step | Plan, **options: Unpack[GoalOptions]) -> "Outcome":
    """Do what `run` does, for programs without an event loop."""
    return asyncio.run(run(goal, **options))


async def add_goals(*goals: str | GoalEntry, dir: Path | str = ".", backlog: str = "backlog") -> list[str]:
    """Add goals to a backlog of the project that contains `dir`, and return their names. Pass a `GoalEntry` to give a
    goal its own check, priority, limits or dependencies (`needs`)."""
    from bough.app import open_session
    from bough.services import backlog as lists

    entries = [("", goal if isinstance(goal, GoalEntry) else GoalEntry(goal)) for goal in goals]
    with _errors_in_python():
        async with open_session(dir, create=True) as opened:
            known = await lists.load_backlog(opened, backlog)
            return [added.name for added in await lists.add_goals(opened, known, entries)]


async def run_backlog(
    *,
    dir: Path | str = ".",
    backlog: str = "backlog",
    goals_at_once: int = 1,
    until: float = 0.0,
    max_cost: float | None = None,
    per_goal: float | None = None,
    together: str = "",
    give_up: bool = False,
    watch: "NightObserver | None" = None,
    **chosen: Unpack[RunOptions],
) -> "NightPage":
    """Work through the backlog, as `bough backlog run` does, and return the status of every goal. `until`: when to
    stop, in seconds since 1970. `together`: a branch for the proven work of all goals. `chosen` applies to each run."""
    from bough.app import Choices, open_session
    from bough.services.backlog import load_page
    from bough.services.night import NightObserver, NightPlan, work_through

    choices = Choices(**chosen)
    plan = NightPlan(backlog, goals_at_once, until, max_cost, per_goal, together, ask=not give_up)
    with _errors_in_python():
        async with open_session(dir, create=True, choices=choices, tell=_warn) as opened:
            known = await work_through(opened, plan, choices, watch or NightObserver())
            return await load_page(opened, known, time.time())


async def report_backlog(*, dir: Path | str = ".", backlog: str = "backlog") -> "NightPage":
    """Report the status of every goal in the backlog."""
    from bough.app import open_journal
    from bough.services.backlog import load_backlog, load_page

    with _errors_in_python():
        async with open_journal(dir) as opened:
            return await load_page(opened, await load_backlog(opened, backlog), time.time())
