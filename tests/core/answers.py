"""What models answer, in tests: good steps to make bad ones of, and what came of an answer."""

import json
from typing import Any

from bough.core.conversation.structured_answer import Problems
from bough.core.messages import Answer, Call, ToolSpec
from bough.core.planning.decomposition import read_plan
from bough.core.planning.plan import Step
from bough.core.planning.tool_specs import PLAN

GOAL = Step("goal", "Build a todo list for the command line that keeps its entries in a JSON file, with tests.")
NOTHING: frozenset[str] = frozenset()


def answered(spec: ToolSpec, value: Any) -> Answer:
    return Answer(calls=(Call("1", spec.name, json.dumps(value)),), stop="calls")


def a_step(name: str, **more: Any) -> dict[str, Any]:
    """A step that is good as it is, about something that its name says."""
    about = f"Write todo/{name}.py with the function {name}_entries and tests/test_{name}.py for it."
    return {"name": name, "instructions": about, "criteria": [f"{name}_entries([]) == []"]} | more


def plan(*steps: dict[str, Any], goal: Step = GOAL, depth: int = 3) -> tuple[Step, ...] | Problems:
    return read_plan(goal, answered(PLAN, {"approach": "From the inside out.", "steps": list(steps)}), depth)


def good(steps: tuple[Step, ...] | Problems) -> tuple[Step, ...]:
    assert not isinstance(steps, Problems), str(steps)
    return steps


def refused(steps: object, *said: str) -> Problems:
    assert isinstance(steps, Problems), steps
    assert steps.said
    for part in said:
        assert part in str(steps)
    assert all(sentence.endswith(".") and len(sentence) < 500 for sentence in steps.said), str(steps)
    return steps


def level(*names: str) -> Step:
    steps = good(plan(*(a_step(name) for name in names)))
    return Step("goal", GOAL.instructions, steps=steps)


PARENT = Step(
    "storage",
    "Keep the entries in a JSON file: load it, save it without losing the old one, lock it against other processes.",
    criteria=("a missing file gives []", "a crash while saving leaves the old file", "two processes cannot both save"),
)
SPLIT_STEPS = [a_step("load", covers=[1]), a_step("save", covers=[2]), a_step("lock", covers=[2, 3])]
MANY = [a_step(f"part{n}") for n in range(40)]
