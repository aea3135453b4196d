"""What is shown of a test that failed."""
# ruff: noqa: E501 (what runners print is as long as it is)

from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Case
from bough.core.verdict.rulings import describe_failure


def test_frames_of_runners_and_libraries_are_left_out() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/unittest/case.py", line 57, in run\n    yield\n'
        '  File "tests/test_a.py", line 3, in test_x\n    add(1)\n  File "src/add.py", line 10, in add\n    return a\n'
        "NameError: b"
    )
    case = Case("t.A.x", "error", "NameError: b", trace)
    assert describe_failure(case) == (
        "ERROR t.A.x\nNameError: b\nTraceback (most recent call last):\n"
        '  File "tests/test_a.py", line 3, in test_x\n    add(1)\n  File "src/add.py", line 10, in add\n    return a'
    )

    node = "Error: x\n    at f (node:internal/a:1:2)\n    at g (src/a.mjs:4:5)\n    at h (src/b.mjs:9:1)"
    told = describe_failure(Case("a::b", "failed", "m", node))
    assert "src/a.mjs:4:5" in told and "node:internal" not in told


def test_pytest_shows_the_code_itself() -> None:
    trace = "def test_x():\n        x = 1\n>       assert x == 2\nE       assert 1 == 2\n\ntests/test_a.py:3: AssertionError"
    message = "assert 1 == 2\nE  more"
    told = describe_failure(Case("tests/test_a.py::test_x", "failed", message, trace))
    assert told == f"FAILED tests/test_a.py::test_x\n{message}\n{trace}"


@given(st.text(), st.text(max_size=3_000), st.text(max_size=8_000))
def test_a_failure_is_bounded_whatever_it_holds(name: str, message: str, trace: str) -> None:
    case = Case(name[:400], "failed", message[:1_000], trace[:6_000] + "\na.py:1: x")
    assert len(describe_failure(case)) <= 1_500
