"""Finding one's way in a tree of tasks: how deep it is shown, one part of it, what happened there, and back to it."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bough as library
from bough import Step
from bough.testing import ScriptedModel
from tests.engine.parallel_runs import Agents, make_project, step, writes
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

PHASE = Step(
    "phase", "Buffer management", parallel=True, requires_testing=False, steps=tuple(map(step, ("one", "two")))
)
GOAL = Step("goal", "All of it.", test_command="true", steps=(PHASE, step("last")))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = make_project(tmp_path_factory.mktemp("tree") / "p")
    agents = Agents(phase__one=writes("one"), phase__two=writes("two"), last=writes("last"))
    assert asyncio.run(library.run(GOAL, dir=folder, model=ScriptedModel(agents), jobs=2)).completed
    yield folder


@in_turn
def test_show_no_deeper_than_asked_but_with_all_that_was_spent(project: Path) -> None:
    out = bough(project, "show", "--depth", "1").out
    assert "phase" in out and "last" in out and "one" not in out
    assert "4/" in next(line for line in out.splitlines() if "phase" in line), "what is not shown is counted"
    assert "(0 itself)" in out
    paths = [task["path"] for task in bough(project, "show", "--depth", "0", "--json").json["tasks"]]
    assert paths == ["goal"]


def test_show_flat_has_the_leaves_with_their_paths(project: Path) -> None:
    out = bough(project, "show", "--flat").out
    assert "phase/one" in out and "phase/two" in out and "last" in out
    assert "├─" not in out and "└─" not in out
    paths = [task["path"] for task in bough(project, "show", "--flat", "--json").json["tasks"]]
    assert paths == ["phase/one", "phase/two", "last"]


def test_status_of_a_part_says_how_much_of_it_is_complete(project: Path) -> None:
    out = bough(project, "status", "phase").out
    assert "Buffer management (2/2 tasks complete)" in out
    assert "phase/one" not in out.splitlines()[0] and "└─ ✔ two" in out and "last" not in out
    assert "4 of" in out and "0 of them its own" in out
    assert bough(project, "status", "phase", "--json").json["task"]["progress"] == "2/2 tasks complete"
    leaf = bough(project, "status", "phase/two").out
    assert "complete)" not in leaf and "✔ completed" in leaf
    assert bough(project, "status", "--json").json["task"]["progress"] == "2/2 tasks complete"


def test_log_of_a_task_tells_of_all_below_it(project: Path) -> None:
    out = bough(project, "log", "phase").out
    assert "phase/one: " in out and "phase: its step two is completed" in out
    assert re.search("phase: merged its step (one|two): check passed", out), "whichever ended last"
    assert "last: " not in out
    assert "phase/one" not in bough(project, "log", "phase/two").out
    whole = bough(project, "log", "goal").out
    assert "goal: " in whole and "phase/two: " in whole and "last: " in whole


def test_the_points_of_a_task_with_steps_are_where_one_had_ended(project: Path) -> None:
    out = bough(project, "rewind").out
    assert "point 0" in out and "before its first step" in out
    assert "point 1" in out and "its step phase is completed" in out
    inside = bough(project, "rewind", "--task", "phase/one").out
    assert "round 0" in inside and "write one.txt" in inside
