"""The ladder: which rung is taken where, and that it always comes to an end."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bough.core import events as e
from bough.core.journal.task_fold import fold_task
from bough.core.ladder.escalation import (
    LADDER,
    Decision,
    EscalationOptions,
    LadderRules,
    Rung,
    Situation,
    Trouble,
    escalate,
)
from bough.core.planning.plan import PlanningRules
from bough.core.tree.task_state import State
from tests.core.worlds import journals

LOOP = Trouble("signal", "it goes in circles", "circular_tools", "prune")
STILL = Trouble("signal", "nothing changes", "no_progress", "decompose")
LONG = Trouble("soft_limit", "takes too long", "max_rounds", "decompose")
SPENT = Trouble("repairs", "the check still fails after 3 repairs")
BROKEN = Trouble("faults", "the model gave 5 unusable answers in a row")
BLOCKED = Trouble("children", "its steps cannot continue")

GOAL = Situation(LOOP, 0, working=True, rounds_left=30)
LEAF = replace(GOAL, depth=2)
PARENT = Situation(BLOCKED, 1, parent=True, completed=1, blocked=2, rounds_left=30, approaches=1)


def rung(situation: Situation, **changes: Any) -> Rung:
    return escalate(replace(situation, **changes)).rung


def test_first_the_agent_is_told_once_per_pattern() -> None:
    assert rung(LEAF) == "nudge"
    assert rung(LEAF, nudged=frozenset({"circular_tools"})) != "nudge"
    assert rung(LEAF, nudged=frozenset({"paging"})) == "nudge"


def test_nudges_are_limited_and_then_the_ladder_asks_or_gives_up() -> None:
    often: dict[str, Any] = {"taken": {"nudge": LadderRules().nudges, "decompose": 1, "prune": 1}, "actions": 9}
    assert rung(GOAL, taken={"nudge": 3, "decompose": 1}, trouble=LONG) == "nudge"
    assert rung(GOAL, trouble=LONG, **often) == "give_up" and rung(GOAL, **often) == "give_up"
    assert rung(GOAL, trouble=LONG, means=EscalationOptions(person=True), **often) == "ask"


def test_attempts_in_text_are_bounded_and_need_a_check_that_judges() -> None:
    text = replace(GOAL, trouble=SPENT, in_text=True, provable=True, working=False)
    assert rung(text) == rung(text, taken={"attempts": LadderRules().attempts - 1}) == "attempts"
    assert "attempts" not in {
        rung(text, taken={"attempts": LadderRules().attempts}),
        rung(text, provable=False),
        rung(text, rounds_left=0),
        rung(text, rules=LadderRules(attempts=1)),
    }


TOLD = {"nudged": frozenset({"circular_tools", "no_progress"})}
PRUNED: dict[str, Any] = {**TOLD, "taken": {"prune": 1}}


def test_then_its_context_is_pruned_where_that_is_what_helps() -> None:
    assert rung(LEAF, **TOLD) == "prune"
    assert rung(LEAF, **TOLD, trouble=STILL) != "prune"
    assert rung(LEAF, **PRUNED) != "prune"


def test_with_few_actions_a_subtask_is_split_with_more_it_is_set_aside() -> None:
    assert [rung(LEAF, **PRUNED, actions=n) for n in range(5)] == ["decompose"] * 3 + ["zoom_out"] * 2
    assert rung(LEAF, **TOLD, trouble=STILL, actions=9) == "decompose", "no progress is too big, whatever was done"


def test_a_stuck_goal_is_split_whatever_its_count() -> None:
    assert rung(GOAL, **PRUNED, actions=9) == "decompose"
    assert rung(GOAL, trouble=LONG) == "decompose", "a soft limit needs no telling"
    assert rung(GOAL, trouble=SPENT, working=False) == "decompose"


def test_nothing_is_split_at_the_depth_limit_or_without_means() -> None:
    assert rung(LEAF, **PRUNED, depth=3) == "zoom_out"
    assert rung(LEAF, **PRUNED, rounds_left=9) == "zoom_out"
    assert rung(GOAL, **PRUNED, planning=PlanningRules(max_depth=0)) == "give_up"
    assert rung(GOAL, **TOLD, taken={"prune": 1, "decompose": 1}) == "give_up", "a refused plan is not asked for again"


def test_a_goal_that_only_takes_long_continues_while_the_budget_lasts() -> None:
    assert rung(GOAL, trouble=LONG, planning=PlanningRules(max_depth=0)) == "nudge"


def test_smaller_steps_do_not_help_a_model_that_gives_unusable_answers() -> None:
    assert rung(GOAL, trouble=BROKEN) == "give_up"
    assert rung(GOAL, trouble=BROKEN, means=EscalationOptions(stronger=True)) == "stronger_model"
    assert rung(LEAF, trouble=BROKEN) == "zoom_out"


def test_a_stronger_model_once_when_there_is_one() -> None:
    strong = EscalationOptions(stronger=True)
    assert rung(PARENT, means=strong) == "stronger_model"
    assert rung(PARENT, means=strong, taken={"stronger_model": 1}) == "replan"


def test_a_parent_is_verified_when_more_is_completed_than_blocked() -> None:
    nearly = replace(PARENT, completed=3, blocked=1, changed=True)
    assert rung(nearly) == "verify"
    assert rung(nearly, errors=True) == "replan"
    assert rung(nearly, changed=False) == "replan"
    assert rung(nearly, blocked=3) == "replan"
    assert rung(nearly, taken={"verify": 1}) == "replan"


def test_three_approaches_then_the_task_is_set_aside_and_the_goal_given_up() -> None:
    assert [rung(PARENT, approaches=n) for n in (1, 2, 3)] == ["replan", "replan", "zoom_out"]
    assert [rung(PARENT, depth=0, approaches=n) for n in (1, 2, 3)] == ["replan", "replan", "give_up"]


def test_a_goal_of_which_nothing_is_done_is_not_planned_again() -> None:
    assert rung(PARENT, depth=0, completed=0) == "give_up"
    assert rung(PARENT, completed=0) == "replan"


def test_a_person_is_asked_before_giving_up_once() -> None:
    there = EscalationOptions(person=True)
    assert rung(PARENT, depth=0, approaches=3, means=there) == "ask"
    assert rung(PARENT, depth=0, approaches=3, means=there, taken={"ask": 1}) == "give_up"


@pytest.mark.parametrize(("depth", "parent", "level"), [(0, False, "goal"), (1, False, "task"), (2, False, "subtask")])
def test_each_decision_has_its_level_and_a_reason(depth: int, parent: bool, level: str) -> None:
    decision = escalate(replace(LEAF, depth=depth, parent=parent))
    assert decision == Decision("nudge", level, "it goes in circles (it has not been told yet)")  # type: ignore[arg-type]


def test_rungs_can_be_left_out() -> None:
    flat = LadderRules(rungs=("nudge",))
    assert rung(LEAF, **TOLD, rules=flat) == "zoom_out"
    assert rung(GOAL, **TOLD, rules=flat) == "give_up"


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    return Situation(
        trouble=draw(st.sampled_from([LOOP, STILL, LONG, SPENT, BROKEN, BLOCKED])),
        depth=draw(st.integers(0, 4)),
        means=EscalationOptions(draw(st.booleans()), draw(st.booleans())),
        working=draw(st.booleans()),
        actions=draw(st.integers(0, 6)),
        rounds_left=draw(st.integers(0, 60)),
        parent=draw(st.booleans()),
        completed=draw(st.integers(0, 5)),
        blocked=draw(st.integers(0, 5)),
        changed=draw(st.booleans()),
        errors=draw(st.booleans()),
        approaches=draw(st.integers(0, 4)),
    )


ENDS: frozenset[Rung] = frozenset({"zoom_out", "give_up"})


@given(situations(), st.data())
def test_from_anywhere_the_ladder_ends_within_what_the_rules_allow(situation: Situation, data: st.DataObject) -> None:
    """Nothing that a rung is for ever happens: agents stay stuck, plans come to nothing, nobody answers. Only the soft
    limit may nudge without end, and that is what the budget bounds: so the rounds go down here as they do there."""
    rules = situation.rules
    rounds = situation.rounds_left
    patterns = 2
    bound = patterns * 4 + rules.prunes + 1 + 1 + 1 + rules.approaches + rules.asks + rounds // rules.subtask_rounds + 1
    for _ in range(bound + 1):
        decision = escalate(situation)
        if decision.rung in ENDS:
            return
        situation = _after(situation, decision.rung, data)
    raise AssertionError(f"{bound} rungs and no end: {situation}")


def _after(situation: Situation, rung: Rung, data: st.DataObject) -> Situation:
    """The worst that can come of a rung."""
    situation = replace(situation, taken=situation.taken | {rung: situation.times(rung) + 1})
    if rung == "nudge":
        left = situation.rounds_left - (rules_of(situation) if situation.trouble.cause == "soft_limit" else 0)
        nudged = situation.nudged | {situation.trouble.pattern}
        if left <= 0:  # The budget is spent: the task halts, and no rung is asked for.
            return replace(situation, nudged=nudged, rounds_left=0, trouble=SPENT, working=False)
        return replace(situation, nudged=nudged, rounds_left=left)
    if rung in ("prune", "stronger_model", "ask"):  # A new agent, which can be told everything once more.
        return replace(situation, nudged=frozenset())
    if rung in ("decompose", "replan") and data.draw(st.booleans()):
        children = data.draw(st.integers(2, 4))
        return replace(
            situation,
            parent=True,
            working=False,
            trouble=BLOCKED,
            blocked=children,
            approaches=situation.approaches + 1,
        )
    # Refused: the next rung has to be another one, since this one has used itself up.
    return replace(situation, approaches=situation.approaches + 1) if rung == "replan" else situation


def rules_of(situation: Situation) -> int:
    return situation.rules.subtask_rounds


def test_a_replan_that_is_refused_is_an_approach_too() -> None:
    """Otherwise a planner that only gives bad plans would be asked for ever."""
    refused = replace(PARENT, taken={"replan": 2}, approaches=1)
    assert rung(refused) == "zoom_out"


@given(journals())
def test_no_completed_work_is_ever_dropped(records: list[e.Record]) -> None:
    task = fold_task("goal", records)
    done = {r.event.child for r in records if isinstance(r.event, e.ChildSettled) and r.event.state is State.COMPLETED}
    kept = {name for name, child in task.children.settled.items() if child.state is State.COMPLETED}
    assert done == kept
    assert done <= {step.name for step in task.plan.steps}


def test_every_rung_is_in_the_table() -> None:
    assert {row.rung for row in LADDER} == set(LadderRules().rungs)
