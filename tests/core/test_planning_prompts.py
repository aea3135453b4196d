"""What planners are told, and that nothing they answer raises."""

import json
import string
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.budget.limits import Spend
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import Problems
from bough.core.events import ChildSettled
from bough.core.events.planning import Estimated
from bough.core.ids import slug
from bough.core.messages import Answer, ToolSpec
from bough.core.planning import prompt_values
from bough.core.planning.decomposition import read_plan, read_replan, read_split, sort_by_needs
from bough.core.planning.guidance import SizeEstimate, read_estimate
from bough.core.planning.tool_specs import GATE, PLAN, SPLIT
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note, TaskChildren, TaskPlan, TaskTalk
from bough.core.tree.task_state import Inheritance, State
from tests.core.answers import GOAL, PARENT, SPLIT_STEPS, answered, level

# ── whatever a model answers ────────────────────────────────────────────────────────────────────────────────────

WORDS = st.sampled_from(["load", "save", "Load", "goal", "", "読み", "x" * 50, "works well", "true", "../a", "a.py"])
FIELD = WORDS | st.integers(-3, 12) | st.none() | st.booleans() | st.lists(WORDS | st.integers(0, 5), max_size=3)
STEP = st.dictionaries(
    st.sampled_from([*PLAN.parameters["properties"]["steps"]["items"]["properties"], "covers", "reason"]),
    FIELD,
) | st.sampled_from(SPLIT_STEPS)
ANSWER = st.fixed_dictionaries({"steps": st.lists(STEP, max_size=5)}) | FIELD


@given(ANSWER, st.sampled_from([GATE, PLAN, SPLIT]), st.booleans())
def test_garbage_never_raises(value: Any, spec: ToolSpec, call: bool) -> None:
    answer = answered(spec, value) if call else Answer(f"So: {json.dumps(value)}")
    parent = level("load", "save", "show")
    assert isinstance(read_estimate(answer), SizeEstimate | Problems)
    for steps in (
        read_plan(GOAL, answer, 2),
        read_plan(PARENT, answer, 1),
        read_split(PARENT, answer, frozenset({"load"})),
        read_replan(PARENT, answer, parent.steps[:1], parent.steps[1:], frozenset({"show"})),
    ):
        if isinstance(steps, Problems):
            assert steps.said
            continue
        assert len({step.name for step in steps}) == len(steps) >= 2
        assert all(step.name == slug(step.name) and step.instructions for step in steps)
        assert not sort_by_needs(steps)[1]


# ── the prompts ─────────────────────────────────────────────────────────────────────────────────────────────────


def prompt(name: str) -> str:
    return files("bough.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")


SIZE = prompt_values.Size(214, 38_000, ("Python", "TypeScript"))
KNOWN = prompt_values.RepositoryFacts(SIZE, "pytest", "todo/__init__.py\ntodo/store.py", project="Use tabs.")
PAST = (
    prompt_values.FinishedStep("load", "completed", "Wrote load().", ("todo/load.py",)),
    prompt_values.FinishedStep("lock", "blocked", "fcntl hangs."),
)
NOTES = (Note("dead_end", "fcntl hangs on this file system"),)
PLANNED = TaskPlan(
    estimate=Estimated(False, 12, ("storage", "screen"), ("cli", "files"), "Two layers."),
    wish="Leave the screen out.",
    proposed=level("load", "save").steps,
    steps=level("show", "sort").steps,
)
ENDED = {one.name: ChildSettled(one.name, State(one.state), one.summary, "", Spend(), files=one.files) for one in PAST}
TASK = Task("goal", step=GOAL, plan=PLANNED, children=TaskChildren(settled=ENDED), talk=TaskTalk(notes=NOTES))
TOLD = Inheritance(results=("load: Wrote load().",), later=("show: Draw it.",))
PHASE = Task("storage", step=PARENT, inherited=TOLD, talk=TaskTalk(notes=NOTES))
REPLAN = prompt_values.build_replan_values(GOAL, "goal", "storage is blocked", PAST, kept=NOTES)
RENDERED: dict[str, tuple[ToolSpec | None, dict[str, str]]] = {
    "gate": (GATE, prompt_values.build_gate_values(TASK, KNOWN, 40)),
    "planner": (PLAN, prompt_values.build_planner_values(TASK, KNOWN, 3, "")),
    "phase_planner": (PLAN, prompt_values.build_phase_values(PHASE, GOAL, KNOWN, 2, "")),
    "decomposer": (
        SPLIT,
        prompt_values.build_split_values(PARENT, "storage", "the same error 3 times", diff="+x = {}", kept=NOTES),
    ),
    "replan": (
        SPLIT,
        prompt_values.build_replan_values(PARENT, "storage", "all steps are over", PAST, kept=NOTES, command="pytest"),
    ),
    "replan_goal": (SPLIT, {name: value for name, value in REPLAN.items() if name != "place"}),
    "plan_repair": (PLAN, prompt_values.build_repair_values("plan", Problems(("Two steps are called `load`.",)), "{}")),
    "focus": (None, {"instructions": "Keep entries.", "criteria": "- it loads", "failure": "KeyError"}),
}


@pytest.mark.parametrize("name", RENDERED)
def test_a_prompt_renders_with_exactly_its_values(name: str) -> None:
    spec, values = RENDERED[name]
    places = {field for _, field, _, _ in string.Formatter().parse(prompt(name)) if field is not None}
    assert places == values.keys(), "every value has a place, and every place a value"
    text = render(prompt(name), values)
    assert all(value.strip() in text for value in values.values())
    assert spec is None or f"`{spec.name}`" in text, "it says which tool to call"
    assert len(text) < 9_000
    assert "\n\n\n" not in text


def test_what_the_planner_is_told() -> None:
    text = render(prompt("planner"), RENDERED["planner"][1])
    for part in (
        "214 files, 38,000 lines, in Python, TypeScript.",
        "5 to 10 phases",
        "Leave the screen out.",
        "todo/store.py",
    ):
        assert part in text
    assert "no phases here" in prompt_values.describe_levels(1)
    assert str(prompt_values.Size(300, 1_200, about=True)) == "300 files, about 1,200 lines."
    assert str(prompt_values.Size(0, 0)) == "Empty: there are no files yet."


def test_long_material_is_cut_in_the_middle() -> None:
    text = render(
        prompt("decomposer"), prompt_values.build_split_values(PARENT, "storage", "a" * 90_000, diff="b" * 90_000)
    )
    assert len(text) < 40_000 and "characters left out" in text
