"""Files that are broken in every way: always a sentence with a place, never anything else."""

import random
import string
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bough.core.planning.plan import validate_plan
from bough.core.workflow.keys import StateKeys, StepKeys, WorkflowKeys, list_keys
from bough.core.workflow.loading import load
from bough.core.workflow.problems import WorkflowError, decode_text
from tests.core.workflow.examples import EXAMPLES, read
from tests.sampling import in_turn

WHOLE = [read(name).encode() for name in EXAMPLES]
SEASONING = [
    *(b"[", b"]", b"[[", b"]]", b"{", b"}", b'"', b'"""', b"'", b"=", b".", b",", b"#", b"\n", b"\\", b"\x00", b"\xff"),
    *(b"steps", b"[[steps]]\n", b"[[states]]\n", b"{steps.", b".result}", b"1e999", b"9" * 30, b"true", b"nan", b"\r"),
    *(
        b"name = ",
        b"needs = [",
        b"\nrepeat = 2\n",
        b"\nparallel = true\n",
        b"condition = 'not '\n",
        b"\xf0\x9f\x8c\xb3",
    ),
]


def survives(body: bytes) -> None:
    """It loads, or it says where it is wrong."""
    try:
        text = decode_text(body, "w.toml")
        validate_plan(load(text, "w.toml", read=read).plan)
        load(text, "w.toml", read=read, inputs={})
    except WorkflowError as error:
        assert error.problems
        lines = body.count(b"\n") + 1
        for problem in error.problems:
            assert problem.text and "\n" not in problem.text and problem.text[-1] in ".?"
            assert problem.line >= 1
            if problem.file == "w.toml":
                assert problem.line <= lines
            else:
                assert problem.file in EXAMPLES


def mutated(body: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 4)):
        at, end = sorted(dice.randrange(len(body) + 1) for _ in range(2))
        match dice.randrange(6):
            case 0:
                body = body[:at] + dice.choice(SEASONING) + body[at:]
            case 1:
                body = body[:at] + body[min(at + dice.randint(1, 30), end) :]
            case 2:
                body = body[:at] + bytes([dice.randrange(256)]) + body[at + 1 :]
            case 3:
                body = body[:end] + body[at : at + 200] + body[end:]
            case 4:
                lines = body.split(b"\n")
                lines.insert(dice.randrange(len(lines)), lines.pop(dice.randrange(len(lines))))
                body = b"\n".join(lines)
            case _:
                body = body[:at] if dice.random() < 0.3 else body.replace(dice.choice((b'"', b"]", b"=")), b"", 1)
    return body


@pytest.mark.parametrize("seed", range(6))
def test_mutated_examples(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(100):
        survives(mutated(dice.choice(WHOLE), dice))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text(string.printable, max_size=200).map(str.encode))
@example(b"\xef\xbb\xbfaction = 'x'")
@example(b"a = " + b"[" * 5000)
@example(b"steps = " + b"[{steps=" * 3000)
@example(b"a = 1" + b"0" * 5000)
@example(b"rounds = 1" + b"0" * 4000)
@example(b"[[steps]]\nname = 'x'\n" + b"[[steps.steps]]\nname = 'x'\n" * 3)
@example(b"a." * 3000 + b"a = 1")
def test_anything_at_all(body: bytes) -> None:
    survives(body)


VALUES = st.recursive(
    st.sampled_from(['""', '"a"', '"{x}"', '"{steps.a.result}"', "1", "-1", "0.5", "true", "[]", "{}", "2020-01-01"])
    | st.sampled_from(
        ['"success"', '"not a.empty"', '"break"', '"retry"', '"any"', '"end"', '["a"]', '{ run = "x {x}" }']
    )
    | st.sampled_from(
        ['{ workflow = "component.toml" }', '{ name = "a", action = "b" }', '[{ name = "a", action = "b" }]']
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]"),
    max_leaves=4,
)
KEYS = st.sampled_from(
    sorted({*list_keys(WorkflowKeys), *list_keys(StepKeys), *list_keys(StateKeys), "nmae", "inputs.x"})
)
TABLES = st.sampled_from(
    ["[[steps]]", "[[steps.steps]]", "[[states]]", "[inputs.x]", "[[steps.states]]", "[steps.action]"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(TABLES | st.tuples(KEYS, VALUES).map(" = ".join), min_size=1, max_size=14))
def test_every_key_with_every_kind_of_value(lines: list[str]) -> None:
    survives("\n".join(lines).encode())


@in_turn
def test_many_problems_do_not_take_long() -> None:
    text = "".join(f'[[steps]]\nname = "s{n}"\nactoin = "x"\nneeds = ["s{n}x"]\n' for n in range(300))
    with pytest.raises(WorkflowError) as caught:
        load(text)
    assert len(caught.value.problems) == 900
    assert_sorted([problem.line for problem in caught.value.problems])


def assert_sorted(values: list[Any]) -> None:
    assert values == sorted(values)
