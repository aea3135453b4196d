"""Plans as models give them: the good ones taken, the bad ones refused with a reason that helps."""

from __future__ import annotations

import json
import string
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.context import render
from bough.core.ids import slug
from bough.core.messages import Answer, Call, ToolSpec
from bough.core.plan import Plan, Step, checked
from bough.core.planning import (
    CHANGE,
    GATE,
    PLAN,
    SPLIT,
    Changed,
    Estimate,
    Problems,
    advice,
    brief,
    changed_plan,
    decomposed,
    focused,
    gate,
    phase_planned,
    planned,
    proposal,
    replanned,
    smaller,
)
from bough.core.planning.given import in_order
from bough.core.planning.measure import vague
from bough.core.state import Note
from tests.core.planner_answers import RATES, RATES_PLAN, VI, VI_BUFFER, VI_PLAN
from tests.core.restatements import HONEST, RESTATEMENTS

GOAL = Step("goal", "Build a todo list for the command line that keeps its entries in a JSON file, with tests.")
NOTHING: frozenset[str] = frozenset()


def answered(spec: ToolSpec, value: Any) -> Answer:
    return Answer(calls=(Call("1", spec.name, json.dumps(value)),), stop="calls")


def a_step(name: str, **more: Any) -> dict[str, Any]:
    """A step that is good as it is, about something that its name says."""
    about = f"Write todo/{name}.py with the function {name}_entries and tests/test_{name}.py for it."
    return {"name": name, "instructions": about, "criteria": [f"{name}_entries([]) == []"]} | more


def plan(*steps: dict[str, Any], goal: Step = GOAL, depth: int = 3) -> tuple[Step, ...] | Problems:
    return planned(goal, answered(PLAN, {"approach": "From the inside out.", "steps": list(steps)}), depth)


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


# ── the gate ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_estimate_is_read() -> None:
    got = gate(answered(GATE, {"reason": "One flag.", "steps": 1, "atomic": True, "phases": [], "domains": ["cli"]}))
    assert got == Estimate(True, 1, (), ("cli",), "One flag.")


@pytest.mark.parametrize(("atomic", "steps", "taken"), [(True, 3, True), (True, 12, False), (False, 1, True)])
def test_an_estimate_that_contradicts_itself_is_taken_at_its_number(atomic: bool, steps: int, taken: bool) -> None:
    got = gate(answered(GATE, {"reason": "Well.", "steps": steps, "atomic": atomic}))
    assert isinstance(got, Estimate) and got.atomic is taken


@pytest.mark.parametrize("value", [{}, {"steps": 0, "atomic": False}, {"steps": "many", "atomic": False}, {"steps": 3}])
def test_a_wrong_estimate_is_refused(value: dict[str, Any]) -> None:
    refused(gate(answered(GATE, value)))


@pytest.mark.parametrize(
    ("steps", "phases", "domains", "advised", "proposed"),
    [
        (4, (), ("cli",), "take", "flat"),
        (10, (), (), "take", "flat"),
        (11, (), (), "ask", "hierarchy"),
        (4, ("storage", "screen"), (), "ask", "hierarchy"),
        (4, (), ("database", "web"), "ask", "hierarchy"),
        (15, (), (), "ask", "hierarchy"),
        (16, (), (), "recommend", "hierarchy"),
    ],
)
def test_what_follows_from_an_estimate(
    steps: int, phases: tuple[str, ...], domains: tuple[str, ...], advised: str, proposed: str
) -> None:
    estimate = Estimate(False, steps, phases, domains)
    assert advice(estimate) == advised
    assert proposal(estimate, False, 3) == proposed
    assert proposal(estimate, False, 1) == "flat"
    assert proposal(estimate, True, 3) == proposal(estimate, False, 0) == "leaf"


def test_an_atomic_goal_is_a_leaf_and_nobody_is_asked() -> None:
    estimate = Estimate(True, 1, ("a", "b"), ("c", "d"))
    assert (proposal(estimate, False, 3), advice(estimate)) == ("leaf", "take")


