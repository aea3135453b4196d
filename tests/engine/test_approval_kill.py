"""The process dies around every decision about a changed test: each is asked and told once, and the end is the same."""

import asyncio
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from tests.harness import CHECK, begin, by_progress, journal_of, make_project, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOAL = "add shall give twice the sum."
EVIDENCE = "It expects the plain sum."
_AGENT = by_progress(
    call("write", path="calc.py", content="def add(a, b):\n    return 2 * (a + b)\n"),
    call("edit", path="test_calc.py", old="add(2, 3), 5", new="add(2, 3), 10"),
    call("done", summary="twice"),
    call("dispute", test="test_calc.Adding.test_add", evidence=EVIDENCE),
    call("done", summary="twice, as the request says"),
)
DECIDING = ("ChangesRuled", "FindingReturned", "Disputed", "CheckFinished")


def answer(prompt: Prompt) -> Answer:
    """Its judge is convinced by the evidence."""
    if any(tool.name == "rule" for tool in prompt.tools):
        convinced = EVIDENCE in str(prompt.messages[0])
        return call("rule", reason="because", demanded=convinced, quote="twice the sum" if convinced else "")
    return _AGENT(prompt)


def assert_decided(project: Path) -> None:
    journal = asyncio.run(journal_of(project))
    assert journal.of(e.RunFinished)[-1].end == "completed"
    assert [event.test for event in journal.of(e.Disputed)] == ["test_calc.Adding.test_add"]
    assert len(journal.of(e.FindingReturned)) == 1
    first, last = journal.of(e.ChangesRuled)
    assert (first.allowed, [one.by for one in last.allowed]) == ((), ["judge"])
    assert journal.of(e.AttemptStarted)[0].role == "builder"
    assert len(journal.of(e.AttemptStarted)) == 1


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    project, fuse = make_project(tmp_path_factory.mktemp("approval") / "p", repository=False), Fuse()
    asyncio.run(begin(project, ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=fuse))
    assert_decided(project)
    found = [at for at, name in enumerate(fuse.points) if any(kind in name for kind in DECIDING)]
    return found[::2]  # before each: what is after it is before the next effect


@in_turn
def test_a_crash_around_every_decision(points: list[int], tmp_path: Path) -> None:
    assert len(points) >= 5
    for at in sample(points, 3):
        project = make_project(tmp_path / str(at), repository=False)
        with pytest.raises(FuseBlown):
            asyncio.run(begin(project, ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=Fuse(at)))
        asyncio.run(resume(project, ScriptedModel(answer)))
        assert_decided(project)
