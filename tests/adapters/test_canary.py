"""Expected values made wrong, and only where they are sure to be asked."""

from __future__ import annotations

import pytest

from bough.core.verdict.canary import asserts_nothing, choose_claim, falsify_expectations, falsify_files
from bough.core.verdict.registry import LANGUAGES


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("assert f() == 5", "assert f() == 6"),
        ("assert f() == -5", "assert f() == -4"),
        ("assert 5 == f()", "assert 6 == f()"),
        ("assert f() == 'é'", "assert f() == 'é~7919'"),
        ("assert f() is None", "assert f() is 7919"),
        ("assert f() is True", "assert f() is False"),
        ("assert f() == []", "assert f() == [7919]"),
        ("assert f() == {'a': 1}", "assert f() == {'a': 2}"),
        ("assert f() == approx(0.5)", "assert f() == approx(1.5)"),
        ("assert 'a' in f()", "assert 'a~7919' in f()"),
        ("expected = 5\n    assert f() == expected", "expected = 6\n    assert f() == expected"),
        ("self.assertEqual(f(), 5)", "self.assertEqual(f(), 6)"),
        ("self.assertEqual(f(), 5, msg='no')", "self.assertEqual(f(), 6, msg='no')"),
        ("with here():\n        assert f() == 5", "with here():\n        assert f() == 6"),
        # Without a value that could be another one, the test has to demand the opposite.
        ("assert f()", "assert not (f())"),
        ("assert f() != 5", "assert not (f() != 5)"),
        ("assert f() < 5, 'no'", "assert not (f() < 5), 'no'"),
        ("assert f() == g(5)", "assert f() == (7919, g(5))"),
        ("assert f() == approx(5, abs=2)", "assert f() == (7919, approx(5, abs=2))"),
        ("self.assertAlmostEqual(f(), 5, delta=2)", "self.assertAlmostEqual(f(), (7919, 5), delta=2)"),
        ("self.assertEqual(f(), Point(1, 2))", "self.assertEqual(f(), (7919, Point(1, 2)))"),
        ("self.assertTrue(f())", "self.assertTrue(not (f()))"),
        ("self.assertIsNone(f())", "self.assertIsNone((f(),))"),
        ("self.assertIsNotNone(f())", "self.assertIsNotNone([f()] and None)"),
        ("with raises(E):\n        f()", "with raises(type('Other', (Exception,), {})):\n        f()"),
    ],
)
def test_python(body: str, wrong: str) -> None:
    text = f"def test_a():\n    {body}\n"
    assert falsify_expectations({"t.py": text}, ["t.py::test_a"]) == (
        {"t.py": f"def test_a():\n    {wrong}\n"},
        {"t.py::test_a"},
    )


@pytest.mark.parametrize(
    "body",
    [
        "if x:\n        assert f() == 5",
        "for x in y:\n        assert f() == 5",
        "return\n    assert f() == 5",
        "if x:\n        return\n    assert f() == 5",
        "with suppress(AssertionError):\n        assert f() == 5",
        "self.assertNotEqual(f(), 5)",
    ],
)
def test_what_is_not_sure_to_be_asked_is_left_alone(body: str) -> None:
    assert falsify_expectations({"t.py": f"def test_a():\n    {body}\n"}, ["t.py::test_a"]) == ({}, set())


def test_two_tests_of_one_name_are_two_tests() -> None:
    text = (
        "class A:\n    def test_a(self):\n        assert f() == 1\n\n\nclass B:\n    def test_a(self):\n        f()\n"
    )
    assert falsify_expectations({"t.py": text}, ["t.py::B::test_a"]) == ({}, set())
    assert falsify_expectations({"t.py": text}, ["t.py::A::test_a"])[1] == {"t.py::A::test_a"}
    assert falsify_expectations({"t.py": text}, ["t.A.test_a"])[1] == {"t.A.test_a"}
    script = 'test("a", () => {\n  assert.equal(f(), 1);\n});\ntest("a", () => {\n  f();\n});\n'
    assert falsify_expectations({"t.test.js": script}, ["t.test.js::a"]) == ({}, set())


