"""Stopping a live run in every way, and how else a run can end: real processes, real signals, nothing lost."""

import asyncio
import io
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.app import RunObserver
from bough.interfaces.cli.execution import run_to_end
from bough.interfaces.terminal.output import TerminalOutput
from bough.interfaces.terminal.plain_display import PlainDisplay
from bough.views.run_view import Outcome
from tests.harness import CALC, CHECK, FIXED, make_project
from tests.interfaces.shell import act, bough, busy, ended, kinds, live, repair, run_args, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Hang, Status, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def endless() -> Iterator[WireModel]:
    with WireModel(busy) as wire:
        yield wire


def working(folder: Path) -> bool:
    """The last thing the journal knows is a tool call that was started."""
    return kinds(folder)[-1:] == ["ToolStarted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_once_stops_after_the_current_effect(project: Path, endless: WireModel, number: int) -> None:
    with live(project, *run_args(endless.base_url, "--json", "--rounds", "100000")) as process:
        until(lambda: working(project))
        process.send_signal(number)
        said = ended(process)
    assert said.status == 6
    assert "Stopping after the current effect" in said.err and "bough resume" in said.err
    assert said.err.count("Stopping") == 1
    started = [event["event"]["call"] for event in said.events if event["event"]["event"] == "ToolStarted"]
    finished = [event["event"]["call"] for event in said.events if event["event"]["event"] == "ToolFinished"]
    assert started == finished, "what was under way has been finished"
    assert said.events[-1]["event"] == {"event": "RunHalted", "reason": "stopped", "message": "a person stopped it"}
    assert said.events == bough(project, "log", "--json").events


@in_turn
def test_twice_stops_now_and_resume_continues(project: Path) -> None:
    script = [repair()[0], act("bash", command="sleep 600"), *repair()[1:]]
    with WireModel(script) as wire, live(project, *run_args(wire.base_url)) as process:
        until(lambda: len(wire.requests) == 2 and working(project))
        name = bough(project, "runs", "--json").json[0]["run"]
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None, "it waits for the command to finish"
        again = bough(project, "resume")
        assert again.status == 2 and f"process {process.pid}" in again.err, "a live run is not resumed"
        assert bough(project, "apply", "--partial").status == 2, "nor applied"
        process.send_signal(signal.SIGINT)
        said = ended(process)  # long before the ten minutes of the command
        assert said.status == 6 and "Stopping now" in said.out and f"bough resume {name}" in said.out
        resumed = bough(project, "resume", "--base-url", wire.base_url, "--apply")
        assert resumed.status == 0, resumed
        assert wire.left == 0, "the first round was not asked for again"
    assert (project / "calc.py").read_text() == FIXED
    log = bough(project, "log").out
    assert "bash sleep 600: interrupted" in log and "run resumed" in log


def test_a_model_that_hangs_can_be_stopped_now(project: Path) -> None:
    with WireModel(lambda request: Hang()) as wire, live(project, *run_args(wire.base_url)) as process:
        until(lambda: wire.requests)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)  # two signals at once are one
        process.send_signal(signal.SIGINT)
        assert ended(process).status == 6


@in_turn
def test_stop_from_elsewhere(project: Path, endless: WireModel) -> None:
    with live(project, *run_args(endless.base_url, "--rounds", "100000")) as process:
        until(lambda: working(project))
        with live(project, "log", "--follow") as follower:
            assert bough(project, "runs", "--json").json[0]["status"] == "running"
            status = bough(project, "status").out
            assert f"process {process.pid} on this machine" in status and "bough stop" in status
            said = bough(project, "stop", "latest")
            assert said.status == 0 and f"Asked process {process.pid}" in said.out
            stopped = ended(process)
            assert stopped.status == 6 and "Stopping after the current effect" in stopped.out
            followed = ended(follower)
            assert followed.status == 0 and "run halted (stopped)" in followed.out.splitlines()[-1]


def test_a_killed_run_is_interrupted_and_resumes(project: Path) -> None:
    script = [*repair()[:2], act("bash", command="sleep 600"), *repair()[2:]]
    with WireModel(script) as wire, live(project, *run_args(wire.base_url)) as process:
        until(lambda: len(wire.requests) == 3 and working(project))
        process.kill()
        process.wait()
        assert "interrupted" in bough(project, "show").out
        assert "bough resume" in bough(project, "status").out
        said = bough(project, "resume", "--base-url", wire.base_url)
        assert said.status == 0, said
        assert wire.left == 0


@in_turn
def test_a_budget_that_is_spent(project: Path, endless: WireModel) -> None:
    said = bough(project, *run_args(endless.base_url, "--rounds", "2"))
    assert said.status == 4
    assert "budget spent" in said.out and "--rounds 4" in said.out and "the budget of 2 rounds is spent" in said.out


def test_no_check_to_be_found_is_not_verified(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text(CALC)
    (tmp_path / "goal.md").write_text("Make add add.\n\nAnd nothing else.\n")
    with WireModel([repair()[1], repair()[3], repair()[3]]) as wire:
        said = bough(tmp_path, "run", *run_args(wire.base_url, check=None)[2:], "--file", "goal.md")
    assert said.status == 5, said
    assert "not verified" in said.out and "none found" in said.out
    assert "bough apply" in said.out and "--partial" in said.out


def test_the_goal_from_standard_input_and_applied_at_the_end(project: Path) -> None:
    with WireModel(repair()) as wire:
        said = bough(project, "run", "--file", "-", *run_args(wire.base_url)[2:], "--apply", stdin="Make add add.\n")
    assert said.status == 0 and "Applied: 1 file" in said.out
    assert (project / "calc.py").read_text() == FIXED


def test_a_refused_apply_is_reported_after_the_summary(project: Path) -> None:
    def meddle(request: dict[str, object]) -> object:
        (project / "calc.py").write_text("# mine\n")
        return repair()[3]

    with WireModel([*repair()[:3], meddle]) as wire:  # type: ignore[list-item]
        said = bough(project, *run_args(wire.base_url, "--apply"))
    assert said.status == 2 and "✔ completed" in said.out and "calc.py" in said.err
    assert (project / "calc.py").read_text() == "# mine\n"


def test_a_key_that_is_refused(project: Path) -> None:
    with WireModel([Status(401, body={"error": {"message": "wrong key"}})]) as wire:
        said = bough(project, *run_args(wire.base_url))
        assert said.status == 7, said
        assert "model unavailable" in said.out and "bough resume" in said.out and "wrong key" in said.out


@in_turn
def test_events_as_they_happen(project: Path) -> None:
    with WireModel(repair()) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", check=CHECK))
    assert (said.status, said.err) == (0, "")
    assert said.events == bough(project, "log", "--json").events
    assert said.events[0]["event"]["plan"]["goal"]["test_command"] == CHECK


@in_turn
def test_a_run_continues_when_its_output_is_closed(project: Path) -> None:
    with WireModel(repair()) as wire, live(project, *run_args(wire.base_url)) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.wait(240), process.stderr.read()) == (0, "")
    assert bough(project, "runs", "--json").json[0]["status"] == "completed"


def test_a_third_time_waits_for_nothing() -> None:
    stopped: list[bool] = []

    async def deaf(watch: RunObserver) -> Outcome:
        watch.stop.watch(lambda: stopped.append(watch.stop.now))
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.05)
        raise AssertionError("it went on")

    page = TerminalOutput(io.StringIO(), False, False)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_to_end(PlainDisplay(page), deaf))
    assert stopped == [False, True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
