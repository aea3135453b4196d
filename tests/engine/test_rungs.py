"""Each rung at the wire: what is done, what is recorded, and who is told what."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import bough
from bough import app
from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.messages import Answer
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from tests.engine.cast import (
    DEFAULT_STEPS,
    DONE,
    FIX,
    LOOK,
    SWAP,
    WAYS,
    Cast,
    Part,
    Request,
    act,
    circular_tools,
    in_order,
    slow,
    split,
    until,
)
from tests.engine.telling import FINER, VERIFIED, WRITERS, FinishedRun, project_in, replace_steps, spent_by_events, told
from tests.harness import QUICK_CHECK, git
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

PLAN = "Write down which operator is wrong, and put the right one in its place."
TASK = Step(
    "task",
    PLAN,
    test_command=QUICK_CHECK,
    on_error="escalate",
    steps=(Step("piece", "Turn minus into plus.", test_command=QUICK_CHECK, on_error="escalate"),),
)
LOG = {"name": "log", "instructions": "Keep a log of the repair in log.txt.", "test_command": "test -s log.txt"}
FRESH = (
    {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: add gives the sum."},
    {**LOOK, **LOG},
)
"""A new plan."""
TREE = Step("goal", "Make add add.", test_command=QUICK_CHECK, steps=(TASK,))
"""A goal, a task and a subtask: `task/piece` is at depth 2."""


@in_turn
def test_a_subtask_that_was_too_big_to_start_is_split(tmp_path: Path) -> None:
    reads = until(lambda asked: False, WAYS["paging"], FIX)
    steps = {"task/piece": reads, "task/piece/look": DEFAULT_STEPS["look"], "task/piece/swap": FIX}
    run = told(project_in(tmp_path), Cast(FIX, steps), goal=TREE, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs("task/piece") == ["decompose"], "a soft limit needs no telling: it is not a loop"
    (raised,) = run.journal.of(e.SignalRaised)
    assert raised.signal.pattern == "subtask_max_rounds"
    assert "8 rounds" in raised.signal.diagnosis
    assert run.tree["task/piece"].state is State.COMPLETED
    levels = {r.event.decision.level for r in run.of("task/piece", e.Escalated)}
    assert levels == {"subtask"}


@in_turn
def test_a_subtask_that_was_honestly_tried_is_set_aside_and_its_task_replanned(tmp_path: Path) -> None:
    other = (
        {**LOOK, "name": "write-down"},
        {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: add gives the sum."},
    )
    steps = {"task/piece": slow, "task/write-down": DEFAULT_STEPS["look"], "task/rewrite": FIX}
    cast = Cast(FIX, steps, replanner=lambda asked: split(*other))
    run = told(project_in(tmp_path), cast, goal=TREE, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs("task/piece") == ["zoom_out"]
    assert run.states("task/piece") == ["in_progress", "blocked"]
    assert run.rungs("task") == ["replan"]
    assert [r.event.decision.level for r in run.of("task", e.Escalated)] == ["task"]
    assert run.tree["task"].state is State.COMPLETED
    assert list(run.tree) == [GOAL, "task", "task/piece", "task/write-down", "task/rewrite"]
    commit = run.tree["task/piece"].commit
    assert "0.txt" in git(run.project / ".bough" / "repo.git", "show", "--stat", commit), "its work is kept"


@in_turn
def test_nothing_is_dropped_when_a_task_is_replanned(tmp_path: Path) -> None:
    """One step is done, one is stuck: the new approach keeps the first and is told of both."""
    two = replace_steps(
        TASK,
        Step("look", str(LOOK["instructions"]), test_command="grep -q minus plan.txt", on_error="escalate"),
        *TASK.steps,
    )
    steps = {
        "task/look": DEFAULT_STEPS["look"],
        "task/piece": slow,
        "task/rewrite": FIX,
        "task/log": in_order(act("write", path="log.txt", content="done\n"), DONE),
    }
    cast = Cast(FIX, steps, replanner=lambda asked: split(*FRESH))
    run = told(project_in(tmp_path), cast, goal=replace_steps(TREE, two), rounds=400)
    assert run.outcome.completed, run.outcome.summary
    (planned,) = [r.event for r in run.of("task", e.Planned)]
    assert planned.dropped == ("piece",)
    (question,) = [asked for asked in cast.asked if "Another way" in asked.brief]
    assert "`look` (completed)" in question.brief
    assert "`piece` (blocked)" in question.brief
    assert len(run.of("task/look", e.TaskCreated)) == 1, "what is completed is not done again"
    assert "plan.txt" in run.tree[GOAL].files


@in_turn
def test_the_work_of_a_step_that_was_set_aside_can_be_used_by_those_that_come_after(tmp_path: Path) -> None:
    """It is in no files of theirs, but the planner is shown it, and a step can read it from its commit."""

    def kept(asked: Request) -> str:
        return str(re.findall("commit `?([0-9a-f]{40})", asked.brief)[0])

    def plan(asked: Request) -> Answer:
        fresh = {**LOOK, "name": "log", "instructions": f"Keep the first note of commit {kept(asked)} in log.txt."}
        return split({**fresh, "test_command": "grep thought log.txt"}, {**SWAP, "name": "rewrite"})

    def log(asked: Request) -> Answer:
        read = act("bash", command=f"git show {kept(asked)}:notes/1.txt > log.txt")
        return in_order(read, DONE)(asked)

    cast = Cast(FIX, {"task/piece": slow, "task/log": log, "task/rewrite": FIX}, replanner=plan)
    run = told(project_in(tmp_path), cast, goal=TREE, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    (question,) = [asked for asked in cast.asked if "Another way" in asked.brief]
    assert "+thought 1" in question.brief
    assert "log.txt" in run.tree[GOAL].files and "notes/1.txt" not in run.tree[GOAL].files


# ── the other rungs ─────────────────────────────────────────────────────────────────────────────────────────────────


def strong_only(then: Part, stuck: Part) -> Part:
    return until(lambda asked: asked.model == "strong", stuck, then)


def test_a_stronger_model_takes_over_a_goal_that_cannot_be_split(tmp_path: Path) -> None:
    cast = Cast(strong_only(FIX, circular_tools))
    run = told(project_in(tmp_path), cast, strong_model="openai:strong", max_depth=0)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["nudge", "prune", "nudge", "stronger_model"]
    tiers = [r.event.tier for r in run.of(GOAL, e.AttemptStarted)]
    assert tiers == ["main", "main", "strong"]


@in_turn
def test_a_stronger_model_takes_blocked_steps_up_where_they_stopped(tmp_path: Path) -> None:
    cast = Cast(FIX, {"task/piece": strong_only(FIX, slow)})
    run = told(project_in(tmp_path), cast, goal=TREE, strong_model="openai:strong", rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs("task") == ["stronger_model"]
    assert run.states("task/piece") == ["in_progress", "blocked", "testing", "completed"]
    assert [r.event.tier for r in run.of("task/piece", e.TakenUp)] == ["strong"]
    assert "notes/0.txt" in run.tree["task/piece"].files, "from where it stopped"


@in_turn
def test_what_may_be_done_is_checked_and_gets_one_focused_step(tmp_path: Path) -> None:
    cast = Cast(circular_tools, {**WRITERS, "fix-goal": FIX})
    run = told(project_in(tmp_path), cast, goal=VERIFIED, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["verify"]
    assert run.states() == ["in_progress", "testing", "test_failed", "decomposed", "testing", "completed"]
    assert run.tree["sum"].state is State.BLOCKED
    assert run.tree["fix-goal"].state is State.COMPLETED
    (brief,) = {asked.brief for asked in cast.of("fix-goal")}
    assert "test_add" in brief, "it is told what the check still says"


@in_turn
def test_what_is_done_is_found_to_be_done(tmp_path: Path) -> None:
    """The step that got stuck was not needed: the check says so."""
    writes = {
        **WRITERS,
        "log": in_order(
            act("write", path="log.txt", content="log\n"), act("edit", path="calc.py", old="a - b", new="a + b"), DONE
        ),
    }
    goal = replace_steps(
        VERIFIED, *VERIFIED.steps[:2], Step("sum", "Explain addition.", test_command="false", on_error="escalate")
    )
    run = told(project_in(tmp_path), Cast(circular_tools, writes), goal=goal, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["verify"]
    assert run.states() == ["in_progress", "testing", "completed"]


@in_turn
def test_a_partly_done_goal_is_replanned(tmp_path: Path) -> None:
    goal = replace_steps(VERIFIED, VERIFIED.steps[0], VERIFIED.steps[2])
    steps = {"plan": WRITERS["plan"], "sum": circular_tools, "rewrite": FIX, "log": WRITERS["log"]}
    cast = Cast(circular_tools, steps, replanner=lambda asked: split(*FRESH))
    run = told(project_in(tmp_path), cast, goal=goal, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["replan"]
    assert [event.helper for event in run.journal.of(e.HelperAnswered)][-1] == "replan_goal"
    assert [r.event.decision.level for r in run.of(GOAL, e.Escalated)] == ["goal"]


@in_turn
def test_a_bad_plan_is_repaired_once(tmp_path: Path) -> None:
    def decomposer(asked: Request) -> Any:
        return split(*FINER) if "was rejected" in asked.brief else split(LOOK)

    cast = Cast(slow, dict(DEFAULT_STEPS), decomposer=decomposer)
    run = told(project_in(tmp_path), cast)
    assert run.outcome.completed, run.outcome.summary
    (refused,) = run.journal.of(e.PlanRefused)
    assert not refused.final
    fixed = [asked for asked in cast.asked if "was rejected" in asked.brief]
    assert len(fixed) == 1
    assert "give 2 to 4" in fixed[0].brief
    assert run.rungs() == ["decompose"]


def test_a_plan_that_is_bad_twice_is_refused_and_the_next_rung_taken(tmp_path: Path) -> None:
    again = {"name": "again", "instructions": "Make add add.", "criteria": ["`add(2, 3) == 5`"]}
    cast = Cast(circular_tools, decomposer=lambda asked: split(again, LOOK))
    run = told(project_in(tmp_path), cast, strong_model="openai:strong")
    assert [event.final for event in run.journal.of(e.PlanRefused)] == [False, True]
    assert run.rungs() == ["nudge", "prune", "nudge", "decompose", "stronger_model", "nudge", "give_up"]


# ── a person ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Person:
    """Somebody who is there to be asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.questions: list[str] = []

    async def __call__(self, question: str) -> str:
        self.questions.append(question)
        return self.answer


