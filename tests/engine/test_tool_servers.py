"""Tools of other programs: a real server, a real process, the real protocol."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import BoughError
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call
from bough.views.run_view import Outcome
from tests.harness import FIXED, QUICK_CHECK, Journal, journal_of, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SERVER = Path(__file__).parents[1] / "mcp_server.py"
FIX = call("small__put", path="calc.py", text=FIXED)
DONE = call("done", summary="adds")


def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The person's own settings; the sandbox shows the server."""
    (tmp_path / "config" / "bough").mkdir(parents=True)
    (tmp_path / "config" / "bough" / "config.toml").write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "true")


def small(more: str = "", mark: str = "") -> str:
    # Read from standard input, so that the sandbox need not show this folder.
    code = json.dumps(f"exec(compile({SERVER.read_text()!r}, 'small', 'exec'))  # {mark}")
    return f'[mcp.small]\ncommand = {json.dumps(sys.executable)}\nargs = ["-c", {code}]\n{more}\n'


def run(project: Path, model: ScriptedModel) -> tuple[Outcome, Journal]:
    async def go() -> Outcome:
        choices = app.Choices(model=model)
        async with app.open_session(project, create=True, choices=choices) as session:
            return await session.start(build_goal_step("Make add add.", check=QUICK_CHECK), choices, app.RunObserver())

    return asyncio.run(go()), asyncio.run(journal_of(project))


def outputs(journal: Journal) -> list[str]:
    return [event.output.partition("instruction]\n")[2] or event.output for event in journal.of(e.ToolFinished)]


@in_turn
def test_a_server_that_dies_hangs_or_floods_never_takes_the_run_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "token-of-mine-1234")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    more = 'timeout = 2\ntools = ["[!s]*"]\nenv = {TOKEN = "${MY_TOKEN}"}\n'
    far = f'[mcp.far]\nurl = "http://127.0.0.1:{port}/mcp"\nroles = ["bug_hunter"]\n'
    config(tmp_path, monkeypatch, f'{small(more)}{far}[mcp.broken]\ncommand = "false"\n')
    project = make_project(tmp_path / "p")
    builder = [
        call("small__add", a=1, b=2),
        call("small__know", name="TOKEN"),
        call("small__know", name="MY_TOKEN"),
        call("small__see", path="calc.py"),
        call("small__put", path=str(project / "calc.py"), text="ruined"),
        call("small__add", a="no", b=1),
        call("small__flood", bytes=200_000),
        call("small__die"),
        call("small__flood", bytes=20 << 20),
        call("far__add", a=2, b=2),
        DONE,
    ]
    model = ScriptedModel([*builder, call("far__add", a=3, b=4), FIX, call("small__wait", seconds=30), DONE])
    before = (project / "calc.py").read_text()
    server = subprocess.Popen([sys.executable, str(SERVER), "http", str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        outcome, journal = run(project, model)
    finally:
        server.kill()
        server.wait()
    assert outcome.status == "completed", outcome.summary
    (listed,) = journal.of(e.ToolServersListed)
    assert "small__add" in listed.tools["small"] and "small__see" not in listed.tools["small"], "an allow-list"
    assert "exit status 1" in listed.failed["broken"]
    said = outputs(journal)
    assert said[:3] == ["3", "[secret]", "(not set)"], "what is named is given, and struck out"
    assert "no tool `small__see`" in said[3]
    assert not journal.of(e.ToolFinished)[4].ok and (project / "calc.py").read_text() == before
    assert not journal.of(e.ToolFinished)[5].ok
    assert len(said[6]) < 20_000 and journal.of(e.ToolFinished)[6].blob, "the whole is kept"
    assert "exit status 3" in said[7] and "restarts" in said[7]
    assert "gave no answer" in said[8]
    assert "not available to you" in said[9] and said[11] == "7"
    assert journal.of(e.ToolFinished)[12].tree != journal.of(e.ToolFinished)[0].tree
    assert "within 2 s" in said[13]
    names = [{tool.name for tool in prompt.tools} for prompt in model.prompts]
    assert "far__add" not in names[0] and {"far__add", "small__add"} <= names[-1]


def _wait_for(port: int) -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


@in_turn
def test_killed_in_the_middle_of_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = f"server of {os.getpid()}"  # Another test's may run at the same time.
    config(tmp_path, monkeypatch, small(mark=server))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    project, mark = make_project(tmp_path / "p"), f"33.{os.getpid()}"
    script = [call("small__put", path="once.txt", text="once"), call("small__wait", seconds=float(mark))]
    asked = [*script, call("small__see", path="once.txt"), FIX, DONE]
    with WireModel(asked) as wire:
        argv = [sys.executable, "-m", "bough", "run", "Make add add.", "--check", QUICK_CHECK, "--model", "openai:m"]
        argv += ["--base-url", wire.base_url]
        bough = subprocess.Popen(argv, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(asyncio.run(_started(project))) < 2:
            assert bough.poll() is None
            time.sleep(0.3)
        bough.send_signal(signal.SIGKILL)
        bough.wait()
        resumed = subprocess.run([*argv[:3], "resume"], cwd=project, capture_output=True, text=True)
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    journal = asyncio.run(journal_of(project))
    assert [event.interrupted for event in journal.of(e.ToolFinished)] == [False, True, False, False, False]
    assert outputs(journal)[2] == "once"
    left = subprocess.run(["pgrep", "-f", server], capture_output=True, text=True).stdout.split()
    assert not left, "no server is left"


async def _started(project: Path) -> list[Any]:
    try:
        return (await journal_of(project)).of(e.ToolStarted)
    except BoughError:  # There is no run yet.
        return []
