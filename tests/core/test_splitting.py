"""Smaller steps for a stuck task, and the measures they are checked against."""

from importlib.resources import files
from typing import Any

import pytest

from bough.core.conversation.structured_answer import Problems
from bough.core.planning.decomposition import build_focus_step, find_repetitions, read_plan, read_replan, read_split
from bough.core.planning.plan import Step
from bough.core.planning.similarity import is_smaller, is_vague
from bough.core.planning.tool_specs import PLAN, SPLIT
from tests.core.answers import MANY, NOTHING, PARENT, SPLIT_STEPS, a_step, answered, good, refused
from tests.core.restatements import HONEST, RESTATEMENTS


def split(*steps: dict[str, Any], taken: frozenset[str] = NOTHING) -> tuple[Step, ...] | Problems:
    return read_split(PARENT, answered(SPLIT, {"steps": list(steps)}), taken)


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
    assert len(good(read_split(bare, answered(SPLIT, {"steps": SPLIT_STEPS}), NOTHING))) == 3


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "There are 0 steps: give 2 to 4."),
        (SPLIT_STEPS[:1], "There are 1 steps: give 2 to 4."),
        (MANY[:5], "There are 5 steps: give 2 to 4."),
        ([SPLIT_STEPS[0], SPLIT_STEPS[1]], "No step covers criterion 3 (`two processes cannot both save`)"),
        ([*SPLIT_STEPS[:2], a_step("lock", covers=[3, 7])], "covers criterion 7, but criteria are numbered 1 to 3"),
        ([SPLIT_STEPS[0], a_step("x", covers=[2, 3]) | {"instructions": PARENT.instructions}], "restates the whole"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[2] | {"instructions": SPLIT_STEPS[0]["instructions"]}], "are the same"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[2] | {"criteria": ["works well"]}], "cannot be checked"),
        ([*SPLIT_STEPS[:2], SPLIT_STEPS[0]], "Two steps are called `load`"),
        ([SPLIT_STEPS[0] | {"needs": ["lock"]}, *SPLIT_STEPS[1:]], "cycle"),
        ([*SPLIT_STEPS[:2], a_step("lock", covers="all")], "`steps[2].covers` is wrong"),
    ],
)
def test_a_bad_split_is_refused(steps: list[dict[str, Any]], said: str) -> None:
    refused(split(*steps), said)


def test_a_task_is_replanned_by_another_way() -> None:
    kept = (Step("load", a_step("load")["instructions"], criteria=("a missing file gives []",)),)
    blocked = (Step("lock", "Write todo/lock.py with the function lock_entries that uses fcntl on the JSON file."),)
    again = [a_step("lockfile", covers=[2, 3]), a_step("save")]
    again[0]["instructions"] = "Implement lock_entries in todo/lock.py; use fcntl on the JSON file."

    def replan(*steps: dict[str, Any]) -> tuple[Step, ...] | Problems:
        return read_replan(PARENT, answered(SPLIT, {"steps": list(steps)}), kept, blocked, frozenset({"lock"}))

    refused(replan(*again), "`lockfile` repeats `lock`, which did not work")
    refused(replan(a_step("load", covers=[2, 3]), a_step("save")), "repeats what `load` has done")
    refused(replan(*MANY[:4]), "There are 4 steps: give 2 to 3.")
    refused(replan(a_step("rename", covers=[2]), a_step("save")), "No step covers criterion 3")
    steps = good(replan(a_step("rename", covers=[2], needs=["load"]), a_step("lock", covers=[3])))
    assert [(step.name, step.needs) for step in steps] == [("rename", ("load",)), ("lock-2", ("rename",))]


def test_one_focused_step_is_made_without_a_model() -> None:
    parent = Step("storage", "Keep {entries}.", criteria=("it loads",), test_command="pytest tests/test_storage.py")
    step = build_focus_step(
        parent,
        "test_load: KeyError: '{id}'",
        files("bough.prompts").joinpath("focus.md").read_text(),
        frozenset({"fix-storage"}),
    )
    assert step.name == "fix-storage-2"
    assert (step.test_command, step.criteria) == (parent.test_command, parent.criteria)
    assert "KeyError: '{id}'" in step.instructions and "Keep {entries}." in step.instructions
    assert (step.on_error, step.context) == ("escalate", "inherited")


# ── the measures ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("parent", "child"), RESTATEMENTS, ids=lambda step: step.name)
def test_a_restatement_is_not_smaller(parent: Step, child: Step) -> None:
    assert not is_smaller(child, parent), child.instructions


@pytest.mark.parametrize(("parent", "child"), HONEST, ids=lambda step: step.name)
def test_an_honest_part_is_smaller(parent: Step, child: Step) -> None:
    assert is_smaller(child, parent), child.instructions


def test_what_all_steps_share_does_not_make_them_the_whole() -> None:
    common = "to the async client; keep the public API, retry on timeouts, and log errors as JSON."
    whole = Step("port", f"Port the storage modules accounts, orders and invoices {common}")
    parts = [Step(name, f"Port {name} {common}") for name in ("accounts", "orders", "invoices")]
    assert find_repetitions(parts, whole) == []
    assert not any(is_smaller(part, whole) for part in parts), "each of them alone reads like the whole"


def test_honest_parts_of_the_same_parent_differ_from_each_other() -> None:
    for parent in {parent.name: parent for parent, _ in HONEST}.values():
        parts = [child.instructions for p, child in HONEST if p is parent]
        steps = [a_step(f"s{n}") | {"instructions": text} for n, text in enumerate(parts[:10])]
        good(read_plan(parent, answered(PLAN, {"steps": steps}), 2))


@pytest.mark.parametrize(
    "criterion",
    [
        *("works well", "Works as expected.", "The code is clean", "code quality is good", "no bugs", "is done", ""),
        *("slugify works correctly", "User-friendly interface", "The feature is complete", "everything is implemented"),
        *("errors are handled gracefully", "well documented", "All requirements are satisfied"),
    ],
)
def test_a_vague_criterion(criterion: str) -> None:
    assert is_vague(criterion)


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
    assert not is_vague(criterion)
