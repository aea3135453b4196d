"""Reading what a test run said: reports, closing lines, single tests in the output, and nothing else."""
# ruff: noqa: E501 (what runners print is as long as it is)

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Case, Report
from bough.core.verdict import registry
from bough.core.verdict.registry import count_progress, make_readable, read_closing_lines, read_results
from bough.core.verdict.rulings import describe_failure, trim_case
from bough.core.verdict.runner import ClosingLine, Progress

RUNNERS = ["", *(runner.name for runner in registry.RUNNERS)]


def read_junit(xml: bytes, root: str = "") -> tuple[Case, ...] | None:
    return registry.read(xml, "pytest", root)


def read_jest(body: bytes, root: str = "") -> tuple[Case, ...] | None:
    return registry.read(body, "jest", root)


def junit(*cases: str) -> bytes:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


def ids(xml: bytes, root: str = "") -> list[tuple[str, str]]:
    cases = read_junit(xml, root)
    assert cases is not None
    return [(case.id, case.outcome) for case in cases]


# JUnit XML


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ('file="tests/test_a.py" classname="tests.test_a.TestX.TestY" name="test_z[a.b]"',
         "tests/test_a.py::TestX::TestY::test_z[a.b]"),
        ('file="test_a.py" classname="test_a" name="test_z"', "test_a.py::test_z"),
        ('file="tests/base.py" classname="tests.test_b.TestC" name="test_z"', "tests/test_b.py::TestC::test_z"),
        ('file="tests/test_c.py" classname="" name="tests.test_c"', "tests/test_c.py"),
        ('classname="" name="tests.test_c"', "tests/test_c.py"),
        ('classname="tests.test_a.TestX" name="test_z"', "tests/test_a.py::TestX::test_z"),
        ('file="src/mod.py" classname="src.mod" name="mod.func"', "src/mod.py::mod.func"),
        ('classname="com.acme.tests.BufferTest" name="inserts"', "com.acme.tests.BufferTest::inserts"),
        ('classname="test/a.test.ts" name="group &gt; adds"', "test/a.test.ts::group > adds"),
        ('file="/w/t/FooTest.php" classname="FooTest" name="testX"', "t/FooTest.php::FooTest > testX"),
        ('file="a.test.mjs" classname="g &gt; h" name="x"', "a.test.mjs::g > h > x"),
        ('file="a.test.mjs" classname="" name=""', "a.test.mjs"),
        ('name="alone"', "alone"),
        ("", "?"),
    ],
)  # fmt: skip
def test_ids_are_what_the_runner_itself_takes(attributes: str, name: str) -> None:
    assert ids(junit(f"<testcase {attributes}/>"), "/w") == [(name, "passed")]


@pytest.mark.parametrize(
    ("inner", "outcome"),
    [
        ("", "passed"),
        ("<system-out>FAILED</system-out>", "passed"),
        ("<failure/>", "failed"),
        ("<error/>", "error"),
        ("<skipped/>", "skipped"),
        ("<failure/><failure/>", "failed"),
        ("<failure/><error/>", "error"),
        ("<error/><failure/>", "error"),
        ("<skipped/><failure/>", "failed"),
        ('<skipped type="todo"/><failure/>', "skipped"),
        ("<flakyFailure/>", "passed"),
        ("<rerunFailure/><failure/>", "failed"),
    ],
)
def test_outcomes(inner: str, outcome: str) -> None:
    assert ids(junit(f'<testcase name="x">{inner}</testcase>')) == [("x", outcome)]


def test_messages_traces_and_times() -> None:
    [case] = (
        read_junit(
            junit(
                '<testcase classname="c" name="x" time="1,234.5"><system-out>noise</system-out>'
                '<failure message="one&#10;two">trace in /w/a.py\nmore</failure><system-err>noise</system-err></testcase>'
            ),
            "/w",
        )
        or ()
    )
    assert case == Case("c::x", "failed", "one\ntwo", "trace in a.py\nmore", 1234.5)
    for odd in ("nan", "inf", "-1", "x", "1e300"):
        assert (read_junit(junit(f'<testcase name="x" time="{odd}"/>')) or ())[0].seconds == 0.0


