"""Journals as earlier releases wrote them still open and mean the same.

A golden journal is a whole journal as text, and once a release can write it, it is never changed. `v1.sql` and
`v1-tree.sql` are in format 1. When the format changes, `v2.sql` is added beside them, and they have to go on meaning
what they meant. New kinds of event in the same format get a file too: add their events as a list of your own to
`GOLDEN` (as `tree.py` does) under `v1-something`, and write it with `python -m tests.golden.write v1-something`. Until
a release has it, delete and write it again as you like.
"""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.adapters.stores.sqlite import SqliteStore
from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.events import (
    FORMAT,
    KINDS,
    AnyEvent,
    Applied,
    AttemptStarted,
    CheckFinished,
    CheckpointMade,
    CheckStarted,
    ChildSettled,
    DoneClaimed,
    MessageAdded,
    ModelAnswered,
    ModelFailed,
    NoteKept,
    Record,
    RoundStarted,
    RunFinished,
    RunHalted,
    RunReopened,
    RunResumed,
    RunStarted,
    SignalRaised,
    StateChanged,
    StopRequested,
    TaskCreated,
    TaskHalted,
    TaskResumed,
    TaskRewound,
    ToolFinished,
    ToolStarted,
    WorkspaceOpened,
    WorkspaceRestored,
    decoder,
    encode,
)
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.stuck.signals import Signal
from bough.core.tree.task_state import State
from tests.golden.acceptance import ACCEPTANCE
from tests.golden.approve import APPROVE
from tests.golden.asked import ASKED
from tests.golden.backlog import NIGHT, READ, SUM
from tests.golden.earned import EARNED
from tests.golden.environment import DOOR
from tests.golden.examine import EXAMINED, TRIED
from tests.golden.fallback import SWITCHED
from tests.golden.merge import MERGED
from tests.golden.outside import OUTSIDE
from tests.golden.scout import SCOUTED
from tests.golden.talk import DROPPED, TALK
from tests.golden.tree import TREE
from tests.golden.verdict import RULED
from tests.golden.workflow import WORKFLOW

HERE = Path(__file__).parent

STEP = Step(
    "goal",
    "Fix the 'off by one' in naïve.py",
    criteria=("the last line is printed",),
    test_command="pytest -q",
    requires_testing=False,
)
RULES = Rules(
    max_repairs=1,
    max_faults=2,
    max_transport_failures=3,
    backoff_first=0.5,
    backoff_longest=8.0,
    model_timeout=30.0,
    bash_timeout=10.0,
    bash_longest=20.0,
    check_timeout=40.0,
    shown=1_000,
    kept=2_000,
    notes=4,
    lease=5.0,
)
LIMITS = Limits(rounds=12, tokens=100_000, cost=1.5, minutes=30.0)
VERDICT = Verdict(
    "failed",
    "The check failed with exit status 1.",
    command="pytest -q",
    exit_status=1,
    seconds=2.5,
    output="1 failed\n",
    blob="b" * 64,
    tree="3" * 40,
)

V1: list[tuple[str, AnyEvent]] = [
    ("", RunStarted(Plan(STEP), "1" * 40, "src", {"main": "openai:gpt-x"}, LIMITS, RULES, "0.1.0")),
    ("goal", TaskCreated(STEP, "1" * 40, LIMITS, RULES)),
    ("goal", StateChanged(State.IN_PROGRESS, "started")),
    ("goal", WorkspaceOpened("1" * 40)),
    ("goal", AttemptStarted("builder", "main", "You are a builder.", "Fix it.\n\n“Quietly”, please. 🌳")),
    ("goal", RoundStarted()),
    ("goal", ModelFailed("503 from the server", 1.0, seconds=0.25)),
    (
        "goal",
        ModelAnswered(
            "I look at it.",
            (Call("call_1", "bash", '{"command": "ls\\t-l"}', extra='{"sig":"x"}'), Call("call_2", "read", "{oops")),
            stop="calls",
            usage=Usage(input=900, output=40, cache_read=800, cache_write=100),
            cost=0.0125,
            seconds=3.5,
            model="openai:gpt-x-2026",
            extra='{"reasoning":"signed"}',
        ),
    ),
    ("goal", ToolStarted("call_1", True)),
    (
        "goal",
        ToolFinished(
            "call_1", True, "total 0\n\x1b[0m\0end", blob="a" * 64, tree="2" * 40, seconds=0.125, interrupted=True
        ),
    ),
    ("goal", ToolFinished("call_2", False, "The arguments are not JSON.", fault=True)),
    ("goal", NoteKept("dead_end", "Sorting first does not help.")),
    ("goal", MessageAdded("last_round", "This is the last round.")),
    ("goal", RoundStarted(last=True)),
    ("goal", ModelAnswered("Done.")),
    ("goal", DoneClaimed("Fixed the loop's end.")),
    ("goal", CheckStarted("pytest -q")),
    ("goal", CheckFinished(VERDICT)),
    ("goal", WorkspaceRestored("2" * 40, "a call was interrupted")),
    ("goal", CheckpointMade("c" * 40, "3" * 40, ("naïve.py", "docs/a b.md"))),
    ("goal", TaskHalted("budget", "12 rounds are spent.")),
    ("goal", TaskResumed(Limits(rounds=20))),
    ("goal", TaskRewound(9, "2" * 40)),
    ("@control", StopRequested()),
    ("@control", StopRequested(now=True)),
    ("", RunHalted("stopped", "Stopped by a person.")),
    ("", RunResumed("otter:4242:813723:9f3c1a2b-4026531836", Limits(), {"main": "openai:gpt-x"})),
    ("", RunReopened("goal", 2)),
    ("", RunFinished("completed", "The last line is printed again.")),
    ("", Applied("3" * 40, ("naïve.py",))),
    ("line", SignalRaised(Signal("paging", 0.7, "reads on and on", "nudge", (3, 4), ("read a.py",)))),
    ("buffer", ChildSettled("insert-line", State.COMPLETED, "9 tests passed", "4" * 40, Spend(rounds=5, tokens_in=90))),
    (
        "buffer",
        CheckFinished(
            Verdict(
                "failed",
                "a test fails that passed",
                "pytest -q",
                "the step's test_command",
                how="junit",
                passed=8,
                failed=1,
                cases="5" * 64,
                failures=(Failure("tests/test_a.py::test_b", "regression", "assert 1 == 2"),),
                flaky=("tests/test_a.py::test_c",),
            )
        ),
    ),
]