# ── the planner ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_becomes_steps() -> None:
    given_steps = [
        a_step(
            "store", complexity=3, files=["./todo/store.py", "tests/test_store.py"], test_file="tests/test_store.py"
        ),
        a_step("List Entries", needs=["store"], test_command="pytest tests/test_list.py", title="Listing"),
        a_step("docs", needs=["List Entries"], files=["README.md"], requires_testing=False, complexity=9),
    ]
    store, listing, docs = good(plan(*given_steps))
    assert store == Step(
        "store",
        given_steps[0]["instructions"],
        criteria=("store_entries([]) == []",),
        test_file="tests/test_store.py",
        files=("todo/store.py", "tests/test_store.py"),
        complexity=3,
        on_error="escalate",
        context="inherited",
    )
    assert (listing.name, listing.needs, listing.title) == ("list-entries", ("store",), "Listing")
    assert listing.test_command == "pytest tests/test_list.py"
    assert (docs.needs, docs.requires_testing, docs.complexity) == (("list-entries",), False, 5)
    checked(Plan(Step("goal", "x", steps=(store, listing, docs))))


def test_needs_say_the_order() -> None:
    swapped = good(plan(a_step("show", needs=["load"]), a_step("load", needs=[]), a_step("save", needs=[])))
    assert [(step.name, step.needs) for step in swapped] == [("load", ()), ("show", ("load",)), ("save", ())]


def test_a_plan_without_needs_is_done_in_the_order_of_writing() -> None:
    steps = good(plan(a_step("load"), a_step("save"), a_step("show")))
    assert [step.needs for step in steps] == [(), ("load",), ("save",)]


def test_phases_are_planned_when_they_start_while_there_is_room() -> None:
    phases = [a_step("storage", phase=True), a_step("screen", phase=True), a_step("docs")]
    assert [step.plan_first for step in good(plan(*phases))] == [True, True, False]
    assert [step.plan_first for step in good(plan(*phases, depth=1))] == [False, False, False]


def test_a_phase_may_come_with_its_steps() -> None:
    inner = [a_step("load"), a_step("save", needs=["load"])]
    storage, screen = good(plan(a_step("storage", phase=True, steps=inner), a_step("screen", phase=True)))
    assert [step.name for step in storage.steps] == ["load", "save"]
    assert (storage.plan_first, screen.plan_first) == (False, True)
    assert all(step.on_error == "escalate" for step in storage.steps)
    refused(plan(a_step("storage", steps=inner), a_step("screen"), depth=1), "no room for steps below `storage`")
    refused(plan(a_step("storage", steps=inner[:1]), a_step("screen")), "one step in `storage`")


def test_names_that_cannot_be_spelled_get_a_number() -> None:
    one = a_step("load") | {"name": "読み込み"}
    two = a_step("save") | {"name": "保存", "needs": ["読み込み"]}
    three = a_step("show") | {"name": "Goal", "needs": ["goal"]}
    assert "needs itself" in str(plan(one, two, three))
    steps = good(plan(one, two, three | {"needs": ["保存"]}))
    assert [(step.name, step.needs) for step in steps] == [
        ("step-1", ()),
        ("step-2", ("step-1",)),
        ("step-3", ("step-2",)),
    ]


