"""Which literals of a test are changed, what they become, and what is concluded from what was seen."""

import pytest

from bough.core.acceptance.verdict import Case, Report
from bough.core.verdict.canary import (
    Value,
    apply_changes,
    choose_claim,
    choose_surest,
    find_failed,
    list_asked_files,
    list_file_changes,
    list_test_changes,
)
from bough.core.verdict.literals import ASSERTED, COMPARED, GIVEN, Replacement
from bough.core.verdict.registry import LANGUAGES


def find_changes(path: str, text: str, name: str = "") -> list[Replacement]:
    """What can be changed in a test, or in a file that is itself the check."""
    if name:
        found = list_test_changes({path: text}, [f"{path}::{name}"])
        return [one for values in found.values() for _, one in values]
    return [one for _, one in list_file_changes({path: text}, list_asked_files({path: text}, f"run {path}"))]


def find_compared(path: str, text: str, name: str = "") -> list[str]:
    return [f"{one.old} {one.new}" for one in find_changes(path, text, name) if one.rank == COMPARED]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert f(2) == 5", ["5 6"]),
        ("assert f() == -5", ["5 6"]),
        ("assert 5 == f()", ["5 6"]),
        ("assert f() == 1_000", ["1_000 500"]),
        ("assert f() == 0xff", ["0xff 0x7f"]),
        ("assert f() == 'né'", ["'né' 'né~7919'"]),
        ("assert f() is None", ["None 7919"]),
        ("assert f() is True", ["True False"]),
        ("assert f() == []", ["[] [7919]"]),
        ("assert f() == [1, (2, 'b c')]", ["1 2", "2 3", "'b c' 'b c~7919'"]),
        ("assert 'ab' in f()", ["'ab' 'ab~7919'"]),
        ("expected = 5\n    assert f() == expected", ["5 6"]),
        ("given = 3\n    assert f(given) == 5", ["5 6"]),
        ("self.assertEqual(f(), 5, msg='no')", ["5 6"]),
        ("self.assertEqual(\n        f(),\n        5,\n    )", ["5 6"]),
        ("with here():\n        assert f() == 5", ["5 6"]),
    ],
)
def test_what_an_assertion_compares_comes_first(body: str, expected: list[str]) -> None:
    assert find_compared("t.py", f"def test_a():\n    {body}\n", "test_a") == expected


@pytest.mark.parametrize(
    ("body", "rank"),
    [
        ("if x:\n        assert f() == 5", COMPARED),
        ("assert f() != 5", COMPARED),
        ("self.assertNotEqual(f(), 5)", COMPARED),
        ("assert f() < 5, 'no'", COMPARED),
        ("assert f() == g(5)", ASSERTED),
        ("assert f(x, 5)", ASSERTED),
        ("assert f() == approx(5)", ASSERTED),
        ("self.assertEqual(f(), parse(5))", ASSERTED),
        ("out = 5\n    assert f() == out", GIVEN),
    ],
)
def test_another_value_is_tried_in_its_turn_and_no_assertion_is_negated(body: str, rank: int) -> None:
    """Above all, `assert f(x, 5)` is not negated, which would fail whatever `f` does."""
    changes = find_changes("t.py", f"def test_a():\n    {body}\n", "test_a")
    assert [(one.old, one.new, one.rank) for one in changes] == [("5", "6", rank)]


@pytest.mark.parametrize(
    "body",
    [
        "return 5",
        "exit(5)",
        "import a5, b\n    f(port=5)",
        "server.listen(timeout=5)",
        "for x in range(5):\n        f(x)",
        "f()[5]",
        "print(5, 'five')",
        "assert 5 == 5",
        "with self.subTest('five'):\n        f()",
        "assert f(), 'five'",
        "pass  # 5",
    ],
)
def test_what_no_test_is_about_stays(body: str) -> None:
    assert find_changes("t.py", f"def test_a():\n    {body}\n", "test_a") == []


