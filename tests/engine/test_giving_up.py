"""The end of the ladder: a report, the work on its branch, an exact account; and dead ends that others are told of."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from tests.engine.cast import (
    DEFAULT_STEPS,
    DONE,
    FIX,
    Cast,
    act,
    circular_tools,
    in_order,
    slow,
    split,
)
from tests.engine.telling import FINER, VERIFIED, WRITERS, project_in, replace_steps, told
from tests.harness import QUICK_CHECK, git
from tests.interfaces.shell import bough, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@in_turn
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
    for heading in ("What was tried", "What was learned", "What is left", "How to continue"):
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
    assert "How to continue" in status.out
    assert bough(project, "status", "--json").json["task"]["report"] == report


def test_the_report_is_what_a_run_prints_at_its_end(tmp_path: Path) -> None:
    with WireModel(Cast(circular_tools)) as wire:
        said = bough(project_in(tmp_path), *run_args(wire.base_url, "--flat", "--max-depth", "0"))
    assert said.status == 3
    assert "stuck (goes in circles): `read` is called again and again" in said.out
    assert 'most recently: read {"path": "calc.py"}' in said.out, "with its evidence"
    assert "bough prunes the context: a fresh start" in said.out
    tail = said.out[said.out.rindex("✘ failed") :]
    assert "What was tried" in tail
    assert "its context was pruned" in tail
    assert "How to continue" in tail


@in_turn
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


@in_turn
def test_dead_ends_reach_later_attempts_siblings_and_planners(tmp_path: Path) -> None:
    steps = (replace(VERIFIED.steps[i], context="inherited") for i in (2, 0, 1))
    goal = replace_steps(VERIFIED, *steps)
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
        assert "this approach failed" in brief, sibling
    notes = [note for note in run.tree if note]
    assert notes


@in_turn
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


@in_turn
def test_the_work_of_a_step_whose_grant_is_spent_is_on_its_branch(tmp_path: Path) -> None:
    short = Step("sum", "Turn minus into plus.", test_command=QUICK_CHECK, on_error="escalate", rounds=3)
    goal = replace_steps(VERIFIED, VERIFIED.steps[0], VERIFIED.steps[1], short)
    run = told(project_in(tmp_path), Cast(slow, {**WRITERS, "fix-goal": FIX}), goal=goal)
    assert run.outcome.completed, run.outcome.summary
    assert run.tree["sum"].state is State.BLOCKED
    assert run.tree["sum"].why.startswith("its grant is spent")
    commit = run.tree["sum"].commit
    assert "notes/0.txt" in git(run.project / ".bough" / "repo.git", "show", "--stat", commit)
