"""A run from Python, event by event."""

import asyncio
import time
from pathlib import Path

import pytest

import bough
from bough.app import open_journal
from bough.core import events as e
from bough.testing import ScriptedModel, call
from bough.views.run_view import view_run
from tests.harness import QUICK_CHECK, journal_of, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = (call("edit", path="calc.py", old="a - b", new="a + b"), call("done", summary="add adds"))


def test_every_event_comes_once_and_in_order(tmp_path: Path) -> None:
    project = make_project(tmp_path)

    async def watch() -> tuple[list[e.Record], bough.Outcome | None]:
        async with bough.stream("Make add add.", dir=project, check=QUICK_CHECK, model=ScriptedModel([*FIX])) as events:
            assert events.outcome is None
            seen = [record async for record in events]
        return seen, events.outcome

    seen, outcome = asyncio.run(watch())
    assert outcome is not None and outcome.completed
    assert isinstance(seen[0].event, e.RunStarted) and isinstance(seen[-1].event, e.RunFinished)
    recorded = asyncio.run(journal_of(project))
    assert [record.seq for record in seen] == [record.seq for record in recorded.records]


def test_leaving_early_stops_the_run_and_resume_continues_it(tmp_path: Path) -> None:
    project = make_project(tmp_path)

    async def leave() -> bough.Outcome | None:
        async with bough.stream("Make add add.", dir=project, check=QUICK_CHECK, model=ScriptedModel([*FIX])) as events:
            async for record in events:
                if isinstance(record.event, e.RoundStarted):
                    break
        return events.outcome

    outcome = asyncio.run(leave())
    assert outcome is not None and outcome.status == "stopped"
    assert asyncio.run(bough.resume(dir=project, model=ScriptedModel([*FIX]))).completed


def test_a_run_that_has_just_ended_was_not_interrupted(tmp_path: Path) -> None:
    """Whoever asks has a view from before the end."""
    project = make_project(tmp_path)
    outcome = asyncio.run(bough.run("Make add add.", dir=project, check=QUICK_CHECK, model=ScriptedModel([*FIX])))

    async def look() -> tuple[str, str | None]:
        async with open_journal(project) as opened:
            records = await opened.store.read(outcome.run)
            before = view_run(outcome.run, [one for one in records if not isinstance(one.event, e.RunFinished)])
            assert before.status == "running"
            return await opened.standing(before)

    assert asyncio.run(look()) == ("completed", None)


def test_an_error_reaches_the_caller(tmp_path: Path) -> None:
    async def watch() -> None:
        async with bough.stream("Anything.", dir=tmp_path / "nowhere") as events:
            assert [record async for record in events] == []

    with pytest.raises(bough.BoughError, match="nowhere"):
        asyncio.run(watch())


def test_errors_name_keywords_and_not_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "BOUGH_MODELS_MAIN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(bough.BoughError, match="name one with model= ") as raised:
        bough.run_sync("Anything.", dir=project)
    assert "--" not in str(raised.value)


@in_turn
def test_the_callers_loop_keeps_turning(tmp_path: Path) -> None:
    """Nothing blocks it for long: what takes time happens in threads and processes."""
    project = make_project(tmp_path)
    for number in range(2000):
        (project / f"file{number}.txt").write_text(f"{number}\n")
    gaps = []

    async def beat() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.01)
            gaps.append(time.thread_time() - began)

    async def both() -> None:
        heart = asyncio.create_task(beat())
        assert (await bough.run("Make add add.", dir=project, check=QUICK_CHECK, model=ScriptedModel([*FIX]))).completed
        heart.cancel()

    asyncio.run(both())
    assert max(gaps) < 1, "seconds of processor time in which nothing else of the caller's could run"
