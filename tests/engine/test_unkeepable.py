"""Files that cannot be kept: the model is told, the workspace is restored, and the run continues."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import SnapshotRefused
from bough.core.messages import Prompt, Result
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from bough.views.run_view import Outcome
from tests.harness import CHECK, FIXED, begin, journal_of, make_project, resume, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

DEEP = "python3 -c \"import os\nfor n in range(60): os.mkdir('d' * 100); os.chdir('d' * 100)\nopen('f', 'w').close()\""
THIN = "python3 -c \"import os\nfor n in range(3000): os.mkdir('d'); os.chdir('d')\""
SPARSE = "truncate -s 7G sparse && truncate -s 7G calc.py && truncate -s 7G .gitignore"
FIX = call("write", path="calc.py", content=FIXED)
DONE = call("done", summary="added")


@in_turn
@pytest.mark.parametrize(
    ("command", "why"),
    [(DEEP, "too deep"), (THIN, "(251 folders"), (SPARSE, "too large")],
    ids=["deep", "thin", "sparse"],
)
def test_what_cannot_be_kept_is_reported_to_the_model(tmp_path: Path, command: str, why: str) -> None:
    project = make_project(tmp_path / "p")
    began = time.process_time()
    model = ScriptedModel([call("bash", command=command), FIX, DONE])
    outcome, _ = run_to_end(project, model)
    assert time.process_time() - began < 60
    assert outcome.status == "completed", outcome.summary
    (goal,) = outcome.tree
    assert goal.files == ("calc.py",)
    told = next(message.text for message in model.prompts[1].messages if isinstance(message, Result))
    assert why in told
    assert "as it was before the call" in told
    assert not list((project / ".bough" / "work").glob("*/*"))


@in_turn
@pytest.mark.parametrize("command", [DEEP, SPARSE, "chmod -R 000 ."], ids=["deep", "sparse", "locked"])
def test_a_crash_with_such_files_is_recovered_from(tmp_path: Path, command: str) -> None:
    """The checkout is recreated if it cannot be read, without the huge files."""
    project = make_project(tmp_path / "p")
    script = [call("bash", command=command), FIX, DONE]
    with pytest.raises(FuseBlown):
        asyncio.run(begin(project, ScriptedModel(script), fuse=Blowing("after tool bash")))
    again = ScriptedModel(lambda prompt: DONE if wrote(prompt) else FIX)
    assert asyncio.run(resume(project, again)).status == "completed"


class Blowing(Fuse):
    """Blows at a point by its name."""

    def __init__(self, point: str) -> None:
        super().__init__()
        self.point = point

    def pass_by(self, name: str) -> None:
        if name == self.point:
            raise FuseBlown(name)


def wrote(prompt: Prompt) -> bool:
    return any(isinstance(message, Result) and "calc.py" in message.text for message in prompt.messages)


def test_a_check_that_locks_its_folder_is_a_verdict(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    locks = "chmod -R 000 . ; echo locked"
    model = ScriptedModel(lambda prompt: DONE if wrote(prompt) else FIX)
    outcome, journal = run_to_end(project, model, check=locks)
    (verdict, *_) = (event.verdict for event in journal.of(e.CheckFinished))
    assert outcome.status == "completed" or "cannot be read" in verdict.reason


def test_a_check_that_makes_a_file_huge_is_a_verdict(tmp_path: Path) -> None:
    """Also of what bough itself reads: the code that was checked, and the project's own words for agents."""
    project = make_project(tmp_path / "p")
    (project / "AGENTS.md").write_text("Be brief.\n")
    check = f"truncate -s 1T calc.py AGENTS.md test_calc.py && {CHECK}"
    began = time.process_time()
    model = ScriptedModel(lambda prompt: DONE if wrote(prompt) else FIX)
    _, journal = run_to_end(project, model, check=check, choices=app.Choices(rounds=4))
    assert journal.of(e.CheckFinished)
    assert time.process_time() - began < 90


def test_a_persons_huge_file_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    with (project / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SnapshotRefused, match=r"huge\.bin is too large"):
        run_to_end(project, [FIX, DONE])


# ── a full disk ─────────────────────────────────────────────────────────────────────────────────────────────────

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from bough.testing import ScriptedModel, call
from tests.engine.test_unkeepable import Blowing
from tests.harness import begin

class Killing(Blowing):
    def pass_by(self, name):
        if name == self.point:
            os.kill(os.getpid(), signal.SIGKILL)

fill = call("bash", command="head -c 100000000 /dev/urandom > big")
asyncio.run(begin(Path(sys.argv[1]), ScriptedModel([fill]), fuse=Killing("after tool bash")))
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can only be mounted by root")


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    return disk


@in_turn
@needs_root
@pytest.mark.parametrize("place", ["big", "$TMPDIR/big"])
def test_a_command_that_fills_the_disk_is_reported(small_disk: Path, place: str) -> None:
    try:
        project = make_project(small_disk / "p")
        model = ScriptedModel([call("bash", command=f"head -c 100000000 /dev/urandom > {place}"), FIX, DONE])
        outcome, _ = run_to_end(project, model)
        assert outcome.status == "completed", outcome.summary
        assert os.statvfs(small_disk).f_bavail * 4096 > 8_000_000, "what filled it is gone"
        told = next(message.text for message in model.prompts[1].messages if isinstance(message, Result))
        assert "No space left" in told or "disk is full" in told
    finally:
        subprocess.run(["umount", "-l", str(small_disk)], check=True)


@in_turn
@needs_root
def test_a_run_that_was_killed_on_a_full_disk_can_be_resumed(small_disk: Path) -> None:
    try:
        project = make_project(small_disk / "p")
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(project)], check=False, capture_output=True, text=True
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        (big,) = (project / ".bough" / "work").glob("*/*/big")
        fd = os.open(big, os.O_WRONLY | os.O_APPEND)
        with pytest.raises(OSError, match="space"):
            while True:
                os.write(fd, bytes(1024))
        os.close(fd)

        async def resumed() -> Outcome:
            model = ScriptedModel(lambda prompt: DONE if wrote(prompt) else FIX)
            async with app.open_session(project) as session:
                return await session.resume("test-run", app.Choices(model=model), app.RunObserver())

        assert asyncio.run(resumed()).status == "completed"
        assert asyncio.run(journal_of(project)).of(e.RunResumed)
    finally:
        subprocess.run(["umount", "-l", str(small_disk)], check=True)
