"""Reading what a test run says at its end, and nothing else."""
# ruff: noqa: E501 (what runners print is as long as it is)

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Report
from bough.core.verdict import registry
from bough.core.verdict.check_run import Progress, count_progress
from bough.core.verdict.registry import read_closing_lines, read_results
from bough.core.verdict.rulings import describe_failure
from bough.core.verdict.runner import ClosingLine
from tests.sampling import in_turn

RUNNERS = ["", *(runner.name for runner in registry.RUNNERS)]


# Closing lines

PYTEST = "============ {} in 0.12s ============"
GO_OK = "ok  \texample.com/m/a\t0.012s\n"
MAVEN_CLASS = "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.BTest\n"

SAID: list[tuple[str, str, tuple[int, int, int]]] = [
    ("pytest", "3 passed in 0.01s", (3, 0, 0)),
    ("pytest", PYTEST.format("3 passed"), (3, 0, 0)),
    ("pytest", PYTEST.format("3 passed, 1 error"), (3, 1, 0)),
    ("pytest", PYTEST.format("2 failed, 3 passed, 1 skipped, 2 xfailed, 1 xpassed, 4 warnings, 2 errors"), (4, 4, 3)),
    ("pytest", "1 failed, 2 passed, 5 deselected, 1 rerun in 65.00s (0:01:05)", (2, 1, 0)),
    ("pytest", "1 failed, 1 passed, 3 subtests passed in 0.10s", (1, 1, 0)),
    ("pytest", "no tests ran in 0.01s", (0, 0, 0)),
    ("pytest", "15 deselected in 0.01s", (0, 0, 0)),
    ("pytest", "1 error in 0.11s\nmake: *** [Makefile:2: test] Error 2", (0, 1, 0)),
    ("", "all.tcl:\tTotal\t6\tPassed\t4\tSkipped\t1\tFailed\t1\nSourced 2 Test Files.", (4, 1, 1)),
    ("unittest", "Ran 3 tests in 0.001s\n\nOK", (3, 0, 0)),
    ("unittest", "Ran 4 tests in 0.001s\n\nOK (skipped=1, expected failures=1)", (2, 0, 2)),
    ("unittest", "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, unexpected successes=1)", (1, 3, 0)),
    ("unittest", "Ran 0 tests in 0.000s\n\nOK", (0, 0, 0)),
    ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN", (0, 0, 0)),
    ("go", GO_OK, (1, 0, 0)),
    ("go", GO_OK + "ok  \texample.com/m/b\t(cached)\n?   \texample.com/m/c\t[no test files]\n", (2, 0, 0)),
    ("go", "ok  \texample.com/m/a\t0.1s\tcoverage: 81.0% of statements\n", (1, 0, 0)),
    ("go", "testing: warning: no tests to run\nPASS\nok  \texample.com/m/a\t0.001s [no tests to run]\n", (0, 0, 0)),
    ("go", "?   \texample.com/m/c\t[no test files]\n", (0, 0, 0)),
    ("go", "--- FAIL: TestB (0.00s)\n    a_test.go:9: no\nFAIL\nFAIL\texample.com/m/a\t0.002s\nFAIL\n", (0, 1, 0)),
    ("go", "# example.com/m/a\n./a.go:3: x\nFAIL\texample.com/m/a [build failed]\nFAIL\n", (0, 1, 0)),
    ("go", f"=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- SKIP: TestC (0.00s)\n--- PASS: TestB (0.00s)\nPASS\n{GO_OK}",
     (2, 0, 1)),
    ("cargo", "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s", (3, 0, 1)),
    ("cargo", "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
     "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", (5, 2, 0)),
    ("cargo", "     Summary [   0.005s] 4 tests run: 3 passed (1 slow), 1 failed, 2 skipped", (3, 1, 2)),
    ("node", "# tests 8\n# suites 2\n# pass 3\n# fail 3\n# cancelled 1\n# skipped 1\n# todo 1\n# duration_ms 324.1",
     (3, 4, 2)),
    ("node", "ℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 3", (1, 0, 0)),
    ("node", "1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 5.6",
     (0, 0, 0)),
    ("node", "ok 1 - /w/a.test.mjs\n1..1\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0", (0, 0, 0)),
    ("jest", "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total\n"
     "Snapshots:   0 total\nTime:        0.5 s\nRan all test suites.", (3, 1, 2)),
    ("jest", "Test Suites: 1 failed, 1 total\nTests:       0 total\nSnapshots:   0 total\nTime:        0.1 s", (0, 1, 0)),
    ("jest", "No tests found, exiting with code 0", (0, 0, 0)),
    ("vitest", " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed | 1 skipped | 1 todo (6)\n"
     "   Start at  11:05:36\n   Duration  321ms", (3, 1, 2)),
    ("vitest", " Test Files  1 failed (1)\n      Tests  no tests\n   Duration  3ms", (0, 1, 0)),
    ("vitest", " Test Files  1 passed (1)\n      Tests  1 passed (1)\n     Errors  1 error\n   Duration  3ms", (1, 1, 0)),
    ("vitest", "No test files found, exiting with code 1", (0, 0, 0)),
    ("", "  3 passing (5ms)\n  1 pending\n  2 failing\n\n  1) adds\n     Error: x", (3, 2, 1)),
    ("", "  0 passing (1ms)", (0, 0, 0)),
    ("", "Finished in 0.01 seconds\n5 examples, 1 failure, 1 pending", (3, 1, 1)),
    ("", "0 examples, 0 failures, 1 error occurred outside of examples", (0, 1, 0)),
    ("", "4 runs, 9 assertions, 1 failures, 1 errors, 1 skips", (1, 2, 1)),
    ("", "OK (3 tests, 5 assertions)", (3, 0, 0)),
    ("", "FAILURES!\nTests: 5, Assertions: 7, Errors: 1, Failures: 1, Skipped: 1.", (2, 2, 1)),
    ("", "No tests executed!", (0, 0, 0)),
    ("", "50% tests passed, 1 tests failed out of 2\n\nTotal Test time (real) =   0.01 sec\n\nThe following tests FAILED:\n"
     "\t  2 - b (Failed)\nErrors while running CTest", (1, 1, 0)),
    ("", "No tests were found!!!", (0, 0, 0)),
    ("", "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=3,  0 wallclock secs ( 0.03 usr  0.00 sys =  0.08 CPU)\n"
     "Result: PASS", (3, 0, 0)),
    ("", "t/a.t (Wstat: 256 (exited 1) Tests: 3 Failed: 1)\n  Failed test:  2\n"
     "Files=1, Tests=3,  0 wallclock secs ( 0.03 usr )\nResult: FAIL", (2, 1, 0)),
    ("", "Files=0, Tests=0,  0 wallclock secs ( 0.00 usr )\nResult: NOTESTS", (0, 0, 0)),
    ("", f"{MAVEN_CLASS}[INFO] Results:\n[INFO] \n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD",
     (2, 0, 0)),
    ("", "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", (2, 2, 1)),
    ("", "ok | 3 passed | 0 failed (12ms)", (3, 0, 0)),
    ("", "FAILED | 3 passed (2 steps) | 1 failed | 1 ignored (12ms)", (3, 1, 1)),
    ("", "bun test v1.1\n\n 2 pass\n 1 skip\n 1 fail\n 5 expect() calls\nRan 4 tests across 1 files.", (2, 1, 1)),
    ("", "1..3\nok 1 a\nnot ok 2 b\nok 3 c # skip no", (1, 1, 1)),
    ("", "ok 1 - a\nok 2 - b\n1..2\nok 1 - c\nnot ok 2 - d\n1..2\nmake: *** [tests/t2.sh] Error 1", (3, 1, 0)),
    ("", "make: 'test' is up to date.", (0, 0, 0)),
    ("", "make[1]: Nothing to be done for 'test'.", (0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("runner", "closing", "counts"), SAID)
def test_closing_lines(runner: str, closing: str, counts: tuple[int, int, int]) -> None:
    for output in (closing, f"some output\n\n{closing}\n", closing.replace("\n", "\r\n"), f"\x1b[32m{closing}\x1b[0m"):
        for asked in {runner, ""}:
            said = read_closing_lines(output, asked)
            assert said is not None
            assert said.how == "closing line"
            assert (said.passed, said.failed, said.skipped) == counts
            assert type(said.failed) is int, "a journal with a bool in its place cannot be read"


@pytest.mark.parametrize(
    "output",
    [
        "",
        "OK",
        "ok",
        "PASS",
        "PASSED",
        "FAILED",
        "All tests passed!",
        "3 passed",
        "3 tests passed",
        "3 passed in a row",
        "result: 3 passed in 0.1s or so",
        "assert '3 passed in 0.01s' in output",
        "100% OK",
        "Tests: 3 passed",
        "test result: ok.",
        "Ran 3 tests",
        "Ran 3 tests in 0.1s",
        "OK\nRan 3 tests in 0.1s",
        "ok  all good",
        "ok 1 - a",
        "3 examples",
        "passing (3ms)",
        "# tests 3",
        "Result: PASS",
        "1..3\nok 1\nok 2",
        "make: *** [test] Error 1",
        "3 passed in 0.01s\n" + "more\n" * 100,
    ],
)
def test_text_that_is_not_a_closing_line(output: str) -> None:
    for runner in RUNNERS:
        assert read_closing_lines(output, runner) is None, runner
    assert read_results(None, output, 0, "") == Report("exit status")


def test_of_two_closing_lines_the_worse_counts_stand() -> None:
    """A test's own hook prints another one after pytest's: it cannot better anything."""
    for output in ("no tests ran in 0.01s\n99 passed in 0.01s", "99 passed in 0.01s\nno tests ran in 0.01s"):
        assert read_results(None, output, 0, "pytest") == Report("closing line", passed=0)
    assert read_results(None, "1 failed, 2 passed in 0.1s\n3 passed in 0.1s", 1, "pytest").failed == 1


def test_errors_are_failures() -> None:
    said = read_results(None, "=== 3 passed, 1 error in 0.10s ===", 1, "pytest")
    assert (said.passed, said.failed) == (3, 1)


@given(st.text(), st.sampled_from(RUNNERS))
def test_no_text_breaks_the_readers_of_lines(output: str, runner: str) -> None:
    read_closing_lines(output, runner, "/w")
    count_progress(Progress(), output)


FRAGMENTS = [
    "test a ... ok", "---- a stdout ----", "failures:", "=" * 70, "-" * 70, "FAIL: a (b.C)", "Ran 3 tests in 0.1s", "OK",
    "test_a (b.C.test_a) ... ", "ok", "--- FAIL: T (0.0s)", "FAIL\tp\t0.1s", "ok  \tp\t0.1s", "1..2", "ok 1", "not ok 2",
    "=== RUN   T", "?   \tp\t[no test files]",
    "3 passed in 0.1s", "Tests: 3 total", "# tests 3", "# pass 3", "thread 'x' panicked at a:1:2:", "   Doc-tests a",
    "     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)", "Result: PASS", "  3 passing (1ms)",
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30), st.sampled_from(RUNNERS))
def test_no_mixture_of_runners_lines_breaks_anything(lines: list[str], runner: str) -> None:
    said = read_results(None, "\n".join(lines), 1, runner, "/w")
    assert min(said.passed, said.failed, said.skipped) >= 0
    names = [case.id for case in said.cases]
    assert len(names) == len(set(names))
    for case in said.cases:
        assert len(describe_failure(case)) <= 1_500


@in_turn
def test_long_outputs_are_read_in_time() -> None:
    nasty = ["a " * 2_000, "1 passed, " * 400, "=" * 4_000, "ok " * 1_000, "{" * 4_000, "    " * 1_000, "- # " * 1_000]
    started = time.process_time()
    read_closing_lines("\n".join(nasty * 500) + "\n3 passed in 0.1s", "")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("152 passed, 0 failed, 0 error(s), 0 skipped\n1.3 second(s) of CPU time used\n", (152, 0, 0)),
        ("\n  Total:     32\n  Passed:    31\n  Skipped:   0\n  Duration:  5.63ms\n", (31, 1, 0)),
        ("652 passed, 0 failed, 1 errored, 2 skipped\n", (652, 1, 2)),
        ("Passed: 3", None),
        ("Success/Total: 54/57 (9 pending, assertions: 70/79)\nElapsed time: 6.70 sec.\n", (54, 3, 0)),
        ("== 3 tests passed, 1 failed ==\n", (3, 1, 0)),
        ("# Ran 11 tests, 3 skipped, 0 failed.\n", (8, 0, 3)),
        ("11/12 tests passed\n", (11, 1, 0)),
        ("tests: 32, failures: 1, errors: 2\n", (29, 3, 0)),
        ("all but 2 passed, 1 failed to start", None),
    ],
)
def test_what_programs_of_a_projects_own_say_at_their_end(output: str, counts: tuple[int, int, int] | None) -> None:
    said = read_closing_lines(output, "")
    assert (said and (said.passed, said.failed, said.skipped)) == counts


@in_turn
def test_a_long_output_is_read_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time and memory are bounded, however much a check prints; what a runner says last still counts."""
    seen: list[int] = []
    closing = registry.read_closing

    def watched(lines: Sequence[str], runner: str) -> tuple[str, ClosingLine] | None:
        seen.append(len(lines))
        return closing(lines, runner)

    monkeypatch.setattr(registry, "read_closing", watched)
    output = "y\n" * 2_000_000 + "=== 3 passed in 0.01s ===\n"
    for runner, most in (("", 40_000), ("pytest", 1_000_000)):
        assert read_results(None, output, 0, runner).passed == 3
        assert seen.pop() <= most
