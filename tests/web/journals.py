"""Journals of runs that never ran: large ones, and one with everything in it that a page could choke on."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.sql import encode_event
from bough.adapters.stores.sqlite import SqliteStore
from bough.adapters.stores.sqlite_file import SqliteConnection
from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.ids import GOAL, RUN
from bough.core.ladder.escalation import Decision, Trouble
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.stuck.signals import Signal
from bough.core.tree.task_state import State

BEGIN = 1_790_000_000.0
TREE = "1" * 40
Told = tuple[str, e.AnyEvent]


def write(root: Path, run: str, told: Iterable[Told], pace: float = 0.4, begin: float = BEGIN) -> int:
    """A project whose journal holds these events; how many there are."""
    events = list(told)
    at = iter(count())
    _apart(_write(root, run, events, lambda: begin + next(at) * pace))
    return len(events)


def append(root: Path, run: str, task: str, events: Sequence[e.AnyEvent]) -> None:
    """More events of a run, as a real run would write them."""
    _apart(_write(root, run, [(task, event) for event in events], time.time))


def _apart(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: a browser's tests have a loop running in theirs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


@contextmanager
def carried_out(root: Path, run: str) -> Iterator[None]:
    """This process holds the run, as who carries it out does."""
    held, let_go = threading.Event(), threading.Event()

    async def hold() -> None:
        store = SqliteStore(root / ".bough" / "journal.db")
        async with store.claim(run, RUN, worker_id(), 60.0):
            held.set()
            await asyncio.to_thread(let_go.wait)
        await store.close()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(asyncio.run, hold())
        try:
            assert held.wait(240), "the run could not be held"
            yield
        finally:
            let_go.set()
            done.result()


async def _write(root: Path, run: str, told: Sequence[Told], clock: Callable[[], float]) -> None:
    (root / ".bough").mkdir(parents=True, exist_ok=True, mode=0o700)
    store = SqliteStore(root / ".bough" / "journal.db", clock=clock)
    ends: dict[str, tuple[int, bytes]] = {}

    def insert(db: SqliteConnection) -> None:
        """In one go: a hundred thousand transactions take minutes."""
        for task, event in told:
            version, link = ends.get(task) or store._read_end(db, run, task)
            store._insert(db, run, task, version, link, [encode_event(event)])
            ends[task] = store._read_end(db, run, task)

    await store._database.write(insert)
    await store.close()


def large(tasks: int, rounds: int, *, fanout: int = 20, over: bool = True) -> Iterator[Told]:
    """A goal with groups of steps below it, `rounds` rounds each; four events a round."""
    groups = [Step(f"group-{g}", f"Part {g} of the work.") for g in range(max(1, tasks // fanout))]
    goal = Step(GOAL, "Port the library to the new interface, module by module.", test_command="pytest -q")
    limits, rules = Limits(rounds=tasks * rounds * 2), Rules()
    yield "", e.RunStarted(Plan(goal), TREE, "", {"main": "openai:example"}, limits, rules, "0.1.0", 8)
    yield from _created(GOAL, goal, limits, rules)
    yield GOAL, e.RequirementsRead((Requirement(1, "Every module uses the new interface."),), "rule")
    yield GOAL, e.Planned(tuple(groups), "the plan")
    for number, group in enumerate(groups):
        steps = tuple(
            Step(f"module-{number}-{s}", f"Port module {number}.{s}.")
            for s in range(min(fanout, tasks - number * fanout))
        )
        yield GOAL, e.ChildStarted(group.name, group.name, limits)
        yield from _created(group.name, group, limits, rules)
        yield group.name, e.Planned(steps, "the plan")
        for step in steps:
            path = f"{group.name}/{step.name}"
            yield group.name, e.ChildStarted(step.name, step.name, limits)
            yield from leaf(path, step, rounds, over=over)
            if over:
                yield group.name, e.ChildSettled(step.name, State.COMPLETED, "its check passes", TREE, Spend(rounds))
    if over:
        yield "", e.RunFinished("completed", "the check passes")


def _created(path: str, step: Step, limits: Limits, rules: Rules) -> Iterator[Told]:
    yield path, e.TaskCreated(step, TREE, limits, rules)
    yield path, e.StateChanged(State.IN_PROGRESS, "work begins")


def leaf(path: str, step: Step, rounds: int, *, over: bool = True) -> Iterator[Told]:
    yield from _created(path, step, Limits(rounds=rounds * 2), Rules())
    yield path, e.AttemptStarted("builder", "main", "You are an engineer.", f"Do this: {step.instructions}")
    for number in range(rounds):
        call = Call(f"c{number}", "bash", f'{{"command": "pytest -q tests/test_{number}.py"}}')
        yield path, e.RoundStarted()
        yield path, e.ModelAnswered("Let me see.", (call,), "calls", Usage(2000 + number, 120), 0.0021, 1.4, "m")
        yield path, e.ToolStarted(call.id, True)
        yield path, e.ToolFinished(call.id, True, f"{number} passed in 0.1s\n" * 4, seconds=0.3, passed=number)
    if over:
        yield path, e.StateChanged(State.TESTING, "the agent says it is done")
        yield path, e.CheckStarted("pytest -q")
        yield (
            path,
            e.CheckFinished(Verdict("passed", "12 tests passed", "pytest -q", passed=12, how="junit", seconds=2.0)),
        )
        yield path, e.StateChanged(State.COMPLETED, "its check passes")


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "\x1b[31mred\x1b]0;owned\x07\u202e"
)


def hostile() -> Iterator[Told]:
    """A run in which everything that a model or a repository can name is HTML, script or an escape sequence."""
    path = "<b>bold"
    goal, step = Step(GOAL, f"Goal {HOSTILE}", test_command="true"), Step(path, f"Step {HOSTILE}")
    limits, rules = Limits(), Rules()
    call = Call("c1", f"bash{HOSTILE}", f'{{"command": "echo {HOSTILE}"}}')
    failed = Failure(f"test_{HOSTILE}", "new", HOSTILE)
    yield "", e.RunStarted(Plan(goal), TREE, "", {"main": HOSTILE}, limits, rules, "0.1.0")
    yield from _created(GOAL, goal, limits, rules)
    yield GOAL, e.RequirementsRead((Requirement(1, HOSTILE),), "rule")
    yield GOAL, e.Planned((step,), HOSTILE)
    yield GOAL, e.ChildStarted(path, path, limits)
    yield from _created(path, step, limits, rules)
    yield path, e.AttemptStarted("builder", "main", HOSTILE, HOSTILE)
    yield path, e.RoundStarted()
    yield path, e.ModelAnswered(HOSTILE, (call,), "calls", Usage(10, 10), 0.1, 1.0, HOSTILE)
    yield path, e.ToolStarted("c1", True)
    yield path, e.ToolFinished("c1", False, HOSTILE, seconds=0.1)
    yield path, e.NoteKept("dead_end", HOSTILE)
    yield path, e.SignalRaised(Signal("repeated_error", 0.9, HOSTILE, "prune", evidence=(HOSTILE,)))
    yield (
        path,
        e.Escalated(
            Decision("nudge", "task", HOSTILE), Trouble("signal", HOSTILE, "repeated_error", "prune", (HOSTILE,))
        ),
    )
    yield path, e.StateChanged(State.TESTING, HOSTILE)
    yield path, e.CheckStarted(HOSTILE)
    yield (
        path,
        e.CheckFinished(Verdict("failed", HOSTILE, HOSTILE, output=HOSTILE, failed=1, failures=(failed,), how="junit")),
    )
    yield path, e.StateChanged(State.TEST_FAILED, HOSTILE)


def said(text: str) -> e.AnyEvent:
    """One more thing for a task's stream."""
    return e.MessageAdded("nudge", text)