MANY = [a_step(f"part{n}") for n in range(40)]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "no step in the plan"),
        ([a_step("load")], "one step in the plan"),
        (MANY, "40 steps in the plan, and 10 is the most at one level: group them into phases"),
        ([a_step("load", needs=["save"]), a_step("save", needs=["load"])], "circle: `load` → `save` → `load`"),
        ([a_step("load", needs=["load"]), a_step("save")], "`load` needs itself"),
        ([a_step("load", needs=["disk"]), a_step("save")], "needs `disk`, which is not a step here: there are `save`"),
        ([a_step("load"), a_step("Load!")], "Two steps are called `load`"),
        ([a_step("load"), a_step("save") | {"instructions": a_step("load")["instructions"]}], "are the same"),
        ([a_step("all") | {"instructions": GOAL.instructions}, a_step("save")], "`all` says the whole again"),
        ([a_step("load", instructions=""), a_step("save")], "`load` has no instructions"),
        ([a_step("load", criteria=[]), a_step("save")], "`load` cannot be proven: it has no criteria and no test"),
        ([a_step("load", criteria=["It works well."]), a_step("save")], "`It works well.` cannot be checked"),
        ([a_step("load", test_command="true"), a_step("save")], "proves nothing"),
        ([a_step("load", test_command="pytest || true"), a_step("save")], "proves nothing"),
        ([a_step("load", test_command="pytest | tail -5"), a_step("save")], "proves nothing"),
        ([a_step("load", test_command="echo ok && exit 0"), a_step("save")], "proves nothing"),
        ([a_step("load", test_file="/etc/passwd"), a_step("save")], "a path within the project"),
        ([a_step("load", test_file="../x.py"), a_step("save")], "a path within the project"),
        ([a_step("load", complexity="hard"), a_step("save")], "`steps[0].complexity` is wrong"),
        ([a_step("load", criteria={"a": 1}), a_step("save")], "`steps[0].criteria` is wrong"),
        ([a_step("load", instructions="x" * 8_001), a_step("save")], "`steps[0].instructions` is wrong"),
        (["load", "save"], "`steps[0]` is wrong: expected `object`"),
        ("first load, then save", "`steps` is wrong: expected `array`"),
    ],
)
def test_a_bad_plan_is_refused_with_a_reason(steps: Any, said: str) -> None:
    refused(planned(GOAL, answered(PLAN, {"steps": steps}), 3), said)


@pytest.mark.parametrize("text", ["", "First I would look around.", "1. load\n2. save", "{}", "null", '{"steps": ['])
def test_prose_instead_of_a_plan_is_refused(text: str) -> None:
    refused(planned(GOAL, Answer(text), 3))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    problems = refused(
        plan(a_step("load", needs=["disk"]), a_step("save", criteria=[]), a_step("show", needs=["show"]))
    )
    assert len(problems.said) == 3


@pytest.mark.parametrize(
    "command", ["pytest", "cd web && npm test", "make test-load", "python -m unittest tests.test_a"]
)
def test_a_command_that_can_fail_is_taken(command: str) -> None:
    assert good(plan(a_step("load", test_command=command), a_step("save")))[0].test_command == command


def test_code_cannot_be_left_untested_by_saying_so() -> None:
    code = a_step("load", requires_testing=False, files=["todo/load.py", "README.md"])
    nothing = a_step("save", requires_testing=False)
    assert all(step.requires_testing for step in good(plan(code, nothing)))


def test_vague_criteria_go_and_the_rest_stays() -> None:
    first, _ = good(plan(a_step("load", criteria=["works well", "load([]) == []"]), a_step("save")))
    assert first.criteria == ("load([]) == []",)


def test_a_phase_is_planned_from_what_is_done() -> None:
    phase = Step("screen", "Draw the entries on the terminal with colours and keys to move between them.")
    done = Step("load", a_step("load")["instructions"])
    again = answered(PLAN, {"steps": [a_step("load"), a_step("draw")]})
    refused(phase_planned(phase, again, 2, (done,)), "`load` is what `load` has done already")
    new = answered(PLAN, {"steps": [a_step("keys"), a_step("draw", phase=True)]})
    assert [step.plan_first for step in good(phase_planned(phase, new, 2, (done,)))] == [False, True]
    refused(phase_planned(phase, answered(PLAN, {"steps": MANY}), 1), "40 steps in `screen`", "join those that belong")


