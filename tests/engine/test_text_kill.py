"""The process dies while a model is spoken to in text and fresh attempts are made: nothing is lost or done twice."""

import asyncio
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel
from bough.testing.fuse import FuseBlown
from tests.harness import FIXED, allow_settings, begin, journal_of, make_project, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOAL = "Make add in calc.py add, so that test_calc.py passes."
POINTS = range(16, 90, 12)
"""A sample of the points that a run passes."""


def write(code: str) -> str:
    return f"```python\n{code}```"


def answer(prompt: Prompt) -> Answer:
    """Wrong until the fourth attempt, which is the third of several answers to one question."""
    wrong = [write(f"def add(a, b):\n    return a {sign} b\n") for sign in "*/%"]
    if prompt.answers == 1:
        return Answer(wrong[0])
    return Answer(wrong[1], others=(wrong[2], write(FIXED)))


def project_in(folder: Path) -> Path:
    project = make_project(folder)
    (project / "bough.toml").write_text('[models]\nprotocol = "text"\n')
    allow_settings(project)
    return project


@in_turn
@pytest.mark.usefixtures("protocol_as_shipped")
@pytest.mark.parametrize("at", sample(POINTS, 3))
def test_a_crash_among_attempts(tmp_path: Path, at: int) -> None:
    project = project_in(tmp_path / "p")
    try:
        asyncio.run(begin(project, ScriptedModel(answer), goal=GOAL, fuse=Fuse(at)))
    except FuseBlown:
        outcome = asyncio.run(resume(project, ScriptedModel(answer)))
        assert outcome.completed, outcome.summary
    journal = asyncio.run(journal_of(project))
    assert [event.decision.rung for event in journal.of(e.Escalated)].count("attempts") == 3
    # An interrupted call is put back and reported, so the agent answers once more.
    cut = sum(event.interrupted for event in journal.of(e.ToolFinished) if event.output)
    assert len(journal.of(e.ModelAnswered)) <= 4 + cut, "no answered round is asked again"
    assert {event.protocol for event in journal.of(e.AttemptStarted)} == {"text"}
