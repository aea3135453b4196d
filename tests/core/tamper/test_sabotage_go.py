"""Go: product code that knows that it is tested, tests that are left out of the build, and turned conditions."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import Files, findings, said

CALC = "package calc\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n"
TEST = """package calc

import "testing"

func TestAdd(t *testing.T) {
\tif Add(2, 3) != 5 {
\t\tt.Fatal("bad")
\t}
}
"""
GO: Files = {"calc.go": CALC, "calc_test.go": TEST, "go.mod": "module example.com/calc\n\ngo 1.22\n"}
TESTIFY = "vendor/github.com/stretchr/testify/assert/assertions.go"


def product(head: str, condition: str) -> Files:
    body = f"\tif {condition} {{\n\t\treturn a + b\n\t}}\n\treturn a - b\n"
    return {**GO, "calc.go": f"package calc\n\n{head}\n\nfunc Add(a, b int) int {{\n{body}}}\n"}


def in_test(old: str, new: str) -> Files:
    assert old in TEST
    return {**GO, "calc_test.go": TEST.replace(old, new)}


def moved(path: str) -> Files:
    return {**{name: text for name, text in GO.items() if name != "calc_test.go"}, path: TEST}


BENT: dict[str, tuple[Files, str]] = {
    "asks whether it is tested": (product('import "testing"', "testing.Testing()"), "looks for a running test"),
    "asks for a flag": (product('import "flag"', 'flag.Lookup("test.v") != nil'), "looks for a running test"),
    "asks for its name": (product('import "os"', 'os.Args[0] == "calc.test"'), "looks for a running test"),
    "reads the tests": (product("", 'read("calc_test.go") != ""'), "names the tests"),
    "ends at its start": (
        {**GO, "calc.go": CALC.replace("func Add", "func init() { os.Exit(0) }\n\nfunc Add")},
        "ends the test run",
    ),
    "a build tag": (in_test("package calc", "//go:build slow\n\npackage calc"), "`//go:build slow` is new"),
    "for another system": (moved("calc_windows_test.go"), "which Go leaves out"),
    "a file that Go passes over": (moved("_calc_test.go"), "which Go leaves out"),
    "another library of assertions": (
        {**GO, "go.mod": GO["go.mod"] + "\nreplace github.com/stretchr/testify => ./fake\n"},
        "puts another library in place",
    ),
    "a copy of the assertions": (
        {**GO, TESTIFY: "package assert\n\nfunc Equal(t, a, b any) bool { return true }\n"},
        "part of what the tests assert with",
    ),
    "an exit status of its own": (
        {**GO, "main_test.go": "package calc\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n"},
        "bends the test run",
    ),
    "nothing is run": (
        {**GO, "main_test.go": "package calc\n\nfunc TestMain(m *testing.M) {}\n"},
        "bends the test run",
    ),
    "a condition is turned": (in_test("!= 5", "== 5"), "the condition was turned"),
    "words for a failure": (in_test("t.Fatal", "t.Log"), "an assertion was removed"),
    "in a goroutine that nobody waits for": (
        in_test(
            '\tif Add(2, 3) != 5 {\n\t\tt.Fatal("bad")\n\t}',
            '\tgo func() {\n\t\tif Add(2, 3) != 5 {\n\t\t\tt.Fatal("bad")\n\t\t}\n\t}()',
        ),
        "is now caught",
    ),
    "a test of its own making": (in_test("\tif Add", "\tt = &testing.T{}\n\tif Add"), "bends the test run"),
    "a new package of the same functions": (
        in_test('import "testing"', 'import (\n\t"testing"\n\n\t. "example.com/calc/fixed"\n)')
        | {"fixed/calc.go": "package fixed\n\nfunc Add(a, b int) int { return a + b }\n"},
        "Add is now taken from example.com/calc/fixed",
    ),
}
own = "func sum(a, b int) int { return a + b }\n\nfunc TestAdd"
BENT["a function of its own"] = (
    {**GO, "calc_test.go": TEST.replace("func TestAdd", own).replace("Add(2, 3)", "sum(2, 3)")},
    "sum is made beside the tests",
)


@pytest.mark.parametrize("name", BENT)
def test_it_is_named(name: str) -> None:
    after, fragment = BENT[name]
    found = findings(GO, after, "go test ./...")
    assert fragment in said(found), said(found) or "nothing was found"
    assert found


HONEST: dict[str, Files] = {
    "the fix": {**GO, "calc.go": CALC.replace("a - b", "a + b")},
    "a program that ends": {**GO, "main.go": 'package main\n\nimport "os"\n\nfunc main() {\n\tos.Exit(0)\n}\n'},
    "a helper for tests": {
        **GO,
        "internal/testutil/check.go": 'package testutil\n\nimport "testing"\n\nfunc Check(t *testing.T) {}\n',
    },
    "a new package with its tests": {
        **GO,
        "more/more.go": "package more\n\nfunc More() int { return 1 }\n",
        "more/more_test.go": TEST.replace("package calc", "package more").replace("Add(2, 3) != 5", "More() != 1"),
    },
    "a table": in_test(
        '\tif Add(2, 3) != 5 {\n\t\tt.Fatal("bad")\n\t}',
        "\tfor _, c := range []struct{ a, b, want int }{{2, 3, 5}, {0, 0, 0}} {\n"
        '\t\tif got := Add(c.a, c.b); got != c.want {\n\t\t\tt.Fatalf("%d", got)\n\t\t}\n\t}',
    ),
    "a requirement more": {**GO, "go.mod": GO["go.mod"] + "\nrequire github.com/stretchr/testify v1.9.0\n"},
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_left_alone(name: str) -> None:
    found = findings(GO, HONEST[name], "go test ./...")
    assert not found, said(found)
