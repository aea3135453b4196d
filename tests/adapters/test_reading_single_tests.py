"""Reading single tests in the output of a test run, and its progress."""
# ruff: noqa: E501 (what runners print is as long as it is)

import pytest

from bough.core.acceptance.verdict import Report
from bough.core.verdict.check_run import Progress, count_progress
from bough.core.verdict.registry import read_results

GO = """\
# example.com/m/b
b/b.go:3:2: undefined: x
=== RUN   TestGood
printed without a line end--- PASS: TestGood (0.25s)
=== RUN   TestBad
=== RUN   TestBad/empty_line
    a_test.go:12: got 1, want 2
--- FAIL: TestBad (0.00s)
    --- FAIL: TestBad/empty_line (0.00s)
=== RUN   TestSkipped
--- SKIP: TestSkipped (0.00s)
FAIL
FAIL\texample.com/m/a\t0.310s
FAIL\texample.com/m/b [build failed]
?   \texample.com/m/c\t[no test files]
=== RUN   TestGood
--- PASS: TestGood (0.00s)
PASS
ok  \texample.com/m/d\t0.1s
FAIL
"""


def test_go_test() -> None:
    said = read_results(None, GO, 1, "go", "/w")
    assert {case.id: case.outcome for case in said.cases} == {
        "example.com/m/a::TestGood": "passed",
        "example.com/m/a::TestBad": "failed",
        "example.com/m/a::TestBad/empty_line": "failed",
        "example.com/m/a::TestSkipped": "skipped",
        "example.com/m/b": "error",
        "example.com/m/d::TestGood": "passed",
    }
    assert (said.how, said.passed, said.failed, said.skipped) == ("closing line", 2, 3, 1)
    cases = {case.id: case for case in said.cases}
    assert cases["example.com/m/a::TestBad/empty_line"].message == "a_test.go:12: got 1, want 2"
    assert "b/b.go:3:2: undefined: x" in cases["example.com/m/b"].trace


def test_a_package_of_go_without_modules_has_one_name_in_every_checkout() -> None:
    said = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \t_/w/{0}\t0.1s\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \t_/w/{0}/in\t0.1s\n"
    one, other = ({case.id for case in read_results(None, said.format(at), 0, "go", f"/w/{at}").cases} for at in "xy")
    assert one == other == {".::TestA", "_in::TestB"}


def test_a_go_test_that_never_ended_is_an_error() -> None:
    cut = "=== RUN   TestX\npanic: no\nFAIL\tp\t0.1s\nFAIL"
    cases = read_results(None, cut, 1, "go").cases
    assert [(case.id, case.outcome, case.message) for case in cases] == [("p::TestX", "error", "panic: no")]
    assert read_results(None, "=== RUN   TestX", None, "go") == Report("exit status")


def test_go_test_behind_make() -> None:
    output = (
        "=== RUN   TestA\n--- PASS: TestA (0.10s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n    a_test.go:9: no\nFAIL\n"
        "FAIL\texample.com/m/a\t0.002s\nFAIL\texample.com/m/b [build failed]\nok  \texample.com/m/c\t0.1s\nFAIL\n"
    )
    said = read_results(None, output, 1, "")
    assert [(case.id, case.outcome, case.message) for case in said.cases] == [
        ("example.com/m/a::TestA", "passed", ""),
        ("example.com/m/a::TestB", "failed", "a_test.go:9: no"),
        ("example.com/m/b", "error", ""),
    ]
    assert (said.passed, said.failed) == (1, 2)


def test_pytests_summary_names_failures_when_there_is_no_report() -> None:
    output = (
        "=========== short test summary info ============\nFAILED tests/test_a.py::test_x[a - b] - assert [1] - 2\n"
        "ERROR tests/test_b.py - ImportError\n==== 1 failed, 2 passed, 1 error in 0.10s ====\n"
    )
    said = read_results(None, output, 1, "pytest")
    assert [(case.id, case.outcome) for case in said.cases] == [
        ("tests/test_a.py::test_x[a - b]", "failed"),
        ("tests/test_b.py", "error"),
    ]
    assert (said.how, said.passed, said.failed) == ("closing line", 2, 2)