def test_a_pytest_test_that_comes_twice_is_one_and_the_worse_outcome_stands() -> None:
    twice = '<testcase file="a.py" classname="a" name="x">{}</testcase>'
    assert ids(junit(twice.format("<failure/>"), twice.format("<error/>"))) == [("a.py::x", "error")]
    assert ids(junit(twice.format("<failure/>"), twice.format(""))) == [("a.py::x", "failed")]
    assert ids(junit(twice.format("<skipped/>"), twice.format(""))) == [("a.py::x", "passed")]


def test_others_that_share_a_name_are_numbered() -> None:
    same = '<testcase file="a.js" name="x"/>'
    bad = '<testcase file="a.js" name="x"><failure/></testcase>'
    assert ids(junit(same, bad, same)) == [("a.js::x", "passed"), ("a.js::x#2", "failed"), ("a.js::x#3", "passed")]


LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    b'<testsuites><testcase name="&b;"/></testsuites>'
)
OUTSIDE = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><testsuites><testcase name="&e;"/></testsuites>'


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"not xml",
        b"<testsuites>",
        b"<testsuites><testcase name='x'>",
        b"<html><testcase name='x'/></html>",
        b"<testsuites/><testsuites/>",
        LAUGHS,
        OUTSIDE,
        b"<!DOCTYPE testsuites><testsuites/>",
        b"<testsuites>" + b"<testsuite>" * 60 + b"</testsuite>" * 60 + b"</testsuites>",
        b"<testsuites>&undefined;</testsuites>",
        b"\x00" * 100,
    ],
)
def test_what_is_not_a_report_is_not_read(xml: bytes) -> None:
    assert read_junit(xml) is None
    assert read_results(xml, "", 0, "pytest").how == "exit status"


def test_an_empty_report_is_no_tests_and_not_no_report() -> None:
    assert read_junit(junit()) == ()
    assert read_results(junit(), "", 0, "pytest") == Report("junit")


def test_a_report_with_control_characters_and_broken_text_is_read() -> None:
    xml = junit('<testcase name="x"><failure message="m">\x1b[31mred\x1b[0m \x01 </failure></testcase>')
    [case] = read_junit(xml.replace(b"red", b"r\xffed")) or ()
    assert case.trace == "?[31mr\ufffded?[0m ? "


def test_reports_are_bounded() -> None:
    long = "x" * 100_000
    xml = junit(
        f'<testcase name="{long}"><failure message="{long}">{long}</failure></testcase>', '<testcase name="y"/>'
    )
    first, second = read_junit(xml) or ()
    assert len(first.id) <= 400
    assert len(first.message) <= 1_000
    assert len(first.trace) <= 6_000
    assert second.id == "y"
    assert (read_junit(xml.replace(b'name="xx', b'name="zx')) or ())[0].id != first.id
    assert read_junit(b"<testsuites>" + b" " * (65 * 1024 * 1024) + b"</testsuites>") is None


@given(st.binary())
def test_no_bytes_break_the_readers_of_reports(body: bytes) -> None:
    for each in (body, b"<testsuites>" + body + b"</testsuites>", b'{"testResults": ' + body + b"}"):
        read_junit(each)
        read_jest(each)
        read_results(each, "", 0, "")


@given(st.text(), st.text(), st.text())
def test_no_names_break_the_reader(name: str, group: str, file: str) -> None:
    import xml.sax.saxutils as sax

    quoted = [sax.quoteattr(text.encode("utf-8", "replace").decode()) for text in (name, group, file)]
    read_junit(junit("<testcase name={} classname={} file={}><failure/></testcase>".format(*quoted)), "/w")


# jest's JSON