def test_realistic_plans_are_taken_as_they_are() -> None:
    vi = good(plan(*VI_PLAN, goal=VI))
    assert [step.name for step in vi] == [step["name"] for step in VI_PLAN]
    assert [step.name for step in vi if step.plan_first] == ["buffer", "motions", "modes", "history"]
    inside = good(phase_planned(vi[1], answered(PLAN, {"steps": VI_BUFFER}), 2, vi[:1]))
    assert [step.needs for step in inside] == [(), ("insert-text",)]
    rates = good(plan(*RATES_PLAN, goal=RATES, depth=1))
    assert [step.needs for step in rates][-2:] == [("money", "feed", "customer-setting"), ("cart",)]
    checked(Plan(Step("goal", VI.instructions, steps=(*vi[:1], *inside, *vi[2:]))))


# ── what follows a finished phase changes ───────────────────────────────────────────────────────────────────────


def level(*names: str) -> Step:
    steps = good(plan(*(a_step(name) for name in names)))
    return Step("goal", GOAL.instructions, steps=steps)


def change(parent: Step, *changes: dict[str, Any], begun: frozenset[str] = frozenset({"load"})) -> Changed | Problems:
    return changed_plan(parent, answered(CHANGE, {"changes": list(changes)}), begun, 3)


def changes_of(changed: Changed | Problems) -> Changed:
    assert isinstance(changed, Changed), str(changed)
    return changed


def test_most_often_nothing_changes() -> None:
    parent = level("load", "save", "show")
    assert change(parent) == Changed(parent.steps)


def test_later_steps_are_added_dropped_and_reworded() -> None:
    parent = level("load", "save", "show", "sort")
    changed = changes_of(
        change(
            parent,
            {"change": "drop", "name": "save", "reason": "load() already saves."},
            {"change": "reword", "name": "show", "reason": "It is called Entry.", "instructions": "Print each Entry."},
            {"change": "add", "after": "load", "reason": "The file can be locked."} | a_step("lock"),
        )
    )
    assert [(step.name, step.needs) for step in changed.steps] == [
        ("load", ()),
        ("lock", ("load",)),
        ("show", ("load",)),
        ("sort", ("show",)),
    ]
    assert changed.steps[2].instructions == "Print each Entry."
    assert changed.steps[2].criteria == parent.steps[2].criteria
    assert changed.said == (
        "dropped `save`: load() already saves.",
        "reworded `show`: It is called Entry.",
        "added `lock`: The file can be locked.",
    )


def test_a_reworded_phase_is_planned_anew() -> None:
    inner = [a_step("keys"), a_step("draw")]
    steps = good(plan(a_step("load"), a_step("screen", phase=True, steps=inner)))
    parent = Step("goal", GOAL.instructions, steps=steps)
    reworded = {"change": "reword", "name": "screen", "reason": "No curses here."}
    new = changes_of(change(parent, reworded | {"instructions": "Print entries as plain lines."})).steps[1]
    assert (new.plan_first, new.steps) == (True, ())
    same = changes_of(change(parent, reworded | {"complexity": 4})).steps[1]
    assert (same.plan_first, len(same.steps), same.complexity) == (False, 2, 4)


def test_an_added_step_never_comes_before_one_that_has_begun() -> None:
    begun = frozenset({"load", "save"})
    added = {"change": "add", "after": "load", "reason": "Needed.", **a_step("lock", phase=True)}
    changed = changes_of(change(level("load", "save", "show"), added, begun=begun))
    assert [step.name for step in changed.steps] == ["load", "save", "lock", "show"]
    assert changed.steps[2].plan_first


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{"change": "drop", "name": "load", "reason": "x"}], "`load` has begun or is done"),
        ([{"change": "reword", "name": "load", "reason": "x", "instructions": "y"}], "`load` has begun or is done"),
        ([{"change": "drop", "name": "nope", "reason": "x"}], "no step `nope` to drop: to come are `save`, `show`"),
        ([{"change": "add", "after": "nope", "reason": "x", **a_step("lock")}], "which is not a step here"),
        ([{"change": "add", "reason": "x", **a_step("lock", needs=["nope"])}], "needs `nope`"),
        ([{"change": "add", "reason": "x", **a_step("lock", criteria=[])}], "cannot be proven"),
        (
            [{"change": "add", "reason": "x", **a_step("twin")} | {"instructions": a_step("save")["instructions"]}],
            "same",
        ),
        ([{"change": "add", "reason": "x", **a_step(f"n{n}")} for n in range(8)], "There would be 11 steps"),
        ([{"change": "reword", "name": "save", "reason": "x", "instructions": GOAL.instructions}], "the whole again"),
        ([{"change": "reword", "name": "save", "reason": "x", "needs": ["show"]}], "circle: `save` → `show` → `save`"),
        ([{"change": "rename", "name": "save", "reason": "x"}], "`changes[0].change` is wrong"),
        ([{"change": "drop", "name": "save"}], "`changes[0].reason` is missing"),
    ],
)
def test_a_bad_change_is_refused(changes: list[dict[str, Any]], said: str) -> None:
    refused(change(level("load", "save", "show"), *changes), said)


