"""Healthy work raises nothing, and a wire that fails is no fault of the work."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from tests.engine.cast import (
    DEFAULT_STEPS,
    DONE,
    FIX,
    Cast,
    Part,
    Request,
    act,
    in_order,
    slow,
)
from tests.engine.telling import FinishedRun, project_in, told
from tests.harness import QUICK_CHECK
from tests.interfaces.shell import bough, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Reply, Status, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def healthy(project: Path, part: Part, **chosen: Any) -> FinishedRun:
    run = told(project, Cast(part), **chosen)
    assert run.outcome.completed, run.outcome.summary
    assert run.journal.of(e.SignalRaised) == []
    assert run.journal.of(e.Escalated) == []
    return run


@in_turn
def test_editing_and_running_the_same_test_many_times_is_healthy(tmp_path: Path) -> None:
    test = act("bash", command=QUICK_CHECK)
    operators = "-*/%|&^+"
    edits = [act("edit", path="calc.py", old=f"a {old} b", new=f"a {new} b") for old, new in pairwise(operators)]
    healthy(project_in(tmp_path), in_order(*(step for edit in edits for step in (edit, test)), DONE))


def test_paging_through_a_long_file_and_then_using_it_is_healthy(tmp_path: Path) -> None:
    pages = [act("read", path="long.txt", start=1 + 120 * n, lines=120) for n in range(13)]
    fix = act("edit", path="calc.py", old="a - b", new="a + b")
    healthy(project_in(tmp_path), in_order(*pages, fix, DONE))


@in_turn
def test_waiting_for_a_build_that_gets_on_is_healthy(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "build.sh").write_text(
        "n=$(cat .progress 2>/dev/null || echo 0); n=$((n + 1)); echo $n > .progress\n"
        'echo "building: $((n * 8)) % done"\n'
    )
    wait = act("bash", command="sh build.sh")
    fix = act("edit", path="calc.py", old="a - b", new="a + b")
    healthy(project, in_order(*[wait] * 12, fix, DONE))


def test_retrying_after_transport_errors_is_healthy(tmp_path: Path) -> None:
    """429 and 503 from the wire, again and again, on the same round."""
    project = project_in(tmp_path)
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.02\n")
    asked: list[int] = []

    def script(request: dict[str, Any]) -> Reply:
        asked.append(1)
        if len(asked) % 4:
            return Status(429 if len(asked) % 2 else 503)
        return FIX(Request(request))

    with WireModel(script) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", "--flat"))
    assert said.status == 0
    kinds = [line["event"]["event"] for line in said.events]
    assert kinds.count("ModelFailed") == 6
    assert "SignalRaised" not in kinds
    assert "Escalated" not in kinds
    assert bough(project, "show", "--json").json["spend"]["rounds"] == 2


@in_turn
def test_an_unavailable_planner_halts_the_run_and_the_rung_is_taken_later(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.02\n")
    cast = Cast(slow, dict(DEFAULT_STEPS))

    def script(request: dict[str, Any]) -> Reply:
        return Status(503) if Request(request).tools == ["split"] else cast(request)

    with WireModel(script) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", "--flat", "--rounds", "100"))
    assert said.status == 7
    assert [line["event"]["event"] for line in said.events].count("Escalated") == 1
    with WireModel(cast) as wire:
        again = bough(project, "resume", "--json", "--model", "openai:test", "--base-url", wire.base_url)
    assert again.status == 0
    assert [line["event"]["event"] for line in again.events].count("Escalated") == 0, "no rung is counted twice"