def test_jest_json() -> None:
    body = {
        "numTotalTests": 4,
        "testResults": [
            {
                "name": "/w/src/a.test.js",
                "status": "failed",
                "message": "",
                "assertionResults": [
                    {"ancestorTitles": ["g", "h"], "title": "adds", "status": "passed", "duration": 12},
                    {
                        "ancestorTitles": [],
                        "title": "fails",
                        "status": "failed",
                        "duration": None,
                        "failureMessages": ["\x1b[31mError: boom\x1b[39m\n    at Object.<anonymous> (/w/src/a.test.js:3:5)"],
                    },
                    {"ancestorTitles": [], "title": "later", "status": "todo"},
                    {"ancestorTitles": [], "title": "off", "status": "pending"},
                ],
            },
            {"name": "/w/src/b.test.js", "status": "failed", "message": "SyntaxError: x\nmore", "assertionResults": []},
        ],
    }  # fmt: skip
    cases = read_jest(json.dumps(body).encode(), "/w")
    assert cases == (
        Case("src/a.test.js::g > h > adds", "passed", seconds=0.012),
        Case("src/a.test.js::fails", "failed", "Error: boom", "Error: boom\n    at Object.<anonymous> (src/a.test.js:3:5)"),
        Case("src/a.test.js::later", "skipped"),
        Case("src/a.test.js::off", "skipped"),
        Case("src/b.test.js", "error", "SyntaxError: x", "SyntaxError: x\nmore"),
    )  # fmt: skip
    said = read_results(json.dumps(body).encode(), "", 1, "jest", "/w")
    assert (said.how, said.passed, said.failed, said.skipped) == ("junit", 1, 2, 2)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"{", b'{"testResults": 1}', b'{"testResults": [{"name": 1}]}', b"{" * 9999]
)
def test_what_is_not_jests(body: bytes) -> None:
    assert read_jest(body) is None


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
    ("", "FAILED | 3 passed (2 steps) | 1 failed | 1 ignored (12ms)", (3, 1, 0)),
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


def test_a_report_cannot_better_the_closing_line() -> None:
    forged = junit('<testcase name="a"/>', '<testcase name="b"/>')
    said = read_results(forged, "no tests ran in 0.01s", 0, "pytest")
    assert (said.how, said.passed, said.failed) == ("junit", 0, 0)
    said = read_results(forged, "1 failed, 1 passed in 0.01s", 0, "pytest")
    assert (said.passed, said.failed) == (1, 1)
    bad = junit('<testcase name="a"><failure/></testcase>')
    assert read_results(bad, "5 passed in 0.01s", 0, "pytest").failed == 1


def test_the_report_of_a_command_that_was_killed_is_not_believed() -> None:
    assert read_results(junit('<testcase name="a"/>'), "", None, "pytest") == Report("exit status")


def test_errors_are_failures() -> None:
    said = read_results(None, "=== 3 passed, 1 error in 0.10s ===", 1, "pytest")
    assert (said.passed, said.failed) == (3, 1)


@given(st.text(), st.sampled_from(RUNNERS))
def test_no_text_breaks_the_readers_of_lines(output: str, runner: str) -> None:
    read_closing_lines(output, runner, "/w")
    make_readable(output, runner)
    count_progress(Progress(), output, runner)


