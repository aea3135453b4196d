"""How answers are scored by what finished runs took."""

import json
from typing import Any

from bough_optimise.scoring import Lesson, score_gate, score_plan

from bough.core.messages import Answer, Call
from bough.core.planning.plan import build_goal_step


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
