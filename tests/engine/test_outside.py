"""Outside agents as builders: a real process that speaks the real protocol, and is not to be trusted."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.planning.plan import Plan, build_goal_step
from bough.testing import ScriptedModel
from bough.views.run_view import Outcome
from tests.engine.cast import DONE, act
from tests.harness import FIXED, QUICK_CHECK, Journal, journal_of, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

AGENT = Path(__file__).parents[1] / "acp_agent.py"
FIX = {"write": ["calc.py", FIXED]}


def command(folder: Path, name: str, script: list[Any]) -> str:
    """How an agent is started that does what the script says."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(script))
    return f"{sys.executable} {AGENT} {file}"


@pytest.fixture(autouse=True)
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox shows the agent and its script."""
    monkeypatch.setenv("BOUGH_SANDBOX_READABLE", f"{AGENT.parent}:{tmp_path}")
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "true")


def run(project: Path, **chosen: Any) -> tuple[Outcome, Journal]:
    async def go() -> Outcome:
        choices = app.Choices(**chosen)
        async with app.open_session(project, create=True, choices=choices) as session:
            return await session.start(build_goal_step("Make add add.", check=QUICK_CHECK), choices, app.RunObserver())

    outcome = asyncio.run(go())
    return outcome, asyncio.run(journal_of(project))


@in_turn
def test_a_liar_is_found_out_and_a_stronger_agent_repairs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_LIMITS_MAX_REPAIRS", "1")
    monkeypatch.setenv("SOME_KEY", "very-secret-value")
    project = make_project(tmp_path / "p")
    peeks = {"run": 'echo key=$SOME_KEY; test -n "$ANTHROPIC_API_KEY" && echo LEAKED; ls $HOME'}
    liar = command(tmp_path, "liar", [["", [{"cost": 0.5}, peeks, {"say": "All tests pass!"}]]])
    mends = command(tmp_path, "mends", [["find the bug", [{"read": "calc.py"}, FIX, {"say": "Mended."}]]])
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    outcome, journal = run(project, agent=liar, strong_agent=mends, agent_env=("SOME_KEY",))
    assert outcome.status == "completed", outcome.summary
    assert [(event.role, event.agent) for event in journal.of(e.AttemptStarted)] == [
        ("builder", liar),
        ("bug_hunter", mends),
    ]
    assert [event.verdict.ruling for event in journal.of(e.CheckFinished)] == ["failed", "passed"]
    first, *_ = journal.of(e.ToolFinished)
    assert "key=[" in first.output and "very-secret" not in first.output, "it was given, and is struck out"
    assert "LEAKED" not in first.output, "the person's other keys are not the agent's"
    assert [call.name for event in journal.of(e.ModelAnswered) for call in event.calls] == [
        "bash",
        "done",
        "read",
        "edit",
        "done",
    ]
    assert [event.summary for event in journal.of(e.DoneClaimed)] == ["All tests pass!", "Mended."]
    assert sum(event.cost or 0 for event in journal.of(e.ModelAnswered)) == 0.5
    assert sum(event.usage.output for event in journal.of(e.ModelAnswered)) == 100
    assert (project / "calc.py").read_text() != FIXED, "nothing comes into the person's files uninvited"


@in_turn
def test_an_agent_that_loops_is_nudged_and_one_that_leaves_its_workspace_is_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")
    monkeypatch.setenv("BOUGH_APPROVE_WAIT", "0")
    project = make_project(tmp_path / "p")
    leaves = [{"write": [str(project / "calc.py"), "ruined"]}, {"write": [str(tmp_path / "out"), "x"]}]
    away = [*leaves, {"run": "git push origin main; echo pushed"}, FIX]
    script = [["seems to be stuck", away], ["", [{"again": [60, {"read": "calc.py"}]}, {"say": "Read it."}]]]
    before = (project / "calc.py").read_text()
    outcome, journal = run(project, agent=command(tmp_path, "loops", script))
    assert outcome.status == "completed", outcome.summary
    (signal_,) = journal.of(e.SignalRaised)
    assert signal_.signal.pattern == "circular_tools"
    assert [event.why for event in journal.of(e.MessageAdded)] == ["nudge"]
    assert len(journal.of(e.AttemptStarted)) == 1, "the same agent goes on, in the same session"
    failed = [event.output for event in journal.of(e.ToolFinished) if not event.ok]
    assert len(failed) == 3 and failed[2] == "not allowed", failed
    assert (project / "calc.py").read_text() == before and not (tmp_path / "out").exists()


@in_turn
def test_one_that_ignores_its_budget_is_cut_off(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    busy = [{"run": f"echo {n} >> log; (sleep 60 >/dev/null 2>&1 &)"} for n in range(30)]
    outcome, journal = run(project, agent=command(tmp_path, "busy", [["", busy]]), rounds=4)
    assert outcome.status == "budget"
    assert outcome.spend.rounds == 4
    assert [event.last for event in journal.of(e.RoundStarted)] == [False, False, False, True]
    (verdict,) = journal.of(e.CheckFinished)
    assert verdict.verdict.ruling == "failed", "what is there is checked all the same"


@in_turn
def test_killed_in_the_middle_of_its_turn(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    mark = f"sleep 31{os.getpid()}"
    begins = [{"run": "echo once >> once.txt"}, {"run": f"echo half > half.txt; touch $TMPDIR/there; {mark}"}]
    goes_on = [{"run": "cat once.txt half.txt"}, FIX, {"say": "Done after all."}]
    agent = command(tmp_path, "dies", [["What is already done", goes_on], ["", begins]])
    argv = [sys.executable, "-m", "bough", "run", "Make add add.", "--check", QUICK_CHECK, "--agent", agent]
    bough = subprocess.Popen(argv, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not _running(mark):
        assert bough.poll() is None
        time.sleep(0.05)
    bough.send_signal(signal.SIGKILL)
    bough.wait()
    while _running(mark):
        time.sleep(0.05)
    subprocess.run([sys.executable, "-m", "bough", "resume"], cwd=project, check=True, capture_output=True)
    journal = asyncio.run(journal_of(project))
    assert not _running(str(AGENT))
    outputs = [(event.ok, event.interrupted, event.output) for event in journal.of(e.ToolFinished)]
    assert [interrupted for _, interrupted, _ in outputs] == [False, True, False, False, False]
    assert outputs[2][2].startswith("once\n") and outputs[2][2].count("once") == 1, "what was finished is kept"
    assert "No such file" in outputs[2][2], "what was interrupted is gone"


def _running(words: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words in place.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                return True
        except OSError:
            continue
    return False


def test_a_plan_names_agents_of_the_person_and_no_programs(tmp_path: Path) -> None:
    """A workflow is a repository's file: the folder of a program that it names must not become readable."""
    project, own = make_project(tmp_path / "p"), tmp_path / "home" / "private" / "tool"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\ncat secret\n")
    own.chmod(0o755)
    plan = Plan(build_goal_step("Do it.", check="true"))
    plan = replace(plan, goal=replace(plan.goal, agent=str(own)))

    async def start(**chosen: Any) -> str:
        async with app.open_session(project, create=True) as session:
            return (await session.start(plan, app.Choices(model=ScriptedModel([]), **chosen), app.RunObserver())).status

    with pytest.raises(UsageError, match="not one that you chose for this run"):
        asyncio.run(start())
    with pytest.raises(UsageError, match="not one that you chose for this run"):
        asyncio.run(start(agent="claude", agent_env=("PATH",)))
    assert asyncio.run(start(agent=str(own), rounds=1)), "the person may name it"


