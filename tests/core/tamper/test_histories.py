"""Texts that the histories of many projects are full of and that are easily misread: raw strings and lifetimes."""

from __future__ import annotations

import pytest

from bough.core.tamper.text.literals import plain
from tests.core.tamper.pairs import Files, findings, said

GO = """package calc

import "testing"

func TestPath(t *testing.T) {
\tif Path() != `C:\\` {
\t\tt.Fatal("bad")
\t}
}

func TestAdd(t *testing.T) {
\tif Add(2, 3) != 5 {
\t\tt.Fatal("bad")
\t}
\tif Add(0, 1) != 1 {
\t\tt.Fatal("`bad`")
\t}
}
"""
RUST = """fn same<'a>(text: &'a str) -> &'a str { text }

#[test]
fn path() {
    assert_eq!(folder(r"C"), r#"C:\\"#);
    assert_eq!(same("a {
        b"), TEXT);
}

#[test]
fn adds<'a>() {
    assert_eq!(add(2, 3), 5);
    assert_eq!(quote(), '"');
    assert_eq!(add(0, 1), 1);
}
"""


def go(old: str = "", new: str = "") -> Files:
    assert old in GO
    return {"calc_test.go": GO.replace(old, new)}


def rust(old: str = "", new: str = "") -> Files:
    assert old in RUST
    return {"tests/calc.rs": RUST.replace(old, new)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            go(),
            go(
                "func TestAdd",
                "func TestNil(t *testing.T) {\n\tif Add(0, 0) != 0 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestAdd",
            ),
        ),
        (go(), go("\tif Add(0, 1) != 1", "\tif Add(7, 1) != 8 {\n\t\tt.Fatal(`\\`)\n\t}\n\tif Add(0, 1) != 1")),
        (
            rust(),
            rust("#[test]\nfn adds", "#[test]\nfn nothing() {\n    assert_eq!(add(0, 0), 0);\n}\n\n#[test]\nfn adds"),
        ),
        (rust(), rust("    assert_eq!(add(0, 1), 1);", "    assert_eq!(add(0, 1), 1);\n    assert_eq!(add(7, 1), 8);")),
    ],
)
def test_what_is_added_after_a_raw_string_takes_nothing_away(before: Files, after: Files) -> None:
    assert said(findings(before, after, "make test")) == ""


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (go(), go('\tif Add(0, 1) != 1 {\n\t\tt.Fatal("`bad`")\n\t}\n', ""), "TestAdd"),
        (go(), go("`C:\\`", "`D:\\`"), "TestPath"),
        (rust(), rust("    assert_eq!(add(0, 1), 1);\n", ""), "adds"),
        (rust(), rust("add(2, 3), 5", "add(2, 3), 6"), "adds"),
        (rust(), rust('r#"C:\\"#', 'r#"D:\\"#'), "path"),
    ],
)
def test_what_is_taken_away_after_a_raw_string_is_named(before: Files, after: Files, named: str) -> None:
    assert named in said(findings(before, after, "make test"))


@pytest.mark.parametrize(("text", "language"), [(GO, "go"), (RUST, "rust"), ("let a = `\\``", "javascript")])
def test_nothing_changes_its_place(text: str, language: str) -> None:
    read = plain(text, language)
    assert len(read) == len(text)
    assert read.count("\n") == text.count("\n")
    assert language != "javascript" or read == text


def test_a_quote_may_change_and_an_expectation_beside_an_equal_value_may_not() -> None:
    was = "test('same', () => {\n  assert.equal(same('a'), 'a');\n});\n"
    quoted = was.replace("'", '"')
    other = was.replace("), 'a'", "), 'b'")
    assert said(findings({"a.test.js": was}, {"a.test.js": quoted}, "npm test")) == ""
    assert "expected value changed" in said(findings({"a.test.js": was}, {"a.test.js": other}, "npm test"))