def hinted(asked: Request) -> bool:
    return "The person says: turn the minus" in asked.brief


@in_turn
@pytest.mark.parametrize("stuck", ["circular_tools", "no_progress"])
def test_a_person_is_asked_and_a_fresh_agent_hears_the_answer(tmp_path: Path, stuck: str) -> None:
    person = Person("turn the minus into a plus")
    cast = Cast(until(hinted, WAYS[stuck], FIX))
    run = told(project_in(tmp_path), cast, watch=app.RunObserver(ask=person), max_depth=0)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs()[-1] == "ask"
    (question,) = person.questions
    assert "What was tried" in question
    (answered,) = run.journal.of(e.PersonAnswered)
    assert answered.text == person.answer


def test_a_person_who_is_asked_after_the_repairs_is_heard(tmp_path: Path) -> None:
    person = Person("turn the minus into a plus")
    cast = Cast(until(hinted, in_order(DONE), FIX))
    run = told(project_in(tmp_path), cast, watch=app.RunObserver(ask=person), max_depth=0)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["ask"]


@in_turn
def test_a_person_who_is_asked_about_blocked_steps_is_heard_by_the_planner(tmp_path: Path) -> None:
    person = Person("turn the minus into a plus")
    cast = Cast(
        until(lambda asked: asked.place in ("rewrite",), circular_tools, FIX),
        {"log": WRITERS["log"]},
        replanner=lambda asked: split(*FRESH),
    )
    run = told(project_in(tmp_path), cast, watch=app.RunObserver(ask=person), rounds=200)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["nudge", "prune", "nudge", "decompose", "ask", "replan"]
    (question,) = [asked for asked in cast.asked if "What can still be reached" in asked.brief]
    assert hinted(question)


