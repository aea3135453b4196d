"""A goal is read into numbered requirements, in its own words and with nothing lost."""

from __future__ import annotations

import pytest

from bough.core.acceptance.requirements import (
    MOST,
    find_coverage_problems,
    list_covered,
    list_given,
    split_by_form,
    split_by_starts,
)
from bough.core.planning.plan import Step, build_goal_step

PROSE = """Add interval arithmetic to the library.

Intervals are closed. `union(a, b)` returns one interval when they touch, e.g. at one point, and a pair otherwise.
Empty intervals raise ValueError. Document every function in docs/intervals.md, with one example each.
"""
LIST = """# Intervals

A module for intervals, with tests:

- parsing: `parse("[1,2]")`
  accepts blanks
  - and signs
- union of two that touch
* printing

All errors are ValueError. Nothing is mutated.
"""


@pytest.mark.parametrize("text", ["Make add add.", "Fix the off-by-one in totals(), e.g. for `[]`", "Upgrade to 2.0"])
def test_one_sentence_is_one_requirement_without_a_model(text: str) -> None:
    (one,) = list_given(build_goal_step(text))
    assert (one.number, one.text, one.start, one.end) == (1, text, 0, len(text))


def test_list_items_and_the_prose_around_them_count() -> None:
    found = list_given(build_goal_step(LIST))
    assert [one.text.split("\n")[0] for one in found] == [
        'parsing: `parse("[1,2]")`',
        "union of two that touch",
        "printing",
        "All errors are ValueError. Nothing is mutated.",
    ]
    assert found[0].text.endswith("- and signs"), "what is indented below it belongs to it"
    for one in found:
        assert one.text.split("\n")[-1] in LIST.strip()[one.start : one.end], "the place is that in the goal's text"


def test_prose_has_to_be_read_and_by_form_each_sentence_is_one() -> None:
    goal = build_goal_step(PROSE)
    assert list_given(goal) == ()
    found = split_by_form(goal)
    assert [one.text.split()[0] for one in found] == ["Add", "Intervals", "`union(a,", "Empty", "Document"]
    assert all(goal.instructions[one.start : one.end] == one.text for one in found)


def test_each_requirement_extends_to_the_next_start() -> None:
    text = build_goal_step(PROSE).instructions
    found = split_by_starts(
        text, ["Intervals are", "empty  intervals raise", "This is not there", "Document every function"]
    )
    assert [one.text.split()[0] for one in found] == ["Intervals", "Empty", "Document"]
    assert found[0].text.endswith("a pair otherwise."), "what no words begin belongs to the one before"
    assert split_by_starts(text, ["nothing of this"]) == ()


def test_words_in_the_middle_of_a_sentence_mean_the_sentence() -> None:
    (one,) = split_by_starts("First do this. Then that, please. ", ["that, please"])
    assert one.text == "Then that, please."


def test_code_belongs_to_what_stands_before_it() -> None:
    text = "Add `run`. It works like this:\n\n```\nrun(1). Then X.\n\nDone. Z\n```\n\nIt never fails."
    assert [one.text.split()[0] for one in split_by_form(build_goal_step(text))] == ["Add", "It", "It"]


def test_a_long_goal_has_no_more_than_can_be_numbered_and_loses_nothing() -> None:
    text = " ".join(f"Sentence number {n} says something." for n in range(500))
    found = split_by_form(build_goal_step(text))
    assert len(found) <= MOST
    assert " ".join(one.text for one in found) == text


def test_criteria_are_requirements_of_the_goal_or_of_the_step_that_has_them() -> None:
    goal = Step("goal", "All of it.", steps=(Step("a", "x", criteria=("a is there",)), Step("b", "y", criteria=("b",))))
    found = list_given(goal)
    assert [(one.number, one.text, one.step) for one in found] == [(1, "a is there", "a"), (2, "b", "b")]
    assert [one.number for one in list_covered(goal.steps[1], "b", found, goal.steps)] == [2]
    whole = Step("goal", "All of it.", criteria=("it is fast",), steps=goal.steps)
    assert [one.text for one in list_given(whole)] == ["it is fast"]


def test_a_plan_that_leaves_one_out_is_told_its_number() -> None:
    around = split_by_form(build_goal_step(PROSE))
    steps = (Step("a", "x", covers=(1, 2, 3)), Step("b", "y", covers=(5, 9)))
    problems = find_coverage_problems(steps, around)
    assert len(problems) == 2
    assert "requirement 9, which does not exist" in problems[0]
    assert "No step covers requirement 4 (`Empty intervals raise ValueError.`)" in problems[1]
    assert [one.number for one in list_covered(steps[0], "a", around, steps)] == [1, 2, 3]
    assert find_coverage_problems((Step("a", "x"), Step("b", "y")), around[:1]) == [], "one requirement is everybody's"
    assert list_covered(Step("a", "x"), "a", around[:1], (Step("a", "x"),)) == around[:1]