EVERY = {
    "calc_test.go": (
        "TestAdd",
        "func TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(m)\n\t}\n}\n",
    ),
    "test_calc.c": ("test_add", "static void test_add(void) {\n    assert(add(2, 3) == 5);\n}\n"),
    "CalcTest.java": ("adds", '@Test\nvoid adds() {\n    assertEquals(5, Calc.add(2, 3), "2");\n}\n'),
    "CalcTests.cs": ("Adds", "[Fact]\npublic void Adds()\n{\n    Assert.Equal(5, Calc.Add(2, 3));\n}\n"),
    "calc_spec.rb": ("Calc adds", 'describe "Calc" do\n  it "adds" do\n    expect(add(2, 3)).to eq(5)\n  end\nend\n'),
    "CalcTest.php": ("testAdd", "public function testAdd(): void\n{\n    $this->assertSame(5, add(2, 3));\n}\n"),
    "calc_test.exs": ("test adds", 'test "adds" do\n  assert add(2, 3) == 5\nend\n'),
    "CalcTests.swift": ("testAdd", "func testAdd() {\n    XCTAssertEqual(add(2, 3), 5)\n}\n"),
    "calc_test.dart": ("adds", "test('adds', () {\n  expect(add(2, 3), 5);\n});\n"),
    "calc.test.js": ("adds", 'test("adds", () => {\n  expect(add(2, 3)).toBe(5);\n});\n'),
    "lib.rs": ("adds", '#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5, "{}", 2);\n}\n'),
    "test_calc.py": ("test_add", "def test_add():\n    assert add(2, 3) == 5\n"),
    "calc_spec.lua": ("adds", 'it("adds", function()\n  assert.are.equal(5, add(2, 3))\nend)\n'),
    "calc_test.zig": ("adds", 'test "adds" {\n    try expectEqual(@as(i32, 5), add(2, 3));\n}\n'),
    "calc_test.unheard_of": ("adds", 'it "adds" {\n    expect_equal(add(2, 3), 5)\n}\n'),
    "calc.t": ("", "is(add(2, 3), 5, 'adds 2');\n"),
    "test_calc.sh": ("", '[ "$(sh add.sh 2 3)" = 5 ] || exit 1\n'),
    "test_calc_if.sh": ("", 'if [ "$(sh add.sh 2 3)" != 5 ]; then\n  exit 1\nfi\n'),
    "test_calc.js": ("", "if (add(2, 3) !== 5) process.exit(1);\n"),
    "test_calc.R": ("", "stopifnot(add(2, 3) == 5)\n"),
    "calc.test": ("", "test calc-1.0 {adds} {\n    add 2 3\n} 5\n"),
    "check.pl": ("", "die 'add' if add(2, 3) != 5;\n"),
    "check.tcl": ("", "if {[add 2 3] != 5} {\n    puts no\n    exit 1\n}\n"),
    "test_text.c": ("test_add", 'static void test_add(void) {\n    assert(strcmp(text(2, 3), "5") == 0);\n}\n'),
    "raw_test.go": (
        "TestAdd",
        "func TestAdd(t *testing.T) {\n\ts := `\n}\n`\n\tif got := Add(s); got != 5 {\n\t\tt.Errorf(m)\n\t}\n}\n",
    ),
    "calc_test.tcl": ("", "test calc-1.0 {adds} -body {add 2 3} -result 5\n"),
}
"""A test in each language, and in some that have no record."""


@pytest.mark.parametrize("path", EVERY)
def test_the_expected_value_is_the_first_in_every_language(path: str) -> None:
    name, text = EVERY[path]
    first = find_changes(path, text, name)[0]
    assert (first.old, first.new) == (('"5"', '"5~7919"') if '"5"' in text else ("5", "6"))


def test_no_language_is_left_out() -> None:
    sampled = {path.rpartition(".")[2] for path in EVERY}
    assert not [one.name for one in LANGUAGES if one.suffixes and one.runners and not sampled & {*one.suffixes}]


@pytest.mark.parametrize("line", ["// the sum equals(5)", "assertEquals(5, 5);", 'assertTrue(add(x), "5");'])
def test_what_says_nothing_of_the_product_stays(line: str) -> None:
    assert find_changes("a.test.js", f'test("adds", () => {{\n  {line}\n}});\n', "adds") == []