# ── splitting ───────────────────────────────────────────────────────────────────────────────────────────────────

PARENT = Step(
    "storage",
    "Keep the entries in a JSON file: load it, save it without losing the old one, lock it against other processes.",
    criteria=("a missing file gives []", "a crash while saving leaves the old file", "two processes cannot both save"),
)
SPLIT_STEPS = [a_step("load", covers=[1]), a_step("save", covers=[2]), a_step("lock", covers=[2, 3])]


def split(*steps: dict[str, Any], taken: frozenset[str] = NOTHING) -> tuple[Step, ...] | Problems:
    return decomposed(PARENT, answered(SPLIT, {"steps": list(steps)}), taken)


def test_a_task_is_split_in_order_and_every_criterion_has_one_owner() -> None:
    steps = good(split(*SPLIT_STEPS))
    assert [(step.name, step.needs) for step in steps] == [("load", ()), ("save", ("load",)), ("lock", ("save",))]
    assert steps[0].criteria == ("load_entries([]) == []", "a missing file gives []")
    assert steps[1].criteria == ("save_entries([]) == []",), "the last step that covers a criterion has it"
    assert steps[2].criteria[1:] == PARENT.criteria[1:]
    assert all((step.on_error, step.context) == ("escalate", "inherited") for step in steps)


def test_steps_of_a_split_may_be_told_to_be_independent() -> None:
    load, save, lock = SPLIT_STEPS
    steps = good(split(load, save | {"needs": []}, lock | {"needs": ["load"]}))
    assert [step.needs for step in steps] == [(), (), ("load",)]


def test_a_name_that_is_taken_gets_a_number() -> None:
    steps = good(split(*SPLIT_STEPS, taken=frozenset({"load", "lock", "lock-2"})))
    assert [(step.name, step.needs) for step in steps] == [
        ("load-2", ()),
        ("save", ("load-2",)),
        ("lock-3", ("save",)),
    ]


def test_a_parent_without_criteria_has_none_to_assign() -> None:
    bare = Step("storage", PARENT.instructions)
    assert len(good(decomposed(bare, answered(SPLIT, {"steps": SPLIT_STEPS}), NOTHING))) == 3


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "There are 0 steps: give 2 to 4."),
        (SPLIT_STEPS[:1], "There are 1 steps: give 2 to 4."),
        (MANY[:5], "There are 5 steps: give 2 to 4."),
        ([SPLIT_STEPS[0], SPLIT_STEPS[1]], "No step covers criterion 3 (`two processes cannot both save`)"),
        ([*SPLIT_STEPS[:2], a_step("lock", covers=[3, 7])], "covers criterion 7: they are numbered 1 to 3"),
        ([SPLIT_STEPS[0], a_step("x", covers=[2, 3]) | {"instructions": PARENT.instructions}], "says the whole again"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[2] | {"instructions": SPLIT_STEPS[0]["instructions"]}], "are the same"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[2] | {"criteria": ["works well"]}], "cannot be checked"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[0]], "Two steps are called `load`"),
        ([SPLIT_STEPS[0] | {"needs": ["lock"]}, *SPLIT_STEPS[1:]], "circle"),
        ([*SPLIT_STEPS[:2], a_step("lock", covers="all")], "`steps[2].covers` is wrong"),
    ],
)
def test_a_bad_split_is_refused(steps: list[dict[str, Any]], said: str) -> None:
    refused(split(*steps), said)


