import json
import subprocess
import sys
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.tree.task_state import State
from bough.testing import call
from bough.views.stats import Share, Stats, compute_stats
from tests.harness import make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY


def journal(*events: e.AnyEvent) -> list[e.Record]:
    return [e.Record(n, "run", "goal", n, float(n), event) for n, event in enumerate(events, 1)]


def test_repairs_checks_and_time_are_counted() -> None:
    made = compute_stats(
        journal(
            e.AttemptStarted("builder", "main", "", ""),
            e.ModelAnswered("", seconds=6.0),
            e.CheckStarted("pytest"),
            e.CheckFinished(Verdict("failed", "", seconds=1.0)),
            e.AttemptStarted("bug_hunter", "main", "", ""),
            e.ToolFinished("1", True, "", seconds=2.0),
            e.CheckStarted("pytest"),
            e.CheckFinished(Verdict("needs_approval", "")),
            e.AttemptStarted("bug_hunter", "main", "", ""),
            e.CheckStarted("pytest"),
            e.CheckFinished(Verdict("passed", "", seconds=1.0, flaky=("t",))),
            e.StateChanged(State.COMPLETED, ""),
        )
    )
    assert made == Stats(
        1,
        1,
        1,
        repairs=2,
        repaired=1,
        checks=3,
        disagreed=1,
        flaky=1,
        seconds=10.0,
        check_seconds=2.0,
        tiers={"main": Share(rounds=1, won=1)},
    )


def test_warnings_need_numbers_that_say_something() -> None:
    assert Stats(repairs=2, repaired=0).warnings == []
    assert "fewer than half" in Stats(repairs=4, repaired=1).warnings[0]
    assert "30%" in Stats(checks=4, seconds=10.0, check_seconds=4.0).warnings[0]
    assert "20%" in Stats(checks=4, checks_not_found=1).warnings[0]


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_from_outside(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    wrong, right = (
        call("edit", path="calc.py", old="a - b", new="a * b"),
        call("edit", path="calc.py", old="*", new="+"),
    )
    run_to_end(project, [wrong, call("done", summary="x"), right, call("done", summary="y")])
    command = [sys.executable, "-m", "bough", "stats", "--dir", str(project)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "1 of 1 (100%) tasks completed, in 1 run and 4 rounds" in said
    assert "1 of 1 (100%) repairs by bug hunters made the check pass" in said
    made = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert (made["repairs"], made["repaired"], made["checks"]) == (1, 1, 2)
