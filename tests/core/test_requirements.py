"""A goal is read into numbered requirements, in its own words and with nothing lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.goal_reading import MOST, GoalReading, NamedKind, read_goal
from bough.core.acceptance.requirements import find_coverage_problems, list_covered
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


def read(text: str, starts: Sequence[str] = (), kinds: Sequence[NamedKind] = ()) -> GoalReading:
    return read_goal(build_goal_step(text), starts, kinds)


def texts(text: str, starts: Sequence[str] = ()) -> list[str]:
    return [one.text for one in read(text, starts).requirements]


@pytest.mark.parametrize("text", ["Make add add.", "Fix the off-by-one in totals(), e.g. for `[]`", "Upgrade to 2.0"])
def test_one_sentence_is_one_requirement_without_a_model(text: str) -> None:
    (one,) = read(text).requirements
    assert (one.number, one.text, one.start, one.end) == (1, text, 0, len(text))


def test_list_items_their_introduction_and_the_prose_around_them_count() -> None:
    found = read(LIST)
    assert [one.text.split("\n")[0] for one in found.requirements] == [
        "A module for intervals, with tests:",
        'parsing: `parse("[1,2]")`',
        "union of two that touch",
        "printing",
        "All errors are ValueError.",
        "Nothing is mutated.",
    ]
    assert found.requirements[1].text.endswith("- and signs"), "what is indented below it belongs to it"
    assert found.background == ("# Intervals",)
    for one in found.requirements:
        assert one.text.split("\n")[-1] in LIST.strip()[one.start : one.end], "the place is that in the goal's text"


def test_each_sentence_is_one() -> None:
    goal = build_goal_step(PROSE)
    found = read_goal(goal).requirements
    assert [one.text.split()[0] for one in found] == ["Add", "Intervals", "`union(a,", "Empty", "Document"]
    assert all(goal.instructions[one.start : one.end] == one.text for one in found)


@pytest.mark.parametrize(
    "text",
    [
        'separator() returns "." by default and "," in French.',
        'The title becomes "one, two. Three" everywhere.',
        'The title becomes "one, two\n\nthree".',
        "The label says: 'One. Two. Three.'",
        "It prints “Stop. Now. Please.” and ends.",
    ],
)
def test_what_is_in_quotation_marks_is_not_cut(text: str) -> None:
    assert [one.text for one in read_goal(build_goal_step(text)).requirements] == [text]
    assert [one.text for one in read_goal(build_goal_step(text), ["Two", "three", "Now"]).requirements] == [text]


def test_a_phrase_that_the_first_item_completes_is_no_requirement_of_its_own() -> None:
    text = "It should add two numbers, three numbers, and print them."
    found = read(text, ["two numbers", "three numbers"]).requirements
    assert [(one.text, one.within) for one in found] == [
        ("two numbers", "It should add"),
        ("three numbers, and print them.", "It should add"),
    ]
    assert texts(text, ["It should add two numbers", "print them"])[0].startswith("It should add two numbers")


def test_an_empty_imperative_joins_the_sentence_before() -> None:
    assert texts("order() is broken. Fix it.") == ["order() is broken. Fix it."]
    assert texts("Sort the keys. Add tests.") == ["Sort the keys.", "Add tests."]
    assert texts("order() is broken:\n\n1. Fix it.\n2. Add tests.") == [
        "order() is broken:\n\n1. Fix it.",
        "Add tests.",
    ]


def test_a_passage_of_two_words_is_named_whole() -> None:
    kinds = [NamedKind("Add tests.", "coverage"), NamedKind("Thanks!", "background")]
    found = read("Sort the keys. Add tests. Thanks!", (), kinds)
    assert [(one.text, one.kind) for one in found.requirements] == [
        ("Sort the keys.", "behaviour"),
        ("Add tests.", "coverage"),
    ]
    assert found.background == ("Thanks!",)


MARKDOWN = "Support all of CommonMark: blocks, headings and links. It is fast."


def test_the_items_of_an_enumeration_that_a_model_names_have_the_words_before_them() -> None:
    assert texts(MARKDOWN) == [MARKDOWN.removesuffix(" It is fast."), "It is fast."], "without a model: sentences"
    found = read(MARKDOWN, ["blocks", "headings", "links"]).requirements
    assert [one.whole for one in found] == [  # The last is a sentence that the model forgot.
        "Support all of CommonMark: blocks",
        "Support all of CommonMark: headings",
        "Support all of CommonMark: links.",
        "It is fast.",
    ]
    assert all(MARKDOWN[one.start : one.end] == one.text for one in found)


def test_a_colon_introduces_a_list_in_a_sentence() -> None:
    goal = "The record has keys: name, size (in bytes) and owner."
    found = read(goal, ["name, size", "size (in bytes)", "owner."]).requirements
    assert [(one.within, one.text) for one in found] == [
        ("The record has keys:", "name"),
        ("The record has keys:", "size (in bytes)"),
        ("The record has keys:", "owner."),
    ]


def test_a_models_reading_makes_it_finer_and_takes_no_sentence_away() -> None:
    text = "First sort the input, then drop doubles. Print the rest. Errors go to stderr."
    assert texts(text, ["First sort", "then drop doubles"]) == [
        "First sort the input,",
        "then drop doubles.",
        "Print the rest.",
        "Errors go to stderr.",
    ]
    assert texts(text, ["First sort the input", "Not in the text"]) == texts(text)
    assert texts(MARKDOWN, ["Support all of CommonMark"]) == texts(MARKDOWN)


def test_what_is_no_sentence_asks_for_something_only_if_the_model_lists_it() -> None:
    text = (
        "User story\n\nError in line 3: unknown\n\n| in | now |\n|---|---|\n| 1 | 2 |\n\n"
        "While you are at it, sort the keys. It prints twice.\n\nExamples:\n- apples\n- bananas\n"
    )
    assert texts(text, ["sort the keys"]) == ["sort the keys.", "It prints twice."]
    assert texts(text, ["sort the keys", "apples"])[-2:] == ["apples", "bananas"], "items of one list belong together"
    background = [NamedKind("bananas", "background"), NamedKind("It prints twice.", "background")]
    assert [one.text for one in read(text, ["sort the keys", "apples"], background).requirements] == [
        "sort the keys.",
        "apples",
    ]
    assert len(texts(text)) == 8, "without a list, everything may ask for something"


def test_a_models_background_is_found_anywhere_in_its_passage() -> None:
    text = "**Context**\nEverybody retries today. Add `retry`. Please assign me.\n\n- [x] I searched\n- [x] I read it\n"
    names = ["Everybody retries today.", "Please assign me.", "I searched", "I read it"]
    found = read(text, ["Add `retry`"], [NamedKind(name, "background") for name in names])
    assert [one.text for one in found.requirements] == ["Add `retry`."]
    assert texts("**Why?**\n\nSort it.\n") == ["Sort it."], "a bold line is a heading"


def test_what_follows_code_is_another_paragraph() -> None:
    text = "Run this:\n```\nnew 500\n```\nThen paste the files. Give the memory back.\n"
    found = read(text, ["Give the memory back"], [NamedKind("Then paste the files", "background")])
    assert [one.text for one in found.requirements] == ["Give the memory back."]


def test_an_item_that_is_cut_loses_the_mark_of_the_next_one() -> None:
    text = "- show boxes\n   * for mail\n   * for notes\n"
    assert texts(text, ["show boxes", "for mail", "for notes"]) == ["show boxes", "for mail", "for notes"]


def test_a_requirement_begins_with_the_mark_that_opens_its_first_word() -> None:
    text = "`IndexError` if an index lies beyond the end, `ValueError` for a negative one."
    assert texts(text, ["`IndexError` if an index", "`ValueError` for a negative"]) == [
        "`IndexError` if an index lies beyond the end,",
        "`ValueError` for a negative one.",
    ]


def test_a_sentence_begins_without_a_capital() -> None:
    text = "Minutes go from 0 to 59, as in: 1, 2, 3. timeparse must return None."
    assert texts(text)[-1] == "timeparse must return None."
    assert texts("parse_total rounds half up. split_line keeps quotes. `join` adds them.") == [
        "parse_total rounds half up.",
        "split_line keeps quotes.",
        "`join` adds them.",
    ]
    assert len(texts("Wait approx. five seconds, e.g. in retry(), incl. the first.")) == 1


def test_that_tests_fail_asks_for_nothing_beside_a_demand() -> None:
    goal = "Some tests of this repository fail. Find the causes in calendar_slots.py and fix them."
    found = read_goal(Step("goal", goal))
    assert [one.text for one in found.requirements] == ["Find the causes in calendar_slots.py and fix them."]
    assert found.background == ("Some tests of this repository fail.",)
    assert texts("The build fails.") == ["The build fails."]
    assert len(texts("total() fails for empty carts. Tax is rounded half up.")) == 2


def test_what_a_model_calls_background_is_named_and_never_everything() -> None:
    text = "The team uses this daily. Sort the keys. Describe it in README.md."
    kinds = [NamedKind("The team uses", "background"), NamedKind("Describe it in", "document")]
    found = read(text, (), kinds)
    assert [(one.number, one.text, one.kind) for one in found.requirements] == [
        (1, "Sort the keys.", "behaviour"),
        (2, "Describe it in README.md.", "document"),
    ]
    assert found.background == ("The team uses this daily.",)
    assert texts("Sort the keys.") == [one.text for one in read("Sort the keys.", (), kinds[:1]).requirements]
    only = read("Sort the keys.", (), [NamedKind("Sort the keys", "background")])
    assert len(only.requirements) == 1, "a goal asks for something"


def test_code_belongs_to_what_stands_before_it() -> None:
    text = "Add `run`. It works like this:\n\n```\nrun(1). Then X.\n\nDone. Z\n```\n\nIt never fails."
    assert [one.split()[0] for one in texts(text)] == ["Add", "It", "It"]


def test_a_long_goal_has_no_more_than_can_be_numbered_and_loses_nothing() -> None:
    text = " ".join(f"Sentence number {n} says something." for n in range(500))
    found = texts(text)
    assert len(found) <= MOST
    assert " ".join(found) == text


LETTERS = st.text(alphabet="ab ,;:().`\n-#A1", max_size=120)


@given(LETTERS)
def test_every_word_belongs_to_a_requirement_or_is_named_as_background(text: str) -> None:
    goal = build_goal_step(text) if text.strip() else build_goal_step("x")
    found = read_goal(goal)
    said = "".join((*(one.within + one.text for one in found.requirements), *found.background))
    for letter in "abA":
        assert said.count(letter) >= goal.instructions.count(letter)


def test_criteria_are_requirements_of_the_goal_or_of_the_step_that_has_them() -> None:
    goal = Step("goal", "All of it.", steps=(Step("a", "x", criteria=("a is there",)), Step("b", "y", criteria=("b",))))
    found = read_goal(goal).requirements
    assert [(one.number, one.text, one.step) for one in found] == [(1, "a is there", "a"), (2, "b", "b")]
    assert [one.number for one in list_covered(goal.steps[1], "b", found, goal.steps)] == [2]
    whole = Step("goal", "All of it.", criteria=("it is fast",), steps=goal.steps)
    assert [one.text for one in read_goal(whole).requirements] == ["it is fast"]


def test_a_plan_that_leaves_one_out_is_told_its_number() -> None:
    around = read_goal(build_goal_step(PROSE)).requirements
    steps = (Step("a", "x", covers=(1, 2, 3)), Step("b", "y", covers=(5, 9)))
    problems = find_coverage_problems(steps, around)
    assert len(problems) == 2
    assert "requirement 9, which does not exist" in problems[0]
    assert "No step covers requirement 4 (`Empty intervals raise ValueError.`)" in problems[1]
    assert [one.number for one in list_covered(steps[0], "a", around, steps)] == [1, 2, 3]
    assert find_coverage_problems((Step("a", "x"), Step("b", "y")), around[:1]) == [], "one requirement is everybody's"
    assert list_covered(Step("a", "x"), "a", around[:1], (Step("a", "x"),)) == around[:1]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("### Example\n\n```js\nlet a = [1,];\n```\n\n### Expected\nThe comma is skipped.", ["The comma is skipped."]),
        ("```\nKeyError: 'a'\n```\n\n`read` must not fail.", ["`read` must not fail."]),
        (
            "This runs:\n\n    0,;\n\nReject it in scripts.",
            ["This runs:\n\n    0,;", "Reject it in scripts."],
        ),
        ("```\nprint(1)\n```", ["```\nprint(1)\n```"]),
    ],
)
def test_code_is_no_requirement_of_its_own(text: str, asked: list[str]) -> None:
    """It belongs to the sentence before it; below a heading or at the beginning it asks for nothing."""
    assert [one.text for one in read_goal(build_goal_step(text)).requirements] == asked


def test_what_is_worded_as_a_demand_in_code_alone_is_background_if_a_model_says_so() -> None:
    text = "At present it is undefined.\n\n```\nlog(x) // I want 0\n```\n\nReturn 0."
    found = read_goal(build_goal_step(text), (), [NamedKind("At present it is undefined", "background")])
    assert [one.text for one in found.requirements] == ["Return 0."]


@pytest.mark.parametrize("text", ["Make the case pass", "Please make both failing tests pass again.", "Repariere das."])
def test_beside_earlier_demands_a_text_may_ask_for_nothing_itself(text: str) -> None:
    """Alone it is a demand. What no rule knows a model may call background."""
    goal, kinds = build_goal_step(text), [NamedKind("Repariere das", "background")]
    assert [one.text for one in read_goal(goal, (), kinds).requirements] == [text]
    assert not read_goal(goal, (), kinds, beside=True).requirements
    assert read_goal(build_goal_step("Make the test page pass its title on."), beside=True).requirements
