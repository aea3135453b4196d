"""The process dies while a goal is estimated or planned: no plan is made twice."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import Step
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from bough.views.run_view import Outcome
from tests.engine.test_planning import DONE, phase, step
from tests.harness import begin, by_progress, journal_of, make_project, resume
from tests.sampling import sample
from tests.shipped import AGENT_ONLY
from tests.spend import assert_spend

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOAL = Step(
    "goal",
    "Write a package of shapes: squares, and a command that prints their areas.",
    test_command="grep -q return basics.py && grep -q return squares.py && grep -q return areas.py",
    plan_first=True,
)
PHASES = [phase("basics"), step("areas", ("basics",))]
STEPS = [step("basics"), step("squares")]


def model() -> ScriptedModel:
    """Answers by what it is asked alone, so that it may be asked again in another life."""

    def answer(prompt: Prompt) -> Answer:
        (tool, *others), key = [each.name for each in prompt.tools], prompt.key.partition("#")[0]
        if not others:
            given: dict[str, dict[str, Any]] = {
                "estimate": {"atomic": False, "steps": 12},
                "plan": {"steps": PHASES if key == "goal" else STEPS},
            }
            return call(tool, **given[tool])
        name = key.rpartition("/")[2]
        return by_progress(call("write", path=f"{name}.py", content=f"def {name}():\n    return {name!r}\n"), DONE)(
            prompt
        )

    return ScriptedModel(answer)


def told_whole(project: Path, outcome: Outcome) -> None:
    assert outcome.completed, outcome.summary
    journal = asyncio.run(journal_of(project))
    tasks = assert_spend(journal.records)
    assert outcome.spend.rounds == tasks["goal"].budget.spend.rounds
    made = Counter((r.task, type(r.event)) for r in journal.records if isinstance(r.event, e.Planned | e.Estimated))
    assert made == {("goal", e.Estimated): 1, ("goal", e.Planned): 1, ("basics", e.Planned): 1}
    asked = Counter((r.task, r.event.helper) for r in journal.records if isinstance(r.event, e.HelperAnswered))
    assert set(asked.values()) == {1}, "an answer that was heard is not asked for again"
    assert not list((project / ".bough" / "work").glob("*/*"))


def test_points_of_planning(tmp_path: Path) -> None:
    project, fuse = make_project(tmp_path / "p"), Fuse()
    asyncio.run(begin(project, model(), goal=GOAL, fuse=fuse))
    told_whole(project, asyncio.run(resume(project, model())))
    assert len(fuse.points) > POINTS[-1]


POINTS = range(3, 120, 5)


@pytest.mark.parametrize("at", sample(POINTS, 8))
def test_a_crash_while_it_is_planned(tmp_path: Path, at: int) -> None:
    project = make_project(tmp_path / "p")
    with pytest.raises(FuseBlown):
        asyncio.run(begin(project, model(), goal=GOAL, fuse=Fuse(at)))
    told_whole(project, asyncio.run(resume(project, model())))