def test_two_tests_of_one_name_are_two_tests() -> None:
    text = (
        "class A:\n    def test_a(self):\n        assert f() == 1\n\n\nclass B:\n    def test_a(self):\n        f()\n"
    )
    assert find_compared("t.py", text, "B::test_a") == []
    assert find_compared("t.py", text, "A::test_a") == ["1 2"]
    assert [*list_test_changes({"t.py": text}, ["t.A.test_a"])] == ["t.A.test_a"], "as unittest names it"
    nested = (
        'describe("one", () => {\n  it("adds", () => {\n    expect(f()).toBe(1);\n  });\n});\n'
        'describe("two", () => {\n  it("adds", () => {\n    expect(f()).toBe(2);\n  });\n});\n'
    )
    assert find_compared("t.test.js", nested, "two > adds") == ["2 3"]
    assert find_changes("t.test.js", nested, "adds") == [], "it may be either"


def test_tables_scripts_and_examples() -> None:
    text = '@pytest.mark.parametrize("a, b", [(1, 2), pytest.param(3, 4)])\ndef test_a(a, b):\n    assert f(a) == b\n'
    assert [one.old for one in find_changes("t.py", text, "test_a[1-2]")] == ["1", "2", "3", "4"]
    table = "func TestA(t *testing.T) {\n\tfor _, c := range []struct{in, want int}{{in: 2, want: 5}} {\n\t\tif got := Add(c.in); got != c.want {\n\t\t\tt.Fatal(got)\n\t\t}\n\t}\n}\n"  # noqa: E501
    assert {one.old for one in find_changes("a_test.go", table, "TestA")} >= {"5"}
    assert find_compared("check.py", "assert f() == 1\nassert g() == 2\n") == ["1 2", "2 3"]
    module = 'def add(a):\n    """\n    >>> add(1)\n    2\n    """\n'
    values = list_test_changes({"calc.py": module}, ["calc.py::calc.add"])["calc.py::calc.add"]
    assert "    2\n    ~7919" in apply_changes({"calc.py": module}, values)["calc.py"]


def test_a_test_without_a_value_is_asked_by_what_it_uses() -> None:
    texts = {
        "test_a.py": "WANT = 5\ndef test_a(self):\n    assert f() == WANT\ndef test_b(self):\n    self.check_all()\n",
        "test_base.py": "class Base:\n    def check_all(self):\n        self.assertEqual(f(), 7)\n",
    }
    found = list_test_changes(texts, ["test_a.py::test_a", "test_a.py::test_b"])
    assert [(path, one.old, one.rank) for path, one in found["test_a.py::test_a"]] == [("test_a.py", "5", GIVEN)]
    assert [(path, one.old, one.rank) for path, one in found["test_a.py::test_b"]] == [("test_base.py", "7", GIVEN)]


def test_only_compared_values_are_tried_where_there_are_any() -> None:
    values: list[Value] = [("t.py", Replacement(at, at + 1, "0", rank)) for at, rank in enumerate((COMPARED, GIVEN))]
    assert choose_surest(values) == values[:1]
    assert choose_surest(values[1:]) == values[1:]


def test_only_what_was_seen_to_fail_failed() -> None:
    cases = (Case("t.py::a[1]", "passed"), Case("t.py::a[2]", "failed"), Case("t.py::b", "passed"))
    report = Report("junit", cases, 2, 1)
    assert find_failed(report, 1, ["t.py::a", "t.py::b", "t.py::gone"]) == {"t.py::a": True, "t.py::b": False}
    silent = Report("exit status")
    assert find_failed(silent, 0, ["t.py::a"]) == {"t.py::a": False}
    assert find_failed(silent, 2, ["t.py::a"]) == {}, "nothing says that a test ran: perhaps it no longer loads"


def test_the_claim_begins_with_what_the_request_names() -> None:
    claims = [f"t.py::test_{number}" for number in range(30)] + ["t.py::test_named", "t.py::A::test_other"]
    chosen = choose_claim(claims, "Make `test_named` pass.")
    assert (chosen[0], len(chosen)) == ("t.py::test_named", 20)


def test_a_recipe_that_names_the_product_does_not_make_it_a_test() -> None:
    texts = {"Makefile": "test:\n\tprove -lr t  # lib/A.pm\n", "lib/A.pm": "1;\n", "t/a.t": "ok 1;\n"}
    assert list_asked_files(texts, "make test") == ["t/a.t"]