V2: list[tuple[str, AnyEvent]] = [
    (task, replace(event, format=2, version="0.2.0") if isinstance(event, RunStarted) else event) for task, event in V1
]

GOLDEN = {
    "v1": V1,
    "v1-tree": TREE,
    "v1-workflow": WORKFLOW,
    "v1-verdict": RULED,
    "v1-merge": MERGED,
    "v1-door": DOOR,
    "v1-talk": TALK,
    "v1-approve": APPROVE,
    "v1-asked": ASKED,
    "v1-acceptance": ACCEPTANCE,
    "v1-outside": OUTSIDE,
    "v2": V2,
    "v2-earned": EARNED,
    "v2-fallback": SWITCHED,
    "v2-scout": SCOUTED,
    "v2-backlog": NIGHT,
    "v2-night": SUM,
    "v2-dropped": DROPPED,
    "v2-read": READ,
    "v2-examine": EXAMINED,
    "v2-tried": TRIED,
}
HOLDER = "otter:4242:813723:9f3c1a2b-4026531836"
BLOB = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
TABLES = (HERE / "v1.sql").read_text("utf-8").partition("\n")[2].partition("INSERT INTO")[0].rstrip("\n") + "\n"
"""Of a journal in format 1."""


def records(events: list[tuple[str, AnyEvent]]) -> list[Record]:
    versions: dict[str, int] = {}
    made = []
    for seq, (task, event) in enumerate(events, 1):
        versions[task] = versions.get(task, 0) + 1
        made.append(Record(seq, "amber-heron", task, versions[task], 1_800_000_000.0 + seq / 4, event))
    return made


def opened(name: str, folder: Path) -> Path:
    path = folder / "journal.db"
    with sqlite3.connect(path) as db:
        db.executescript((HERE / f"{name}.sql").read_text("utf-8"))
    db.close()
    return path


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_journal_means_what_it_meant(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        store = SqliteStore(opened(name, tmp_path), create=False, clock=lambda: 1_900_000_000.0)
        assert await store.runs() == ["amber-heron"]
        for kept, expected in zip(await store.read("amber-heron"), records(GOLDEN[name]), strict=True):
            assert kept == expected
        assert await store.get_blob(BLOB) == b"hello"
        async with store.claim(
            "amber-heron", "goal", "heir", 0.2
        ) as claim:  # its holder is unknown here: it is watched for a lease
            assert claim.epoch > 7
            events = sum(task == "goal" for task, _ in GOLDEN[name])
            await store.append(claim, [StateChanged(State.TESTING, "resumed")], events)
        await store.close()

    asyncio.run(main())


def test_every_format_has_a_golden_journal() -> None:
    assert {name.partition("-")[0] for name in GOLDEN} == {f"v{number}" for number in range(1, FORMAT + 1)}
    assert sorted(path.stem for path in HERE.glob("*.sql")) == sorted(GOLDEN)


def test_the_golden_journals_hold_every_kind_of_event() -> None:
    golden = {type(event) for events in GOLDEN.values() for _, event in events}
    assert set(KINDS.values()) == golden


EVENTS = [event for events in GOLDEN.values() for _, event in events]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_encoding(event: AnyEvent) -> None:
    assert decoder(type(event).__name__)(encode(event)) == event
