"""A later run is told what an earlier one proved, if the person wants that."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.app import Choices, RunObserver, open_session
from bough.app.earlier_runs import forget_lesson, load_lessons, promote_lesson
from bough.core import events as e
from bough.core.errors import NotFound
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call
from tests.harness import FIXED, make_project

pytestmark = pytest.mark.anyio
CHECK = "python3 -m unittest -q test_calc test_fine"
FINE = "import unittest\n\nclass Fine(unittest.TestCase):\n    def test_fine(self):\n        pass\n"


async def test_a_later_run_is_told_what_an_earlier_one_proved(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "test_fine.py").write_text(FINE)
    said = []

    async def run(goal: str, lessons: bool | None) -> str:
        model = ScriptedModel([call("write", path="calc.py", content=FIXED), call("done", summary="adds")])
        choices = Choices(model=model, flat=True, lessons=lessons)
        watch = RunObserver(recorded=lambda record: said.append(record.event))
        async with open_session(project, create=True) as session:
            said.clear()
            await session.start(build_goal_step(goal, check=CHECK), choices, watch)
        return next(event.brief for event in said if isinstance(event, e.AttemptStarted))

    await run("Make add add.", None)
    async with open_session(project) as session:
        assert await load_lessons(session) == {}, "off, unless the person wants it"
    await run("Make add add.", True)
    assert "runs the tests here" in await run("Make add add again.", True)
    assert "runs the tests here" not in await run("Make add add again.", False)
    async with open_session(project) as session:
        (lesson,) = (await load_lessons(session)).values()
        assert lesson.lesson.command == CHECK, "the same lesson is kept once"
        await promote_lesson(session, 1)
        assert f"- `{CHECK}` runs the tests here" in (project / "AGENTS.md").read_text()
        await forget_lesson(session, 1)
        with pytest.raises(NotFound, match="no lesson 1"):
            await forget_lesson(session, 1)
    assert "runs the tests here" not in (await run("Make add add again.", True)).partition("AGENTS.md")[0]