FRAGMENTS = [
    "test a ... ok", "---- a stdout ----", "failures:", "=" * 70, "-" * 70, "FAIL: a (b.C)", "Ran 3 tests in 0.1s", "OK",
    "test_a (b.C.test_a) ... ", "ok", "--- FAIL: T (0.0s)", "FAIL\tp\t0.1s", "ok  \tp\t0.1s", "1..2", "ok 1", "not ok 2",
    '{"Action":"run","Package":"p","Test":"T"}', '{"Action":"fail","Package":"p"}', '{"Action":"output","Output":"x"}',
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
        assert len(describe_failure(case, lambda path: "a\nb\n")) <= 1_500


def test_long_outputs_are_read_in_time() -> None:
    nasty = ["a " * 2_000, "1 passed, " * 400, "=" * 4_000, "ok " * 1_000, "{" * 4_000, "    " * 1_000, "- # " * 1_000]
    started = time.process_time()
    read_closing_lines("\n".join(nasty * 500) + "\n3 passed in 0.1s", "")
    assert time.process_time() - started < 5


# Single tests in the output

GO_JSON = """\
{"Action":"start","Package":"example.com/m/a"}
{"Action":"run","Package":"example.com/m/a","Test":"TestGood"}
{"Action":"output","Package":"example.com/m/a","Test":"TestGood","Output":"=== RUN   TestGood\\n"}
{"Action":"output","Package":"example.com/m/a","Test":"TestGood","Output":"--- PASS: TestGood (0.00s)\\n"}
{"Action":"pass","Package":"example.com/m/a","Test":"TestGood","Elapsed":0.25}
{"Action":"run","Package":"example.com/m/a","Test":"TestBad"}
{"Action":"run","Package":"example.com/m/a","Test":"TestBad/empty_line"}
{"Action":"output","Package":"example.com/m/a","Test":"TestBad/empty_line","Output":"    a_test.go:12: got 1, want 2\\n"}
{"Action":"output","Package":"example.com/m/a","Test":"TestBad/empty_line","Output":"    --- FAIL: TestBad/empty_line (0.00s)\\n"}
{"Action":"fail","Package":"example.com/m/a","Test":"TestBad/empty_line","Elapsed":0}
{"Action":"fail","Package":"example.com/m/a","Test":"TestBad","Elapsed":0}
{"Action":"run","Package":"example.com/m/a","Test":"TestSkipped"}
{"Action":"skip","Package":"example.com/m/a","Test":"TestSkipped","Elapsed":0}
{"Action":"output","Package":"example.com/m/a","Output":"FAIL\\n"}
{"Action":"fail","Package":"example.com/m/a","Elapsed":0.31}
{"ImportPath":"example.com/m/b","Action":"build-output","Output":"b/b.go:3:2: undefined: x\\n"}
{"ImportPath":"example.com/m/b","Action":"build-fail"}
{"Action":"output","Package":"example.com/m/b","Output":"b/b.go:3:2: undefined: x\\n"}
{"Action":"fail","Package":"example.com/m/b","Elapsed":0}
{"Action":"skip","Package":"example.com/m/c","Elapsed":0}
not an event
"""


def test_go_test_json() -> None:
    said = read_results(None, GO_JSON, 1, "go", "/w")
    assert {case.id: case.outcome for case in said.cases} == {
        "example.com/m/a::TestGood": "passed",
        "example.com/m/a::TestBad": "failed",
        "example.com/m/a::TestBad/empty_line": "failed",
        "example.com/m/a::TestSkipped": "skipped",
        "example.com/m/b": "error",
    }
    assert (said.how, said.passed, said.failed, said.skipped) == ("closing line", 1, 3, 1)
    cases = {case.id: case for case in said.cases}
    assert cases["example.com/m/a::TestBad/empty_line"].message == "a_test.go:12: got 1, want 2"
    assert cases["example.com/m/b"].message == "b/b.go:3:2: undefined: x"
    assert cases["example.com/m/a::TestGood"].seconds == 0.25
    assert "=== RUN   TestGood\n--- PASS: TestGood (0.00s)\n" in make_readable(GO_JSON, "go")
    assert "Action" not in make_readable(GO_JSON, "go")


def test_a_go_test_that_never_ended_is_an_error() -> None:
    cut = '{"Action":"run","Package":"p","Test":"TestX"}\n{"Action":"fail","Package":"p"}'
    assert [(case.id, case.outcome) for case in read_results(None, cut, 1, "go").cases] == [("p::TestX", "error")]
    only_begun = '{"Action":"run","Package":"p","Test":"TestX"}'
    assert read_results(None, only_begun, None, "go") == Report("exit status")


def test_go_test_without_json() -> None:
    output = (
        "=== RUN   TestA\n--- PASS: TestA (0.10s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n    a_test.go:9: no\nFAIL\n"
        "FAIL\texample.com/m/a\t0.002s\nFAIL\texample.com/m/b [build failed]\nok  \texample.com/m/c\t0.1s\nFAIL\n"
    )
    said = read_results(None, output, 1, "")
    assert [(case.id, case.outcome, case.message) for case in said.cases] == [
        ("example.com/m/a::TestA", "passed", ""),
        ("example.com/m/a::TestB", "failed", "a_test.go:9: no"),
        ("example.com/m/b", "error", "FAIL example.com/m/b [build failed]"),
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


def test_cargo_nextest() -> None:
    output = (
        "        PASS [   0.003s] tiny tests::adds\n        FAIL [   0.004s] (2/2) tiny::whole outer\n"
        "     Summary [   0.005s] 2 tests run: 1 passed, 1 failed, 0 skipped\n"
        "        FAIL [   0.004s] (2/2) tiny::whole outer\n"
    )
    said = read_results(None, output, 100, "cargo")
    assert [(case.id, case.outcome) for case in said.cases] == [
        ("tiny::tests::adds", "passed"),
        ("tiny:whole::outer", "failed"),
    ]
    assert (said.passed, said.failed) == (1, 1)


NAMED = [
    (
        "ava",
        """> xo && c8 ava && tsd

  ✔ chalk › resets styles (1.6s)
  ✘ [fail]: level › is kept Rejected promise
  ─

  level › is kept

  1 test failed
  1 test passed
----------|---------|
File      | % Stmts |""",
        {"chalk › resets styles": "passed", "level › is kept Rejected promise": "failed"},
        ("level › is kept Rejected promise", "─"),
    ),
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


# Trimming


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
    assert describe_failure(trim_case(case, files(src__add_dot_py=CODE)), lambda path: None).count("the code at") == 1


def test_the_code_of_other_languages() -> None:
    def excerpt(name: str, trace: str, **known: str) -> str:
        return trim_case(Case(name, "failed", "m", trace), files(**known)).trace

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
    told = trim_case(Case("tests/test_a.py::test_x", "failed", message, trace), files(tests__test_a_dot_py=CODE))
    assert told.trace == trace


@given(st.text(), st.text(max_size=3_000), st.text(max_size=8_000), st.text())
def test_a_failure_is_bounded_whatever_it_holds(name: str, message: str, trace: str, code: str) -> None:
    case = Case(name[:400], "failed", message[:1_000], trace[:6_000] + "\na.py:1: x")
    assert len(describe_failure(case, lambda path: code)) <= 1_500


# Progress


@pytest.mark.parametrize(
    ("runner", "lines", "told"),
    [
        ("pytest", ["collected 40 items", "tests/test_a.py ..F.s [ 10%]", "tests/test_b.py ...", "....... [100%]"],
         "15 of 40 tests, 1 failure so far"),
        ("pytest", ["a.py::test_x PASSED [ 50%]", "a.py::test_y FAILED [100%]"], "2 tests, 1 failure so far"),
        ("pytest", ["[gw0] [ 50%] PASSED a.py::test_x ", "[gw1] [100%] ERROR a.py::test_y"], "2 tests, 1 failure so far"),
        ("pytest", ["...", "hello .", "FAILED", "....."], "0 tests, 0 failures so far"),
        ("unittest", ["test_a (t.X.test_a) ... ok", "test_b (t.X.test_b) ... FAIL"], "2 tests, 1 failure so far"),
        ("cargo", ["running 2 tests", "test a ... ok", "test b ... FAILED", "failures:", "running 1 test", "test c ... ok"],
         "3 of 3 tests, 1 failure so far"),
        ("go", ["--- PASS: TestA (0.00s)", "    --- FAIL: TestB/x (0.00s)"], "2 tests, 1 failure so far"),
        ("go", GO_JSON.split("\n"), "4 tests, 2 failures so far"),
        ("node", ["ok 1 - a", "    not ok 2 - b", "# tests 2", "ok 3 - c"], "2 tests, 1 failure so far"),
        ("node", ["✔ a (1.5ms)", "▶ g", "  ✖ b (1ms)", "✖ g (2ms)", "✖ failing tests:", "✖ b (1ms)"],
         "2 tests, 1 failure so far"),
        ("jest", ["  ✓ adds (2 ms)", "  ✕ fails"], "2 tests, 1 failure so far"),
        ("", ["test a ... ok"], "1 test, 0 failures so far"),
        ("", ["\x1b[32mok 1 - a\x1b[0m", "nothing"], "1 test, 0 failures so far"),
    ],
)  # fmt: skip
def test_progress(runner: str, lines: list[str], told: str) -> None:
    so_far = Progress()
    for line in lines:
        so_far = count_progress(so_far, line, runner)
    assert str(so_far) == told


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
