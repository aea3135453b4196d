"""What the verdict costs: the commands that it runs, counted where all of them start."""

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.sandboxes.process import ProcessSandbox
from bough.adapters.verifiers import check_runner
from bough.adapters.workspaces import checkout, checkout_watch, file_index
from bough.adapters.workspaces.git import GitWorkspaces
from bough.core import events as e
from bough.ports import CommandResult, Workspace
from tests.engine.parallel_runs import Agents, both, run_to_end, step
from tests.harness import by_progress
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import (
    DONE,
    FIX,
    FIXED,
    PYTEST,
    Act,
    Case,
    lay_out,
    play,
    python_on_path,
    verdict_of,
    write,
)

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

MORE = Act(edit="test_calc.py", old="assert add(2, 3) == 5", new="assert add(2, 3) == 5\n    assert add(1, 1) == 2")
DEADLOCK = 60.0


class Commands:
    """The commands of checks that a run starts. `beside`: the first one with the work in it ends only after another
    began."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, beside: bool = False) -> None:
        self.started: list[tuple[str, str]] = []
        """What runs, and on which files."""
        self.waited = False
        asked = asyncio.Event()
        run = ProcessSandbox.run

        async def counted(sandbox: Any, argv: Sequence[str], *, workspace: Workspace, **more: Any) -> CommandResult:
            assert "baseline" in workspace.root.name, "no check runs where an agent works"
            texts = (f"{path.name}: {path.read_text()}" for path in sorted(workspace.root.glob("*.py")))
            command = re.sub(r" --junit\S+.*", "", " ".join(argv))
            self.started.append((command, "\n".join(texts)))
            if len(self.started) == 3:
                asked.set()
            finished = await run(sandbox, argv, workspace=workspace, **more)
            if beside and not self.waited and "return a + b" in self.started[-1][1]:
                await asyncio.wait_for(asked.wait(), DEADLOCK)
                self.waited = True
            return finished

        monkeypatch.setattr(ProcessSandbox, "run", counted)


@in_turn
def test_an_unchanged_test_side_costs_one_narrowed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(monkeypatch)
    outcome, _ = play(Case(name="", does=["fix"]), tmp_path)
    assert outcome.completed
    started = [command for command, _ in commands.started]
    assert started[:2] == [PYTEST, PYTEST], "the check at the base, and the check"
    assert len(started) == 3 and "::test_add" in started[2], "the test that carries the claim, made wrong"


@in_turn
def test_a_check_without_a_claim_costs_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(monkeypatch)
    outcome, _ = play(Case(name="", does=[Act(write="notes.md", text="hello")], files={"calc.py": FIXED}), tmp_path)
    assert outcome.completed
    assert len(commands.started) == 2, "the check at the base and at the work"


@in_turn
def test_a_changed_test_side_costs_one_more_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    commands = Commands(monkeypatch, beside=True)
    outcome, _ = play(Case(name="", does=["fix", MORE]), tmp_path)
    assert outcome.completed
    assert commands.waited, "the original tests were under way when the check ended"
    assert len(commands.started) == 4, "the base, the check, the original tests, and the claim made wrong"
    assert verdict_of(outcome).changed == ("test_calc.py",)


@in_turn
def test_a_command_runs_once_on_a_tree_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step comes to the tree that the goal is judged on, by the same command."""
    commands = Commands(monkeypatch)
    project = lay_out(Case(name="", repository=True), tmp_path / "project")
    test_more = "from calc import add\n\n\ndef test_more():\n    assert add(4, 0) == 4\n"
    agents = Agents(a=by_progress(FIX, DONE), b=by_progress(write("test_more.py", test_more), DONE))
    goal = both(step("a", PYTEST), step("b", PYTEST, needs=("a",)), check=PYTEST)
    outcome, journal = run_to_end(project, goal, agents, jobs=1)
    assert outcome.completed, outcome.summary
    assert len(journal.of(e.CheckFinished)) == 3, "two steps and the goal are judged"
    assert sorted(commands.started) == sorted({*commands.started}), "nothing runs twice"
    assert [command for command, _ in commands.started].count(PYTEST) == 3, (
        "the base, the first step's tree, which also is the second's with the original tests, and the second's"
    )


