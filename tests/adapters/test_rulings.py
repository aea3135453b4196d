"""What a run of a check comes to when it is held against the base."""

import pytest
from msgspec.structs import replace

from bough.core.acceptance.verdict import Case, CaseOutcome, Check, Report
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.original_tests import find_disagreements, has_results, hash_refutation
from bough.core.verdict.registry import read_results
from bough.core.verdict.rulings import decide_ruling, describe_baseline, find_added, find_lost
from bough.ports import CommandResult

PYTEST = Check("pytest -q", "the step's test_command", "pytest")


def ran(passed: int, *, status: int = 0, failed: int = 0, how: str = "junit") -> CheckRun:
    report = Report(how, passed=passed, failed=failed)  # type: ignore[arg-type]
    return CheckRun(CommandResult(status, b"", 1.5, ""), "", Baseline(report, closed=True, exit_status=status))


@pytest.mark.parametrize(
    ("base", "now", "says"),
    [
        (ran(3, status=1, failed=1), ran(4), "the check passed (4 tests passed, 1.5 s)"),
        (ran(3), ran(5), "the check passed (5 tests passed, 2 more than before, 1.5 s)"),
        (ran(3), ran(3), "the check passed (3 tests passed, 1.5 s); it already passed before the change"),
        (ran(0, status=5), ran(2), "the check passed (2 tests passed, 1.5 s)"),
    ],
)
def test_a_pass_says_what_it_proves(base: CheckRun, now: CheckRun, says: str) -> None:
    assert decide_ruling(PYTEST, now, base.known, "") == (says, True)


def test_tests_of_a_file_that_could_not_be_loaded_are_not_new() -> None:
    """Somebody else wrote them, and they spare an examination."""
    base = Report("junit", (Case("t.py", "error"), Case("u.py::test_a", "passed")), passed=1, failed=1)
    names = ("t.py::test_a", "u.py::test_a", "u.py::test_b")
    now = Report("junit", tuple(Case(name, "passed") for name in names), passed=3)
    assert find_added(now, base) == ("u.py::test_b",)


def test_each_new_test_comes_before_the_further_cases_of_others() -> None:
    base = Report("junit", (Case("t.py::test_old", "passed"),), passed=1)
    names = ("t.py::test_many[a]", "t.py::test_many[b]", "t.py::test_many[c]", "t.py::test_one", "t.py::test_old")
    now = Report("junit", tuple(Case(name, "passed") for name in names), passed=5)
    assert find_added(now, base) == (names[0], names[3], names[1], names[2])


def test_a_pass_says_how_many_tests_were_fixed() -> None:
    def cases(*outcomes: CaseOutcome) -> tuple[Case, ...]:
        return tuple(Case(f"t.py::test_{number}", outcome) for number, outcome in enumerate(outcomes))

    base = Baseline(Report("junit", cases("passed", "failed", "error"), passed=1, failed=2), closed=True, exit_status=1)
    now = ran(4)
    report = replace(now.report, cases=cases("passed", "passed", "passed", "passed"))
    now = replace(now, known=replace(now.known, report=report))
    says = "the check passed (4 tests passed, 2 of which failed before, 1.5 s)"
    assert decide_ruling(PYTEST, now, base, "") == (says, True)


def test_subtests_that_failed_at_the_base_are_no_tests_that_are_missing_now() -> None:
    """pytest counts each failed subtest as a failed test in its last line, and passed ones apart."""
    test = '<testcase classname="t.T" name="test_{}">{}</testcase>'
    failed, suite = '<failure message="x">x</failure>', "<testsuites><testsuite>{}</testsuite></testsuites>"
    before = suite.format(test.format("a", "") + test.format("b", failed * 13)).encode()
    base = read_results(before, "13 failed, 1 passed in 0.1s", 1, "pytest")
    assert base.failed == 13 and len(base.cases) == 2
    after = suite.format(test.format("a", "") + test.format("b", "")).encode()
    assert not find_lost(read_results(after, "2 passed, 13 subtests passed in 0.1s", 0, "pytest"), base, ())
    fewer = suite.format(test.format("a", "")).encode()
    assert find_lost(read_results(fewer, "1 passed in 0.1s", 0, "pytest"), base, ()).startswith("only 1 tests ran")


@pytest.mark.parametrize(("status", "same"), [(0, "; it already passed before the change"), (1, "")])
def test_a_command_without_tests_says_whether_it_passed_before(status: int, same: str) -> None:
    base = ran(0, status=status, how="exit status").known
    reason, passed = decide_ruling(Check("make", "given"), ran(0, how="exit status"), base, "")
    assert passed and reason == f"the check passed (exit status 0, 1.5 s){same}"


@pytest.mark.parametrize(("before", "now", "passes"), [(3, 3, True), (3, 2, False), (0, 0, False)])
def test_files_without_single_tests_count_as_they_did_before(before: int, now: int, passes: bool) -> None:
    def mute(files: int) -> CheckRun:
        known = Baseline(Report("junit", skipped=files), closed=True, exit_status=0)
        return replace(ran(0), known=known)

    assert decide_ruling(PYTEST, mute(now), mute(before).known, "")[1] is passes


