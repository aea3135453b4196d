"""The original tests, held against what they said at the base."""

import pytest
from msgspec.structs import replace

from bough.core.acceptance.verdict import Case, CaseOutcome, Disagreement, Report
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.original_tests import add_expectations, find_disagreements, find_fixed, is_certain


def known(status: int = 0, passed: int = 0, failed: int = 0, **outcomes: CaseOutcome) -> Baseline:
    cases = tuple(Case(f"t.py::{name}", outcome, "assert 1 == 2") for name, outcome in outcomes.items())
    passed = passed or sum(case.outcome == "passed" for case in cases)
    failed = failed or sum(case.outcome in ("failed", "error") for case in cases)
    how = "junit" if cases else "closing line" if passed or failed else "exit status"
    return Baseline(Report(how, cases, passed, failed), closed=True, exit_status=status)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "then", "who"),
    [
        (known(a="passed"), known(a="passed"), []),
        (known(a="passed"), known(1, a="failed"), ["t.py::a"]),
        (known(1, a="failed"), known(1, a="failed"), ["t.py::a"]),
        (known(1, a="failed"), known(a="passed"), []),
        (known(a="passed", b="passed"), known(b="passed"), ["t.py::a"]),
        (known(a="passed"), known(a="skipped"), ["t.py::a"]),
        (known(1, a="failed"), known(a="skipped"), ["t.py::a"]),
        (known(a="skipped"), known(a="skipped"), []),
        (known(passed=3), known(passed=2), ["the check"]),
        (known(passed=3), known(1, passed=2, failed=1), ["the check"]),
        (known(), known(1), ["the check"]),
        (known(2), known(2), []),
    ],
)
def test_who_disagrees(base: Baseline, then: Baseline, who: list[str]) -> None:
    assert [*find_disagreements(base, then)] == who


def test_cases_may_have_other_names() -> None:
    def cases(*ids: str) -> Baseline:
        return Baseline(Report("junit", tuple(Case(id, "passed") for id in ids), len(ids)), closed=True, exit_status=0)

    assert not find_disagreements(cases("t.py::a[1]"), cases("t.py::a[2]"))


def test_what_cannot_be_asked() -> None:
    case = Case("t.py", "error", "ImportError: cannot import name 'add' from 'calc'")
    then = Baseline(Report("junit", (case,), 0, 1), closed=True, exit_status=2)
    (one,) = find_disagreements(known(a="passed", b="passed"), then).values()
    assert (one.test, one.asked) == ("t.py", False)


@pytest.mark.parametrize(
    ("base", "then", "which"),
    [
        (known(1, a="failed", b="passed"), known(a="passed", b="passed"), ["t.py::a"]),
        (known(b="passed"), known(a="passed", b="passed"), []),
        (known(1), known(), ["the check"]),
        (replace(known(127), lacking="make"), known(), []),
        (known(), known(), []),
    ],
)
def test_which_tests_the_work_has_fixed(base: Baseline, then: Baseline, which: list[str]) -> None:
    assert [*find_fixed(base, then)] == which


def test_a_file_that_could_not_be_loaded_is_fixed_with_all_its_tests() -> None:
    base = Baseline(Report("junit", (Case("t.py", "error", "ImportError"),), 0, 1), closed=True, exit_status=2)
    assert find_fixed(base, known(a="passed", b="passed")) == ("t.py::a", "t.py::b")


def test_what_fails_as_it_did_is_certain() -> None:
    base = known(1, a="failed")
    assert is_certain(base, find_disagreements(base, known(1, a="failed")))
    assert not is_certain(known(a="passed"), find_disagreements(known(a="passed"), known(1, a="failed")))


def test_expectations_before_and_after() -> None:
    old = "def test_a():\n    x = 1\n    assert f() == 2\n\n\ndef test_b():\n    assert g() == 3\n"
    new = "def test_a():\n    x = 1\n    assert f() == 5\n\n\ndef test_b():\n    assert g() == 4\n"
    made = add_expectations(Disagreement("t.py::test_a", "t.py"), {"t.py": old}, {"t.py": new})
    assert (made.was, made.now) == ("    assert f() == 2", "    assert f() == 5")
    assert made.source.splitlines() == [
        "  def test_a():",
        "      x = 1",
        "-     assert f() == 2",
        "+     assert f() == 5",
    ]
    same = add_expectations(Disagreement("t.py::test_b", "t.py"), {"t.py": old}, {"t.py": old})
    assert (same.was, same.now, same.source) == ("", "", "  def test_b():\n      assert g() == 3")
    gone = add_expectations(Disagreement("t.py::test_b", "t.py"), {"t.py": old}, {})
    assert (gone.was, gone.now) == ("def test_b():\n    assert g() == 3", "")
    three = old + "\n\ndef test_c():\n    assert g() == 9\n"
    among = add_expectations(Disagreement("t.py::test_b", "t.py"), {"t.py": three}, {"t.py": "x = 1\n"})
    assert among.was == "def test_b():\n    assert g() == 3"  # one of several tests that are gone together
    unittest = add_expectations(Disagreement("t.Adding.test_b"), {"t.py": old}, {"t.py": new})
    assert (unittest.path, unittest.now) == ("t.py", "    assert g() == 4")
