"""What a written plan says about what comes next: conditions, passes, exits from them, and states."""

from typing import Any

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Spend
from bough.core.planning.plan import Condition, Exits, Machine, Step, Transition
from bough.core.tree.task_state import Inheritance, State
from bough.core.workflow import control_flow
from bough.core.workflow.control_flow import parse_condition
from tests.core.tasks import change
from tests.core.test_tree import World


def condition(text: str) -> Condition:
    found = parse_condition(text)
    assert not isinstance(found, str), found
    return found


def settled(name: str, state: State = State.COMPLETED, **more: Any) -> e.ChildSettled:
    return e.ChildSettled(name, state, "because", "tree", Spend(rounds=1), **more)


def world(*steps: Step, over: tuple[e.ChildSettled, ...] = (), **goal: Any) -> World:
    """Those of `over` were begun and have ended."""
    made = World(*steps, **goal)
    for child in over:
        made.begin(child.child)
        made.add(child)
    return made


A, B = Step("a", "Do a."), Step("b", "Do b.")
FAILED = settled("a", State.FAILED)


# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "before", "carried_out"),
    [
        ("success", settled("a"), True),
        ("success", FAILED, False),
        ("failure", FAILED, True),
        ("failure", settled("a"), False),
        ("contains:green", settled("a", result="all is green"), True),
        ("contains:green", settled("a", result="all is red"), False),
        ("a.success", settled("a"), True),
        ("not a.success", settled("a"), False),
    ],
)
def test_a_condition_looks_at_the_step_before_or_at_the_one_it_names(
    said: str, before: e.ChildSettled, carried_out: bool
) -> None:
    b = replace(B, condition=condition(said))
    a = replace(A, on_error="skip")
    why = control_flow.explain_skip(world(a, b, over=(before,)).task, b)
    assert why == ("" if carried_out else f"its condition does not hold: {said}")


def test_a_step_without_a_condition_always_runs() -> None:
    assert control_flow.explain_skip(world(A, B, over=(FAILED,)).task, B) == ""


def test_among_parallel_steps_there_is_no_step_before() -> None:
    b = replace(B, condition=condition("success"))
    assert control_flow.explain_skip(world(A, b, over=(settled("a"),), parallel=True).task, b)


def test_a_step_that_was_left_out_says_nothing() -> None:
    a = settled("a", State.SKIPPED)
    b = replace(B, condition=condition("not success"))
    task = change(world(A, b).task, settled={"a": a}, ended={"a": a})
    assert control_flow.explain_skip(task, b) == "", "of nothing only a negation is true"


# ── passes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_passes_continue_until_the_condition_holds_or_none_are_left() -> None:
    until = condition("contains:nothing left")
    goal = {"repeat": 3, "until": until}
    again = world(A, over=(settled("a", result="two findings"),), **goal).task
    assert control_flow.explain_next_pass(again) == "contains:nothing left does not hold yet (1 of 3)"
    enough = world(A, over=(settled("a", result="nothing left"),), **goal).task
    assert control_flow.explain_next_pass(enough) == ""
    assert control_flow.describe_passes(enough) == "after 1 of 3 passes, contains:nothing left holds"
    last = change(again, passes=3)
    assert control_flow.explain_next_pass(last) == "" and control_flow.describe_passes(last).endswith(
        "still does not hold"
    )


def test_passes_without_a_condition_are_counted() -> None:
    task = world(A, over=(settled("a"),), repeat=2).task
    assert (
        control_flow.explain_next_pass(task) == "1 of 2" and control_flow.describe_passes(task) == "after 1 of 2 passes"
    )
    once = world(A, over=(settled("a"),)).task
    assert control_flow.explain_next_pass(once) == "" and control_flow.describe_passes(once) == ""


def test_a_plan_that_the_ladder_changed_runs_once() -> None:
    task = change(world(A, over=(settled("a"),), repeat=5).task, approaches=2)
    assert not control_flow.is_as_written(task)
    assert (
        control_flow.explain_next_pass(task) == ""
        and control_flow.describe_passes(task) == ""
        and control_flow.get_machine(task) is None
    )


@pytest.mark.parametrize(
    ("do", "repeat", "rest", "following"),
    [
        ("break", 3, "`a` leaves the loop", ""),
        ("continue", 3, "`a` begins the next pass", "1 of 3"),
        ("break", 1, "`a` leaves the step", ""),
        ("continue", 1, "`a` leaves the step", ""),
        ("", 3, "", "1 of 3"),
    ],
)
def test_break_and_continue(do: Any, repeat: int, rest: str, following: str) -> None:
    task = world(A, B, over=(settled("a", do=do),), repeat=repeat).task
    assert control_flow.explain_rest_skipped(task) == rest
    assert control_flow.explain_next_pass(task) == following


@pytest.mark.parametrize("do", ["break", "continue"])
def test_an_exit_reaches_the_enclosing_loop(do: Any) -> None:
    inside = change(world(A, over=(settled("a", do=do),)).task, inherited=Inheritance(loop=True))
    assert (
        control_flow.find_outer_exit(inside) == do
        and control_flow.explain_rest_skipped(inside) == "`a` leaves the loop"
    )
    own = change(world(A, over=(settled("a", do=do),), repeat=2).task, inherited=Inheritance(loop=True))
    assert control_flow.find_outer_exit(own) == "", "the nearest loop takes it"
    assert control_flow.find_outer_exit(world(A, over=(settled("a", do=do),)).task) == "", "there is none"


# ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────────

MACHINE = Machine(
    "a",
    (
        Exits("a", (Transition("b", condition("failure")), Transition("a", condition("contains:again")))),
        Exits("b"),
    ),
    limit=4,
)


def test_a_machine_begins_at_its_start_and_follows_its_transitions() -> None:
    task = world(A, B, machine=MACHINE).task
    assert control_flow.find_current_state(task) == A and control_flow.find_next_state(task) is None
    failed = change(task, settled={"a": FAILED})
    found = control_flow.find_next_state(failed)
    assert found is not None and found.to == "b"
    again = control_flow.find_next_state(change(task, settled={"a": settled("a", result="do it again")}))
    assert again is not None and again.to == "a"


def test_a_last_state_ends_the_machine_as_it_ended_itself() -> None:
    task = change(world(A, B, machine=MACHINE).task, at_state="b")
    well = change(task, settled={"b": settled("b")})
    badly = change(task, settled={"b": settled("b", State.FAILED)})
    assert control_flow.find_broken_state(well) is None
    broken = control_flow.find_broken_state(badly)
    assert broken is not None and broken.child == "b"


def test_a_state_that_was_left_ends_the_machine_well() -> None:
    task = change(world(A, B, machine=MACHINE).task, settled={"a": settled("a", do="break")})
    found = control_flow.find_next_state(task)
    assert found is not None and found.to is None and found.success


def test_a_machine_may_not_go_round_for_ever() -> None:
    task = world(A, B, machine=MACHINE).task
    assert not control_flow.has_exhausted_transitions(change(task, turns=3)) and control_flow.has_exhausted_transitions(
        change(task, turns=4)
    )
    assert not control_flow.has_exhausted_transitions(change(world(A).task, turns=99))
