"""Every kind of question, answered from every place, while the run lives: the first answer counts, and counts once."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import acp
import msgspec
import pytest
from acp import schema

from bough import app
from bough.core.errors import BoughError
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import build_goal_step
from bough.interfaces.acp import EditorSession
from bough.interfaces.cli.execution import JsonDisplay, Person
from bough.interfaces.web.actions import act
from bough.ports.steering import Stop
from bough.services.run_messages import list_waiting, load_waiting
from bough.testing import ScriptedModel, call
from bough.views.waiting import GivenAnswer, Waiting
from tests.engine.test_planning import GOAL, PLAN, Office
from tests.engine.test_talk import stuck
from tests.harness import QUICK_CHECK, make_project
from tests.interfaces.shell import bough
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.verification.cases import python_on_path
from tests.verification.test_approval import HALF, ID, UNIT, UP

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

FIX = call("edit", path="calc.py", old="a - b", new="a + b")
PUSH = call("bash", command="echo git push > pushed.txt")
DONE = call("done", summary="It is done.")
SHAPES = """\
import unittest


class Areas(unittest.TestCase):
    def test_areas(self):
        from areas import areas

        self.assertEqual(areas(), "areas")
"""
UNITTEST = "python3 -m unittest -q"


def rounding(prompt: Prompt) -> Answer:
    """Changes what a test expects; a judge sees no reason for it."""
    if "rule" in [tool.name for tool in prompt.tools]:
        return call("rule", reason="Nothing says so.", demanded=False)
    edit = call("edit", path="test_half.py", old="half(2.5) == 2", new="half(2.5) == 3")
    rounds = (call("write", path="half.py", content=UP), edit, DONE)
    done = sum(len(getattr(message, "calls", ())) for message in prompt.messages)
    return rounds[min(done, 2)]


class Case:
    """A project, a model that makes the run ask, and the answer that lets it go on."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        if kind == "tests":
            folder.mkdir()
            (folder / "half.py").write_text(HALF)
            (folder / "test_half.py").write_text(UNIT)
        elif kind == "plan":
            folder.mkdir()
            (folder / "test_areas.py").write_text(SHAPES)
        else:
            make_project(folder)
        self.check = UNITTEST if kind in ("tests", "plan") else QUICK_CHECK
        made: dict[str, Callable[[], Any]] = {
            "command": lambda: ScriptedModel([PUSH, FIX, DONE]),
            "tests": lambda: ScriptedModel(rounding),
            "question": lambda: ScriptedModel(stuck),
            "plan": lambda: Office(12, PLAN),
        }
        depth = 0 if kind == "question" else None
        self.choices = app.Choices(model=made[kind](), max_depth=depth, flat=None if kind == "plan" else True)
        self.typed = "a plus, not a minus" if kind == "question" else "y"

    def body(self, waiting: Waiting) -> tuple[str, dict[str, Any]]:
        made: dict[str, tuple[str, dict[str, Any]]] = {
            "command": ("command", {"id": waiting.id, "allow": True}),
            "tests": ("approve", {"allow": True, "task": waiting.task}),
            "question": ("answer", {"text": self.typed}),
            "plan": ("plan", {"says": "yes"}),
        }
        return made[self.kind]


async def asked(folder: Path) -> tuple[str, Waiting]:
    """Wait until the run asks."""
    while True:
        if (folder / ".bough" / "journal.db").exists():
            async with app.open_journal(folder) as journal:
                runs = await journal.store.runs()
                if runs and (found := await list_waiting(journal, runs[0])):
                    return runs[0], found[0]
        await asyncio.sleep(0.05)


async def never(*given: Any) -> None:
    await asyncio.Event().wait()


async def run_it(case: Case, watch: app.RunObserver) -> None:
    async with app.open_session(case.folder, create=True) as session:
        outcome = await session.start(build_goal_step(GOAL, check=case.check), case.choices, watch)
        assert outcome.completed, outcome.summary


async def on_the_page(case: Case, name: str, waiting: Waiting) -> None:
    action, body = case.body(waiting)
    await act(case.folder, name, action, msgspec.json.encode(body))