def test_a_task_is_planned_anew_by_another_way() -> None:
    kept = (Step("load", a_step("load")["instructions"], criteria=("a missing file gives []",)),)
    blocked = (Step("lock", "Write todo/lock.py with the function lock_entries that uses fcntl on the JSON file."),)
    again = [a_step("lockfile", covers=[2, 3]), a_step("save")]
    again[0]["instructions"] = "Implement lock_entries in todo/lock.py; use fcntl on the JSON file."

    def anew(*steps: dict[str, Any]) -> tuple[Step, ...] | Problems:
        return replanned(PARENT, answered(SPLIT, {"steps": list(steps)}), kept, blocked, frozenset({"lock"}))

    refused(anew(*again), "`lockfile` is `lock` again, which did not work")
    refused(anew(a_step("load", covers=[2, 3]), a_step("save")), "is what `load` has done already")
    refused(anew(*MANY[:4]), "There are 4 steps: give 2 to 3.")
    refused(anew(a_step("rename", covers=[2]), a_step("save")), "No step covers criterion 3")
    steps = good(anew(a_step("rename", covers=[2], needs=["load"]), a_step("lock", covers=[3])))
    assert [(step.name, step.needs) for step in steps] == [("rename", ("load",)), ("lock-2", ("rename",))]


def test_one_focused_step_is_made_without_a_model() -> None:
    parent = Step("storage", "Keep {entries}.", criteria=("it loads",), test_command="pytest tests/test_storage.py")
    step = focused(parent, "test_load: KeyError: '{id}'", prompt("focus"), frozenset({"fix-storage"}))
    assert step.name == "fix-storage-2"
    assert (step.test_command, step.criteria) == (parent.test_command, parent.criteria)
    assert "KeyError: '{id}'" in step.instructions and "Keep {entries}." in step.instructions
    assert (step.on_error, step.context) == ("escalate", "inherited")


# ── the measures ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("parent", "child"), RESTATEMENTS, ids=lambda step: step.name)
def test_a_restatement_is_not_smaller(parent: Step, child: Step) -> None:
    assert not smaller(child, parent), child.instructions


@pytest.mark.parametrize(("parent", "child"), HONEST, ids=lambda step: step.name)
def test_an_honest_part_is_smaller(parent: Step, child: Step) -> None:
    assert smaller(child, parent), child.instructions


def test_honest_parts_of_the_same_parent_differ_from_each_other() -> None:
    for parent in {parent.name: parent for parent, _ in HONEST}.values():
        parts = [child.instructions for p, child in HONEST if p is parent]
        steps = [a_step(f"s{n}") | {"instructions": text} for n, text in enumerate(parts[:10])]
        good(planned(parent, answered(PLAN, {"steps": steps}), 2))


@pytest.mark.parametrize(
    "criterion",
    [
        *("works well", "Works as expected.", "The code is clean", "code quality is good", "no bugs", "is done", ""),
        *("slugify works correctly", "User-friendly interface", "The feature is complete", "everything is implemented"),
        *("errors are handled gracefully", "well documented", "All requirements are satisfied"),
    ],
)
def test_a_vague_criterion(criterion: str) -> None:
    assert vague(criterion)


@pytest.mark.parametrize(
    "criterion",
    [
        *("pytest passes", "all tests pass", "ruff reports nothing", "slugify('A b') == 'a-b'", "the build succeeds"),
        *("an empty file gives an empty list", "the README has a section Plugins", "GET /users returns 200"),
        *("undo restores the text before the last change", "the parser works with empty input and trailing commas"),
        *("insert and delete work at any position", "a complete example is in docs/guide.md"),
    ],
)
def test_a_criterion_that_can_be_checked(criterion: str) -> None:
    assert not vague(criterion)


# ── whatever a model answers ────────────────────────────────────────────────────────────────────────────────────