@in_turn
def test_an_answer_near_the_end_of_the_rounds_leads_to_a_plan_for_more_of_them(tmp_path: Path) -> None:
    """With the two rounds that are left, the run ends as out of budget, and more rounds complete it."""
    goal = replace_steps(VERIFIED, VERIFIED.steps[2])
    steps = {"sum": circular_tools, "rewrite": FIX, "log": WRITERS["log"]}

    cast = Cast(circular_tools, steps, replanner=lambda asked: split(*FRESH))

    def work(folder: str, rounds: int) -> FinishedRun:
        person = app.RunObserver(ask=Person("turn the minus into a plus"))
        return told(project_in(tmp_path / folder), cast, goal=goal, watch=person, rounds=rounds, max_depth=1)

    enough = work("enough", 200)
    (answered,) = enough.of(GOAL, e.PersonAnswered)
    before = [record for record in enough.journal.records if record.seq < answered.seq]
    run = work("few", spent_by_events(before) + 2)
    assert run.rungs() == ["ask", "replan"]
    assert (run.outcome.status, run.outcome.exit_status) == ("budget", 4)
    with WireModel(cast) as wire:
        again = asyncio.run(bough.resume(dir=run.project, model="openai:main", base_url=wire.base_url, rounds=100))
    assert again.completed, again.summary


def test_a_person_who_says_nothing_ends_it(tmp_path: Path) -> None:
    run = told(project_in(tmp_path), Cast(circular_tools), watch=app.RunObserver(ask=Person("  ")), max_depth=0)
    assert run.rungs()[-2:] == ["ask", "give_up"]
    assert (run.outcome.status, run.outcome.exit_status) == ("failed", 3)
