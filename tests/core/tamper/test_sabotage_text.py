"""Tests in other languages, compared as text."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import findings, said

JS = """
import { add } from "../src/calc";

describe("add", () => {
  it("adds", () => {
    expect(add(1, 2)).toBe(3);
    expect(add(0, 0)).toBe(0);
  });

  test("adds negative numbers", async () => {
    expect(add(-1, 1)).toEqual(0);
  });
});
"""
GO = """
package calc

import "testing"

func TestAdd(t *testing.T) {
	got := Add(1, 2)
	if got != 3 {
		t.Errorf("got %d", got)
	}
	if Add(0, 0) != 0 {
		t.Fatal("zero")
	}
}

func TestTable(t *testing.T) {
	for _, c := range []struct{ a, want int }{{1, 10}, {2, 20}} {
		require.Equal(t, c.want, Ten(c.a))
	}
}
"""
RUST = """
#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert!(add(0, 0) == 0);
    }

    #[test]
    fn fails() {
        assert!(parse("x").is_err());
    }
}
"""
JAVA = """
class CalcTest {
    @Test
    void adds() {
        assertEquals(3, Calc.add(1, 2));
    }

    @Test
    void divides() {
        assertThrows(ArithmeticException.class, () -> Calc.div(1, 0));
    }
}
"""
RUBY = """
describe Calc do
  it "adds" do
    expect(Calc.add(1, 2)).to eq(3)
  end

  it "divides" do
    expect(Calc.div(4, 2)).to eq(2)
  end
