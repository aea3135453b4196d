"""Forty goals in the words of issues, labelled with what each demands.

The form of a text alone never loses a demand, and what a model says of it makes the reading the label's; a model that
waves everything away takes no stated demand with it.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bough.core.acceptance.goal_reading import NamedKind, read_goal
from bough.core.acceptance.requirements import Requirement
from bough.core.planning.plan import build_goal_step

GOALS = tomllib.loads(Path(__file__).with_name("demands.toml").read_text(encoding="utf-8"))["goal"]
FEWEST_BY_FORM = 13
"""Goals of which the form of the text alone shows exactly what is demanded."""


def strip(text: str) -> str:
    return " ".join(text.split()).strip(" ,.;").casefold()


def first_words(text: str) -> str:
    return " ".join(text.split()[:6])


def read(text: str, starts: Sequence[str] = (), kinds: Sequence[NamedKind] = ()) -> tuple[Requirement, ...]:
    return read_goal(build_goal_step(text), starts, kinds).requirements


def list_labels(goal: dict[str, Any]) -> list[str]:
    return [strip(demand) for demand in goal["demands"]]


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: first_words(goal["text"]))
def test_no_demand_is_lost_and_a_models_list_makes_it_exact(goal: dict[str, Any]) -> None:
    labels, starts = list_labels(goal), [first_words(demand) for demand in goal["demands"]]
    plain = [strip(one.text) for one in read(goal["text"])]
    assert all(any(label in passage for passage in plain) for label in labels), plain
    cut = read(goal["text"], starts)
    kinds = [NamedKind(first_words(one.text), "background") for one in cut if strip(one.text) not in labels]
    assert [strip(one.text) for one in read(goal["text"], starts, kinds)] == labels


def test_the_form_alone_shows_some_exactly() -> None:
    exact = [goal for goal in GOALS if [strip(one.text) for one in read(goal["text"])] == list_labels(goal)]
    assert len(exact) >= FEWEST_BY_FORM


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: first_words(goal["text"]))
def test_a_model_that_calls_all_of_it_background_takes_no_stated_demand_away(goal: dict[str, Any]) -> None:
    kinds = [NamedKind(first_words(one.text), "background") for one in read(goal["text"])]
    left = [strip(one.text) for one in read(goal["text"], (), kinds)]
    stated = [label for label in list_labels(goal) if re.search(r"\b(?:should|must|want|please)\b", label)]
    assert all(any(label in passage for passage in left) for label in stated)
