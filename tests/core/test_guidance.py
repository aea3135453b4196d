"""The learned part of a planning prompt, and how answers are scored by what finished runs took."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bough import app
from bough.core.conversation import context
from bough.core.messages import Answer, Call
from bough.core.planning.guidance import LONGEST, Lesson, guidance_of, places, score_gate, score_plan, with_guidance
from bough.core.planning.plan import build_goal_step


@pytest.mark.parametrize("name", ["gate", "planner"])
def test_only_the_guidance_of_a_prompt_is_replaced(name: str) -> None:
    plain = app.load_prompt(name)
    guidance = guidance_of(plain)
    assert guidance and "Call `" not in guidance and "{covering}" not in guidance and "{{" not in guidance
    other = with_guidance(plain, "Weigh {this} and {{that}}.")
    assert sorted(places(other)) == sorted(places(plain))
    values = {place: f"<{place}>" for place in places(plain)}
    shown = context.render(other, values)
    assert "Weigh {this} and {{that}}." in shown and guidance[:60] not in shown
    assert all(value in shown for value in values.values())
    assert shown.rstrip().endswith(plain.rstrip().rpartition("\n")[2])
    assert len(with_guidance(plain, "x" * 100_000)) < len(plain) + LONGEST


def lesson(rounds: int, leaves: int, *files: str) -> Lesson:
    return Lesson("r", build_goal_step("Do it."), {}, {}, (), 1, rounds, leaves, files)


def estimate(**fields: Any) -> Answer:
    return Answer(calls=(Call("c", "estimate", json.dumps({"reason": "x", **fields})),))


def test_an_estimate_is_scored_by_what_the_run_took() -> None:
    small, large = lesson(7, 1), lesson(120, 8)
    assert (small.atomic, small.steps, large.atomic, large.steps) == (True, 1, False, 8)
    right = score_gate(estimate(atomic=False, steps=8), large)
    assert right.value == 1 and "It took 120 rounds, so it was 8 steps." in right.says
    assert 0.6 < score_gate(estimate(atomic=False, steps=5), large).value < 1
    assert score_gate(estimate(atomic=True, steps=1), large).value == 0
    assert score_gate(estimate(atomic=True, steps=1), small).value == 1
    assert score_gate(Answer("It is big."), small).value == 0


def plan(*files: str) -> Answer:
    steps = [
        {"name": f"s{n}", "instructions": f"Write {file}, part {n}.", "criteria": [f"{file} is there"], "files": [file]}
        for n, file in enumerate(files)
    ]
    return Answer(calls=(Call("c", "plan", json.dumps({"approach": "x", "steps": steps})),))


def test_a_plan_is_scored_by_the_files_that_were_changed() -> None:
    took = lesson(90, 2, "a.py", "b.py")
    assert score_plan(plan("a.py", "b.py"), took).value == 1
    half = score_plan(plan("a.py", "c.py"), took)
    assert 0.5 < half.value < 0.8
    assert "named by no step: b.py" in half.says and "not changed: c.py" in half.says
    assert score_plan(Answer("no plan"), took).value == 0
