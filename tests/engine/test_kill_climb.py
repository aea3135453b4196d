"""The process dies in the middle of an escalation: the same ladder position afterwards, and no rung counted twice."""

import asyncio
from pathlib import Path

import pytest

from bough.testing import Fuse
from bough.testing.fuse import FuseBlown
from tests.engine import climb
from tests.harness import make_project
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LADDER = (
    *("Escalated", "HelperAnswered", "ContextPruned", "Planned", "PlanRefused", "ChildStarted", "ChildSettled"),
    *("ChildrenReopened", "TakenUp", "Reported", "PersonAnswered", "CheckpointMade"),
)
LIVES = 60
"""More than the story has steps of the ladder."""


class LadderFuse(Fuse):
    """Counts only what the ladder writes."""

    def pass_by(self, name: str) -> None:
        if any(kind in name for kind in LADDER):
            super().pass_by(name)


class EffectFuse(Fuse):
    """Counts everything but tool calls: one that dies is made again, which is another story."""

    def pass_by(self, name: str) -> None:
        if not any(word in name for word in ("tool", "Tool", "snapshot")):
            super().pass_by(name)


def died(project: Path, at: int) -> bool:
    try:
        asyncio.run(climb.resume(project, LadderFuse(at)))
    except FuseBlown:
        return True
    return False


def test_the_story_climbs_every_rung(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    asyncio.run(climb.begin(project))
    climb.assert_climbed(*asyncio.run(climb.told(project)))


@pytest.mark.parametrize("at", [1, 2], ids=["once_it_is_written", "before_it_is_written"])
@in_turn
def test_every_life_dies_at_the_next_step_of_the_ladder(tmp_path: Path, at: int) -> None:
    """A life gets as far as the next thing that the ladder writes, and dies right after it, or right before the one
    that follows: every effect in between is lost, or done and not written."""
    project = make_project(tmp_path / "p")
    with pytest.raises(FuseBlown):
        asyncio.run(climb.begin(project, LadderFuse(at)))
    lives = 1
    while died(project, at):
        lives += 1
        assert lives < LIVES, "it never comes to its end"
    assert lives > 15, "it died on the way often enough to prove something"
    climb.assert_climbed(*asyncio.run(climb.told(project)))


@pytest.mark.parametrize("at", sample(range(3, 340, 21), 8))
def test_a_crash_at_any_effect(tmp_path: Path, at: int) -> None:
    project = make_project(tmp_path / "p")
    with pytest.raises(FuseBlown):
        asyncio.run(climb.begin(project, EffectFuse(at)))
    asyncio.run(climb.resume(project))
    climb.assert_climbed(*asyncio.run(climb.told(project)))
