"""A judge is believed as far as the quote goes."""

from __future__ import annotations

import json

import pytest

from bough.core.acceptance.judge_ruling import Ruling, find_quote, read_ruling
from bough.core.acceptance.verdict import Disagreement
from bough.core.conversation.context import render_disagreements
from bough.core.conversation.structured_answer import Problems
from bough.core.messages import Answer, Call

GOAL = """Add `argmax(items, key)`.

It returns the **first** of equal maxima,
and raises ValueError on an empty list — always.
"""


@pytest.mark.parametrize(
    "quote",
    [
        "the first of equal maxima",
        "It returns the first of equal maxima, and raises ValueError",
        "“raises ValueError on an empty list - always”",
        "RETURNS THE  FIRST",
    ],
)
def test_words_are_found_whatever_is_around_them(quote: str) -> None:
    place = find_quote(quote, GOAL)
    assert place is not None
    assert GOAL.count("\n", 0, place.start()) in (2, 3)


@pytest.mark.parametrize("quote", ["", "the", "the last of equal maxima", "raises KeyError on an empty list", ".* .*"])
def test_other_words_are_not(quote: str) -> None:
    assert find_quote(quote, GOAL) is None


def test_a_text_of_one_word_can_be_quoted() -> None:
    assert find_quote("Sort", "Sort.") is not None


def ruling(**given: object) -> Ruling | Problems:
    return read_ruling(Answer(calls=(Call("c", "rule", json.dumps(given)),)), GOAL)


def test_a_claim_is_upheld_only_with_the_words_of_the_request() -> None:
    upheld = ruling(reason="it says so", demanded=True, quote="the first of equal   maxima")
    assert upheld == Ruling(True, "the **first** of equal maxima", "it says so")
    assert isinstance(ruling(reason="surely", demanded=True, quote="must be stable for equal keys"), Problems)
    assert isinstance(ruling(reason="surely", demanded=True), Problems)
    assert ruling(reason="not said", demanded=False, quote="whatever") == Ruling(False, "", "not said")


def test_the_same_change_of_lines_is_shown_once() -> None:
    both = [Disagreement(f"test_a.py::test_{n}", source="- old\n+ new", said="1 != 2") for n in (1, 2)]
    shown = render_disagreements(both)
    assert shown.count("- old") == 1 and "the same lines as above" in shown
    assert render_disagreements([Disagreement("t", said="x"), Disagreement("u", said="y")]).count("above") == 0
