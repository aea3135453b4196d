"""The process dies at every point around an outside agent's turn, and nothing is lost or done twice."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.messages import Call
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules
from bough.engine import run_loop
from bough.ports import Ports, ToolResult, Workspace
from bough.ports.agents import Talk, TurnEnd, TurnProgress
from bough.testing import Fuse, ScriptedModel
from bough.testing.fuse import FuseBlown
from tests.harness import FIXED, QUICK_CHECK, Journal, journal_of, make_project, ports_in
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

NOBODY = ScriptedModel([])
AROUND = ("ToolFinished",)
POINTS = 6
"""How many points of these there are in the story."""


class Agent:
    """Two calls and a claim. It knows by the files what is left to do, as a real one does."""

    name = "fake"

    async def start(self, workspace: Workspace, rules: Rules, progress: Callable[[str], None]) -> Talk:
        return Turn(workspace.folder)


class Turn:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = 0

    async def say(self, text: str) -> None:
        once, fixed = (self._folder / "once.txt").exists(), (self._folder / "calc.py").read_text() == FIXED
        self._done = once + fixed if "already" in text else 0

    async def heard(self, patience: float) -> TurnProgress | TurnEnd:
        if self._done == 2:
            return TurnEnd("Both are done.")
        own = f"own-{self._done}"
        return TurnProgress("", (Call(own, "edit", f'{{"path": "{self._done}"}}'),), frozenset({own}))

    async def results(self, calls: Sequence[Call], patience: float) -> list[ToolResult]:
        if self._done:
            (self._folder / "calc.py").write_text(FIXED)
        else:
            with (self._folder / "once.txt").open("a") as file:
                file.write("once\n")
        self._done += 1
        return [ToolResult("done")]

    async def close(self) -> None:
        """There is no process."""


async def story(project: Path, fuse: Fuse | None, *, first: bool) -> None:
    def wired(ports: Ports) -> Ports:
        return replace(ports, agent=lambda name: Agent())

    async with app.open_session(project, create=True) as session, ports_in(session, NOBODY, fuse) as ports:
        if first:
            begun = e.RunStarted(
                plan=Plan(build_goal_step("Make add add.", check=QUICK_CHECK)),
                base=await session.workspaces.take(),
                folder="",
                models={"main": NOBODY.name, "strong": NOBODY.name},
                limits=session.config.budget,
                rules=session.config.limits,
                version="test",
                agents={"main": "fake"},
            )
            await run_loop.start_run("test-run", begun, wired(ports))
        else:
            run = await session.run("test-run")
            again = e.RunResumed("w", run.limits, run.models)
            await run_loop.resume_run("test-run", again, wired(ports))


def points(project: Path) -> list[int]:
    fuse = Fuse()
    asyncio.run(story(project, fuse, first=True))
    return [at for at, name in enumerate(fuse.points) if any(word in name for word in AROUND)]


def assert_told_whole(journal: Journal) -> None:
    assert journal.of(e.RunFinished)[-1].end == "completed"
    whole = [event for event in journal.of(e.ToolFinished) if not event.interrupted]
    assert len(whole) == 3, "two calls and the claim, each finished once"
    assert len({event.tree for event in whole}) == 2, "the claim changed nothing"


@in_turn
def test_a_crash_at_every_point_of_a_turn(tmp_path: Path) -> None:
    found = points(make_project(tmp_path / "whole"))
    assert_told_whole(asyncio.run(journal_of(tmp_path / "whole")))
    assert len(found) == POINTS, f"set POINTS to {len(found)}"
    for at in found:
        project = make_project(tmp_path / f"p{at}")
        with pytest.raises(FuseBlown):
            asyncio.run(story(project, Fuse(at), first=True))
        asyncio.run(story(project, None, first=False))
        assert_told_whole(asyncio.run(journal_of(project)))
