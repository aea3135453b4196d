"""What a live run does, for whoever looks from another process: on disk soon, seldom, and gone when it is over."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.adapters.stores.redacted import redact_secrets
from bough.app import RunObserver
from bough.core import events as e
from bough.core.ids import RUN
from bough.services import activity
from bough.testing import MemoryStore
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(240):
        while not true():  # noqa: ASYNC110 (a file says nothing when it changes)
            await asyncio.sleep(0.005)


async def test_a_long_effect_is_seen_from_outside_and_a_short_one_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "EVERY", 0.01)
    told: list[tuple[str, str]] = []
    (tmp_path / "now-amber-heron.json").write_text('{"goal": {"what": "from a process that was killed"}}')
    watch = RunObserver(doing=lambda task, what: told.append((task, what)))
    kept = activity.ActivityFile(tmp_path, watch, redact_secrets(memory := MemoryStore(), ["hunter2hunter2"]))

    def seen(task: str) -> tuple[str, str]:
        found = activity.load_activity(tmp_path, "amber-heron").get(task, activity.TaskActivity())
        return found.what, found.line

    kept.recorded(e.Record(1, "amber-heron", RUN, 1, 0.0, e.RunFinished("completed", "")))
    assert seen("goal") == ("", "")
    kept.doing("a", "merging into goal")
    kept.progress("a", "one\ntwo hunter2hunter2\n")
    await until(lambda: seen("a") == ("merging into goal", "two [secret]"))
    kept.recorded(e.Record(2, "amber-heron", "a", 1, 0.0, e.CheckStarted("pytest")))
    await until(lambda: seen("a") == ("merging into goal", ""))
    kept.doing("a", "")
    assert seen("a") == ("", "") and told == [("a", "merging into goal"), ("a", "")]
    kept.doing("b", "planning")
    await until(lambda: seen("b")[0] == "planning")
    kept.close()
    await memory.close()
    assert not list(tmp_path.iterdir())
