"""What is shown of a test that failed."""
# ruff: noqa: E501 (what runners print is as long as it is)

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Case
from bough.core.verdict.rulings import describe_failure


def files(**texts: str) -> Callable[[str], str | None]:
    known = {name.replace("__", "/").replace("_dot_", "."): text for name, text in texts.items()}
    return known.get


CODE = "\n".join(f"line {n}" for n in range(1, 21))


def test_the_code_around_the_innermost_place_is_shown() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/unittest/case.py", line 57, in run\n    yield\n'
        '  File "tests/test_a.py", line 3, in test_x\n    add(1)\n  File "src/add.py", line 10, in add\n    return a\n'
        "NameError: b"
    )
    case = Case("t.A.x", "error", "NameError: b", trace)
    told = describe_failure(case, files(src__add_dot_py=CODE, tests__test_a_dot_py=CODE))
    assert told == (
        "ERROR t.A.x\nNameError: b\nTraceback (most recent call last):\n"
        '  File "tests/test_a.py", line 3, in test_x\n    add(1)\n  File "src/add.py", line 10, in add\n    return a\n'
        "  the code at src/add.py:10:\n"
        "       7 | line 7\n       8 | line 8\n       9 | line 9\n  >   10 | line 10\n      11 | line 11\n"
        "      12 | line 12\n      13 | line 13"
    )


def test_the_code_of_other_languages() -> None:
    def excerpt(name: str, trace: str, **known: str) -> str:
        return describe_failure(Case(name, "failed", "m", trace), files(**known))

    node = "Error: x\n    at f (node:internal/a:1:2)\n    at g (src/a.mjs:4:5)\n    at h (src/b.mjs:9:1)"
    told = excerpt("a::b", node, src__a_dot_mjs=CODE, src__b_dot_mjs=CODE)
    assert "the code at src/a.mjs:4:" in told
    assert "node:internal" not in told
    rust = "thread 'tests::bad' panicked at src/lib.rs:11:42:\nassertion failed"
    assert "the code at src/lib.rs:11:" in excerpt("x", rust, src__lib_dot_rs=CODE)
    go = "    buf_test.go:12: got 1"
    assert "the code at buf/buf_test.go:12:" in excerpt("example.com/m/buf::T", go, buf__buf_test_dot_go=CODE)
    assert "the code at" not in excerpt("x", "at /etc/passwd.txt:3:1\n../up.py:3: x", up_dot_py=CODE)


def test_pytest_shows_the_code_itself() -> None:
    trace = "def test_x():\n        x = 1\n>       assert x == 2\nE       assert 1 == 2\n\ntests/test_a.py:3: AssertionError"
    message = "assert 1 == 2\nE  more"
    told = describe_failure(Case("tests/test_a.py::test_x", "failed", message, trace), files(tests__test_a_dot_py=CODE))
    assert told == f"FAILED tests/test_a.py::test_x\n{message}\n{trace}"


@given(st.text(), st.text(max_size=3_000), st.text(max_size=8_000), st.text())
def test_a_failure_is_bounded_whatever_it_holds(name: str, message: str, trace: str, code: str) -> None:
    case = Case(name[:400], "failed", message[:1_000], trace[:6_000] + "\na.py:1: x")
    assert len(describe_failure(case, lambda path: code)) <= 1_500


# Progress
