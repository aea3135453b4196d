"""What a file says becomes a plan, and everything that is wrong with it is said at once."""

import time

import pytest
from msgspec.structs import asdict

from bough.core.planning.plan import Condition, Retry, Step, validate_plan
from bough.core.workflow.loading import load
from tests.core.workflow.loader import A, B, C, loaded, only, steps, wrong

EVERY_KEY = """
name = "all-keys"
title = "All keys"
description = "What it is for."
criteria = ["works"]
test_command = "make test"
rounds = 99
[[steps]]
name = "one"
title = "The first"
action = "Do it."
criteria = ["done", "well"]
test_file = "tests/test_one.py"
may_edit_tests = true
files = ["a.py"]
complexity = 3
rounds = 7
role = "bug_hunter"
model = "strong"
context_mode = "inherited"
summarize = true
on_error = "retry"
max_retries = 4
retry = { wait = 1.5, growth = 2 }
[[steps]]
name = "two"
description = "Together."
needs = ["one"]
condition = "not one.has_errors"
parallel = true
join = "any"
repeat = 3
until = "x.contains:ok"
on_error = "escalate"
requires_testing = false
[[steps.steps]]
name = "x"
action = { run = "make x" }
on_error = "skip"
[[steps.steps]]
name = "y"
action = { check = "make y" }
needs = ["x"]
[[steps.steps]]
name = "z"
action = "Later."
plan_first = true
[[steps]]
name = "three"
repeat = 2
[[steps.steps]]
name = "stop"
do = "break"
"""


def test_every_key() -> None:
    work = loaded(EVERY_KEY)
    assert (work.name, work.description) == ("all-keys", "What it is for.")
    assert validate_plan(work.plan) == work.plan
    assert work.plan.goal == Step(
        "goal",
        "What it is for.",
        "All keys",
        ("works",),
        test_command="make test",
        rounds=99,
        steps=(
            Step(
                "one",
                "Do it.",
                "The first",
                ("done", "well"),
                test_file="tests/test_one.py",
                may_edit_tests=True,
                files=("a.py",),
                complexity=3,
                rounds=7,
                role="bug_hunter",
                model="strong",
                context="inherited",
                summarize=True,
                on_error="retry",
                max_retries=4,
                retry=Retry(1.5, 2.0),
            ),
            Step(
                "two",
                "Together.",
                needs=("one",),
                condition=Condition("has_errors", "one", negated=True),
                parallel=True,
                join="any",
                repeat=3,
                until=Condition("contains", "x", "ok"),
                on_error="escalate",
                requires_testing=False,
                steps=(
                    Step("x", run="make x", requires_testing=False, on_error="skip"),
                    Step("y", test_command="make y", needs=("x",)),
                    Step("z", "Later.", plan_first=True),
                ),
            ),
            Step("three", repeat=2, steps=(Step("stop", do="break"),)),
        ),
    )
    assert set(asdict(work.plan.goal)) == set(Step.__struct_fields__)


def test_a_workflow_may_be_one_leaf() -> None:
    goal = loaded('action = "Do it."\ndescription = "For people"\ntest_command = "true"').plan.goal
    assert goal == Step("goal", "Do it.", "For people", test_command="true")


def test_a_critic_and_a_command_need_no_check_unless_one_is_named() -> None:
    text = A + 'role = "critic"\n' + '[[steps]]\nname = "r"\naction = { run = "x" }\n'
    assert [step.requires_testing for step in steps(text)] == [False, False]
    text += 'test_command = "y"\n'
    assert [step.requires_testing for step in steps(text)] == [False, True]


# ── order, conditions, control ──────────────────────────────────────────────────────────────────────────────────────


def test_needs() -> None:
    assert "did you mean `alpha`?" in only('[[steps]]\nname = "alpha"\naction = "x"\n' + B + 'needs = ["alhpa"]\n')
    assert "`a` needs itself" in only(A + 'needs = ["a"]\n')
    assert "which is written after it" in only(A + 'needs = ["b"]\n' + B)
    circle = "parallel = true\n" + A + 'needs = ["c"]\n' + B + 'needs = ["a"]\n' + C + 'needs = ["b"]\n'
    assert only(circle) == "5: These steps need each other: a → c → b → a."