WORDS = st.sampled_from(["load", "save", "Load", "goal", "", "読み", "x" * 50, "works well", "true", "../a", "a.py"])
FIELD = WORDS | st.integers(-3, 12) | st.none() | st.booleans() | st.lists(WORDS | st.integers(0, 5), max_size=3)
STEP = st.dictionaries(
    st.sampled_from([*PLAN.parameters["properties"]["steps"]["items"]["properties"], "covers", "change", "reason"]),
    FIELD,
) | st.sampled_from(SPLIT_STEPS)
ANSWER = st.fixed_dictionaries({"steps": st.lists(STEP, max_size=5), "changes": st.lists(STEP, max_size=5)}) | FIELD


@given(ANSWER, st.sampled_from([GATE, PLAN, SPLIT, CHANGE]), st.booleans())
def test_garbage_never_raises(value: Any, spec: ToolSpec, call: bool) -> None:
    answer = answered(spec, value) if call else Answer(f"So: {json.dumps(value)}")
    parent = level("load", "save", "show")
    assert isinstance(gate(answer), Estimate | Problems)
    assert isinstance(changed_plan(parent, answer, frozenset({"load"}), 2), Changed | Problems)
    for steps in (
        planned(GOAL, answer, 2),
        phase_planned(PARENT, answer, 1),
        decomposed(PARENT, answer, frozenset({"load"})),
        replanned(PARENT, answer, parent.steps[:1], parent.steps[1:], frozenset({"show"})),
    ):
        if isinstance(steps, Problems):
            assert steps.said
            continue
        assert len({step.name for step in steps}) == len(steps) >= 2
        assert all(step.name == slug(step.name) and step.instructions for step in steps)
        assert not in_order(steps)[1]


# ── the prompts ─────────────────────────────────────────────────────────────────────────────────────────────────


def prompt(name: str) -> str:
    return files("bough.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")


SIZE = brief.Size(214, 38_000, ("Python", "TypeScript"))
PAST = (
    brief.Past("load", "completed", "Wrote load().", ("todo/load.py",)),
    brief.Past("lock", "blocked", "fcntl hangs."),
)
NOTES = (Note("dead_end", "fcntl hangs on this file system"),)
TREE = "todo/__init__.py\ntodo/store.py"
RENDERED: dict[str, tuple[ToolSpec | None, dict[str, str]]] = {
    "gate": (GATE, brief.gate(GOAL, SIZE, command="pytest", files=TREE, project="Use tabs.")),
    "planner": (
        PLAN,
        brief.planner(
            GOAL,
            SIZE,
            3,
            estimate=Estimate(False, 12, ("storage", "screen"), ("cli", "files"), "Two layers."),
            command="pytest",
            files=TREE,
            wish="Leave the screen out.",
            proposed=level("load", "save").steps,
        ),
    ),
    "phase_planner": (
        PLAN,
        brief.phase_planner(PARENT, "storage", GOAL, SIZE, 2, past=PAST, later=level("show", "sort").steps, kept=NOTES),
    ),
    "plan_change": (CHANGE, brief.change(GOAL, PAST, level("show", "sort").steps, NOTES)),
    "decomposer": (SPLIT, brief.decomposer(PARENT, "storage", "the same error 3 times", diff="+x = {}", kept=NOTES)),
    "replan": (SPLIT, brief.replan(PARENT, "storage", "all steps are over", PAST, kept=NOTES, command="pytest")),
    "replan_goal": (SPLIT, brief.replan_goal(GOAL, "storage is blocked", PAST, kept=NOTES)),
    "plan_repair": (PLAN, brief.repair("plan", Problems(("Two steps are called `load`.",)))),
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
    assert "no phases here" in brief.levels(1)
    assert str(brief.Size(0, 0)) == "Empty: there are no files yet."


def test_long_material_is_cut_in_the_middle() -> None:
    text = render(prompt("decomposer"), brief.decomposer(PARENT, "storage", "a" * 90_000, diff="b" * 90_000))
    assert len(text) < 40_000 and "characters left out" in text
