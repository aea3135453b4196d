"""What holds for any text at all: equal sides are never tampering, and nothing makes the gate raise."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bough.core.tamper import inspect, watched
from bough.core.tamper.files import LARGEST
from tests.core.tamper import (
    test_honest,
    test_sabotage_config,
    test_sabotage_runner,
    test_sabotage_tests,
    test_sabotage_text,
)
from tests.core.tamper.pairs import said

PATHS = (
    *("tests/test_a.py", "tests/conftest.py", "conftest.py", "calc.py", "sitecustomize.py", "pytest.py", "x.pth"),
    *("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "noxfile.py", "Makefile", "package.json", "run_tests.sh"),
    *(
        "jest.config.js",
        "test/a.test.ts",
        "a_test.go",
        "src/lib.rs",
        "ATest.java",
        "a_spec.rb",
        "a_test.exs",
        "ATest.php",
    ),
    *("tests/a_test.cc", "a.bats", "t/a.t", "a_test.dart", "ATests.swift", "ATests.cs", ".github/workflows/ci.yml"),
    *("tests/data/a.json", "tests/golden/a.txt", "Cargo.toml", ".cargo/config.toml", "pom.xml", "CMakeLists.txt"),
)
SNIPPETS = [
    *(text for before, after, _ in test_sabotage_tests.SABOTAGE.values() for text in (before, after)),
    *(text for before, after in test_honest.SAME_FILE.values() for text in (before, after)),
    *(text for _, text, _, _ in test_sabotage_text.CHANGED.values()),
    *(text for row in test_sabotage_config.CHANGED.values() for side in row[:2] for text in side.values()),
    *(text for added, _ in test_sabotage_runner.ADDED.values() for text in added.values()),
]
pieces = st.sampled_from(sorted({line for text in SNIPPETS for line in text.splitlines(keepends=True)}))
texts = st.one_of(
    st.text(max_size=200),
    st.sampled_from(SNIPPETS),
    st.lists(pieces, max_size=30).map("".join),
    st.tuples(st.sampled_from(SNIPPETS), st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]]),
)
sides = st.dictionaries(st.sampled_from(PATHS) | st.text(max_size=20), texts, max_size=5)
commands = st.sampled_from(
    ["pytest", "make test", "npm test", "./run_tests.sh", "python calc.py", "go test ./..."]
) | st.text(max_size=40)


@given(sides, commands)
def test_nothing_changed_is_no_tampering(side: dict[str, str], command: str) -> None:
    assert inspect(side, dict(side), command) == []


@settings(max_examples=300, deadline=None)
@given(sides, sides, commands)
@example({"tests/test_a.py": "x = 0x" + "f" * 9_000 + "\n"}, {"tests/test_a.py": "x = 1\n"}, "pytest")
@example({"tests/test_a.py": "def test_a():\n    assert " + "(" * 150 + "1" + ")" * 150}, {}, "pytest")
@example({"tests/test_a.py": "def test_a():\n    assert " + "+".join("a" * 3_000)}, {"tests/test_a.py": "\0"}, "pytest")
@example({"calc.py": ""}, {"calc.py": "x = (a or b).ANY\n"}, "pytest")
@example({"tests/test_a.py": "\ud800"}, {"tests/test_a.py": "def test_\udfff(): pass"}, "pytest '")
@example({"tests/data/a.json": "[" * 5_000 + "]" * 5_000}, {"tests/data/a.json": "[]"}, "pytest")
@example({"tests/data/a.json": "[" * 900 + "]" * 900}, {"tests/data/a.json": "[" * 900 + "1" + "]" * 900}, "pytest")
@example({"pyproject.toml": "a = " + "[" * 5_000}, {"pyproject.toml": "a = 1"}, "pytest")
@example(
    {"Makefile": "A = $(A)$(A)\ntest:\n\t$(A)\n"}, {"Makefile": "A = $(B)\nB = $(A)\ntest: test\n\t$(A)\n"}, "make test"
)
def test_no_text_makes_it_raise(before: dict[str, str], after: dict[str, str], command: str) -> None:
    found = inspect(before, after, command)
    assert all(one.path in before or one.path in after for one in found)
    assert all(one.what and "\n" not in one.what and one.line >= 0 for one in found)
    assert inspect(before, after, command) == found


@given(st.text(), st.text())
def test_any_path_can_be_asked_about(path: str, command: str) -> None:
    assert watched(path, command) in (True, False)


def test_a_long_chain_of_values_is_bounded() -> None:
    chain = "".join(f"    x{n + 1} = f(x{n}, x{n})\n" for n in range(400))
    before = f"def test_a():\n    x0 = 1\n{chain}    assert x400 == 1\n"
    after = before.replace("x0 = 1", "x0 = 2")
    assert inspect({"tests/test_a.py": before}, {"tests/test_a.py": after}, "pytest") != []


def test_many_cases_are_bounded() -> None:
    rows = ", ".join(f"({n}, {n})" for n in range(3_000))
    text = f"@pytest.mark.parametrize('a, b', [{rows}])\ndef test_a(a, b):\n    assert f(a) == b\n"
    assert inspect({"tests/test_a.py": text}, {"tests/test_a.py": text + "\n"}, "pytest") == []
    found = inspect({"tests/test_a.py": text}, {"tests/test_a.py": text.replace("(7, 7), ", "")}, "pytest")
    assert "a case of test_a was removed: (7, 7)" in said(found)


def test_recursion_in_the_tests_themselves_is_bounded() -> None:
    text = "def again(n):\n    assert n\n    again(n - 1)\n\ndef test_a():\n    again(5)\n"
    assert inspect({"tests/test_a.py": text}, {"tests/test_a.py": text + "\n\n"}, "pytest") == []
    assert inspect({"tests/test_a.py": text}, {"tests/test_a.py": text.replace("again(5)", "pass")}, "pytest") != []


def test_nesting_near_the_limit_is_compared() -> None:
    deep = "(" * 60 + "f(1)" + ",)" * 60
    text = f"def test_a():\n    assert g({deep}) == 1\n"
    assert sys.getrecursionlimit() >= 1_000
    found = inspect({"tests/test_a.py": text}, {"tests/test_a.py": text.replace("== 1", "== 2")}, "pytest")
    assert "expected value changed" in said(found)


@pytest.mark.parametrize("path", ["tests/test_a.py", "tests/data/a.txt", "a_test.go"])
def test_a_large_file_may_grow_and_nothing_else(path: str) -> None:
    text = "x = 1\n" * (LARGEST // 6 + 10)
    assert inspect({path: text}, {path: text + "y = 2\n"}, "pytest") == []
    assert "too large to compare" in said(inspect({path: text}, {path: "y" + text}, "pytest"))
    assert "was removed" in said(inspect({path: text}, {}, "pytest"))


def test_a_test_file_may_not_grow_beyond_what_is_read() -> None:
    before = "def test_add():\n    assert add(1, 2) == 3\n"
    after = before + "#" * LARGEST + "\ndef test_add():\n    pass\n"
    assert "too large to compare" in said(inspect({"tests/test_a.py": before}, {"tests/test_a.py": after}, "pytest"))


def test_findings_are_sorted_and_said_once() -> None:
    before = {f"tests/test_{n}.py": "def test_a():\n    assert f() == 1\n" for n in range(5)}
    found = inspect(before, {}, "pytest")
    assert [one.path for one in found] == sorted(before)
