"""The process dies at every point of the engine, and nothing is lost or done twice."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import ClaimHeld
from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel
from bough.testing.fuse import FuseBlown
from bough.views.run_view import Outcome
from tests import zygote
from tests.engine.story import assert_told_whole, model_answer
from tests.harness import QUICK_CHECK, begin, journal_of, make_project, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

POINTS = 142
"""How many points the engine passes in the story; `test_the_points_are_known` says when this is no longer true."""


def test_the_points_are_known(tmp_path: Path) -> None:
    project, fuse = make_project(tmp_path / "p"), Fuse()
    asyncio.run(begin(project, ScriptedModel(model_answer), check=QUICK_CHECK, fuse=fuse))
    assert len(fuse.points) == POINTS, f"set POINTS to {len(fuse.points)}"
    for odd in range(1, POINTS - 1, 2):
        assert fuse.points[odd].startswith("before") or fuse.points[odd + 1].startswith("before"), fuse.points[odd]
    names = {point.partition(" ")[2].split(" ")[0] for point in fuse.points}
    assert names == {
        "append",
        "ask",
        "checkpoint",
        "discard",
        "open",
        "put_blob",
        "restore",
        "snapshot",
        "tool",
        "judge",
    }


@pytest.mark.parametrize("at", sample([*range(0, POINTS, 2), POINTS - 1], 12))
def test_a_crash_at_every_point(tmp_path: Path, at: int) -> None:
    """Every other one, and the last: what is after one effect is before the next, and nothing has been done between."""
    project = make_project(tmp_path / "p", repository=False)
    with pytest.raises(FuseBlown):
        asyncio.run(begin(project, ScriptedModel(model_answer), check=QUICK_CHECK, fuse=Fuse(at)))
    if at < 2:  # Before the first event there is no run yet.
        return
    outcome = asyncio.run(resume(project, ScriptedModel(model_answer)))
    assert_told_whole(project, outcome, asyncio.run(journal_of(project)))


def victim(verb: str, project: Path, point: int | None) -> zygote.ForkedProcess:
    return zygote.start("tests.engine.victim", verb, str(project), "-" if point is None else str(point))


@in_turn
def test_real_kills_one_after_the_other(tmp_path: Path) -> None:
    """Each life is killed for real a few points further on, until one gets through."""
    project = make_project(tmp_path / "p")
    status, output = victim("start", project, 12).wait()
    assert status == -signal.SIGKILL, output
    for point in (5, 9, 14, 18, 23):
        status, output = victim("resume", project, point).wait()
        if status == 0:
            break
        assert status == -signal.SIGKILL, output
    else:
        assert victim("resume", project, None).wait()[0] == 0
    assert_told_whole(project, asyncio.run(outcome_of(project)), asyncio.run(journal_of(project)))


async def outcome_of(project: Path) -> Outcome:
    async with app.open_session(project) as session:
        return await session.outcome("test-run")


@in_turn
@pytest.mark.parametrize("seed", sample(range(4), 2))
def test_killed_at_random_times_over_and_over(tmp_path: Path, seed: int) -> None:
    project, chance = make_project(tmp_path / "p"), random.Random(seed)
    process = victim("start", project, None)
    for _ in range(4):
        time.sleep(chance.uniform(0.25, 1.2))  # The moment of the kill, not a wait for something.
        process.kill()
        status, output = process.wait()
        assert status in (0, -signal.SIGKILL), output
        if status == 0:
            break
        process = victim("resume" if has_begun(project) else "start", project, None)
    status, output = process.wait()
    if "is over" not in output:
        assert status == 0, output
    assert_told_whole(project, asyncio.run(outcome_of(project)), asyncio.run(journal_of(project)))


def has_begun(project: Path) -> bool:
    async def look() -> bool:
        async with app.open_session(project, create=True) as session:
            return bool(await session.store.runs())

    return asyncio.run(look())


def test_a_second_resume_of_a_live_run_is_refused_and_names_the_holder(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")

    async def both() -> None:
        inside, go_on = asyncio.Event(), asyncio.Event()

        async def hesitate(prompt: Prompt) -> Answer:
            inside.set()
            await go_on.wait()
            return model_answer(prompt)

        first = asyncio.create_task(begin(project, ScriptedModel(hesitate)))
        await inside.wait()
        with pytest.raises(ClaimHeld, match=str(os.getpid())):
            await resume(project, ScriptedModel(model_answer))
        go_on.set()
        await first

    asyncio.run(both())


@in_turn
def test_a_dead_holders_lease_is_taken_over_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the lease, which is an hour here, longer than a test may take."""
    monkeypatch.setenv("BOUGH_LIMITS_LEASE", "3600")
    project = make_project(tmp_path / "p")
    assert victim("start", project, 20).wait()[0] == -signal.SIGKILL
    outcome = asyncio.run(resume(project, ScriptedModel(model_answer)))
    assert_told_whole(project, outcome, asyncio.run(journal_of(project)))
    assert len(asyncio.run(journal_of(project)).of(e.RunResumed)) == 1