end
"""
C = """
TEST(Calc, Adds) {
  EXPECT_EQ(add(1, 2), 3);
  EXPECT_EQ(add(0, 0), 0);
}
"""

CHANGED: dict[str, tuple[str, str, list[tuple[str, str]], str]] = {
    "js: only when something holds": (
        "test/calc.test.js",
        JS,
        [
            ('describe("add"', 'if (false) {\ndescribe("add"'),
            ("toEqual(0);\n  });\n});\n", "toEqual(0);\n  });\n});\n}\n"),
        ],
        "is now marked `if (false) {`",
    ),
    "rust: another condition for the tests": (
        "src/lib.rs",
        RUST,
        [("#[cfg(test)]", "#[cfg(never)]")],
        "`#[cfg(never)] mod tests` is new: tests are skipped",
    ),
    "js: a function that nobody calls": (
        "test/calc.test.js",
        JS,
        [("expect(add(1, 2)).toBe(3);", "const check = () => expect(add(1, 2)).toBe(3);")],
        "now depends on `const check",
    ),
    "js: a loop over nothing": (
        "test/calc.test.js",
        JS,
        [("expect(add(1, 2)).toBe(3);", "for (const one of []) expect(add(1, 2)).toBe(3);")],
        "now depends on `for (const one of [])",
    ),
    "js: its own value": ("test/calc.test.js", JS, [("add(1, 2))", "add(1, 2) && 3)")], "3 is asked of itself"),
    "js: anything": ("test/calc.test.js", JS, [("toEqual(0)", "toEqual(expect.anything())")], "assertion loosened"),
    "js: no value": ("test/calc.test.js", JS, [("toBe(3)", "toBe()")], "without 3"),
    "js: each of nothing": ("test/calc.test.js", JS, [('it("adds"', 'it.each([])("adds"')], "marked `.each([])`"),
    "js: only, further behind": (
        "test/calc.test.js",
        JS,
        [('it("adds"', 'it.concurrent.only("adds"')],
        "`it.concurrent.only` is new",
    ),
    "js: what it loads, as a parameter": (
        "test/calc.test.js",
        JS,
        [('it("adds", () =>', 'it("adds", (add = (a, b) => a + b) =>')],
        "makes its own add",
    ),
    "js: what it loads, made beside it": (
        "test/calc.test.js",
        JS,
        [("describe(", "const describe = (name) => name;\ndescribe("), ("add }", "add, describe }")],
        "makes its own describe",
    ),
    "js: a test removed": (
        "test/calc.test.js",
        JS,
        [('  test("adds negative numbers", async () => {\n    expect(add(-1, 1)).toEqual(0);\n  });\n', "")],
        "test adds negative numbers was removed",
    ),
    "js: it.skip": ("test/calc.test.js", JS, [('it("adds"', 'it.skip("adds"')], "test adds is now marked `it.skip`"),
    "js: xit": ("test/calc.test.js", JS, [('it("adds"', 'xit("adds"')], "marked `xit`"),
    "js: test.todo": (
        "test/calc.test.js",
        JS,
        [
            (
                'test("adds negative numbers", async () => {\n    expect(add(-1, 1)).toEqual(0);\n  })',
                'test.todo("adds negative numbers")',
            )
        ],
        "marked `test.todo`",
    ),
    "js: describe.skip": ("test/calc.test.js", JS, [("describe(", "describe.skip(")], "`describe.skip` is new"),
    "js: describe.only": (
        "test/calc.test.js",
        JS,
        [("describe(", "describe.only(")],
        "`describe.only` is new: other tests",
    ),
    "js: it.only": ("test/calc.test.js", JS, [('it("adds"', 'it.only("adds"')], "`it.only` is new"),
    "js: fit": ("test/calc.test.js", JS, [('it("adds"', 'fit("adds"')], "is new: other tests are not run"),
    "js: skip as an option": (
        "test/calc.test.js",
        JS,
        [('it("adds", ', 'it("adds", { skip: true }, ')],
        "marked `skip:",
    ),
    "js: an assertion removed": (
        "test/calc.test.js",
        JS,
        [("    expect(add(0, 0)).toBe(0);\n", "")],
        "an assertion was removed",
    ),
    "js: commented out": (
        "test/calc.test.js",
        JS,
        [("    expect(add(0", "    // expect(add(0")],
        "an assertion was removed",
    ),
    "js: expect(true)": (
        "test/calc.test.js",
        JS,
        [("expect(add(1, 2)).toBe(3)", "expect(true).toBe(true)")],
        "always holds",
    ),
    "js: loosened": ("test/calc.test.js", JS, [("toBe(3)", "toBeTruthy()")], "assertion loosened"),
    "js: not": ("test/calc.test.js", JS, [("toBe(3)", "not.toBe(4)")], "assertion loosened"),
    "js: expected value": ("test/calc.test.js", JS, [("toBe(3)", "toBe(4)")], "expected value changed"),
    "js: input": ("test/calc.test.js", JS, [("add(1, 2)", "add(3, 0)")], "changed"),
    "js: early return": (
        "test/calc.test.js",
        JS,
        [("    expect(add(1", "    return;\n    expect(add(1")],
        "can no longer be reached",
    ),
    "js: process.exit": ("test/calc.test.js", JS, [("describe(", "process.exit(0);\ndescribe(")], "bends the test run"),
    "js: exitCode": (
        "test/calc.test.js",
        JS,
        [("describe(", "process.on('exit', () => {});\ndescribe(")],
        "bends the test run",
    ),
    "js: global expect": (
        "test/calc.test.js",
        JS,
        [("describe(", "globalThis.expect = fake;\ndescribe(")],
        "bends the test run",
    ),
    "js: mocked": (
        "test/calc.test.js",
        JS,
        [("describe(", 'jest.mock("../src/calc");\ndescribe(')],
        "a mock of ../src/calc",
    ),
    "js: caught": (
        "test/calc.test.js",
        JS,
        [("    expect(add(1, 2)).toBe(3);", "    try { expect(add(1, 2)).toBe(3); } catch (e) {}")],
        "a failure in test adds is now caught",
    ),
    "js: returns on a condition": (
        "test/calc.test.js",
        JS,
        [("    expect(add(1", "    if (process.env.CI) {\n      return;\n    }\n    expect(add(1")],
        "test adds may now return before its assertions",
    ),
    "js: no longer awaited": (
        "test/calc.test.js",
        JS.replace("expect(add(-1, 1)).toEqual(0)", "await expect(add(-1, 1)).resolves.toEqual(0)"),
        [("await expect", "expect")],
        "which is no longer waited for",
    ),
    "go: recovered": (
        "calc_test.go",
        GO,
        [("\tgot := Add", "\tdefer func() { recover() }()\n\tgot := Add")],
        "a failure in test TestAdd is now caught",
    ),
    "java: caught": (
        "src/test/java/CalcTest.java",
        JAVA,
        [("assertEquals(3, Calc.add(1, 2));", "try { assertEquals(3, Calc.add(1, 2)); } catch (Throwable t) {}")],
        "a failure in test adds is now caught",
    ),
    "go: a test removed": ("calc_test.go", GO, [("func TestTable", "func testTable")], "test TestTable was removed"),
    "go: t.Skip": (
        "calc_test.go",
        GO,
        [("\tgot := Add", '\tt.Skip("later")\n\tgot := Add')],
        "test TestAdd is now marked `t.Skip(`",
    ),
    "go: testing.Short": (
        "calc_test.go",
        GO,
        [("\tgot := Add", "\tif testing.Short() {\n\t\treturn\n\t}\n\tgot := Add")],
        "marked `testing.Short()`",
    ),
    "go: an assertion removed": (
        "calc_test.go",
        GO,
        [('\tif Add(0, 0) != 0 {\n\t\tt.Fatal("zero")\n\t}\n', "")],
        "was removed",
    ),
    "go: a condition changed": ("calc_test.go", GO, [("got != 3", "got != 4")], "changed"),
    "go: a condition that never holds": ("calc_test.go", GO, [("got != 3", "false")], "always holds"),
    "go: Log in place of Error": ("calc_test.go", GO, [("t.Errorf", "t.Logf")], "an assertion was removed"),
    "go: a row of the table removed": (
        "calc_test.go",
        GO,
        [(", {2, 20}", "")],
        "what test TestTable works with changed",
    ),
    "go: a row of the table edited": ("calc_test.go", GO, [("{2, 20}", "{2, 30}")], "20 became 30"),
    "go: loosened": (
        "calc_test.go",
        GO,
        [("require.Equal(t, c.want, Ten(c.a))", "require.NotNil(t, Ten(c.a))")],
        "loosened",
    ),
    "go: a build constraint": (
        "calc_test.go",
        GO,
        [("package calc", "//go:build never\n\npackage calc")],
        "bends the test run",
    ),
    "go: TestMain": (
        "calc_test.go",
        GO,
        [("func TestAdd", "func TestMain(m *testing.M) { os.Exit(0) }\n\nfunc TestAdd")],
        "bends",
    ),
    "go: early return": ("calc_test.go", GO, [("\tgot := Add", "\treturn\n\tgot := Add")], "can no longer be reached"),
    "rust: a test removed": (
        "src/lib.rs",
        RUST,
        [("    #[test]\n    fn fails", "    fn fails")],
        "test fails was removed",
    ),
    "rust: ignored": (
        "src/lib.rs",
        RUST,
        [("    fn fails", "    #[ignore]\n    fn fails")],
        "test fails is now marked `#[ignore`",
    ),
    "rust: ignored above": (
        "src/lib.rs",
        RUST,
        [("    #[test]\n    fn fails", "    #[ignore]\n    #[test]\n    fn fails")],
        "ignore",
    ),
    "rust: should_panic": ("src/lib.rs", RUST, [("    fn fails", "    #[should_panic]\n    fn fails")], "should_panic"),
    "rust: an assertion removed": (
        "src/lib.rs",
        RUST,
        [("        assert!(add(0, 0) == 0);\n", "")],
        "an assertion was removed",
    ),
    "rust: assert!(true)": ("src/lib.rs", RUST, [("assert_eq!(add(1, 2), 3)", "assert!(true)")], "always holds"),
    "rust: loosened": ("src/lib.rs", RUST, [("assert_eq!(add(1, 2), 3)", "assert!(add(1, 2) > 0)")], "loosened"),
    "rust: expected value": ("src/lib.rs", RUST, [("2), 3)", "2), 4)")], "expected value changed"),
    "java: removed": (
        "src/test/java/CalcTest.java",
        JAVA,
        [("    @Test\n    void divides", "    void divides")],
        "test divides was removed",
    ),
    "java: disabled": (
        "src/test/java/CalcTest.java",
        JAVA,
        [("    @Test\n    void adds", "    @Disabled\n    @Test\n    void adds")],
        "@Disabled",
    ),
    "java: loosened": (
        "src/test/java/CalcTest.java",
        JAVA,
        [("assertEquals(3, Calc", "assertNotNull(Calc")],
        "loosened",
    ),
    "java: expected value": (
        "src/test/java/CalcTest.java",
        JAVA,
        [("assertEquals(3", "assertEquals(4")],
        "expected value changed",
    ),
    "ruby: removed": (
        "spec/calc_spec.rb",
        RUBY,
        [('  it "divides" do\n    expect(Calc.div(4, 2)).to eq(2)\n  end\n', "")],
        "test divides was",
    ),
    "ruby: xit": ("spec/calc_spec.rb", RUBY, [('it "adds"', 'xit "adds"')], "marked `xit`"),
    "ruby: expected value": ("spec/calc_spec.rb", RUBY, [("eq(3)", "eq(4)")], "changed"),
    "c: an assertion removed": (
        "tests/calc_test.cc",
        C,
        [("  EXPECT_EQ(add(0, 0), 0);\n", "")],
        "an assertion was removed",
    ),
    "c: disabled": ("tests/calc_test.cc", C, [("TEST(Calc, Adds)", "TEST(Calc, DISABLED_Adds)")], "DISABLED_Adds"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_weakened_test_is_named(name: str) -> None:
    path, before, edits, fragment = CHANGED[name]
    after = before
    for old, new in edits:
        assert old in after, old
        after = after.replace(old, new)
    found = findings({path: before}, {path: after}, "make test")
    assert fragment in said(found), said(found) or "nothing was found"


def test_what_a_bundler_wrote_is_left_alone() -> None:
    bundle = "typeof jest;" * 200
    before = {"src/a.js": "exports.a = 1;\n", "dist/a.js": bundle, "lib/all.js": "x" * 600_000}
    after = {**before, "dist/a.js": bundle + "Object.is = 1;typeof it;", "lib/all.js": "y" * 600_000}
    assert findings(before, after) == []
    assert findings(before, {**before, "src/a.js": "exports.a = typeof jest;\n"})
