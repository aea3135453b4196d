"""What a file says becomes a plan, and everything that is wrong with it is said at once."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from msgspec.structs import asdict

from bough.core.errors import UsageError
from bough.core.planning.plan import Condition, Exits, Machine, Retry, Step, Transition, validate_plan
from bough.core.workflow.inputs import parse_pairs
from bough.core.workflow.loading import Workflow, load
from bough.core.workflow.placeholders import fill_places
from bough.core.workflow.problems import WorkflowError


def wrong(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> list[str]:
    """`LINE: sentence` for everything that is wrong."""
    with pytest.raises(WorkflowError) as caught:
        loaded(text, files, **inputs)
    for problem in caught.value.problems:
        assert problem.text.endswith((".", "?")) and "\n" not in problem.text
        assert str(problem) in str(caught.value)
    return [
        f"{problem.file}:{problem.line}: {problem.text}".removeprefix("w.toml:") for problem in caught.value.problems
    ]


def loaded(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> Workflow:
    def read(file: str) -> str:
        if file not in (files or {}):
            raise UsageError("there is no such file")
        return (files or {})[file]

    return load(text, "w.toml", inputs=inputs or None, read=read)


def only(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> str:
    problems = wrong(text, files, **inputs)
    assert len(problems) == 1, problems
    return problems[0]


def steps(text: str, **inputs: str) -> tuple[Step, ...]:
    return loaded(text, None, **inputs).plan.goal.steps


A, B, C = (f'[[steps]]\nname = "{name}"\naction = "do {name}"\n' for name in "abc")


def test_every_key() -> None:
    work = loaded("""
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
""")
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


# ── inputs and results ──────────────────────────────────────────────────────────────────────────────────────────────

INPUTS = """
[inputs]
issue = { description = "what" }
count = { type = "int", default = 3 }
share = { type = "float", default = 0.5 }
loud = { type = "bool", default = true }
where = { type = "path", default = "src" }
"""


def test_inputs_are_put_in() -> None:
    text = INPUTS + (
        '[[steps]]\nname = "a"\naction = "{issue} {count} {share} {loud} {where} {{issue}} {{}}"\n'
        'criteria = ["{issue}"]\ntest_command = "pytest -k {issue} {where}"\nfiles = ["{where}/a.py"]\n'
        '[[steps]]\nname = "b"\naction = { run = "echo {issue}" }\ncondition = "a.contains:{issue}"\n'
    )
    a, b = steps(text, issue="it's {count}", where="-x")
    assert a.instructions == "it's {count} 3 0.5 true ./-x {issue} {}"
    assert a.criteria == ("it's {count}",)
    assert a.test_command == "pytest -k 'it'\"'\"'s {count}' ./-x"
    assert a.files == ("./-x/a.py",)
    assert (b.run, b.env) == ('echo "$INPUT_issue"', {"INPUT_issue": "it's {count}"})
    assert b.condition == Condition("contains", "a", "it's {count}")


def test_a_command_has_the_environment_that_its_step_gives_it() -> None:
    text = INPUTS + A + '[[steps]]\nname = "b"\naction = { run = "echo $WHO {issue}" }\n'
    (_, b) = steps(text + 'env = { WHO = "{issue} {{x}} {steps.a.result}" }\n', issue="me")
    assert b.env == {"WHO": "me {x} {steps.a.result}", "INPUT_issue": "me"}
    assert "`env` is invalid: expected text matching" in only(text + 'env = { "a b" = "x" }\n')
    assert "`env` does nothing in a step for an agent" in only(A + 'env = { A = "b" }\n')


def test_open_inputs_stay_as_they_are_written() -> None:
    a = loaded(INPUTS + '[[steps]]\nname = "a"\naction = "{issue}"\ntest_command = "x {count}"\n').plan.goal.steps[0]
    assert (a.instructions, a.test_command) == ("{issue}", "x {count}")


def test_inputs_that_are_wrong() -> None:
    text = INPUTS + A
    assert only(text, count="3") == "3: The input `issue` is required (what): give --input issue=VALUE."
    assert "`x` of the input `count` is not a whole number" in only(text, issue="", count="x")
    assert "is not a number" in only(text, issue="", share="1,5")
    assert "is not true or false" in only(text, issue="", loud="yes")
    assert "did you mean `issue`?" in only(text, issue="", isue="1")
    for path in ("/etc/passwd", "../x", "a/../../b", "~/x", ""):
        assert "is not a path in the project" in only(text, issue="", where=path)
    assert "NUL character" in only(text, issue="\0")
    declared = (
        '[inputs]\nx = { type = "integer" }\ny = 3\nsteps = {}\nz = { type = "int", default = "a", defautl = 1 }\n'
    )
    said = wrong(declared + A)
    assert [line.split(":")[0] for line in said] == ["2", "3", "4", "5", "5"]
    assert "`int`" in said[0] and "An input is a table" in said[1] and "did you mean `default`?" in " ".join(said)


def test_given() -> None:
    assert parse_pairs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for pairs in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_pairs(pairs)


def test_results_are_found_by_name_and_left_for_later() -> None:
    text = (
        A
        + '[[steps]]\nname = "b"\n[[steps.steps]]\nname = "a"\naction = "x"\n'
        + '[[steps.steps]]\nname = "c"\naction = "{steps.a.result} {steps./a.result} {steps.b/a.result}"\n'
        + '[[steps]]\nname = "c"\naction = { run = "echo {steps.a.result} {steps.b/c.result}" }\n'
    )
    _, b, c = steps(text)
    assert b.steps[1].instructions == "{steps.b/a.result} {steps.a.result} {steps.b/a.result}"
    results = {"a": "{steps.b/a.result}", "b/a": "2"}
    assert fill_places(b.steps[1].instructions, results) == "2 {steps.b/a.result} 2"
    assert c.run == "echo {steps.a.result} {steps.b/c.result}"


def test_text_that_only_looks_like_a_place_stays_text() -> None:
    text = "[inputs]\nx = {}\n" + A + '[[steps]]\nname = "b"\naction = "{x} {{steps.a.result}} {{brace}} {{{x}}}"\n'
    (_, b) = steps(text, x="steps.a.result}{steps.a.result}")
    results = {"a": "!"}
    expected = "steps.a.result}{steps.a.result} {steps.a.result} {brace} {steps.a.result}{steps.a.result}}"
    assert fill_places(b.instructions, results) == expected
    assert (
        fill_places("a plan's own {braces} and {steps.x.result}", results)
        == "a plan's own {braces} and {steps.x.result}"
    )


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("{isue}", "There is no input `isue`: did you mean `issue`?"),
        ("{steps.aa.result}", "There is no step `aa` whose result can be used: did you mean `a`?"),
        ("{steps.a.resutl}", "use `{steps.NAME.result}`"),
        ("{steps.b.result}", "cannot use its own result"),
        ("{steps.c.result}", "`c` comes later"),
        ("{steps.c/x.result}", "There is no step `c/x`"),
        ('{"json": 1}', "neither an input nor a result"),
        ("{}", "write `{{`"),
        ("a { b", "write `{{`"),
    ],
)
def test_places_that_are_wrong(action: str, said: str) -> None:
    text = f"[inputs]\nissue = {{}}\n{A}[[steps]]\nname = 'b'\naction = '''\nline\n{action}'''\n{C}"
    problem = only(text)
    assert problem.startswith("10: ") and said in problem, problem


def test_results_go_only_where_they_can_be_filled_in() -> None:
    for key in ("test_command", "test_file", "title"):
        assert "only instructions, criteria and `run`" in only(A + B + f'{key} = "x {{steps.a.result}}"\n')
    assert "only instructions" in only(A + '[[steps]]\nname = "b"\naction = { check = "x {steps.a.result}" }\n')


def test_results_of_parallel_steps_need_a_need() -> None:
    text = "parallel = true\n" + A + '[[steps]]\nname = "b"\naction = "{steps.a.result}"\n'
    assert 'give `b` needs = ["a"]' in only(text)
    assert steps(text + 'needs = ["a"]\n')[1].needs == ("a",)
    chain = (
        "parallel = true\n"
        + A
        + B
        + 'needs = ["a"]\n[[steps]]\nname = "c"\naction = "{steps.a.result}"\nneeds = ["b"]\n'
    )
    assert steps(chain)[2].instructions == "{steps.a.result}"


def test_a_loop_may_look_back() -> None:
    text = (
        '[[steps]]\nname = "l"\nrepeat = 2\n[[steps.steps]]\nname = "a"\naction = "{steps.b.result}{steps.a.result}"\n'
    )
    text += '[[steps.steps]]\nname = "b"\naction = "x"\n'
    assert steps(text)[0].steps[0].instructions == "{steps.l/b.result}{steps.l/a.result}"


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
        ("parallel = true\n" + A + B + 'condition = "success"\n', "write `STEP.` in front"),
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


# ── files in files ──────────────────────────────────────────────────────────────────────────────────────────────────

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


# ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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