@pytest.mark.usefixtures("acceptance_as_shipped")
@in_turn
def test_an_agent_examines_what_a_model_has_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As examiner it is named by the person's settings; a name that they do not know starts nothing."""
    case = {
        "says": "3 and 4 are added.",
        "quote": "Make add add.",
        "text": "from calc import add\nassert add(3, 4) == 7\n",
    }
    eyes = command(tmp_path, "eyes", [["", [{"say": json.dumps({"probes": [case]})}]]])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = tmp_path / "bough" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f"[agents.eyes]\ncommand = {json.dumps(eyes)}\n")
    monkeypatch.setenv("BOUGH_MODELS_EXAMINER", "agent:eyes")
    author = ScriptedModel([act("write", path="calc.py", content=FIXED), DONE])
    outcome, journal = run(make_project(tmp_path / "p"), model=author)
    assert outcome.completed, outcome.summary
    assert {(event.helper, event.model) for event in journal.of(e.HelperAnswered)} == {("examiner", "agent:eyes")}
    assert [probe.says for event in journal.of(e.Examined) for probe in event.probes] == [case["says"]]
    monkeypatch.setenv("BOUGH_MODELS_EXAMINER", f"agent:{eyes}")
    with pytest.raises(UsageError, match="not one that you chose"):
        run(make_project(tmp_path / "q"), model=ScriptedModel([DONE]))
