"""The demos, as a person runs them, only without the pauses between the recorded answers."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.models.recording import read_recording
from bough.services.demo import DEMOS, find
from tests.interfaces.shell import CommandOutput, bough, environment, here
from tests.sampling import in_turn, long
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
    pytest.mark.timeout(1200),  # A demo of a night runs some hundred programs.
]

AT_ONCE = "import bough.services.demo; bough.services.demo.PACE = 0; from bough.interfaces.cli import main; main()"
SETTINGS = {"BOUGH_MODELS_FAST": "openai:nobody", "BOUGH_LADDER_SUBTASK_ROUNDS": "1", "BOUGH_SANDBOX_ENV": "LANG"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not in pytest's own folder of temporary ones: the demo's tests are pytest's, too, and clear older ones away."""
    with tempfile.TemporaryDirectory(prefix="bough-demo-") as made:
        yield Path(made)


def demo(folder: Path, *args: str) -> CommandOutput:
    """Whatever a person has set for their own work does not hold in a demo."""
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, "--traceback", "demo", *args, "--dir", str(folder / "demo")],
        cwd=folder,
        env=environment(**SETTINGS),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return CommandOutput(done.returncode, done.stdout, done.stderr)


def of(events: list[dict[str, Any]], kind: str, task: str | None = None) -> list[dict[str, Any]]:
    return [one["event"] for one in events if one["event"]["event"] == kind and task in (None, one["task"])]


def untouched(folder: Path) -> bool:
    git = ["git", "-C", str(folder / "demo" / "repository"), "status", "--porcelain"]
    return subprocess.run(git, check=True, capture_output=True, text=True).stdout == ""


@in_turn
def test_one_task_with_a_fault_that_a_probe_finds(folder: Path) -> None:
    said = demo(folder)
    assert (said.status, said.err) == (0, ""), said
    assert said.out.startswith("The model is a recording; everything else is real, in ")
    assert "completed: the check passed (11 tests passed" in said.out and "Look around: cd " in said.out
    events = bough(folder / "demo" / "repository", "log", "--json").events
    first, last = of(events, "ProbesFinished")
    assert [case["outcome"] for case in first["results"]].count("failed") == 1, "the check passed, and a probe found it"
    assert {case["outcome"] for case in last["results"]} == {"passed"}, "and it was repaired"
    (judged,) = of(events, "EvidenceJudged")
    assert {one["how"] for one in judged["shown"]} == {"probe"} and len(judged["shown"]) == 3, "red, then green"
    assert untouched(folder)


@long  # Minutes of other programs: the other demos show that recordings still fit.
def test_a_project_in_phases_with_a_repair_and_an_escalation(folder: Path) -> None:
    said = demo(folder, "project", "--json")
    assert said.status == 0 and said.err.startswith("The model is a recording; everything else is real, in "), said
    events = said.events
    phases = [step["name"] for step in of(events, "Planned", "goal")[0]["steps"]]
    assert len(phases) == 3 and all(of(events, "Planned", phase) for phase in phases)

    under_way, most = 0, 0
    for one in events:
        kind, top = one["event"]["event"], one["task"] == "goal"
        under_way += (kind == "ChildStarted" and not top) - (kind == "ChildSettled" and not top)
        most = max(most, under_way)
    assert most == 2

    roles = [attempt["role"] for attempt in of(events, "AttemptStarted")]
    rulings = [check["verdict"]["ruling"] for check in of(events, "CheckFinished")]
    assert roles.count("bug_hunter") == 2 and rulings.count("failed") == 1 and rulings[-1] == "passed"
    whole = of(events, "ProbesFinished", "goal")
    outcomes = [[case["outcome"] for case in run["results"]] for run in whole]
    assert outcomes[0].count("failed") == 2 and set(outcomes[-1]) == {"passed"}, "a fault that was found and repaired"
    assert {case["outcome"] for case in whole[0]["before"]} == {"failed"}, "red without the work"
    (judged,) = of(events, "EvidenceJudged", "goal")
    assert judged["shown"] and not judged.get("missing")
    assert [escalated["decision"]["rung"] for escalated in of(events, "Escalated")] == ["zoom_out", "replan"]
    assert of(events, "RunFinished")[0]["end"] == "completed"

    recording = read_recording(folder / "demo" / "recording.jsonl")[1]
    assert len(of(events, "ModelAnswered")) + len(of(events, "HelperAnswered")) == len(recording)
    assert untouched(folder)


@pytest.mark.parametrize("name", DEMOS)
def test_recordings_name_no_machine(name: str) -> None:
    text = files("bough.demos").joinpath(name, "recording.jsonl").read_text("utf-8")
    assert json.loads(text.partition("\n")[0])["bough-recording"] == 1
    assert not any(part in text for part in ("/home/", "/tmp/", "/Users/", "http://", "https://"))


def test_there_is_no_such_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = here(tmp_path, capsys, "demo", "paint")
    assert (said.status, said.out) == (2, "") and "choose from fix, project, backlog" in said.err
    assert find(None) is DEMOS["fix"]


@in_turn
def test_a_night_with_five_goals(folder: Path) -> None:
    said = demo(folder, "backlog")
    assert said.status == 3 and said.err == "", said
    page = said.out.partition("5 goals: 4 done and proven, 1 given up.")[2]
    assert page, said.out
    assert "left out of the night branch: it could not be merged: git could not merge `cart.py`." in page
    assert "what was learned: warehouse.example cannot be reached" in page
    git = ["git", "-C", str(folder / "demo" / "repository"), "log", "--format=%s", "main..night"]
    commits = subprocess.run(git, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(commits) == 3 and untouched(folder)