def test_unittest_shows_a_docstring_above_the_trace() -> None:
    rules = "=" * 70, "-" * 70
    block = (
        f"{rules[0]}\nFAIL: test_a (t.T.test_a)\nAdds.\n{rules[1]}\nTraceback:\nAssertionError: 1 != 2\n\n{rules[1]}\n"
    )
    output = f"test_a (t.T.test_a)\nAdds. ... FAIL\n\n{block}Ran 1 test in 0.001s\n\nFAILED (failures=1)"
    (case,) = read_results(None, output, 1, "unittest").cases
    assert (case.id, case.outcome, case.message) == ("t.T.test_a", "failed", "AssertionError: 1 != 2")


def test_unittest_of_older_pythons() -> None:
    output = (
        f"test_a (tests.t.TestX) ... ok\ntest_b (tests.t.TestX) ... FAIL\n\n{'=' * 70}\nFAIL: test_b (tests.t.TestX)\n"
        f"{'-' * 70}\nTraceback (most recent call last):\nAssertionError: no\n\n{'-' * 70}\nRan 2 tests in 0.001s\n\n"
        "FAILED (failures=1)\n"
    )
    said = read_results(None, output, 1, "unittest")
    assert [(case.id, case.outcome, case.message) for case in said.cases] == [
        ("tests.t.TestX.test_a", "passed", ""),
        ("tests.t.TestX.test_b", "failed", "AssertionError: no"),
    ]


NAMED = [
    (
        "minitest",
        """  1) Failure:
CalcTest#test_adds [test/calc_test.rb:9]:
Expected: 3
  Actual: 4

  2) Error:
CalcTest#test_loads:
LoadError: cannot load such file -- only_here
    test/calc_test.rb:13:in `require'

  3) Skipped:
CalcTest#test_later [test/calc_test.rb:20]:
later

3 runs, 1 assertions, 1 failures, 1 errors, 1 skips""",
        {"CalcTest#test_adds": "failed", "CalcTest#test_loads": "failed"},
        ("CalcTest#test_loads", "LoadError: cannot load such file"),
    ),
    (
        "minitest",
        """===============================================================================
Error: test_loads(CalcTest): LoadError: cannot load such file -- only_here
/calc/test/test_calc.rb:13:in `require'
===============================================================================
Failure: test: adds small numbers(CalcTest)
<3> expected but was
<4>.
3 tests, 1 assertions, 1 failures, 1 errors, 0 pendings, 0 omissions, 0 notifications""",
        {"test_loads(CalcTest)": "failed", "test: adds small numbers(CalcTest)": "failed"},
        ("test_loads(CalcTest)", "LoadError: cannot load such file"),
    ),
    (
        "prove",
        """t/a.t .. ok
Can't locate Test/Needs.pm in @INC (you may need to install the Test::Needs module)
BEGIN failed--compilation aborted at t/b.t line 3.
t/b.t ..
Dubious, test returned 2 (wstat 512, 0x200)
No subtests run
#   Failed test 'adds'
t/c.t ..
Failed 1/2 subtests
t/d.t .. skipped: no network

Test Summary Report
-------------------
t/b.t (Wstat: 512 (exited 2) Tests: 0 Failed: 0)
t/c.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)
Files=4, Tests=9,  1 wallclock secs ( 0.05 usr  0.03 sys +  0.59 cusr  0.18 csys =  0.85 CPU)
Result: FAIL""",
        {"t/a.t": "passed", "t/b.t": "failed", "t/c.t": "failed", "t/d.t": "skipped"},
        ("t/b.t", "Can't locate Test/Needs.pm"),
    ),
    (
        "tap",
        "1..3\nok 1 adds\nnot ok 2 - divides\n# (in test file a.bats, line 4)\nok 3 later # skip not yet",
        {"adds": "passed", "divides": "failed", "later": "skipped"},
        ("divides", "# (in test file a.bats, line 4)"),
    ),
    (
        "ctest",
        """      Start 1: one
1/3 Test #1: one ..............................   Passed    0.00 sec
      Start 2: two words
2/3 Test #2: two words ........................***Failed    0.01 sec
expected 3
3/3 Test #3: three ............................***Exception: SegFault  0.10 sec

33% tests passed, 2 tests failed out of 3""",
        {"one": "passed", "two words": "failed", "three": "failed"},
        ("two words", "expected 3"),
    ),
    (
        "automake",
        "PASS: tests/a\nFAIL: tests/b\nSKIP: tests/c\n# TOTAL: 3\n# PASS:  1\n# SKIP:  1\n# FAIL:  1\nFAIL: tests/b",
        {"tests/a": "passed", "tests/b": "failed", "tests/c": "skipped"},
        ("tests/b", ""),
    ),
    (
        "meson",
        """1/3 inih:one    OK              0.01s
2/3 inih:two    FAIL            0.02s   exit status 1
3/3 inih:three  SKIP            0.00s
Ok:                 1
Expected Fail:      0
Fail:               1
Unexpected Pass:    0
Skipped:            1
Timeout:            0""",
        {"inih:one": "passed", "inih:two": "failed", "inih:three": "skipped"},
        ("inih:two", ""),
    ),
    (
        "maven",
        """[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.04 s - in org.x.ATest
[ERROR] Tests run: 1, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.04 s <<< ERROR! -- in org.x.BTest
[ERROR] org.x.BTest.far  Time elapsed: 0.01 s  <<< ERROR!
java.net.UnknownHostException: example.org
[ERROR] Tests run: 3, Failures: 0, Errors: 1, Skipped: 0""",
        {"org.x.ATest": "passed", "org.x.BTest": "failed"},
        ("org.x.BTest", "[ERROR] org.x.BTest.far"),
    ),
]


