"""Many agents at once: one of them is asked to slow down, and checks take turns."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bough import Step, app
from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import Plan
from bough.testing import ScriptedModel, call
from tests.harness import by_progress, git
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Reply, Status, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

AGENTS, PAUSE = 6, 1.0


class Throttling:
    """Takes one request of every agent, refuses one of them for a while, and then answers the rest."""

    def __init__(self) -> None:
        self.lock, self.all_here, self.heard = threading.Lock(), threading.Event(), threading.Event()
        self.arrived: list[float] = []
        self.at_once: list[int] = []
        self.under_way = 0
        self.refused_at = 0.0

    def __call__(self, request: dict[str, Any]) -> Reply:
        with self.lock:
            self.arrived.append(time.monotonic())
            number = len(self.arrived)
            self.under_way += 1
            self.at_once.append(self.under_way)
        try:
            return self._answer(number)
        finally:
            with self.lock:
                self.under_way -= 1

    def _answer(self, number: int) -> Reply:
        if number == AGENTS:
            self.all_here.set()
        if number == 1:
            assert self.all_here.wait(240)
            self.refused_at = time.monotonic()
            return Status(429, {"retry-after": f"{PAUSE:g}"})
        if number <= AGENTS:
            assert self.heard.wait(240)
            return call("note", text="a first look")
        time.sleep(0.05)
        return call("done", summary="done")


def make_project(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-qm", "begin", "--allow-empty")
    return folder


def test_one_refusal_slows_all_agents_and_they_come_back_gradually(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    steps = tuple(
        Step(f"part{n}", f"Look at part {n}.", requires_testing=False, files=(f"p{n}",)) for n in range(AGENTS)
    )
    goal = Step("goal", "Look at all of it.", requires_testing=False, parallel=True, steps=steps)
    server, said, failed = Throttling(), list[str](), list[e.ModelFailed]()

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.ModelFailed):
            failed.append(record.event)
            server.heard.set()

    async def work(base_url: str) -> str:
        async with app.open_session(project, create=True) as session:
            choices = app.Choices(model="openai:m", base_url=base_url, jobs=AGENTS)
            watch = app.RunObserver(recorded=recorded, progress=lambda task, text: said.append(text))
            return (await session.start(Plan(goal), choices, watch)).status

    with WireModel(server) as wire:
        assert asyncio.run(work(wire.base_url)) == "completed"
    later = server.arrived[AGENTS:]
    assert len(later) == AGENTS, "one more of each"
    assert later[0] >= server.refused_at + PAUSE, "nobody asks in the pause"
    assert server.at_once[AGENTS] == 1 and max(server.at_once[AGENTS : AGENTS + 3]) <= 2, "and nobody rushes in after"
    assert max(server.at_once[AGENTS:]) <= AGENTS / 2 + 1
    assert len(failed) == 1, "whoever waits has not failed"
    assert any("asks to slow down" in text for text in said)


@in_turn
def test_checks_take_turns_however_many_agents_there_are(tmp_path: Path) -> None:
    project, taken, collided = make_project(tmp_path / "p"), tmp_path / "taken", tmp_path / "collided"
    alone = f"mkdir {taken} || {{ touch {collided}; exit 1; }}; sleep 0.1; rmdir {taken}"
    steps = tuple(Step(f"part{n}", f"Make p{n}.", test_command=alone, files=(f"p{n}",)) for n in range(3))
    goal = Step("goal", "Make all of it.", test_command=alone, parallel=True, steps=steps)
    model, said = ScriptedModel(make_part), list[str]()

    async def work() -> str:
        choices = app.Choices(model=model, jobs=3, checks=1, sandbox="none")
        async with app.open_session(project, create=True, choices=choices) as session:
            watch = app.RunObserver(progress=lambda task, text: said.append(text))
            return (await session.start(Plan(goal), choices, watch)).status

    assert asyncio.run(work()) == "completed"
    assert not collided.exists(), "two checks ran at the same time"
    assert "waiting for a check slot: 1 of 1 in use (--checks)" in said


def make_part(prompt: Prompt) -> Answer:
    name = prompt.key.partition("#")[0].rpartition("part")[2]
    return by_progress(call("write", path=f"p{name}", content="made"), call("done", summary="made"))(prompt)
