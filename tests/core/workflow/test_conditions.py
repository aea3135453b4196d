"""Conditions are read and answered, never run; a machine goes by them."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.planning.plan import Condition, Exits, Machine, Outcome, Transition
from bough.core.workflow.conditions import (
    BEFORE,
    StepResult,
    choose_next_state,
    is_met,
    parse_condition,
    render_condition,
)

WELL, BADLY = StepResult(True, text="LGTM"), StepResult(False, errors=True, text="boom")


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
    results = {BEFORE: WELL, "bad": BADLY, "silent": StepResult(True, text=" \n"), "mute": StepResult(False)}
    true = ["success", "bad.failure", "bad.has_errors", "silent.empty", "contains:GT", "bad.contains:boom", "not empty"]
    for text in true:
        condition = parse_condition(text)
        assert isinstance(condition, Condition) and is_met(condition, results), text
        opposite = Condition(condition.outcome, condition.step, condition.text, not condition.negated)
        assert not is_met(opposite, results), text


def test_a_critic_that_failed_has_not_approved() -> None:
    empty = Condition("empty", "critic")
    assert not is_met(empty, {"critic": StepResult(False, text="")})


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
    assert choose_next_state(MACHINE, "draft", BADLY, 0).to == "review", "without a condition: always"
    turn = choose_next_state(MACHINE, "review", WELL, 1)
    assert (turn.to, turn.success) == (None, True) and "contains:LGTM" in turn.why
    assert choose_next_state(MACHINE, "review", BADLY, 1).to == "draft"


def test_no_failure_and_no_endless_loop_is_taken_for_success() -> None:
    turn = choose_next_state(MACHINE, "review", BADLY, 3)
    assert (turn.to, turn.success) == (None, False) and "limit of 3" in turn.why
    assert choose_next_state(MACHINE, "review", StepResult(True, text="hm"), 0).success, "an end without a transition"
    turn = choose_next_state(MACHINE, "lost", BADLY, 0)
    assert (turn.to, turn.success) == (None, False)
    ended_badly = choose_next_state(MACHINE, "review", StepResult(False, text="LGTM"), 0)
    assert (ended_badly.to, ended_badly.success) == (None, False)