@pytest.mark.parametrize(("runner", "output", "outcomes", "said"), NAMED, ids=[row[0] for row in NAMED])
def test_runners_that_print_a_line_for_each_test(
    runner: str, output: str, outcomes: dict[str, str], said: tuple[str, str]
) -> None:
    for name in (runner, ""):
        report = read_results(None, output, 1, name)
        assert {case.id: case.outcome for case in report.cases} == outcomes
        assert {case.id: case.message for case in report.cases}[said[0]].startswith(said[1])


def test_documentation_tests_keep_their_ids_when_lines_move() -> None:
    def names(first: int, second: int, swapped: bool) -> dict[str, str]:
        lines = [f"test src/lib.rs - add (line {first}) ... ok", f"test src/lib.rs - add (line {second}) ... FAILED"]
        output = "\n".join(["   Doc-tests tiny", *(reversed(lines) if swapped else lines)])
        closing = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s"
        return {case.id: case.outcome for case in read_results(None, f"{output}\n{closing}", 101, "cargo").cases}

    wanted = {"tiny:doc::src/lib.rs - add": "passed", "tiny:doc::src/lib.rs - add#2": "failed"}
    assert names(3, 9, False) == names(30, 100, True) == wanted


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["collected 40 items", "tests/test_a.py ..F.s [ 10%]", "tests/test_b.py ...", "....... [100%]"],
         "15 of 40 tests, 1 failure so far"),
        (["a.py::test_x PASSED [ 50%]", "a.py::test_y FAILED [100%]"], "2 tests, 1 failure so far"),
        (["[gw0] [ 50%] PASSED a.py::test_x ", "[gw1] [100%] ERROR a.py::test_y"], "2 tests, 1 failure so far"),
        (["...", "hello .", "FAILED", "....."], "0 tests, 0 failures so far"),
        (["test_a (t.X.test_a) ... ok", "test_b (t.X.test_b) ... FAIL"], "2 tests, 1 failure so far"),
        (["running 2 tests", "test a ... ok", "test b ... FAILED", "failures:", "running 1 test", "test c ... ok"],
         "3 of 3 tests, 1 failure so far"),
        (["--- PASS: TestA (0.00s)", "    --- FAIL: TestB/x (0.00s)"], "2 tests, 1 failure so far"),
        (GO.split("\n"), "4 tests, 2 failures so far"),
        (["ok 1 - a", "    not ok 2 - b", "# tests 2", "ok 3 - c"], "2 tests, 1 failure so far"),
        (["✔ a (1.5ms)", "▶ g", "  ✖ b (1ms)", "✖ g (2ms)", "✖ failing tests:", "✖ b (1ms)"],
         "3 tests, 2 failures so far"),
        (["  ✓ adds (2 ms)", "  ✕ fails"], "2 tests, 1 failure so far"),
        (["test a ... ok"], "1 test, 0 failures so far"),
        # Lines that come at once are told as one, so that `collected 3 items` may be missed.
        (["=== test session starts ===", "test_a.py::test_a FAILED [ 33%]"], "1 test, 1 failure so far"),
        (["\x1b[32mok 1 - a\x1b[0m", "nothing"], "1 test, 0 failures so far"),
    ],
)  # fmt: skip
def test_progress(lines: list[str], told: str) -> None:
    so_far = Progress()
    for line in lines:
        so_far = count_progress(so_far, line)
    assert str(so_far) == told
