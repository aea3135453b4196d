"""A plan that is written down loads as the same plan."""

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bough.core.errors import UsageError
from bough.core.planning.plan import Condition, ContextMode, Join, Outcome, Plan, Retry, Role, Step, Tier
from bough.core.workflow.loading import load
from bough.core.workflow.writing import write_workflow
from tests.core.workflow.examples import EXAMPLES, example

NAMES = ["a", "b", "c", "d-1"]
TEXT = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
    | st.sampled_from(
        [
            "{x}",
            "{{}}",
            'say """ and \\',
            "two\nlines\n",
            "\nfirst\r\n\tx ",
            "'''",
            "tab\t\x00\x7f\x1b",
            "é ✔ 𝄞",
            "${HOME}",
        ]
    )
).filter(lambda text: "{brace}" not in text)
COMMANDS = st.sampled_from(["make x", "pytest -q 'a b' | tee out", "echo '{steps.a.result}' ${HOME} {a,b}", "! false"])
TESTS: dict[str, st.SearchStrategy[Any]] = {
    "test_command": st.none() | COMMANDS,
    "test_file": st.none() | st.sampled_from(["tests/test_{x}.py", "t.py"]),
    "requires_testing": st.booleans(),
    "may_edit_tests": st.booleans(),
    "files": st.lists(TEXT, max_size=2).map(tuple),
}
ASKED: dict[str, st.SearchStrategy[Any]] = {
    "criteria": st.lists(TEXT, max_size=2).map(tuple),
    "complexity": st.integers(1, 5),
    "rounds": st.none() | st.integers(1, 500),
    "model": st.sampled_from(get_args(Tier)),
    "context": st.sampled_from(get_args(ContextMode)),
    "summarize": st.booleans(),
    "title": st.just("") | TEXT,
}


@st.composite
def errors(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"on_error": draw(st.sampled_from(["fail", "skip", "escalate"]))}
    retry = Retry(draw(st.floats(0, 100)), draw(st.floats(1, 9)))
    return {"on_error": "retry", "max_retries": draw(st.integers(1, 9)), "retry": retry}


@st.composite
def leaves(draw: st.DrawFn, name: str, known: list[str]) -> Step:
    """A step without steps; `known` are the paths whose results it may use."""
    place = draw(st.sampled_from(["", *(f" {{steps.{path}.result}}" for path in known)]))
    way = draw(st.sampled_from(["agent", "agent", "run", "check"]))
    if way == "check":
        return Step(name, test_command=draw(COMMANDS), **draw(errors()))
    fields = {key: draw(value) for key, value in TESTS.items()} | draw(errors())
    if way == "run":
        return Step(name, run=f"echo{place or ' x'}", title=draw(TEXT), **fields)
    fields |= {key: draw(value) for key, value in ASKED.items()}
    return Step(
        name,
        draw(TEXT) + place,
        role=draw(st.sampled_from(get_args(Role))),
        plan_first=draw(st.booleans()),
        **fields,
    )


@st.composite
def compounds(draw: st.DrawFn, name: str, prefix: str, known: list[str], depth: int) -> Step:
    """A step with steps."""
    parallel = draw(st.booleans())
    steps: list[Step] = []
    for number, child in enumerate(NAMES[: draw(st.integers(1, 3))]):
        earlier = [step.name for step in steps]
        needs = tuple(draw(st.lists(st.sampled_from(earlier), unique=True))) if earlier else ()
        usable = [*known, *(prefix + other for other in (needs if parallel else earlier))]
        deeper = depth > 0 and draw(st.booleans())
        path = f"{prefix}{child}/"
        made = draw(compounds(child, path, usable, depth - 1) if deeper else leaves(child, usable))
        condition = None
        if number and needs and draw(st.booleans()):
            outcome: Outcome = draw(st.sampled_from(("success", "has_errors", "empty")))
            condition = Condition(outcome, needs[0], negated=draw(st.booleans()))
        steps.append(replace(made, needs=needs, condition=condition))
    repeat = draw(st.sampled_from([1, 1, 3]))
    until = Condition("contains", steps[0].name, draw(TEXT)) if repeat > 1 and draw(st.booleans()) else None
    return Step(
        name,
        draw(st.just("") | TEXT),
        steps=tuple(steps),
        parallel=parallel,
        join=draw(st.sampled_from(get_args(Join))) if parallel else "all",
        repeat=repeat,
        until=until,
        **{key: draw(value) for key, value in (TESTS | ASKED).items()},
        **draw(errors()),
    )


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(compounds("goal", "", [], 2) | leaves("goal", []))
def test_it_loads_as_the_same_plan(goal: Step) -> None:
    text = write_workflow(Plan(goal))
    assert load(text).plan == Plan(goal)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_can_be_written(name: str) -> None:
    """Also those of several files, as one."""
    workflow = example(name, open_inputs=False)
    assert load(write_workflow(workflow.plan)).plan == workflow.plan


def test_it_reads_like_a_file_that_a_person_wrote() -> None:
    design = Step("design", "Think\nfirst.", requires_testing=False)
    build = Step("build", "Build {it}: {steps.design.result}", needs=("design",), test_command="make")
    assert (
        write_workflow(Plan(Step("goal", "Ship it.", steps=(design, build))))
        == '''\
name = "ship-it"
description = "Ship it."

[[steps]]
name = "design"
action = """
Think
first."""
requires_testing = false

[[steps]]
name = "build"
action = "Build {{it}}: {steps.design.result}"
needs = ["design"]
test_command = "make"
'''
    )


@pytest.mark.parametrize(
    "step",
    [
        Step("a", "both", run="ways"),
        Step("a"),
        Step("not a slug", "x"),
        Step("a", "x", needs=("nobody",)),
    ],
)
def test_what_a_file_cannot_say_is_an_error(step: Step) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_workflow(Plan(Step("goal", "g", steps=(step,))))