@in_turn
def test_the_verdict_finds_a_checkout_that_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large repository one is filled while the agent works."""
    monkeypatch.setattr(checkout_watch, "WORTH", 0)
    fill, reserve, filled, reserved = checkout.fill, GitWorkspaces.reserve, list[int](), list[str]()

    def counted(git: Any, top: bytes, wanted: Any, clock: Any) -> Any:
        filled.append(len(wanted))
        return fill(git, top, wanted, clock)

    async def reserving(workspaces: GitWorkspaces, run: str, task: str, tree: str) -> None:
        await reserve(workspaces, run, task, tree)
        reserved.append(task)

    monkeypatch.setattr(checkout, "fill", counted)
    monkeypatch.setattr(file_index, "is_sure", lambda stamp, now: True)
    monkeypatch.setattr(GitWorkspaces, "reserve", reserving)
    outcome, _ = play(Case(name="", does=["fix"]), tmp_path)
    assert outcome.completed and len(reserved) == 1
    assert filled[:4] == [3, 0, 3, 1], "the base check's, which is the agent's then; the one in reserve, and the work"


def make_part(number: int) -> Any:
    code = f"def f{number}(a):\n    return a + {number}\n"
    test = f"from m{number} import f{number}\n\n\ndef test_it():\n    assert f{number}(1) == {number + 1}\n"
    return by_progress(write(f"m{number}.py", code), write(f"test_m{number}.py", test), DONE)


@in_turn
def test_a_tree_of_three_steps_starts_four_times_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the base, the merges and the goal: what was judged before a merge is not asked after it, and the goal asks
    the original tests for steps that only add some."""
    commands = Commands(monkeypatch)
    project = lay_out(Case(name="", repository=True, files={"calc.py": FIXED}), tmp_path / "project")
    agents = Agents(a=make_part(1), b=make_part(2), c=make_part(3))
    goal = both(step("a", PYTEST), step("b", PYTEST), step("c", PYTEST), check=PYTEST)
    outcome, _ = run_to_end(project, goal, agents, jobs=2)
    assert outcome.completed, outcome.summary
    assert len(commands.started) <= 12, "\n".join(command for command, _ in commands.started)
    texts = [text for command, text in commands.started if command == PYTEST and "m1.py" in text]
    assert any("test_m" not in text for text in texts), "the original tests, at the goal"


@in_turn
def test_a_step_that_weakens_the_tests_of_an_earlier_one_is_seen_at_once(tmp_path: Path) -> None:
    """Both files are new since the run began, but not since the step did."""
    project = lay_out(Case(name="", repository=True, files={"calc.py": FIXED}), tmp_path / "project")
    worse = by_progress(
        write("m1.py", "def f1(a):\n    return a\n"),
        write("test_m1.py", "from m1 import f1\n\n\ndef test_it():\n    assert f1(1) in (1, 2)\n"),
        *[DONE] * 20,
    )
    goal = both(step("a", PYTEST), step("b", PYTEST, needs=("a",)), check=PYTEST)
    _, journal = run_to_end(project, goal, Agents(a=make_part(1), b=worse), jobs=1)
    first, second = [event.verdict for event in journal.of(e.CheckFinished)][:2]
    assert first.ruling == "passed" and second.ruling == "needs_approval", second.reason
    assert second.disagreements[0].own


@in_turn
def test_the_runs_of_a_process_share_a_base_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(monkeypatch)
    project = lay_out(Case(name="", repository=True), tmp_path / "project")
    for _ in range(2):
        outcome, _ = run_to_end(project, step("goal", PYTEST), Agents(goal=by_progress(FIX, DONE)), jobs=1)
        assert outcome.completed, outcome.summary
    at_base = [
        texts for command, texts in commands.started if command == PYTEST and "add(a, b):\n    return a - b" in texts
    ]
    assert len(at_base) == 1, "the second goal of a list begins on the same files"


@in_turn
def test_a_later_run_knows_a_base_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept beside the journals, by tree, command and environment; one that fails is seen again by a later
    process."""
    commands = Commands(monkeypatch)
    project = lay_out(Case(name="", repository=True, files={"calc.py": FIXED}), tmp_path / "project")
    started = []
    for _ in range(2):
        monkeypatch.setattr(check_runner, "_FAILED", {})
        agent = Agents(goal=by_progress(write("notes.md", "hello"), DONE))
        outcome, _ = run_to_end(project, step("goal", PYTEST), agent, jobs=1)
        assert outcome.completed, outcome.summary
        started.append(len(commands.started))
    assert started == [2, 3], "the base and the work; then the work alone"
