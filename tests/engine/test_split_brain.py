"""Two processes and one run: only the one that holds it acts. A process that is stopped still holds it."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import ClaimHeld, ClaimLost
from bough.core.ids import RUN
from bough.core.messages import Answer, Prompt
from bough.engine import run_loop
from bough.testing import ScriptedModel, call
from bough.views.run_view import Outcome
from tests.engine.story import assert_told_whole, model_answer
from tests.harness import begin, by_progress, journal_of, make_project, ports_in, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

MOMENTS = ["before append ToolStarted", "before tool bash", "after tool bash", "before judge", "before restore"]
"""Between intent and effect, in a tool, after it, in a check, in a restore."""


def stopped_at(project: Path, moment: str) -> subprocess.Popen[bytes]:
    """A process that carries the story out and stops itself (SIGSTOP) at that moment."""
    command = [sys.executable, "-m", "tests.engine.stopper", str(project), moment]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    state = Path(f"/proc/{process.pid}/stat")
    while state.read_text().rpartition(")")[2].split()[0] != "T":
        assert process.poll() is None, process.communicate()[0].decode()
        time.sleep(0.01)
    return process


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see a process stop")
@pytest.mark.parametrize("moment", sample(MOMENTS, 2))
def test_a_stopped_process_keeps_its_run(tmp_path: Path, moment: str) -> None:
    """Whatever its lease and the clocks say; then it continues as if nothing had happened."""
    project = make_project(tmp_path / "p")
    first = stopped_at(project, moment)
    try:
        expire(project)
        with pytest.raises(ClaimHeld, match=rf"process {first.pid} .*stopped"):
            asyncio.run(resume(project, ScriptedModel(model_answer)))
        first.send_signal(signal.SIGCONT)
        output, _ = first.communicate(timeout=240)
        assert first.returncode == 0, output.decode()
    finally:
        first.kill()
    journal = asyncio.run(journal_of(project))
    assert not journal.of(e.RunResumed)
    assert_told_whole(project, asyncio.run(outcome_of(project)), journal)


def expire(project: Path) -> None:
    """Every lease of the journal ran out long ago."""
    with closing(sqlite3.connect(project / ".bough" / "journal.db")) as db, db:
        db.execute("UPDATE claims SET expires = 0")


async def outcome_of(project: Path) -> Outcome:
    async with app.open_session(project) as session:
        return await session.outcome("test-run")


def test_who_was_taken_over_does_nothing_more(tmp_path: Path) -> None:
    """As if on another machine: its claim is gone while it waits for the model. Its next effect never starts."""
    project = make_project(tmp_path / "p")

    def lose(prompt: Prompt) -> Answer:
        with closing(sqlite3.connect(project / ".bough" / "journal.db")) as db, db:
            db.execute("DELETE FROM claims WHERE task = ?", (RUN,))
        return call("bash", command="echo stale > ../../../../stale")

    with pytest.raises(ClaimLost, match="no longer held"):
        asyncio.run(begin(project, ScriptedModel(lose)))
    assert not (project / "stale").exists()
    journal = asyncio.run(journal_of(project))
    assert not journal.of(e.ToolFinished)


def test_every_effect_crosses_the_fence(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")

    async def effects() -> None:
        async with app.open_session(project, create=True) as session, ports_in(session, ScriptedModel([])) as ports:
            tree = await session.workspaces.take()
            workspace = await ports.workspaces.open("r", "goal", tree, "")

            async def lost() -> None:
                raise ClaimLost("taken over")

            ports.fence.hold(lost)
            (workspace.root / "new").touch()
            for effect in (
                ports.models["main"].ask(None, print),  # type: ignore[arg-type]
                ports.tools.run(None, workspace, None, print),  # type: ignore[arg-type]
                ports.sandbox.run(["touch", "stale"], workspace=workspace, timeout=5, limit=5),
                ports.sandbox.sweep(workspace),
                ports.workspaces.open("r", "goal", tree, ""),
                ports.workspaces.discard("r", "goal"),
                ports.workspaces.merge(tree, tree, tree),
                workspace.snapshot(),
                workspace.restore(tree),
                workspace.checkpoint(tree, "late"),
            ):
                with pytest.raises(ClaimLost):
                    await effect
            assert (workspace.root / "new").exists()
            assert not (workspace.root / "stale").exists()

    asyncio.run(effects())


# ── the heart ───────────────────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_a_locked_journal_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than SQLite waits on its own, and than a heartbeat takes: the run continues, and its heartbeat resumes."""
    monkeypatch.setattr("bough.adapters.stores.sqlite_file.BUSY", 0.2)
    monkeypatch.setattr(run_loop, "HEARTBEAT", 0.05)
    monkeypatch.setenv("BOUGH_LIMITS_LEASE", "0.3")
    project = make_project(tmp_path / "p")
    after: list[float] = []

    async def hesitate(prompt: Prompt) -> Answer:
        if not after:
            with closing(sqlite3.connect(project / ".bough" / "journal.db")) as db:
                db.execute("BEGIN IMMEDIATE")
                before = beaten(project)
                await asyncio.sleep(1)
                db.rollback()
            while beaten(project) == before:  # noqa: ASYNC110 (nobody tells when a heart beats)
                await asyncio.sleep(0.02)
            after.append(before)
        return model_answer(prompt)

    async def carried() -> None:
        async with asyncio.timeout(240):
            await begin(project, ScriptedModel(hesitate))

    asyncio.run(carried())
    assert after
    assert_told_whole(project, asyncio.run(outcome_of(project)), asyncio.run(journal_of(project)))


def beaten(project: Path) -> float:
    with closing(sqlite3.connect(project / ".bough" / "journal.db")) as db:
        (last,) = db.execute("SELECT max(expires) FROM claims").fetchone()
        return float(last)


def test_a_dead_heart_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path / "p")

    async def die(*args: object) -> None:
        raise ClaimLost("the heart has stopped")

    monkeypatch.setattr(run_loop, "_beat", die)
    with pytest.raises(ClaimLost, match="the heart has stopped"):
        asyncio.run(begin(project, ScriptedModel(by_progress(call("bash", command="sleep 60")))))
    monkeypatch.undo()
    assert_told_whole(
        project, asyncio.run(resume(project, ScriptedModel(model_answer))), asyncio.run(journal_of(project))
    )
