"""A run is rewound to an earlier moment of any task, as a whole, and resumes from there; only its cost stays."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

import bough
from bough import Step, app
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.journal.task_fold import fold_task
from bough.core.messages import Answer, Prompt
from bough.core.tree.task_state import State
from bough.ports import Store
from bough.testing import ScriptedModel
from bough.testing.fuse import FuseBlown
from bough.views.run_view import Outcome
from tests.engine.parallel_runs import (
    DONE,
    LINES,
    Agents,
    both,
    edits,
    files_of,
    left_behind,
    look,
    make_project,
    states,
    step,
    text_of,
    writes,
)
from tests.engine.test_parallel_kill import GOAL, model_answer
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

IN_ORDER = Step("goal", "All of it.", test_command="true", steps=(step("a"), step("b"), step("c")))


def in_order(first: str = "a") -> Agents:
    return Agents(a=writes("a", first), b=writes("b"), c=writes("c"))


def go_back(project: Path, to: int, task: str = "goal", say: str = "") -> None:
    async def work() -> None:
        async with app.open_session(project) as session:
            await session.rewind(await session.find(None), to, task, say)

    asyncio.run(work())


def go_on(project: Path, model: Any) -> Outcome:
    outcome = asyncio.run(bough.resume(dir=project, model=ScriptedModel(model)))
    assert_in_step(project)
    return outcome


def assert_in_step(project: Path) -> None:
    """The budget is exact, nothing is left behind, and what people see is what the tasks are."""

    async def read() -> tuple[dict[str, State], list[e.Record]]:
        async with app.open_session(project) as session:
            name = await session.find(None)
            seen = (await session.view(name)).tasks.values()
            return {task.path: task.state for task in seen}, await session.store.read(name)

    seen, records = asyncio.run(read())
    look(project)
    streams = {record.task for record in records if record.task and not record.task.startswith("@")}
    folded = {path: fold_task(path, [r for r in records if r.task == path]).state for path in streams}
    assert {path: seen[path] for path in folded} == folded
    assert not left_behind(project)


@in_turn
def test_a_rewound_task_runs_again_with_all_that_followed_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    first = asyncio.run(bough.run(IN_ORDER, dir=project, model=ScriptedModel(in_order("old\n"))))
    assert first.completed and first.spend.rounds == 6
    go_back(project, 0, "b")
    before = asyncio.run(_outcome(project))
    assert states(before) == {"goal": "in_progress", "a": "completed", "b": "in_progress", "c": "pending"}
    assert before.spend.rounds == 6, "what it cost stays"
    agents = in_order()
    agents.says["b"] = writes("b", "another approach\n")
    again = go_on(project, agents)
    assert again.completed and again.spend.rounds == 10
    assert text_of(project, again, "b") == "another approach\n"
    assert text_of(project, again, "a") == "old\n", "what was finished by then is kept"
    assert "a" not in agents.asked


@in_turn
@pytest.mark.parametrize("point", [0, 1])
def test_what_the_person_says_goes_to_a_fresh_agent(tmp_path: Path, point: int) -> None:
    project = make_project(tmp_path / "p")
    asyncio.run(bough.run(IN_ORDER, dir=project, model=ScriptedModel(in_order())))
    go_back(project, point, "b", " Use a table. ")
    agents, heard = in_order(), []

    async def listening(prompt: Prompt) -> Answer:
        heard.append(prompt)
        return await agents(prompt)

    assert go_on(project, listening).completed
    assert agents.asked == ["b", "b", "c", "c"]
    [brief] = heard[0].messages
    assert "The person says: Use a table." in str(brief)
    records = asyncio.run(_records(project, "b"))
    assert [r.event.text for r in records if isinstance(r.event, e.PersonAnswered)] == ["Use a table."]


async def _records(project: Path, task: str) -> list[e.Record]:
    async with app.open_session(project) as session:
        return await session.store.read(await session.find(None), task)


async def _outcome(project: Path) -> Outcome:
    async with app.open_session(project) as session:
        return await session.outcome(await session.find(None))


@in_turn
def test_a_parent_goes_back_to_where_a_step_had_ended(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    asyncio.run(bough.run(IN_ORDER, dir=project, model=ScriptedModel(in_order())))

    async def points() -> int:
        async with app.open_session(project) as session:
            return len(await session.points(await session.find(None)))

    assert asyncio.run(points()) == 4, "before the first step, and after each"
    go_back(project, 2)
    agents = in_order()
    again = go_on(project, agents)
    assert again.completed
    assert agents.asked == ["c", "c"]
    with pytest.raises(UsageError, match="points 0 to 3 of goal, not 9"):
        go_back(project, 9)


@in_turn
def test_from_every_point_of_every_task_of_a_parallel_run(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    asyncio.run(bough.run(GOAL, dir=project, model=ScriptedModel(said_again), jobs=2))

    async def all_points() -> list[tuple[str, int]]:
        async with app.open_session(project) as session:
            name = await session.find(None)
            tasks = (await session.view(name)).tasks
            return [(path, n) for path in tasks for n in range(len(await session.points(name, path)))]

    places = asyncio.run(all_points())
    assert {path for path, _ in places} >= {"goal", "a", "b", "c", "c/below"}
    for path, number in places[::3]:
        if (path, number) not in asyncio.run(all_points()):
            continue  # This time it was the other step whose work had to be merged.
        go_back(project, number, path)
        again = asyncio.run(bough.resume(dir=project, model=ScriptedModel(said_again), rounds=400))
        assert again.completed, f"from point {number} of {path}: {again.summary}"
        assert files_of(project, again) == {"text.txt", "below.txt"}
        assert_in_step(project)


def said_again(prompt: Prompt) -> Answer:
    """One that is rewound to the end of its last round says again that it is done."""
    try:
        return model_answer(prompt)
    except IndexError:
        return DONE


class Dying:
    """A store that lets so many appends through and then is gone."""

    def __init__(self, store: Store, appends: int) -> None:
        self._store, self._left = store, appends

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, *args: Any) -> Any:
        if not self._left:
            raise FuseBlown
        self._left -= 1
        return await self._store.append(*args)


@in_turn
@pytest.mark.parametrize("appends", sample([0, 1, 2, 3], 2))
def test_a_crash_during_a_rewind_is_recovered(tmp_path: Path, appends: int) -> None:
    project = make_project(tmp_path / "p")
    asyncio.run(bough.run(IN_ORDER, dir=project, model=ScriptedModel(in_order())))

    async def die() -> None:
        async with app.open_session(project) as session:
            dying = replace(session, store=cast(Store, Dying(session.store, appends)))
            await dying.rewind(await session.find(None), 0, "b")

    with pytest.raises(FuseBlown):
        asyncio.run(die())
    if appends == 0:  # Before it was written down that it is to be taken back, nothing has happened.
        assert asyncio.run(_outcome(project)).completed
        return
    agents = in_order()
    agents.says["b"] = writes("b", "another approach\n")
    again = go_on(project, agents)
    assert again.completed and text_of(project, again, "b") == "another approach\n"


@in_turn
def test_rounds_that_are_spent_are_not_granted_again(tmp_path: Path) -> None:
    """Rewound to where both steps had just begun, with a nearly exhausted budget: no more is asked."""
    project = make_project(tmp_path / "p", text=LINES)
    agents = Agents(a=edits("text", "one", "ONE"), b=edits("text", "seven", "SEVEN"))
    goal = both(step("a", "true"), step("b", "true"))
    spent = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=2, rounds=4)).spend.rounds
    go_back(project, 0, "a")
    asked = len(agents.asked)
    outcome = go_on_halted(project, agents)
    # Which of the two got the last round differs from run to run, and so does what was left of the budget.
    assert outcome.status == "budget"
    assert len(agents.asked) - asked <= 4 - spent
    assert outcome.spend.rounds <= 4
    again = asyncio.run(bough.resume(dir=project, model=ScriptedModel(agents), rounds=20))
    assert again.completed
    assert_in_step(project)


def go_on_halted(project: Path, agents: Agents) -> Outcome:
    outcome = asyncio.run(bough.resume(dir=project, model=ScriptedModel(agents)))
    look(project)
    return outcome