def test_cases_other_tests_scripts_and_documentation() -> None:
    text = '@pytest.mark.parametrize("a, b", [(1, 2), pytest.param(3, 4)])\ndef test_a(a, b):\n    assert f(a) == b\n'
    (wrong,), _ = falsify_expectations({"t.py": text}, ["t.py::test_a[1-2]"])[0].values(), None
    assert "[(1, 3), pytest.param(3, 5)]" in wrong
    assert falsify_expectations({"t.py": text}, ["u.py::test_a"]) == ({}, set())
    script = "assert f() == 1\nassert g() == 2\n"
    assert falsify_files({"check.py": script}, "python3 check.py") == [
        {"check.py": "assert f() == 1\nassert g() == 3\n"}
    ]
    module = 'def add(a):\n    """\n    >>> add(1)\n    2\n    """\n'
    assert "2~7919" in falsify_expectations({"calc.py": module}, ["calc.py::calc.add"])[0]["calc.py"]
    skipped = module.replace("add(1)\n", "add(1)  # doctest: +SKIP\n")
    assert falsify_expectations({"calc.py": skipped}, ["calc.py::calc.add"]) == ({}, set()), "it is not evaluated"


def test_javascript_and_rust() -> None:
    text = 'test("adds", () => {\n  assert.strictEqual(add(2, 3), 5);\n  if (x) {\n    assert.equal(y, 1);\n  }\n});\n'
    assert falsify_expectations({"a.test.js": text}, ["a.test.js::adds"])[0] == {"a.test.js": text.replace("5)", "6)")}
    jest = 'it("adds", () => {\n  expect(add(2, 3)).toBe("5");\n});\n'
    assert falsify_expectations({"a.test.js": jest}, ["a.test.js::calc > adds"])[0] == {
        "a.test.js": jest.replace('"5"', '"5~7919"')
    }
    rust = "#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n"
    wrong, done = falsify_expectations({"src/lib.rs": rust}, ["calc:src/lib.rs::tests::adds"])
    assert (wrong["src/lib.rs"], done) == (rust.replace("5)", "6)"), {"calc:src/lib.rs::tests::adds"})


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
    "calc.t": ("", "is(add(2, 3), 5, 'adds 2');\n"),
    "calc_test.sh": ("", '[ "$(sh add.sh 2 3)" = 5 ] || exit 1\n'),
    "calc_spec.lua": ("adds", 'it("adds", function()\n  assert.are.equal(5, add(2, 3))\nend)\n'),
    "calc_test.zig": ("adds", 'test "adds" {\n    try expectEqual(@as(i32, 5), add(2, 3));\n}\n'),
    "calc_test.unheard_of": ("adds", 'it "adds" {\n    expect_equal(add(2, 3), 5)\n}\n'),
}
"""A test in each language, and in some that have no record."""


@pytest.mark.parametrize("path", EVERY)
def test_an_expectation_can_be_made_wrong_in_every_language(path: str) -> None:
    name, text = EVERY[path]
    wrong = text.replace("5", "6")
    if name:
        assert falsify_expectations({path: text}, [f"{path}::{name}"]) == ({path: wrong}, {f"{path}::{name}"})
    else:  # it is itself the check
        assert falsify_files({path: text}, f"run {path}") == [{path: wrong}]


def test_no_language_is_left_out() -> None:
    known = {suffix for language in LANGUAGES for suffix in language.suffixes if language.test_names}
    assert {language.name for language in LANGUAGES if {*language.suffixes} & known} <= {
        language.name for language in LANGUAGES for path in EVERY if path.rpartition(".")[2] in language.suffixes
    }


@pytest.mark.parametrize(
    "line",
    [
        "assertNotEquals(5, add(2, 3));",
        'assertTrue(add(2, 3), "5");',
        "expect(add(2, 3)).not.toBe(5);",
        "expect(add(2, 3)).not_to eq 5",
        "assert_ne!(add(2, 3), 5);",
        "assert(add(2, 3) != 5);",
        "assert(add(2, 3) < 5);",
        "// the sum equals(5)",
        "assertEquals(5, 5);",
        "assertEquals(want(), add(2, 3));",
    ],
)
def test_what_would_not_fail_is_left_alone(line: str) -> None:
    text = f'test("adds", () => {{\n  {line}\n}});\n'
    assert falsify_expectations({"a.test.js": text}, ["a.test.js::adds"]) == ({}, set())


def test_the_claim_begins_with_what_the_request_names() -> None:
    claims = [f"t.py::test_{number}" for number in range(30)] + ["t.py::test_named", "t.py::A::test_other"]
    chosen = choose_claim(claims, "Make `test_named` pass.")
    assert (chosen[0], len(chosen)) == ("t.py::test_named", 20)


def test_tests_that_assert_nothing() -> None:
    def nothing(body: str) -> bool:
        return asserts_nothing({"t.py": f"def test_a():\n    {body}\n"}, ["t.py::test_a"])

    assert nothing("pass")
    assert nothing("assert True")
    assert nothing("add(1, 2)")
    assert not nothing("assert add(1, 2)")
    assert not nothing("check_sum(add)")
    assert not nothing("with raises(ValueError):\n        add(1)")
