"""Journals made for a test: runs that never ran, appended straight through the store."""

from pathlib import Path

from bough.adapters.stores.sqlite import SqliteStore
from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits
from bough.core.ids import GOAL, RUN
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.task_state import State

WORDS = "The parser reads one token ahead, so the closing bracket is taken twice; I change that first. " * 3
OUTPUT = "src/parser.py:41: in parse\n    token = self.next()\nE   IndexError: pop from an empty list\n" * 8


def started(goal: str = "Make the parser accept nested lists") -> e.RunStarted:
    step = Step(GOAL, goal, test_command="pytest -q")
    return e.RunStarted(
        Plan(step), "b" * 40, "", {"main": "openai:m", "strong": "openai:m"}, Limits(), Rules(), "0.1.0"
    )


def task_events(name: str, rounds: int, to: State = State.COMPLETED) -> list[e.AnyEvent]:
    """The stream of one task that reads and edits for so many rounds and is then judged."""
    step = Step(name, f"Work on {name}\nin small steps", test_command="pytest -q")
    events: list[e.AnyEvent] = [
        e.TaskCreated(step, "b" * 40, Limits(), Rules()),
        e.WorkspaceOpened("b" * 40),
        e.StateChanged(State.IN_PROGRESS, "work begins"),
        e.AttemptStarted("builder", "main", "You are an agent.", f"Work on {name}."),
    ]
    for number in range(rounds):
        call = Call(f"call_{number}", "edit", '{"path": "src/parser.py", "old": "a", "new": "b"}')
        usage = Usage(input=2000 + number, output=100)
        events += [
            e.RoundStarted(),
            e.ModelAnswered(WORDS, (call,), "calls", usage, cost=0.001, seconds=1.5, model="m"),
            e.ToolStarted(call.id, True),
            e.ToolFinished(call.id, True, OUTPUT, tree="c" * 40, seconds=0.1),
        ]
    verdict = Verdict(
        "passed", "the check passed", command="pytest -q", exit_status=0, seconds=1.25, output="3 passed", tree="c" * 40
    )
    events += [e.DoneClaimed("It works."), e.StateChanged(State.TESTING, "the agent says it is done")]
    events += [e.CheckStarted("pytest -q"), e.CheckFinished(verdict)]
    events += [e.CheckpointMade("d" * 40, "c" * 40, ("src/parser.py",)), e.StateChanged(to, "the check passed")]
    return events


async def write_run(store: SqliteStore, run: str, streams: dict[str, list[e.AnyEvent]]) -> int:
    """Append whole streams, each in one go; returns how many events."""
    total = 0
    for task, events in streams.items():
        async with store.claim(run, task, "test", 60.0) as claim:
            total += len(await store.append(claim, events, 0))
    return total


async def write_small_run(folder: Path, rounds: int) -> None:
    """The journal of a project with one run, in which so many rounds were made."""
    (folder / ".bough").mkdir()
    store = SqliteStore(folder / ".bough" / "journal.db")
    await write_run(store, "amber-heron", {RUN: [started()], GOAL: task_events(GOAL, rounds)})
    await store.close()


async def write_large_run(path: Path, run: str = "amber-heron", tasks: int = 1000, events: int = 100) -> int:
    """A finished run of many tasks three levels deep, with about so many events each."""
    streams: dict[str, list[e.AnyEvent]] = {RUN: [started()]}
    rounds = (events - 10) // 4
    for number in range(tasks):
        phase, part = divmod(number - 1, 25)
        name = GOAL if number == 0 else f"phase-{phase}" + (f"/step-{part}" if part else "")
        streams[name] = task_events(name, rounds)
    store = SqliteStore(path, create=True)
    try:
        return await write_run(store, run, streams)
    finally:
        await store.close()
