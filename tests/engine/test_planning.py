"""From a goal to a tree: the gate, the planner, agreement, phases, and plans that are no good."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bough
from bough.app import RunObserver
from bough.core import events as e
from bough.core.errors import TransientError
from bough.core.messages import Answer, Prompt, UserMessage
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from bough.core.workflow.writing import write_workflow
from bough.ports import Approval
from bough.testing import ScriptedModel, call
from tests.harness import Journal, by_progress, journal_of, make_project
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOAL = "Write a package of shapes: squares and circles, and a command that prints their areas."
DONE = call("done", summary="done")


@pytest.fixture(autouse=True)
def _planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "false")


def step(name: str, needs: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "instructions": f"Write {name}.py with a function {name}() that returns the text {name}.",
        "criteria": [f"{name}() == '{name}'"],
        "files": [f"{name}.py"],
        "needs": list(needs),
        "test_command": f"grep -q \"return '{name}'\" {name}.py",
        **more,
    }


PLAN = [step("squares"), step("circles"), step("areas", ("squares", "circles"))]


class Office(ScriptedModel):
    """A model that estimates and plans as it is told, and does whatever step it is given."""

    def __init__(self, size: int, *plans: Any) -> None:
        self.asked: list[str] = []
        self.size = size
        self.plans = list(plans)
        super().__init__(self._answer)

    def _answer(self, prompt: Prompt) -> Answer:
        tools = [tool.name for tool in prompt.tools]
        self.asked.append(tools[0] if len(tools) == 1 else prompt.key.partition("#")[0])
        if tools == ["estimate"]:
            return call("estimate", atomic=self.size == 1, steps=self.size, reason="by its size")
        if tools == ["plan"]:
            plan = self.plans.pop(0)
            return plan if isinstance(plan, Answer) else call("plan", steps=plan)
        name = prompt.key.partition("#")[0].rpartition("/")[2]
        content = f"def {name}():\n    return {name!r}\n"
        return by_progress(call("write", path=f"{name}.py", content=content), DONE)(prompt)


def carried_out(
    project: Path, office: Office, watch: RunObserver | None = None, **chosen: Any
) -> tuple[bough.Outcome, Journal]:
    chosen = {"check": "grep -q return squares.py && grep -q return circles.py && grep -q return areas.py", **chosen}
    outcome = asyncio.run(bough.run(GOAL, dir=project, model=office, watch=watch, **chosen))
    return outcome, asyncio.run(journal_of(project))


def states(outcome: bough.Outcome) -> dict[str, State]:
    return {task.path: task.state for task in outcome.tree}


def test_a_small_goal_is_one_leaf_after_one_question(tmp_path: Path) -> None:
    office = Office(1)
    outcome, journal = carried_out(make_project(tmp_path / "p"), office, check="grep -q return goal.py")
    assert outcome.completed
    assert office.asked == ["estimate", "goal", "goal"]
    assert list(states(outcome)) == ["goal"]
    (estimated,) = journal.of(e.Estimated)
    assert (estimated.atomic, estimated.proposal) == (True, "leaf")
    assert outcome.spend.rounds == 3, "the question is a round too"


@pytest.mark.parametrize("failures", [4, 5])
def test_a_question_outlasts_transport_errors_and_the_person_sees_them(tmp_path: Path, failures: int) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nmax_transport_failures = 5\n")
    office, left, shown = Office(1), [TransientError("503 from the server")] * failures, list[e.HelperFailed]()
    answer = office.ask

    async def ask(prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        assert len(shown) == failures - len(left), "each is seen before the next try"
        if left:
            raise left.pop()
        return await answer(prompt, progress)

    def see(record: e.Record) -> None:
        if isinstance(record.event, e.HelperFailed):
            shown.append(record.event)

    office.ask = ask  # type: ignore[method-assign]
    outcome, journal = carried_out(project, office, RunObserver(recorded=see), check="grep -q return goal.py")
    assert len(journal.of(e.HelperFailed)) == failures
    assert sum(event.wait > 0 for event in shown) == min(failures, 4)
    assert outcome.completed == (failures < 5)


@in_turn
def test_a_larger_goal_is_planned_and_run(tmp_path: Path) -> None:
    office = Office(5, PLAN)
    outcome, journal = carried_out(make_project(tmp_path / "p"), office)
    assert outcome.completed
    assert states(outcome) == dict.fromkeys(("goal", "squares", "circles", "areas"), State.COMPLETED)
    (planned,) = journal.of(e.Planned)
    assert [s.name for s in planned.steps] == ["squares", "circles", "areas"]
    (granted,) = journal.of(e.Granted)
    assert granted.limits.rounds == 40 + 4 * 16, "the budget follows the larger of estimate and leaves"
    (asked,) = [p for p in office.prompts if [t.name for t in p.tools] == ["estimate"]]
    first = asked.messages[0]
    assert isinstance(first, UserMessage)
    assert GOAL in first.text and "files" in first.text, "the repository's size is an input"


@in_turn
def test_a_ledger_that_a_person_set_stays(tmp_path: Path) -> None:
    outcome, journal = carried_out(make_project(tmp_path / "p"), Office(5, PLAN), rounds=60)
    assert outcome.completed
    assert not journal.of(e.Granted)
    assert outcome.tree[0].limits.rounds == 60


@in_turn
def test_later_steps_know_what_finished_ones_made(tmp_path: Path) -> None:
    office = Office(5, PLAN)
    carried_out(make_project(tmp_path / "p"), office)
    briefs = [p.messages[0] for p in office.prompts if p.key.startswith("areas#")]
    assert isinstance(briefs[0], UserMessage)
    assert "squares: done (changed squares.py)" in briefs[0].text
    assert GOAL in briefs[0].text, "what it is part of"


@in_turn
def test_flat_and_depth_zero_ask_nothing(tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [{"flat": True}, {"max_depth": 0}]
    for number, chosen in enumerate(ways):
        office = Office(9)
        outcome, _ = carried_out(make_project(tmp_path / str(number)), office, check="grep -q return goal.py", **chosen)
        assert outcome.completed
        assert office.asked == ["goal", "goal"]


BAD: dict[str, Any] = {
    "empty": [],
    "one step": [step("squares")],
    "forty steps": [step(f"step{n}") for n in range(40)],
    "a circle": [step("squares", ("circles",)), step("circles", ("squares",))],
    "itself again": [{**step("squares"), "instructions": GOAL}, step("circles")],
    "one name twice": [step("squares"), step("squares")],
    "unknown needs": [step("squares", ("rectangles",)), step("circles")],
    "wrong types": call("plan", steps="all of them"),
    "prose": Answer(text="First I would think about the shapes, then write them."),
    "nothing": Answer(),
}


@pytest.mark.parametrize("kind", sample(BAD, 3))
def test_a_bad_plan_is_repaired_once(tmp_path: Path, kind: str) -> None:
    office = Office(5, BAD[kind], PLAN[:2])
    check = "grep -q return squares.py && grep -q return circles.py"
    outcome, journal = carried_out(make_project(tmp_path / "p"), office, check=check)
    assert outcome.completed
    (refused,) = journal.of(e.PlanRefused)
    assert refused.problems and not refused.final
    again = [p for p in office.prompts if [t.name for t in p.tools] == ["plan"]][1].messages[0]
    assert isinstance(again, UserMessage)
    assert refused.problems[0] in again.text


def test_a_goal_with_only_bad_plans_starts_as_one_leaf(tmp_path: Path) -> None:
    outcome, journal = carried_out(make_project(tmp_path / "p"), Office(5, [], []), check="grep -q return goal.py")
    assert outcome.completed
    assert [refused.final for refused in journal.of(e.PlanRefused)] == [False, True]
    assert list(states(outcome)) == ["goal"]


def test_an_unreadable_estimate_makes_one_leaf(tmp_path: Path) -> None:
    class Silent(Office):
        def _answer(self, prompt: Prompt) -> Answer:
            return Answer(text="hm") if prompt.tools[0].name == "estimate" else super()._answer(prompt)

    outcome, journal = carried_out(make_project(tmp_path / "p"), Silent(9), check="grep -q return goal.py")
    assert outcome.completed
    (estimated,) = journal.of(e.Estimated)
    assert estimated.atomic and "no estimate" in estimated.reason


def phase(name: str, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        **step(name, needs),
        "phase": True,
        "instructions": f"All that belongs to {name}: its module and its parts.",
    }


PHASES = [phase("basics"), phase("extras", ("basics",)), step("areas", ("extras",))]


@in_turn
def test_a_phase_is_planned_when_it_starts(tmp_path: Path) -> None:
    office = Office(20, PHASES, [step("basics"), step("squares")], [step("extras"), step("circles")])
    outcome, journal = carried_out(make_project(tmp_path / "p"), office)
    assert outcome.completed
    assert set(states(outcome)) == {
        *("goal", "basics", "basics/basics", "basics/squares"),
        *("extras", "extras/extras", "extras/circles", "areas"),
    }
    order = [(r.task, type(r.event)) for r in journal.records if isinstance(r.event, e.Planned | e.TaskCreated)]
    assert order.index(("extras", e.Planned)) > order.index(("basics/squares", e.TaskCreated))
    planned = [p.messages[0] for p in office.prompts if [t.name for t in p.tools] == ["plan"]]
    assert isinstance(planned[1], UserMessage) and isinstance(planned[2], UserMessage)
    assert "What comes after this phase" in planned[1].text and "- extras: " in planned[1].text
    assert "- basics: " not in planned[1].text, "it does not come after itself"
    assert "basics" in planned[2].text and "done" in planned[2].text, "what was done before it"


def answering(*answers: Approval | None) -> tuple[RunObserver, list[tuple[tuple[str, ...], ApprovalAdvice]]]:
    shown: list[tuple[tuple[str, ...], ApprovalAdvice]] = []
    left = list(answers)

    async def approve(steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        shown.append((tuple(s.name for s in steps), advice))
        return left.pop(0)

    return RunObserver(approve=approve), shown


@in_turn
def test_small_plans_are_taken_larger_ones_are_asked_about(tmp_path: Path) -> None:
    for size, expected in ((5, []), (11, ["ask"]), (16, ["recommend"])):
        watch, shown = answering(Approval("yes"))
        outcome, journal = carried_out(make_project(tmp_path / str(size)), Office(size, PLAN), watch)
        assert outcome.completed
        assert [advice for _, advice in shown] == expected
        assert [said.says for said in journal.of(e.PlanAnswered)] == ["yes"] * len(expected)


def test_no_means_one_piece_of_work(tmp_path: Path) -> None:
    watch, _ = answering(Approval("no"))
    outcome, _ = carried_out(make_project(tmp_path / "p"), Office(12, PLAN), watch, check="grep -q return goal.py")
    assert outcome.completed
    assert list(states(outcome)) == ["goal"]


@in_turn
def test_words_bring_another_proposal(tmp_path: Path) -> None:
    watch, shown = answering(Approval("change", wish="circles first"), Approval("yes"))
    office = Office(12, PLAN, [step("circles"), step("squares", ("circles",)), step("areas", ("squares",))])
    outcome, _ = carried_out(make_project(tmp_path / "p"), office, watch)
    assert outcome.completed
    assert [names[0] for names, _ in shown] == ["squares", "circles"]
    second = [p for p in office.prompts if [t.name for t in p.tools] == ["plan"]][1].messages[0]
    assert isinstance(second, UserMessage)
    assert "circles first" in second.text and "squares" in second.text


@in_turn
def test_own_steps_are_run(tmp_path: Path) -> None:
    own = tuple(Step(name, f"Write {name}.py.", requires_testing=False) for name in ("squares", "circles", "areas"))
    watch, _ = answering(Approval("own", steps=own))
    outcome, journal = carried_out(make_project(tmp_path / "p"), Office(12, PLAN), watch)
    assert outcome.completed
    assert journal.of(e.Planned)[0].steps == own


@in_turn
def test_a_plan_is_answered_from_elsewhere(tmp_path: Path) -> None:
    """Nobody answers at the terminal. Somebody sends the plan back as text from another process; what they had said
    to an earlier proposal counts for that one only."""
    from bough.app import open_session
    from bough.services import run_messages

    project = make_project(tmp_path / "p")
    asked: list[tuple[Step, ...]] = []

    async def approve(steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        asked.append(steps)
        async with open_session(project) as other:
            (name,) = await other.store.runs()
            waiting, plan = await run_messages.find_proposal(other, name)
            assert waiting.task == "goal" and [step.name for step in plan.goal.steps] == [s.name for s in steps]
            own = (
                Approval("change", "squares first")
                if len(asked) == 1
                else run_messages.read_own_plan(plan, write_workflow(plan))
            )
            await run_messages.rule_on_plan(other, name, waiting, own)
        await asyncio.Event().wait()
        return None

    outcome, journal = carried_out(project, Office(12, PLAN, PLAN), RunObserver(approve=approve))
    assert outcome.completed
    assert [(said.says, bool(said.by)) for said in journal.of(e.PlanAnswered)] == [("change", True), ("own", True)]
    assert [step.name for step in journal.of(e.Planned)[0].steps] == [step.name for step in asked[1]]


def test_bough_plan_begins_nothing(tmp_path: Path) -> None:
    from bough.app import Choices, open_session
    from bough.core.planning.plan import build_goal_step

    project = make_project(tmp_path / "p")

    async def plan() -> Any:
        async with open_session(project, create=True) as opened:
            planned = await opened.plan(build_goal_step(GOAL), Choices(model=Office(5, [], PLAN)), RunObserver())
            assert await opened.store.runs() == []
            return planned

    planned = asyncio.run(plan())
    assert [s.name for s in planned.plan.goal.steps] == ["squares", "circles", "areas"]
    assert planned.refused and planned.spend.rounds == 3
    assert json.loads(e.encode(e.PlanProposed(planned.plan.goal.steps)))
