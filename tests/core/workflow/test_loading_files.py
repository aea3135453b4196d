"""Workflow files that use other files, and steps that are states."""

import pytest

from bough.core.planning.plan import Condition, Exits, Machine, Transition
from bough.core.workflow.loading import load
from bough.core.workflow.placeholders import fill_places
from bough.core.workflow.problems import WorkflowError
from tests.core.workflow.loader import A, loaded, only, wrong

PART = """\
description = "Part of {what}"
test_command = "make {what}"
[inputs]
what = {}
n = { type = "int", default = 2 }
[[steps]]
name = "a"
action = "{what} {n}"
[[steps]]
name = "b"
action = "{steps.a.result}"
"""


def use(name: str, file: str, inputs: str = "") -> str:
    return f'[[steps]]\nname = "{name}"\naction = {{ workflow = "{file}"{inputs} }}\n'


def test_a_workflow_is_put_into_another() -> None:
    text = A + use("p", "parts/p.toml", ', inputs = { what = "<{steps.a.result}>", n = 5 }').replace(
        'workflow = "parts/p.toml"', 'workflow = "./parts/p.toml"'
    )
    with pytest.raises(WorkflowError) as caught:
        loaded(text, {"parts/p.toml": PART})
    places = [(problem.file, problem.line) for problem in caught.value.problems]
    assert places == [("parts/p.toml", 1), ("parts/p.toml", 2)], "a result fits neither a description nor a check"
    part = PART.replace(" of {what}", "").replace("make {what}", "make it")
    (_, p) = loaded(text, {"parts/p.toml": part}).plan.goal.steps
    assert (p.name, p.instructions, p.test_command) == ("p", "Part", "make it")
    assert [step.instructions for step in p.steps] == ["<{steps.a.result}> 5", "{steps.p/a.result}"]
    assert fill_places(p.steps[0].instructions, {"a": "{n}"}) == "<{n}> 5"


def test_what_the_outer_file_says_of_it_counts() -> None:
    text = use("p", "p.toml", ', inputs = { what = "x" }') + 'test_command = "other"\non_error = "skip"\n'
    (p,) = loaded(text, {"p.toml": PART}).plan.goal.steps
    assert (p.test_command, p.on_error, p.instructions) == ("other", "skip", "Part of x")


def test_a_file_that_is_nothing_but_another_has_its_steps() -> None:
    """They come with the inputs that it passes on, and with what it says of them."""
    between = '[inputs]\nk = {}\n[action]\nworkflow = "p.toml"\ninputs = { what = "<{k}>" }\n'
    files = {"between.toml": f'test_command = "other"\n{between}', "p.toml": PART}
    (p,) = loaded(use("p", "between.toml", ', inputs = { k = "x" }'), files).plan.goal.steps
    assert (p.instructions, p.test_command) == ("Part of <x>", "other")
    assert [step.instructions for step in p.steps] == ["<x> 2", "{steps.p/a.result}"]


def test_a_plan_that_is_only_a_text_says_what_to_do_instead_of_using_a_file() -> None:
    with pytest.raises(WorkflowError, match=r"p\.toml cannot be read: a plan given as text .* write the steps out"):
        load(use("p", "p.toml"))


def test_files_that_cannot_be_put_in() -> None:
    files = {"p.toml": PART, "loop.toml": use("x", "w.toml"), "bad.toml": "[[steps]]\nname = 1\n", "t.toml": "a = ["}
    assert "There is no" not in only(use("p", "nowhere.toml"), files) and "cannot be read" in only(
        use("p", "x.toml"), files
    )
    for path in ("/etc/x.toml", "../x.toml", "a/../../x.toml", "~/x", ""):
        assert wrong(use("p", path), files)
    assert "uses itself: w.toml → loop.toml → w.toml" in only(use("p", "loop.toml"), files)
    assert "p.toml needs the input `what`" in only(use("p", "p.toml"), files)
    assert "did you mean `what`?" in wrong(use("p", "p.toml", ', inputs = { waht = "x" }'), files)[0]
    assert "`n` is not a whole number" in only(use("p", "p.toml", ', inputs = { what = "x", n = "y" }'), files)
    assert "a step's result is text" in only(
        A + use("p", "p.toml", ', inputs = { what = "", n = "{steps.a.result}" }'), files
    )
    assert [problem[:11] for problem in wrong(use("p", "bad.toml"), files)] == ["bad.toml:1:", "bad.toml:2:"]
    assert only(use("p", "t.toml"), files).startswith("t.toml:1: This is not valid TOML")
    assert "`parallel` does nothing" not in only(use("p", "x.toml") + "parallel = true\n", files)
    deep = {"1.toml": use("b", "2.toml"), "2.toml": use("c", "3.toml"), "3.toml": A}
    assert "nested deeper than 3" in only(use("a", "1.toml"), deep)


def test_inputs_go_through_files() -> None:
    outer = '[inputs]\nk = { type = "int" }\n' + use("p", "p.toml", ', inputs = { what = "w", n = "{k}" }')
    (p,) = loaded(outer, {"p.toml": PART}, k="7").plan.goal.steps
    assert p.steps[0].instructions == "w 7"
    (p,) = loaded(outer, {"p.toml": PART}).plan.goal.steps
    assert p.steps[0].instructions == "w {k}"


STATES = """
start = "draft"
max_transitions = 9
[[states]]
name = "draft"
action = "{steps.review.result}"
transitions = [{ on = "success", to = "review" }]
[[states]]
name = "review"
parallel = true
transitions = [{ on = "contains:no", to = "draft" }, { to = "end" }]
[[states.steps]]
name = "x"
action = "x"
[[states.steps]]
name = "y"
action = "y"
"""


def test_states_are_steps_with_a_machine() -> None:
    work = loaded(STATES)
    assert [step.name for step in work.plan.goal.steps] == ["draft", "review"]
    assert work.plan.goal.steps[1].parallel and work.plan.goal.steps[0].instructions == "{steps.review.result}"
    assert work.plan.goal.machine == Machine(
        "draft",
        (
            Exits("draft", (Transition("review", Condition("success")),)),
            Exits("review", (Transition("draft", Condition("contains", text="no")), Transition("end"))),
        ),
        9,
    )
    below = "[[steps]]\nname = 's'\n" + STATES.replace("[[states", "[[steps.states")
    goal = loaded(below).plan.goal
    assert goal.machine is None and goal.steps[0].machine == work.plan.goal.machine


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('to = "review"', 'to = "reviw"', "did you mean `review`?"),
        ('start = "draft"', 'start = "drat"', "did you mean `draft`?"),
        ("max_transitions = 9", "max_transitions = 51", "expected a whole number <= 50"),
        ('on = "success"', 'on = "sucess"', "did you mean `success`?"),
        ('on = "success"', 'on = "draft.success"', "omit the name"),
        (', to = "review"', "", "The transition has no target"),
        (', to = "review"', ', too = "review"', "did you mean `to`?"),
        ('to = "review" }]', 'to = "end" }]', "No transition leads to the state `review`"),
        ('name = "draft"', 'name = "end"', "give the state another name"),
        ("start =", "repeat = 2\nstart =", "`repeat` is for `steps`"),
        ('action = "{steps', 'needs = ["review"]\naction = "{steps', "only steps do"),
    ],
)
def test_states_that_are_wrong(old: str, new: str, said: str) -> None:
    assert old in STATES
    problems = wrong(STATES.replace(old, new, 1))
    assert any(said in problem for problem in problems), problems