async def on_the_command_line(case: Case, name: str, waiting: Waiting) -> None:
    words = ("answer", name, case.typed) if case.kind == "question" else ("approve", name)
    said = await asyncio.to_thread(bough, case.folder, *words)
    assert said.status == 0, said.err


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "false")
    return Case(request.param, tmp_path / "project")


KINDS = pytest.mark.parametrize("case", sample(["command", "tests", "question", "plan"], 2), indirect=True)


async def last_answers(folder: Path) -> list[GivenAnswer]:
    async with app.open_journal(folder) as journal:
        (name,) = await journal.store.runs()
        return (await load_waiting(journal, name)).answered


@in_turn
@KINDS
@pytest.mark.parametrize("elsewhere", [on_the_page, on_the_command_line], ids=["page", "command line"])
def test_a_live_run_is_answered_from_elsewhere(
    case: Case, elsewhere: Callable[[Case, str, Waiting], Awaitable[None]], python_on_path: None
) -> None:
    """Nobody answers at the terminal; whoever comes second is told."""

    async def answer() -> None:
        name, waiting = await asked(case.folder)
        assert waiting.kind == case.kind and waiting.task == "goal"
        assert [one.test for one in waiting.tests] == ([ID] if case.kind == "tests" else [])
        await elsewhere(case, name, waiting)
        with pytest.raises(BoughError, match=r"already answered|waiting for your|no open question"):
            await on_the_page(case, name, waiting)

    async def both() -> None:
        watch = app.RunObserver(approve=never, ask=never, permit=never)
        await asyncio.gather(run_it(case, watch), answer())
        (said,) = [each for each in await last_answers(case.folder) if each.kind == case.kind]
        assert said.by and said.task == "goal", "who answered stays to be seen"

    asyncio.run(both())


@in_turn
@KINDS
def test_the_terminal_answers(case: Case, monkeypatch: pytest.MonkeyPatch, python_on_path: None) -> None:
    """As a person types it; the page comes second."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        person = Person(build_goal_step(GOAL), JsonDisplay(), Stop())

        async def answer() -> None:
            name, waiting = await asked(case.folder)
            os.write(writing, f"{case.typed}\n".encode())
            while await open_still(case.folder, name):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            with pytest.raises(BoughError, match=r"already answered|waiting for your|no open question|is finished"):
                await on_the_page(case, name, waiting)

        async def both() -> None:
            watch = app.RunObserver(approve=person.approve, ask=person.ask, permit=person.permit)
            await asyncio.gather(run_it(case, watch), answer())
            assert [each.by != "" for each in await last_answers(case.folder)] == [True]

        asyncio.run(both())
    os.close(writing)


async def open_still(folder: Path, name: str) -> bool:
    async with app.open_journal(folder) as journal:
        return bool(await list_waiting(journal, name))


class Editor:
    """Says yes to whatever it is asked, except to applying the work."""

    def __init__(self) -> None:
        self.titles: list[str] = []

    async def session_update(self, session_id: str, update: Any, **given: Any) -> None:
        """Not looked at."""

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **given: Any) -> Any:
        self.titles.append(tool_call.title)
        chosen = "no" if tool_call.title.startswith("Apply") else "yes"
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))


@in_turn
@KINDS
def test_the_editor_answers(case: Case, python_on_path: None) -> None:
    editor = Editor()
    session = EditorSession("s-1", case.folder, cast(acp.Client, editor), case.choices)

    async def talk() -> None:
        outcome = await session.hear(GOAL)
        if case.kind == "question":
            assert outcome.status == "waiting"
            outcome = await session.hear(case.typed)
        assert outcome.completed, outcome.summary
        assert [each.kind for each in await last_answers(case.folder)] == [case.kind]
        with pytest.raises(BoughError):
            waiting = Waiting(case.kind, "goal", "", 0, 0.0, id="00000000")  # type: ignore[arg-type]
            await on_the_page(case, outcome.run, waiting)

    asyncio.run(talk())
    assert len(editor.titles) == (1 if case.kind == "question" else 2), editor.titles
