"""Plans as models give them: the good ones taken, the bad ones refused with a reason that helps."""

from typing import Any

import pytest
from msgspec.structs import replace

from bough.core.messages import Answer
from bough.core.planning.decomposition import read_plan
from bough.core.planning.guidance import SizeEstimate, choose_advice, choose_proposal, read_estimate
from bough.core.planning.plan import Plan, Step, validate_plan
from bough.core.planning.tool_specs import GATE, PLAN
from tests.core.answers import GOAL, MANY, a_step, answered, good, plan, refused
from tests.core.planner_answers import RATES, RATES_PLAN, VI, VI_BUFFER, VI_PLAN

# ── the gate ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_estimate_is_read() -> None:
    got = read_estimate(
        answered(GATE, {"reason": "One flag.", "steps": 1, "atomic": True, "phases": [], "domains": ["cli"]})
    )
    assert got == SizeEstimate(True, 1, (), ("cli",), "One flag.")


@pytest.mark.parametrize(("atomic", "steps", "taken"), [(True, 3, True), (True, 12, False), (False, 1, True)])
def test_an_estimate_that_contradicts_itself_is_taken_at_its_number(atomic: bool, steps: int, taken: bool) -> None:
    got = read_estimate(answered(GATE, {"reason": "Well.", "steps": steps, "atomic": atomic}))
    assert isinstance(got, SizeEstimate) and got.atomic is taken


@pytest.mark.parametrize("value", [{}, {"steps": 0, "atomic": False}, {"steps": "many", "atomic": False}, {"steps": 3}])
def test_a_wrong_estimate_is_refused(value: dict[str, Any]) -> None:
    refused(read_estimate(answered(GATE, value)))


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
    estimate = SizeEstimate(False, steps, phases, domains)
    assert choose_advice(estimate) == advised
    assert choose_proposal(estimate, 3) == proposed
    assert choose_proposal(estimate, 1) == "flat"
    assert choose_proposal(estimate, 0) == "leaf"


def test_an_atomic_goal_is_a_leaf_without_asking() -> None:
    estimate = SizeEstimate(True, 1, ("a", "b"), ("c", "d"))
    assert (choose_proposal(estimate, 3), choose_advice(estimate)) == ("leaf", "take")


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
    validate_plan(Plan(Step("goal", "x", steps=(store, listing, docs))))


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


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "no step in the plan"),
        ([a_step("load")], "one step in the plan"),
        (MANY, "40 steps in the plan; the limit at one level is 10: group them into phases"),
        ([a_step("load", needs=["save"]), a_step("save", needs=["load"])], "cycle: `load` → `save` → `load`"),
        ([a_step("load", needs=["load"]), a_step("save")], "`load` needs itself"),
        (
            [a_step("load", needs=["disk"]), a_step("save")],
            "needs `disk`, which is not a step here; the steps are `save`",
        ),
        ([a_step("load"), a_step("Load!")], "Two steps are called `load`"),
        ([a_step("load"), a_step("save") | {"instructions": a_step("load")["instructions"]}], "are the same"),
        ([a_step("all") | {"instructions": GOAL.instructions}, a_step("save")], "`all` restates the whole"),
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
    refused(read_plan(GOAL, answered(PLAN, {"steps": steps}), 3), said)


@pytest.mark.parametrize("text", ["", "First I would look around.", "1. load\n2. save", "{}", "null", '{"steps": ['])
def test_prose_instead_of_a_plan_is_refused(text: str) -> None:
    refused(read_plan(GOAL, Answer(text), 3))


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


def test_a_phase_within_a_plan_is_planned_when_it_starts() -> None:
    phase = Step("screen", "Draw the entries on the terminal with colours and keys to move between them.")
    new = answered(PLAN, {"steps": [a_step("keys"), a_step("draw", phase=True)]})
    assert [step.plan_first for step in good(read_plan(phase, new, 2))] == [False, True]
    refused(read_plan(phase, answered(PLAN, {"steps": MANY}), 1), "40 steps in `screen`", "join those that belong")


def test_realistic_plans_are_taken_as_they_are() -> None:
    vi = good(plan(*VI_PLAN, goal=VI))
    assert [step.name for step in vi] == [step["name"] for step in VI_PLAN]
    assert [step.name for step in vi if step.plan_first] == ["buffer", "motions", "modes", "history"]
    inside = good(read_plan(vi[1], answered(PLAN, {"steps": VI_BUFFER}), 2))
    assert [step.needs for step in inside] == [(), ("insert-text",)]
    rates = good(plan(*RATES_PLAN, goal=RATES, depth=1))
    assert [step.needs for step in rates][-2:] == [("money", "feed", "customer-setting"), ("cart",)]
    validate_plan(Plan(Step("goal", VI.instructions, steps=(vi[0], replace(vi[1], steps=inside), *vi[2:]))))


def test_what_a_person_allowed_holds_for_the_parts_and_only_that() -> None:
    allowed = Step("goal", GOAL.instructions, may_edit_tests=True, requires_testing=False, model="strong")
    for step in good(plan(a_step("load", may_edit_tests=False), a_step("save"), goal=allowed)):
        assert (step.may_edit_tests, step.requires_testing, step.model) == (True, False, "strong")
    for step in good(plan(a_step("load", may_edit_tests=True, model="strong", rounds=99), a_step("save"))):
        assert (step.may_edit_tests, step.requires_testing, step.model, step.rounds) == (False, True, "main", None)
