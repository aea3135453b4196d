"""The way from a claim to `completed`, seen from outside: the states in the JSON stream, repairs and their limit, the
baseline, evidence, and parents."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

import bough as package
from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from bough.testing import ScriptedModel, call
from tests.harness import Journal
from tests.interfaces.shell import CommandOutput, act, botch, bough, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import (
    CALC,
    DONE,
    FIX,
    FIXED,
    PYTEST,
    TESTS,
    UNIT,
    UNITTEST,
    Act,
    Case,
    edit,
    lay_out,
    play,
    python_on_path,
    run_to_end,
    stubborn,
    verdict_of,
    write,
)
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

CHECK = UNITTEST
FULL_CYCLE = ["in_progress", "testing", "test_failed", "in_progress", "testing", "completed"]


def states(said: CommandOutput, task: str = "goal") -> list[str]:
    """As the stream tells them."""
    changes = [
        line["event"]["to"] for line in said.events if line["task"] == task and line["event"]["event"] == "StateChanged"
    ]
    created = any(line["task"] == task and line["event"]["event"] == "TaskCreated" for line in said.events)
    return ["pending", *changes] if created else changes


def of(said: CommandOutput, kind: str) -> list[dict[str, Any]]:
    return [line["event"] for line in said.events if line["event"]["event"] == kind]


def project(folder: Path, kind: str = "unittest", files: dict[str, str] | None = None) -> Path:
    return lay_out(Case(name="", project=kind, files=files or {}, repairs=3), folder / "project")


# ── from outside ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_full_cycle_in_the_stream(tmp_path: Path) -> None:
    script = [
        *botch(1),
        act("edit", path="calc.py", old="b):\n    return a - b\n\n\ndef sub", new="b):\n    return a + b\n\n\ndef sub"),
        act("done", summary="now"),
    ]
    with WireModel(script) as wire:
        said = bough(project(tmp_path), *run_args(wire.base_url, "--json", check=CHECK))
    assert said.status == 0
    assert states(said) == ["pending", *FULL_CYCLE]
    first, last = (event["verdict"] for event in of(said, "CheckFinished"))
    assert (first["ruling"], first["failures"][0]["kind"]) == ("failed", "pre-existing")
    assert (last["ruling"], last["exit_status"], last["passed"]) == ("passed", 0, 2)
    assert [event["role"] for event in of(said, "AttemptStarted")] == ["builder", "bug_hunter"]
    assert said.events[-1]["event"] == {"event": "RunFinished", "end": "completed", "summary": last["reason"]}


@in_turn
def test_the_retry_limit_in_the_stream(tmp_path: Path) -> None:
    with WireModel(botch(4)) as wire:
        said = bough(
            project(tmp_path),
            *run_args(wire.base_url, "--json", "--max-depth", "0", "--protocol", "tools", check=CHECK),
        )
    assert said.status == 3
    assert states(said) == ["pending", *["in_progress", "testing", "test_failed"] * 4, "failed"]
    assert [event["role"] for event in of(said, "AttemptStarted")] == ["builder", *["bug_hunter"] * 3]
    assert said.events[-1]["event"]["end"] == "failed"


@in_turn
def test_no_check_then_a_test_is_written_in_the_stream(tmp_path: Path) -> None:
    script = [
        act("write", path="calc.py", content=FIXED),
        act("done", summary="fixed"),
        act("write", path="test_calc.py", content=TESTS),
        act("done", summary="tested"),
    ]
    with WireModel(script) as wire:
        said = bough(project(tmp_path, "none", {"calc.py": CALC}), *run_args(wire.base_url, "--json", check=None))
    assert said.status == 0
    assert states(said) == ["pending", *FULL_CYCLE]
    assert [event["role"] for event in of(said, "AttemptStarted")] == ["builder", "test_writer"]
    assert [event["verdict"]["ruling"] for event in of(said, "CheckFinished")] == ["not_verified", "passed"]
    none, found = of(said, "CheckStarted")
    assert (none["command"], found["found"]) == ("", "there are Python tests (test_calc.py)")


def test_no_check_and_none_is_written_in_the_stream(tmp_path: Path) -> None:
    with WireModel([act("write", path="calc.py", content=FIXED), *[act("done", summary="fixed")] * 2]) as wire:
        said = bough(project(tmp_path, "none", {"calc.py": CALC}), *run_args(wire.base_url, "--json", check=None))
    assert said.status == 5
    assert states(said) == ["pending", "in_progress", "testing", "test_failed", "in_progress", "testing", "blocked"]
    assert said.events[-1]["event"]["end"] == "not_proven"


def test_what_needs_no_test_is_not_tested_and_that_is_said(tmp_path: Path) -> None:
    place = project(tmp_path)
    model = ScriptedModel([write("README.md", "# calc\n"), DONE])
    outcome = asyncio.run(package.run("Write a README.", dir=place, requires_testing=False, model=model))
    assert outcome.completed
    said = bough(place, "log", "--json")
    assert states(said) == ["pending", "in_progress", "testing", "completed"]
    assert [event["command"] for event in of(said, "CheckStarted")] == [""]
    assert of(said, "CheckFinished")[0]["verdict"]["reason"] == "no check was required"


# ── repairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_a_repair_that_made_it_worse_is_rolled_back(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            write("notes.md", "not yet\n"),
            DONE,
            edit("calc.py", "def sub(a, b):\n    return a - b", "def sub(a, b):\n    return b"),
            DONE,
            FIX,
            DONE,
        ]
    )
    outcome, journal = run_to_end(project(tmp_path), Step("goal", "Make add add.", test_command=CHECK), model)
    assert outcome.completed
    before, worse, last = (event.verdict for event in journal.of(e.CheckFinished))
    assert (before.failed, worse.failed, last.failed) == (1, 2, 0)
    (restored,) = journal.of(e.WorkspaceRestored)
    assert restored.tree == before.tree
    assert "2 tests failed after the repair, 1 before it" in restored.why
    assert outcome.tree[0].files == ("calc.py", "notes.md")


@in_turn
def test_the_bug_hunter_is_told_what_failed_and_where(tmp_path: Path) -> None:
    _, journal = play(Case(name="", project="unittest", repairs=1), tmp_path)
    brief = journal.of(e.AttemptStarted)[1].brief
    assert "AssertionError: -1 != 5" in brief
    assert "test_add" in brief
    assert "self.assertEqual(add(2, 3), 5)" in brief
    assert CHECK in brief


@in_turn
def test_a_changed_test_is_named_and_can_be_undone_by_the_same_agent(tmp_path: Path) -> None:
    skipped = edit("test_calc.py", "def test_add", "@pytest.mark.skip\ndef test_add")
    imported = edit("test_calc.py", "from calc", "import pytest\n\nfrom calc")
    undone = [write("test_calc.py", TESTS), FIX]
    model = ScriptedModel(stubborn(skipped, imported, DONE, *undone))
    outcome, journal = run_to_end(
        project(tmp_path, "pytest"), Step("goal", "Make add add.", test_command=PYTEST), model
    )
    assert outcome.completed
    first, last = (event.verdict for event in journal.of(e.CheckFinished))
    assert (first.ruling, last.ruling) == ("needs_approval", "passed")
    (named,) = first.disagreements
    assert (named.test, named.path, named.now) == ("test_calc.py::test_add", "test_calc.py", "@pytest.mark.skip")
    (returned,) = journal.of(e.FindingReturned)
    assert "test_calc.py::test_add" in returned.text
    assert len(journal.of(e.AttemptStarted)) == 1


# ── the base ────────────────────────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_each_failure_is_called_what_it_is(tmp_path: Path) -> None:
    files = {"test_old.py": "def test_old():\n    assert 1 == 2\n"}
    worse = Act(edit="calc.py", old="def sub(a, b):\n    return a - b", new="def sub(a, b):\n    return b")
    new = Act(write="test_new.py", text="def test_new():\n    assert [] == [1]\n")
    outcome, _ = play(Case(name="", does=["fix", worse, new], files=files), tmp_path)
    kinds = {failure.id: failure.kind for failure in verdict_of(outcome).failures}
    assert kinds == {
        "test_old.py::test_old": "pre-existing",
        "test_calc.py::test_sub": "regression",
        "test_new.py::test_new": "new",
    }


@in_turn
def test_a_failing_baseline_is_measured_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.setenv("BOUGH_SANDBOX_WRITABLE", str(outside))
    check = f"if test -f notes.md; then echo work; else echo base; fi >> {outside}/ran; {CHECK}"
    place = project(tmp_path)
    for _ in range(2):
        model = ScriptedModel([write("notes.md", "not yet\n"), DONE, FIX, DONE])
        outcome, journal = run_to_end(place, Step("goal", "Make add add.", test_command=check), model)
        assert outcome.completed
    hunters = [attempt.brief for attempt in journal.of(e.AttemptStarted)]
    assert all("Before your work it fails with exit status 1" in brief and "test_add" in brief for brief in hunters)
    ran = (outside / "ran").read_text().split()
    assert ran.count("base") == 2, "once for both runs of this process, and once without what bough adds to it"
    assert ran.count("work") == 8, (
        "each time the check, the failing test again and alone, the check after the repair, and once with a wrong value"
    )


@in_turn
def test_a_baseline_that_takes_long_does_not_hold_the_work(tmp_path: Path) -> None:
    """It runs beside the rounds; what it says is needed only for the verdict."""
    slow = f"{UNIT}\n\nclass Slow(unittest.TestCase):\n    def test_it(self):\n        __import__('time').sleep(3)\n"
    _, journal = play(
        Case(name="", project="none", does=["fix"], files={"calc.py": CALC, "test_calc.py": slow}, check=CHECK),
        tmp_path,
    )
    times = {type(record.event).__name__: record.at for record in journal.records}
    assert times["CheckStarted"] - times["TaskCreated"] < 3.0


# ── evidence ────────────────────────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_a_verdict_is_evidence(tmp_path: Path) -> None:
    place = project(tmp_path, "pytest")

    async def work() -> tuple[Any, bytes]:
        async with app.open_session(place, create=True) as session:
            step = Step("goal", "Make add add.", test_command=PYTEST)
            outcome = await session.start(step, app.Choices(model=ScriptedModel([FIX, DONE])), app.RunObserver())
            return outcome, await session.store.get_blob(verdict_of(outcome).cases)

    outcome, blob = asyncio.run(work())
    verdict = verdict_of(outcome)
    assert (verdict.command, verdict.exit_status, verdict.how, verdict.passed) == (PYTEST, 0, "junit", 2)
    assert verdict.seconds > 0
    assert verdict.tree == outcome.tree[0].tree
    cases = msgspec.json.decode(blob)
    assert [(case["id"], case["outcome"]) for case in cases] == [
        ("test_calc.py::test_add", "passed"),
        ("test_calc.py::test_sub", "passed"),
    ]
    assert outcome.summary == verdict.reason


@in_turn
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_of_a_hung_check_is_left(tmp_path: Path) -> None:
    token = f"300.{os.getpid()}{time.monotonic_ns() % 100_000}"
    hung = Act(add=f"import subprocess\n\nsubprocess.Popen(['sleep', '{token}'], start_new_session=True).wait()")
    outcome, _ = play(Case(name="", project="unittest", does=[hung], limits="check_timeout = 5.0"), tmp_path)
    assert outcome.status == "failed"
    assert "killed after 5 s" in verdict_of(outcome).reason
    assert not [pid for pid in Path("/proc").glob("[0-9]*/cmdline") if _has(pid, token)]


def _has(cmdline: Path, token: str) -> bool:
    try:
        return token.encode() in cmdline.read_bytes()
    except OSError:
        return False


# ── parents ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def one_test(name: str, left: str, right: int) -> str:
    """A file with it; unittest, since these runs start a runner twenty times."""
    body = f"    def test_{name}(self):\n        self.assertEqual({left}, {right})\n"
    return f"import unittest\n\nfrom calc import *\n\n\nclass One(unittest.TestCase):\n{body}"


HALVES = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a\n",
    "test_add.py": one_test("add", "add(2, 3)", 5),
    "test_twice.py": one_test("twice", "twice(4)", 8),
    "test_both.py": one_test("both", "add(1, twice(2))", 5),
}
ADD = edit("calc.py", "a - b", "a + b")
TWICE = edit("calc.py", "    return a\n", "    return add(a, a)\n")
BOTH = (
    Step("adding", "Make add add.", test_file="test_add.py"),
    Step("doubling", "Make twice double.", test_file="test_twice.py"),
)


def family(folder: Path, model: ScriptedModel, steps: tuple[Step, ...] = BOTH, repairs: int = 0) -> tuple[Any, Journal]:
    place = lay_out(Case(name="", project="none", files=HALVES, repairs=repairs), folder / "project")
    return run_to_end(place, Step("goal", "Both.", test_command="python3 -m unittest -q", steps=steps), model)


def states_of(journal: Journal, task: str) -> list[str]:
    changes = [r.event for r in journal.records if r.task == task]
    return [event.to.value for event in changes if isinstance(event, e.StateChanged)]


@in_turn
def test_a_parents_own_check_runs_at_the_merged_head(tmp_path: Path) -> None:
    outcome, journal = family(tmp_path, ScriptedModel([ADD, DONE, TWICE, DONE]))
    assert outcome.completed
    assert states_of(journal, "goal") == ["in_progress", "testing", "completed"]
    verdicts = [
        (record.task, record.event.verdict) for record in journal.records if isinstance(record.event, e.CheckFinished)
    ]
    assert [task for task, _ in verdicts] == ["adding", "doubling", "goal"]
    assert verdicts[2][1].tree == verdicts[1][1].tree
    assert verdicts[2][1].passed == 3
    assert [(task.path, task.state) for task in outcome.tree] == [
        ("goal", State.COMPLETED),
        ("adding", State.COMPLETED),
        ("doubling", State.COMPLETED),
    ]


def test_a_parent_is_never_completed_over_a_failing_child(tmp_path: Path) -> None:
    """Not even when its own check would pass: the second child has nothing left to do, and fails its own check."""
    steps = (BOTH[0], Step("doubling", "Make twice double.", test_command="false"))
    outcome, journal = family(tmp_path, ScriptedModel([ADD, TWICE, DONE, DONE]), steps)
    assert (outcome.status, outcome.exit_status) == ("failed", 3)
    assert states_of(journal, "adding")[-1] == "completed"
    assert states_of(journal, "doubling")[-1] == "blocked"
    assert states_of(journal, "goal") == ["in_progress", "failed"]
    assert "doubling is blocked" in outcome.summary
    assert not [r for r in journal.records if r.task == "goal" and isinstance(r.event, e.CheckStarted)]


@in_turn
def test_a_parent_is_not_completed_by_its_children_alone(tmp_path: Path) -> None:
    """Each half is proven, and the whole is not: a bug hunter has it from there."""
    wrong = edit("calc.py", "    return a\n", "    return 8\n")
    right = edit("calc.py", "    return 8\n", "    return add(a, a)\n")
    outcome, journal = family(tmp_path, ScriptedModel([ADD, DONE, wrong, DONE, right, DONE]), repairs=1)
    assert outcome.completed
    assert states_of(journal, "doubling") == ["in_progress", "testing", "completed"]
    assert states_of(journal, "goal") == FULL_CYCLE
    assert [r.event.role for r in journal.records if r.task == "goal" and isinstance(r.event, e.AttemptStarted)] == [
        "bug_hunter"
    ]


EVIDENCE = "twice has to double: twice(4) is 8"


@pytest.mark.parametrize("disputed", [False, True])
@in_turn
def test_a_child_corrects_a_test_of_the_child_before_it_only_with_evidence(disputed: bool, tmp_path: Path) -> None:
    """The first child writes a test that expects something wrong, and the second one's check runs it."""
    new = write("test_new.py", one_test("new", "twice(4)", 4))
    correct = edit("test_new.py", ", 4)", ", 8)")
    dispute = [call("dispute", test="test_new.One.test_new", evidence=EVIDENCE)] if disputed else []
    script = [ADD, new, DONE, TWICE, correct, *dispute, DONE]

    def answer(prompt: Prompt) -> Answer:
        if not any(tool.name == "rule" for tool in prompt.tools):
            return script.pop(0) if script else DONE
        convinced = EVIDENCE in str(prompt.messages[0])
        return call("rule", reason="because", demanded=convinced, quote=EVIDENCE if convinced else "")

    steps = (BOTH[0], Step("doubling", "Make twice double.", test_command="python3 -m unittest -q"))
    outcome, journal = family(tmp_path, ScriptedModel(answer), steps)
    asked = [event.verdict for event in journal.of(e.CheckFinished) if event.verdict.ruling == "needs_approval"]
    assert [(one.test, one.own) for one in asked[0].disagreements] == [("test_new.One.test_new", True)]
    assert outcome.completed is disputed
