"""Every way of being stuck, at the wire: it is noticed, the rung that the table says is taken, and the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.plan import Step, goal_step
from bough.core.states import State
from bough.interfaces.views import Outcome, TaskView
from tests.engine.cast import (
    DEFAULT_STEPS,
    DONE,
    FIX,
    LOOK,
    SWAP,
    WAYS,
    Asked,
    Cast,
    Part,
    act,
    after_nudge,
    circular_tools,
    in_order,
    slow,
    split,
    until,
)
from tests.harness import CHECK, Journal, git, make_project
from tests.interfaces.shell import bough, run_args
from tests.wire import Reply, Status, WireModel


@dataclass
class Told:
    """A whole run, for assertions."""

    project: Path
    outcome: Outcome
    journal: Journal
    cast: Cast

    def rungs(self, task: str = GOAL) -> list[str]:
        return [r.event.decision.rung for r in self.of(task, e.Escalated)]

    def of(self, task: str, *kinds: type) -> list[Any]:
        return [r for r in self.journal.records if r.task == task and isinstance(r.event, kinds)]

    def states(self, task: str = GOAL) -> list[str]:
        return [r.event.to.value for r in self.of(task, e.StateChanged)]

    @property
    def tree(self) -> dict[str, TaskView]:
        return {task.path: task for task in self.outcome.tree}


def told(project: Path, cast: Cast, *, goal: Step | None = None, watch: app.Watch | None = None, **chosen: Any) -> Told:
    """Carry the goal out with the cast on the wire."""

    async def work(choices: app.Choices) -> tuple[Outcome, Journal]:
        async with app.session(project, create=True) as session:
            step = goal or goal_step("Make add add.", check=CHECK)
            outcome = await session.start(step, choices, watch or app.Watch())
            return outcome, Journal(await session.store.read(outcome.run))

    with WireModel(cast) as wire:
        chosen = dict[str, Any](model="openai:main", rounds=100, flat=True) | chosen
        outcome, journal = asyncio.run(work(app.Choices(base_url=wire.base_url, **chosen)))
    assert spent_by_events(journal.records) == outcome.spend.rounds, "the ledger is exact"
    return Told(project, outcome, journal, cast)


def spent_by_events(records: Sequence[e.Record]) -> int:
    """Rounds, counted from the journal in another way than bough does: one an answer."""
    return sum(isinstance(r.event, e.ModelAnswered | e.HelperAnswered) for r in records)


def project_in(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "p")
    (project / "long.txt").write_text("".join(f"line {n}: nothing of note {n * n}\n" for n in range(2000)))
    return project


# ── each pattern leaves at its rung ─────────────────────────────────────────────────────────────────────────────────

LEFT_AT = {
    "repetitive_output": ["nudge", "prune"],
    "circular_tools": ["nudge", "prune"],
    "monologue": ["nudge", "prune"],
    "no_progress": ["nudge", "decompose"],
    "repeated_error": ["nudge", "decompose"],
    "oscillation": ["nudge", "decompose"],
    "paging": ["nudge", "decompose"],
    "max_rounds": ["decompose"],
}


@pytest.mark.parametrize("pattern", [pattern for pattern in LEFT_AT if pattern != "max_rounds"])
def test_a_word_is_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(after_nudge(WAYS[pattern])))
    assert run.outcome.completed, run.outcome.summary
    assert [event.signal.pattern for event in run.journal.of(e.SignalRaised)] == [pattern]
    assert run.rungs() == ["nudge"]
    (message,) = [event for event in run.journal.of(e.MessageAdded) if event.why == "nudge"]
    (signal,) = run.journal.of(e.SignalRaised)
    assert signal.signal.diagnosis in message.text
    assert all(line in message.text for line in signal.signal.evidence)


@pytest.mark.parametrize("pattern", [pattern for pattern, rungs in LEFT_AT.items() if "prune" in rungs])
def test_a_fresh_look_is_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(until(lambda asked: asked.afresh, WAYS[pattern], FIX)))
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == LEFT_AT[pattern]
    assert {event.signal.pattern for event in run.journal.of(e.SignalRaised)} == {pattern}
    (pruned,) = run.journal.of(e.ContextPruned)
    assert pruned.by == "model"
    assert [event.helper for event in run.journal.of(e.HelperAnswered)] == ["pruner"]
    assert run.states() == ["in_progress", "testing", "completed"]


@pytest.mark.parametrize("pattern", [pattern for pattern, rungs in LEFT_AT.items() if "decompose" in rungs])
def test_smaller_steps_are_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(WAYS[pattern], dict(DEFAULT_STEPS)))
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == LEFT_AT[pattern]
    assert {event.signal.pattern for event in run.journal.of(e.SignalRaised)} == {pattern}
    assert run.states() == ["in_progress", "decomposed", "testing", "completed"]
    assert {path: task.state for path, task in run.tree.items()} == {
        GOAL: State.COMPLETED,
        "look": State.COMPLETED,
        "swap": State.COMPLETED,
    }


# ── below the goal ──────────────────────────────────────────────────────────────────────────────────────────────────

PLAN = "Write down which operator is wrong, and put the right one in its place."
TASK = Step(
    "task",
    PLAN,
    test_command=CHECK,
    on_error="escalate",
    steps=(Step("piece", "Turn minus into plus.", test_command=CHECK, on_error="escalate"),),
)
TREE = Step("goal", "Make add add.", test_command=CHECK, steps=(TASK,))
"""A goal, a task and a subtask: `task/piece` is at depth 2."""

FINER: tuple[dict[str, Any], ...] = (LOOK, SWAP)


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


def test_a_subtask_that_was_honestly_tried_is_set_aside_and_its_task_planned_anew(tmp_path: Path) -> None:
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


def test_nothing_is_dropped_when_a_task_is_planned_anew(tmp_path: Path) -> None:
    """One step is done, one is stuck: the new approach keeps the first and is told of both."""
    two = replace_steps(
        TASK,
        Step("look", str(LOOK["instructions"]), test_command="grep -q minus plan.txt", on_error="escalate"),
        *TASK.steps,
    )
    fresh = (
        {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: add gives the sum."},
        {
            **LOOK,
            "name": "log",
            "instructions": "Keep a log of the repair in log.txt.",
            "test_command": "test -s log.txt",
        },
    )
    steps = {
        "task/look": DEFAULT_STEPS["look"],
        "task/piece": slow,
        "task/rewrite": FIX,
        "task/log": in_order(act("write", path="log.txt", content="done\n"), DONE),
    }
    cast = Cast(FIX, steps, replanner=lambda asked: split(*fresh))
    run = told(project_in(tmp_path), cast, goal=replace_steps(TREE, two), rounds=400)
    assert run.outcome.completed, run.outcome.summary
    (planned,) = [r.event for r in run.of("task", e.Planned)]
    assert planned.dropped == ("piece",)
    (question,) = [asked for asked in cast.asked if "Another way" in asked.brief]
    assert "`look` (completed)" in question.brief
    assert "`piece` (blocked)" in question.brief
    assert len(run.of("task/look", e.TaskCreated)) == 1, "what is completed is not done again"
    assert "plan.txt" in run.tree[GOAL].files


def replace_steps(step: Step, *steps: Step) -> Step:
    import msgspec

    return msgspec.structs.replace(step, steps=steps)


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


def test_a_stronger_model_takes_blocked_steps_up_where_they_stopped(tmp_path: Path) -> None:
    cast = Cast(FIX, {"task/piece": strong_only(FIX, slow)})
    run = told(project_in(tmp_path), cast, goal=TREE, strong_model="openai:strong", rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs("task") == ["stronger_model"]
    assert run.states("task/piece") == ["in_progress", "blocked", "testing", "completed"]
    assert [r.event.tier for r in run.of("task/piece", e.TakenUp)] == ["strong"]
    assert "notes/0.txt" in run.tree["task/piece"].files, "from where it stopped"


VERIFIED = Step(
    "goal",
    "Write plan.txt and log.txt, and make add add.",
    test_command=CHECK,
    steps=(
        Step("plan", "Write plan.txt.", test_command="test -s plan.txt", on_error="escalate"),
        Step("log", "Write log.txt.", test_command="test -s log.txt", on_error="escalate"),
        Step("sum", "Turn minus into plus.", test_command=CHECK, on_error="escalate"),
    ),
)
WRITERS: dict[str, Part] = {
    "plan": in_order(act("write", path="plan.txt", content="plan\n"), DONE),
    "log": in_order(act("write", path="log.txt", content="log\n"), DONE),
}


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


def test_a_goal_of_which_something_is_done_is_planned_anew(tmp_path: Path) -> None:
    goal = replace_steps(VERIFIED, VERIFIED.steps[0], VERIFIED.steps[2])
    fresh = (
        {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: add gives the sum."},
        {
            **LOOK,
            "name": "log",
            "instructions": "Keep a log of the repair in log.txt.",
            "test_command": "test -s log.txt",
        },
    )
    steps = {"plan": WRITERS["plan"], "sum": circular_tools, "rewrite": FIX, "log": WRITERS["log"]}
    cast = Cast(circular_tools, steps, replanner=lambda asked: split(*fresh))
    run = told(project_in(tmp_path), cast, goal=goal, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["replan"]
    assert [event.helper for event in run.journal.of(e.HelperAnswered)][-1] == "replan_goal"
    assert [r.event.decision.level for r in run.of(GOAL, e.Escalated)] == ["goal"]


def test_a_bad_plan_is_mended_once(tmp_path: Path) -> None:
    def decomposer(asked: Asked) -> Any:
        return split(*FINER) if "could not be taken" in asked.brief else split(LOOK)

    cast = Cast(slow, dict(DEFAULT_STEPS), decomposer=decomposer)
    run = told(project_in(tmp_path), cast)
    assert run.outcome.completed, run.outcome.summary
    (refused,) = run.journal.of(e.PlanRefused)
    assert not refused.final
    mended = [asked for asked in cast.asked if "could not be taken" in asked.brief]
    assert len(mended) == 1
    assert "give 2 to 4" in mended[0].brief
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


def hinted(asked: Asked) -> bool:
    return "The person says: turn the minus" in asked.brief


@pytest.mark.parametrize("stuck", ["circular_tools", "no_progress"])
def test_a_person_is_asked_and_a_fresh_agent_hears_the_answer(tmp_path: Path, stuck: str) -> None:
    person = Person("turn the minus into a plus")
    cast = Cast(until(hinted, WAYS[stuck], FIX))
    run = told(project_in(tmp_path), cast, watch=app.Watch(ask=person), max_depth=0)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs()[-1] == "ask"
    (question,) = person.questions
    assert "What was tried" in question
    (answered,) = run.journal.of(e.PersonAnswered)
    assert answered.text == person.answer


def test_a_person_who_is_asked_after_the_repairs_is_heard(tmp_path: Path) -> None:
    person = Person("turn the minus into a plus")
    cast = Cast(until(hinted, in_order(DONE), FIX))
    run = told(project_in(tmp_path), cast, watch=app.Watch(ask=person), max_depth=0)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["ask"]


def test_a_person_who_is_asked_about_blocked_steps_is_heard_by_the_planner(tmp_path: Path) -> None:
    person = Person("turn the minus into a plus")
    fresh = (
        {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: add gives the sum."},
        {
            **LOOK,
            "name": "log",
            "instructions": "Keep a log of the repair in log.txt.",
            "test_command": "test -s log.txt",
        },
    )
    cast = Cast(
        until(lambda asked: asked.place in ("rewrite",), circular_tools, FIX),
        {"log": WRITERS["log"]},
        replanner=lambda asked: split(*fresh),
    )
    run = told(project_in(tmp_path), cast, watch=app.Watch(ask=person), rounds=200)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["nudge", "prune", "nudge", "decompose", "ask", "replan"]
    (question,) = [asked for asked in cast.asked if "What can still be reached" in asked.brief]
    assert hinted(question)


def test_a_person_who_says_nothing_ends_it(tmp_path: Path) -> None:
    run = told(project_in(tmp_path), Cast(circular_tools), watch=app.Watch(ask=Person("  ")), max_depth=0)
    assert run.rungs()[-2:] == ["ask", "give_up"]
    assert (run.outcome.status, run.outcome.exit_status) == ("failed", 3)


# ── the end of the ladder ───────────────────────────────────────────────────────────────────────────────────────────


def test_one_that_never_recovers_ends_with_a_report_and_its_work_on_the_branch(tmp_path: Path) -> None:
    """Through the command line, as a person sees it."""
    project = project_in(tmp_path)
    noting = in_order(
        act("write", path="attempt.py", content="x = 1\n"),
        act("note", kind="dead_end", text="a regular expression cannot do it"),
        act("read", path="calc.py"),
    )
    cast = Cast(circular_tools, {"": noting})
    with WireModel(cast) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", "--flat", "--rounds", "120"))
    assert said.status == 3
    events = [line["event"] for line in said.events]
    rungs = [event["decision"]["rung"] for event in events if event["event"] == "Escalated"]
    assert rungs[-1] == "give_up"
    assert events[-1]["event"] == "RunFinished"
    (report,) = [event["text"] for event in events if event["event"] == "Reported"]
    for heading in ("What was tried", "What was learned", "What is left", "How to go on"):
        assert f"## {heading}" in report
    assert "a regular expression cannot do it" in report
    shown = bough(project, "show", "--json").json
    assert shown["status"] == "failed"
    goal = shown["tasks"][0]
    assert goal["state"] == "failed"
    assert goal["report"] == report
    assert "attempt.py" in git(project / ".bough" / "repo.git", "show", "--stat", goal["commit"])
    assert "+x = 1" in bough(project, "diff").out
    status = bough(project, "status")
    assert "a regular expression cannot do it" in status.out
    assert "How to go on" in status.out
    assert bough(project, "status", "--json").json["task"]["report"] == report


def test_the_report_is_what_a_run_prints_at_its_end(tmp_path: Path) -> None:
    with WireModel(Cast(circular_tools)) as wire:
        said = bough(project_in(tmp_path), *run_args(wire.base_url, "--flat", "--max-depth", "0"))
    assert said.status == 3
    assert "the work does not move (it goes in circles): `read` is called again and again" in said.out
    assert 'the last was: read {"path": "calc.py"}' in said.out, "with its evidence"
    assert "bough prunes the context (goal level): a fresh look" in said.out
    tail = said.out[said.out.rindex("✘ failed") :]
    assert "What was tried" in tail
    assert "its context was pruned" in tail
    assert "How to go on" in tail


def test_what_was_spent_on_helpers_is_in_the_ledger(tmp_path: Path) -> None:
    run = told(project_in(tmp_path), Cast(slow, dict(DEFAULT_STEPS)))
    answered = run.journal.of(e.ModelAnswered, e.HelperAnswered)
    assert run.outcome.spend.tokens_in == sum(event.usage.input for event in answered)
    assert run.outcome.spend.tokens_out == sum(event.usage.output for event in answered)
    assert any(isinstance(event, e.HelperAnswered) for event in answered)


def test_no_helper_is_asked_once_the_tokens_are_spent(tmp_path: Path) -> None:
    """Three repairs fail on the last tokens: the decomposer would be one call too many."""
    cast = Cast(in_order(act("read", path="calc.py"), DONE))
    run = told(project_in(tmp_path), cast, tokens=8 * 1050)
    assert (run.outcome.status, run.outcome.exit_status) == ("budget", 4)
    assert run.journal.of(e.HelperAnswered) == []


# ── dead ends ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_dead_ends_reach_later_attempts_siblings_and_planners(tmp_path: Path) -> None:
    goal = replace_steps(VERIFIED, *(VERIFIED.steps[i] for i in (2, 0, 1)))
    noting = in_order(act("note", kind="dead_end", text="operator.sub is no help"), act("read", path="calc.py"))
    cast = Cast(circular_tools, {"sum": noting, **WRITERS, "fix-goal": FIX}, replanner=lambda asked: split(*FINER))
    run = told(project_in(tmp_path), cast, goal=goal, rounds=400)
    assert run.outcome.completed, run.outcome.summary
    pruned = [asked for asked in cast.of("sum") if asked.afresh]
    assert pruned, "a later attempt of the same task"
    assert all("operator.sub is no help" in asked.brief for asked in pruned)
    for sibling in ("plan", "log", "fix-goal"):
        (brief,) = {asked.brief for asked in cast.of(sibling)}
        assert "sum: operator.sub is no help" in brief, sibling
        assert "did not get there" in brief, sibling
    notes = [note for note in run.tree if note]
    assert notes


def test_dead_ends_reach_the_bug_hunter_and_the_decomposer(tmp_path: Path) -> None:
    noting = in_order(act("note", kind="dead_end", text="operator.sub is no help"), DONE)
    cast = Cast(noting, dict(DEFAULT_STEPS), hunter=in_order(act("read", path="calc.py"), DONE))
    run = told(project_in(tmp_path), cast)
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == ["decompose"]
    hunters = {asked.brief for asked in cast.asked if "find the bug" in asked.brief}
    planner = [asked.brief for asked in cast.asked if "Cut a task" in asked.brief]
    steps = [asked.brief for asked in [*cast.of("look"), *cast.of("swap")]]
    assert len(hunters) == 3
    for brief in [*hunters, *planner, *steps]:
        assert "operator.sub is no help" in brief


# ── healthy work ────────────────────────────────────────────────────────────────────────────────────────────────────


def healthy(project: Path, part: Part, **chosen: Any) -> Told:
    run = told(project, Cast(part), **chosen)
    assert run.outcome.completed, run.outcome.summary
    assert run.journal.of(e.SignalRaised) == []
    assert run.journal.of(e.Escalated) == []
    return run


def test_editing_and_running_the_same_test_many_times_is_healthy(tmp_path: Path) -> None:
    test = act("bash", command=CHECK)
    operators = "-*/%|&^+"
    edits = [act("edit", path="calc.py", old=f"a {old} b", new=f"a {new} b") for old, new in pairwise(operators)]
    healthy(project_in(tmp_path), in_order(*(step for edit in edits for step in (edit, test)), DONE))


def test_paging_through_a_long_file_and_then_using_it_is_healthy(tmp_path: Path) -> None:
    pages = [act("read", path="long.txt", start=1 + 120 * n, lines=120) for n in range(13)]
    fix = act("edit", path="calc.py", old="a - b", new="a + b")
    healthy(project_in(tmp_path), in_order(*pages, fix, DONE))


def test_waiting_for_a_build_that_gets_on_is_healthy(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "build.sh").write_text(
        "n=$(cat .progress 2>/dev/null || echo 0); n=$((n + 1)); echo $n > .progress\n"
        'echo "building: $((n * 8)) % done"\n'
    )
    wait = act("bash", command="sh build.sh")
    fix = act("edit", path="calc.py", old="a - b", new="a + b")
    healthy(project, in_order(*[wait] * 12, fix, DONE))


def test_retrying_after_transport_errors_is_healthy(tmp_path: Path) -> None:
    """429 and 503 from the wire, again and again, on the same round."""
    project = project_in(tmp_path)
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.02\n")
    asked: list[int] = []

    def script(request: dict[str, Any]) -> Reply:
        asked.append(1)
        if len(asked) % 4:
            return Status(429 if len(asked) % 2 else 503)
        return FIX(Asked(request))

    with WireModel(script) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", "--flat"))
    assert said.status == 0
    kinds = [line["event"]["event"] for line in said.events]
    assert kinds.count("ModelFailed") == 6
    assert "SignalRaised" not in kinds
    assert "Escalated" not in kinds
    assert bough(project, "show", "--json").json["spend"]["rounds"] == 2


def test_a_planner_that_is_not_to_be_had_halts_the_run_and_the_rung_is_taken_later(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.02\n")
    cast = Cast(slow, dict(DEFAULT_STEPS))

    def script(request: dict[str, Any]) -> Reply:
        return Status(503) if Asked(request).tools == ["split"] else cast(request)

    with WireModel(script) as wire:
        said = bough(project, *run_args(wire.base_url, "--json", "--flat", "--rounds", "100"))
    assert said.status == 7
    assert [line["event"]["event"] for line in said.events].count("Escalated") == 1
    with WireModel(cast) as wire:
        again = bough(project, "resume", "--json", "--model", "openai:test", "--base-url", wire.base_url)
    assert again.status == 0
    assert [line["event"]["event"] for line in again.events].count("Escalated") == 0, "no rung is counted twice"
