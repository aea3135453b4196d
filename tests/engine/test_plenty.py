"""Too much of everything: calls in an answer, words in an answer, half-written files."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough import app
from bough.adapters.models import dialect
from bough.adapters.models import wire as wires
from bough.adapters.workspaces.git import GitWorkspaces
from bough.core import events as e
from bough.core.messages import Answer, Call
from bough.testing import ScriptedModel, call
from tests.harness import FIXED, make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Whole, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = call("write", path="calc.py", content=FIXED)
DONE = call("done", summary="added")


def test_a_thousand_calls_in_one_answer_are_cut(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    many = Answer("All at once.", tuple(Call("", "read", '{"path": "calc.py"}') for _ in range(1_000)), "calls")
    model = ScriptedModel([many, FIX, DONE])
    outcome, journal = run_to_end(project, model)
    assert outcome.status == "completed"
    first = journal.of(e.ModelAnswered)[0]
    assert len(first.calls) == 100
    assert "900 more calls" in first.text
    assert {len(one.id) for one in first.calls} == {9}


@in_turn
def test_an_answer_that_is_far_too_long_is_not_kept(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.01\n")
    huge = Whole(Answer("word " * 2_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with WireModel([huge, huge, huge, FIX, DONE]) as wire:
        # What was cut off counts as tokens: there is no limit of these here.
        choices = app.Choices(model="openai:m", base_url=wire.base_url, tokens=0)
        outcome, journal = run_to_end(project, [], choices=choices)
    assert outcome.status == "completed"
    failed = journal.of(e.ModelFailed)
    assert len(failed) == 3
    assert all("stopped after 8 MB" in event.message for event in failed)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000, "kB"
    assert dialect.CONTENT < wires.LIMIT


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from bough.adapters.workspaces import disk
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home

root = Path(sys.argv[1])

async def main():
    spaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    tree = await spaces.take()
    workspace = await spaces.open("run", "goal", tree, "")
    flush = disk.flush
    half = lambda fd: "goal." in os.readlink(f"/proc/self/fd/{fd}")
    disk.flush = lambda fd: os.kill(os.getpid(), signal.SIGKILL) if half(fd) else flush(fd)
    await workspace.checkpoint(tree, "half")

asyncio.run(main())
"""


def test_what_a_kill_leaves_of_a_checkpoint_is_swept(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(project)], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    repo = project / ".bough" / "repo.git"
    assert not list((repo / "refs").rglob("*.part")), "git would take it for a branch"
    (part,) = repo.rglob("*.part")
    os.utime(part, (0, 0))
    asyncio.run(GitWorkspaces(project, project / ".bough", link_ignored=False).take())
    assert not list(repo.rglob("*.part"))


@in_turn
def test_a_test_that_ends_pytest_proves_nothing(tmp_path: Path) -> None:
    """Also when it did so before the work."""
    project = make_project(tmp_path / "p", repository=False)
    (project / "test_exit.py").write_text("import os\n\ndef test_exit():\n    os._exit(0)\n")
    model = ScriptedModel(lambda prompt: DONE if len(prompt.messages) > 2 else FIX)
    check = f"{sys.executable} -m pytest -q test_exit.py"
    _, journal = run_to_end(project, model, check=check, choices=replace(app.Choices(), rounds=3))
    verdicts = [event.verdict for event in journal.of(e.CheckFinished)]
    assert verdicts
    assert all(verdict.ruling != "passed" for verdict in verdicts), verdicts