def test_subtests_of_unittest_are_no_tests_either() -> None:
    rule = "=" * 70
    block = f"{rule}\nFAIL: test_a (t.T.test_a) (i={{}})\n{'-' * 70}\nAssertionError: 0 != 9\n\n"
    base = "test_a (t.T.test_a) ... \n  test_a (t.T.test_a) (i=0) ... FAIL\n  test_a (t.T.test_a) (i=1) ... FAIL\n"
    base += f"test_b (t.T.test_b) ... ok\n\n{block.format(0)}{block.format(1)}{'-' * 70}\nRan 2 tests in 0.001s\n\n"
    before = read_results(None, f"{base}FAILED (failures=2)\n", 1, "unittest")
    after = "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... ok\n\n"
    after += f"{'-' * 70}\nRan 2 tests in 0.001s\n\nOK\n"
    assert not find_lost(read_results(None, after, 0, "unittest"), before, ())
    fewer = f"test_b (t.T.test_b) ... ok\n\n{'-' * 70}\nRan 1 test in 0.001s\n\nOK\n"
    assert find_lost(read_results(None, fewer, 0, "unittest"), before, ())


def test_a_base_that_is_not_known_is_not_spoken_of() -> None:
    killed = Baseline(Report("exit status"), closed=False, exit_status=None)
    assert decide_ruling(PYTEST, ran(3), killed, "")[0] == "the check passed (3 tests passed, 1.5 s)"


UNPROVEN = "so it says nothing about your change: add tests that fail without it."
FAILED = Case("t.py::test_a", "failed", "\nassert 1 == 2\n +  where")
FAILING = Report("junit", (FAILED, Case("t.py::test_b", "passed")), passed=1, failed=1)


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (ran(3).known, f"Before your work it passes (3 tests), {UNPROVEN}"),
        (ran(0, how="exit status").known, f"Before your work it passes, {UNPROVEN}"),
        (
            Baseline(FAILING, closed=True, exit_status=1),
            "Before your work it fails with exit status 1 (1 test fails, 1 pass): t.py::test_a. "
            "They already exist, and your work has to make them pass. The first says: assert 1 == 2",
        ),
        (ran(0, status=2, how="exit status").known, "Before your work it fails with exit status 2."),
        (Baseline(Report("exit status"), closed=False, exit_status=None), ""),
        (
            Baseline(Report("exit status"), closed=False, exit_status=139),
            "Before your work it fails with exit status 139.",
        ),
        (Baseline(Report("exit status"), closed=False, exit_status=127, absent=True), ""),
    ],
)
def test_what_an_agent_is_told_of_the_base(known: Baseline, says: str) -> None:
    assert describe_baseline(known, "Do it.") == says


GO = """\
=== RUN   TestAdd
    calc_test.go:9: Add(2, 3) = -1, want 5
--- FAIL: TestAdd (0.00s)
FAIL
FAIL\tc.org/calc\t0.2s
"""
MOCHA = """\
  calc
    1) adds

  0 passing (4ms)
  1 failing

  1) calc
       adds:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

-1 !== 5
"""
JEST = """\
{"numFailedTests": 1, "testResults": [{"name": "/w/calc.test.js", "status": "failed", "assertionResults": [
{"ancestorTitles": [], "title": "adds", "fullName": "adds", "status": "failed", "duration": 2,
"failureMessages": ["Error: expect(received).toBe(expected) // Object.is equality\\n\\nExpected: 5\\nReceived: -1"]}]}]}
"""


def said(text: str, runner: str, junit: str = "", status: int = 1) -> CheckRun:
    read = read_results(junit.encode() or None, text, status, runner, "/w")
    known = Baseline(read, closed=True, exit_status=status, refuted=hash_refutation(text))
    return CheckRun(CommandResult(status, text.encode(), 0.1, ""), text, known)


@pytest.mark.parametrize(
    ("runner", "text", "junit", "what"),
    [
        ("go", GO, "", "c.org/calc::TestAdd"),
        ("jest", "", JEST, "calc.test.js::adds"),
        ("", MOCHA, "", "the check"),
    ],
)
def test_what_is_refuted_as_it_was_at_the_base(runner: str, text: str, junit: str, what: str) -> None:
    base = said(text, runner, junit).known
    assert has_results(base)
    slower = said(text.replace("4ms", "17ms"), runner, junit)
    assert [*find_disagreements(base, slower.known)] == [what]


@pytest.mark.parametrize(
    ("runner", "base", "again"),
    [
        ("", "make: *** No rule to make target 'test'.\n", "make: *** No rule to make target 'test'.\n"),
        ("", "Error: Cannot find module './calc.js'\nexpected\n", "Error: Cannot find module './calc.js'\nexpected\n"),
    ],
)
def test_what_breaks_in_another_way_or_was_never_refuted_shows_nothing(runner: str, base: str, again: str) -> None:
    assert not find_disagreements(said(base, runner).known, said(again, runner).known)


def test_a_check_that_speaks_only_when_it_fails_has_lost_nothing() -> None:
    loud = ran(3, status=1, failed=1).known
    silent = ran(0, how="exit status").known
    assert loud.falls_silent(silent) and not find_disagreements(loud, silent)
    assert not ran(4).known.falls_silent(silent), "one that passed loudly and passes silently now has"