def test_names() -> None:
    assert only(A + A) == "5: Two steps here are called `a`: give each a name of its own."
    assert "use `insert-a-line`" in only('[[steps]]\nname = "Insert a line"\naction = "x"\n')
    assert "is not a valid step name" in only('[[steps]]\nname = "goal"\naction = "x"\n')
    assert only('[[steps]]\naction = "x"\n').startswith("1: A step has no name")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (A + 'condition = "success"\n', "no step before"),
        (A + B + 'condition = "aa.success"\n', "did you mean `a`?"),
        (A + 'condition = "b.success"\n' + B, "write it before"),
        (A + B + 'condition = "sucess"\n', "did you mean `success`?"),
        (A + B + 'condition = "failure"\n', 'on_error = "skip"'),
        ("parallel = true\n" + A + B + 'condition = "success"\n', "name one, as in `STEP.success`"),
        ("parallel = true\n" + A + B + 'condition = "a.success"\n', 'needs = ["a"]'),
        (
            '[[steps]]\nname = "l"\nrepeat = 2\nuntil = "x.empty"\nsteps = [{ name = "y", action = "z" }]',
            "None of its steps is called `x`: use `y`.",
        ),
        ('[[steps]]\nname = "l"\nuntil = "empty"\nsteps = [{ name = "y", action = "z" }]', "`repeat = N`"),
        ('[[steps]]\nname = "l"\nsteps = [{ name = "y", do = "continue" }]', "No enclosing step repeats"),
        ('[[steps]]\nname = "l"\nparallel = true\nsteps = [{ name = "y", do = "break" }]', "A parallel step cannot"),
        (A + 'join = "any"\n', "`join` does nothing in a step for an agent"),
        ('join = "any"\n' + A, "needs `parallel = true`"),
        (A + "max_retries = 2\n", 'needs `on_error = "retry"`'),
        (A + "repeat = 2\n", "`repeat` does nothing in"),
        ('[[steps]]\nname = "r"\naction = { run = "x" }\nrole = "critic"\n', "`role` does nothing in a `run` step"),
        (A + 'role = "planner"\n', "`plan_first = true`"),
        (A + "max_retries = 1000000000000000000000000\n", "`max_retries` is invalid: expected a whole number <= 100"),
        (A + "rounds = true\n", "expected a whole number, got true or false"),
        (A + "steps = []\n", "are mutually exclusive"),
        ("steps = []\n", "There are no steps here"),
        ("[[steps]]\nname = 'a'\n", "Nothing to do here"),
        ("", "The workflow is empty"),
        ("description = 'x'\n", "Nothing to do here"),
        ("needs = ['a']\n" + A, "only steps do"),
        (A + "depends_on = ['a']\n", "did you mean `needs`?"),
        (A + "command = 'x'\n", "did you mean `action = { run = … }`?"),
        (A.replace('"do a"', '" "'), "The action is empty"),
        ("[[steps]]\nname = 'a'\naction = { run = 'x', check = 'y' }\n", "exactly one of"),
        ("[[steps]]\nname = 'a'\naction = { rum = 'x' }\n", "did you mean `run`?"),
        ("[[steps]]\nname = 'a'\naction = 3\n", "expected text or a table, got a whole number"),
        ("steps = [3]\n", "`steps` is invalid: expected a table, got a whole number"),
        ("steps = { name = 'a' }\n", "`steps` is invalid: expected a list, got a table"),
        (A + "retry = { waits = 3 }\non_error = 'retry'\n", "did you mean `wait`?"),
        (A + "retry = { wait = nan }\non_error = 'retry'\n", "expected a number >= 0"),
        ("name = 'Not a slug'\n" + A, "use `not-a-slug`"),
        (A + "title = 'x'\ndescription = 'y'\n", "use one."),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert any(said in problem for problem in wrong(text)), wrong(text)


def test_everything_that_is_wrong_is_said_at_once_and_in_place() -> None:
    text = """\
nmae = "x"
[[steps]]
name = "a"
on_error = "retyr"
action = "{what}"

[[steps]]
name = "a"
needs = [
    "b",
]
action = "x"
condition = "maybe"
"""
    assert [problem.split(":")[0] for problem in wrong(text)] == ["1", "4", "5", "8", "10", "13"]


def test_depth() -> None:
    def nested(levels: int) -> str:
        return "".join(
            f"[[{'.'.join(['steps'] * level)}]]\nname = 's{level}'\n" + ("action = 'x'\n" if level == levels else "")
            for level in range(1, levels + 1)
        )

    assert loaded(nested(3)).plan.goal.steps[0].steps[0].steps[0].instructions == "x"
    assert only(nested(4)) == "7: Steps are nested deeper than 3 levels here: lift them up one level."
    assert len(wrong(nested(100))) == 1


# ── size ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def large() -> str:
    """1,000 steps nested 3 deep, 100 of them parallel."""
    text = '[inputs]\nx = { default = "it" }\n'
    for i in range(10):
        text += f'[[steps]]\nname = "p{i}"\ndescription = "Phase {i}"\n'
        for j in range(9):
            text += f'[[steps.steps]]\nname = "q{j}"\n'
            if j == 0:
                text += "parallel = true\n"
            for k in range(10):
                text += f'[[steps.steps.steps]]\nname = "r{k}"\naction = "Do {{x}} in part {k}."\n'
                text += f'test_command = "make t{k}"\n'
    return text


def test_a_thousand_steps_load_at_once() -> None:
    text = large()
    assert text.count("name =") == 1000
    began = time.process_time()
    work = load(text, inputs={})
    took = time.process_time() - began
    assert sum(len(q.steps) for p in work.plan.goal.steps for q in p.steps) == 900
    # Some 70 ms on a quiet machine, more than half of it in the standard library's reader.
    assert took < 0.5, f"{took:.3f} s"
