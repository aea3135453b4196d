"""Inputs and results in the texts of a workflow file."""

import pytest

from bough.core.errors import UsageError
from bough.core.planning.plan import Condition
from bough.core.workflow.inputs import parse_pairs
from bough.core.workflow.placeholders import fill_places
from tests.core.workflow.loader import A, B, C, loaded, only, steps, wrong

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
