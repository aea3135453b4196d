"""Reading the reports that runners write: JUnit XML and Jest's JSON."""
# ruff: noqa: E501 (what runners print is as long as it is)

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Case, Report
from bough.core.verdict.registry import RUNNERS, read_results
from bough.core.verdict.runner import Runner


def find_reader(name: str) -> Runner:
    return next(runner for runner in RUNNERS if runner.name == name)


def read_junit(xml: bytes, root: str = "") -> tuple[Case, ...] | None:
    return find_reader("pytest").read(xml, root)


def read_jest(body: bytes, root: str = "") -> tuple[Case, ...] | None:
    return find_reader("jest").read(body, root)


def junit(*cases: str) -> bytes:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


def ids(xml: bytes, root: str = "") -> list[tuple[str, str]]:
    cases = read_junit(xml, root)
    assert cases is not None
    return [(case.id, case.outcome) for case in cases]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (
            "test_a[&lt;calc.A object at 0x7f3a5c0d1e50&gt;]",
            "test_a[&lt;calc.A object at 0x7f11aa0d1e50&gt;]",
            "at 0x0",
        ),
        ("shows #&lt;Cart:0x000078e1c2d3f4a5&gt;", "shows #&lt;Cart:0x000078e1c2d3f4ff&gt;", "#<Cart:0x0>"),
        ("TestA/0xc0000140a8", "TestA/0xc0000140b0", "TestA/0x0"),
        ("adds [1] Cart@1b2c3d4e", "adds [1] Cart@7f31c2", "Cart@0x0"),
    ],
)
def test_an_address_in_memory_makes_no_new_test(first: str, second: str, kept: str) -> None:
    (one,), (other,) = (ids(junit(f'<testcase classname="c" name="{name}"/>')) for name in (first, second))
    assert one == other and kept in one[0]


def test_other_numbers_stay_in_the_name() -> None:
    names = ("test_a[0xdeadbeef]", "test_a[0x7f3a]", "mail a@deadbeef", "at 3")
    (found, *_) = zip(*ids(junit(*(f'<testcase classname="c" name="{name}"/>' for name in names))), strict=True)
    assert [any(name in one for one in found) for name in names] == [True] * 4


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
