"""Conditions are read and answered, never run; a machine goes by them."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bough.core.budget.limits import Spend
from bough.core.events import ChildSettled
from bough.core.planning.plan import Condition, Exits, Machine, Outcome, Transition
from bough.core.tree.task_state import State
from bough.core.workflow.control_flow import (
    BEFORE,
    choose_next_state,
    is_met,
    parse_condition,
    render_condition,
)


def ended(success: bool, text: str = "", *, errors: bool = False) -> ChildSettled:
    reached = State.COMPLETED if success else State.FAILED
    return ChildSettled("", reached, "", "", Spend(), result=text, errors=errors)


WELL, BADLY = ended(True, "LGTM"), ended(False, "boom", errors=True)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("success", Condition("success")),
        ("not failure", Condition("failure", negated=True)),
        ("  critic.empty ", Condition("empty", "critic")),
        ("not  build-2.has_errors", Condition("has_errors", "build-2", negated=True)),
        ("contains: nothing left ", Condition("contains", text="nothing left")),
        ('a.contains:" x "', Condition("contains", "a", " x ")),
        ("contains:a.b: not __import__('os')", Condition("contains", text="a.b: not __import__('os')")),
    ],
)
def test_parsed(text: str, condition: Condition) -> None:
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sucess", "did you mean `success`?"),
        ("a.failed", "did you mean `failure`?"),
        ("", "is not a condition"),
        ("success or failure", "is not a condition"),
        ("__import__('os').system('x')", "use one of `success`"),
        ("contains:", "nothing to look for"),
        ("contains", "nothing to look for"),
        ("success:yes", "takes no text"),
        ("a.b.success", "is not a condition"),
    ],
)
def test_not_parsed(text: str, said: str) -> None:
    sentence = parse_condition(text)
    assert isinstance(sentence, str) and said in sentence


@given(
    st.builds(
        Condition,
        st.sampled_from([word for word in get_args(Outcome) if word != "contains"]),
        st.sampled_from(["", "a", "b-1"]),
        negated=st.booleans(),
    )
    | st.builds(Condition, st.just("contains"), st.sampled_from(["", "a"]), st.text(min_size=1), st.booleans())
)
def test_spelt_is_parsed_again(condition: Condition) -> None:
    assert parse_condition(render_condition(condition)) == condition


def test_holds() -> None:
    results = {BEFORE: WELL, "bad": BADLY, "silent": ended(True, " \n"), "mute": ended(False)}
    true = ["success", "bad.failure", "bad.has_errors", "silent.empty", "contains:GT", "bad.contains:boom", "not empty"]
    for text in true:
        condition = parse_condition(text)
        assert isinstance(condition, Condition) and is_met(condition, results), text
        opposite = Condition(condition.outcome, condition.step, condition.text, not condition.negated)
        assert not is_met(opposite, results), text


def test_a_critic_that_failed_has_not_approved() -> None:
    empty = Condition("empty", "critic")
    assert not is_met(empty, {"critic": ended(False, "")})


def test_of_a_step_that_did_not_run_nothing_holds() -> None:
    for outcome in get_args(Outcome):
        assert not is_met(Condition(outcome, "x", text="t"), {})
        assert is_met(Condition(outcome, "x", text="t", negated=True), {})


MACHINE = Machine(
    "draft",
    (
        Exits("draft", (Transition("review"),)),
        Exits(
            "review", (Transition("end", Condition("contains", text="LGTM")), Transition("draft", Condition("failure")))
        ),
        Exits("lost"),
    ),
    limit=3,
)


def test_the_first_transition_that_holds_is_taken() -> None:
    assert choose_next_state(MACHINE, replace(BADLY, child="draft"), 0).to == "review", "without a condition: always"
    turn = choose_next_state(MACHINE, replace(WELL, child="review"), 1)
    assert (turn.to, turn.success) == (None, True) and "contains:LGTM" in turn.why
    assert choose_next_state(MACHINE, replace(BADLY, child="review"), 1).to == "draft"


def test_no_failure_and_no_endless_loop_is_taken_for_success() -> None:
    turn = choose_next_state(MACHINE, replace(BADLY, child="review"), 3)
    assert (turn.to, turn.success) == (None, False) and "limit of 3" in turn.why
    assert choose_next_state(MACHINE, replace(ended(True, "hm"), child="review"), 0).success, (
        "an end without a transition"
    )
    turn = choose_next_state(MACHINE, replace(BADLY, child="lost"), 0)
    assert (turn.to, turn.success) == (None, False)
    turn = choose_next_state(MACHINE, replace(ended(False, "LGTM"), child="review"), 0)
    assert (turn.to, turn.success) == (None, False)
