"""Every language record, held to the promise that matters most: a test whose expected value is changed is put back as
it was. The samples are those of the runners' suites, and these for the others."""

import pytest

from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.registry import LANGUAGES, NEUTRAL, find_language
from bough.core.verdict.test_files import restore_test_side
from bough.core.verdict.texts import FileChange

from .runners import SUITES

OTHERS = {
    "c": ("sum_test.c", "int main(void) {\n    assert(add(1, 1) == 3);\n    return 0;\n}\n"),
    "dart": ("sum_test.dart", "void main() {\n  test('adds', () {\n    expect(add(1, 1), 3);\n  });\n}\n"),
    "elixir": ("sum_test.exs", 'test "adds" do\n  assert Sum.add(1, 1) == 3\nend\n'),
    "jvm": ("SumTest.java", "class SumTest {\n  @Test void adds() {\n    assertEquals(3, Sum.add(1, 1));\n  }\n}\n"),
    "lua": ("sum_spec.lua", 'it("adds", function()\n  assert.equals(3, add(1, 1))\nend)\n'),
    "perl": ("sum.t", "use Test::More;\nis(add(1, 1), 3);\ndone_testing;\n"),
    "shell": ("sum_test.sh", '[ "$(./add 1 1)" = 3 ]\n'),
    "swift": ("SumTests.swift", "func testAdds() {\n  XCTAssertEqual(add(1, 1), 3)\n}\n"),
    "csharp": ("SumTests.cs", "[Fact]\npublic void Adds() {\n    Assert.Equal(3, Sum.Add(1, 1));\n}\n"),
    "zig": ("sum.zig", 'fn add() void {}\ntest "adds" {\n    try expectEqual(3, add(2));\n}\n'),
}
RUNS_OTHERS = {
    "make": ("Makefile", "test:\n\t[ $$(./add 1 1) = 3 ]\n", "make test"),
    "build_tools": ("test/runtests.jl", "@test add(1, 1) == 3\n", "julia --project -e 'using Pkg; Pkg.test()'"),
}
"""No language: what runs the tests of others is test side where the check runs it."""
NONE = {
    "spec/sum_spec.lisp": "(is (= (add 1 1) 3))\n",
    "sum_test.nim": 'test "adds":\n  check add(1, 1) == 3\n',
    "tests/sum.f90": "call assert_equal(add(1, 1), 3)\n",
    "src/SumSpec.hs": 'spec = it "adds" $ add 1 1 `shouldBe` 3\n',
}


def find_sample(language: Language) -> tuple[str, str, str]:
    """A test file, its text and the command that runs it."""
    for suite in SUITES:
        for path, text in suite.files.items():
            if find_suffix(path) in language.suffixes and "3" in text:
                return path, text, suite.command
    if language.name in RUNS_OTHERS:
        return RUNS_OTHERS[language.name]
    assert language.name in OTHERS, f"add a test of {language.name} that expects 3 to OTHERS"
    path, text = OTHERS[language.name]
    return path, text, "./check"


def restore(path: str, old: str, new: str, command: str) -> str | None:
    """What the file is when the original tests run."""
    side = restore_test_side([FileChange("M", path)], {path: old}, {path: new}, command, ())
    return old if path in side.paths else side.texts.get(path)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_weakened_test_is_put_back(language: Language) -> None:
    path, text, command = find_sample(language)
    weakened = text.replace("3", "4")
    restored = restore(path, text, weakened, command)
    assert weakened != text
    assert restored is not None and "3" in restored and "4" not in restored


@pytest.mark.parametrize(("path", "text"), NONE.items())
def test_so_is_that_of_a_language_without_a_record(path: str, text: str) -> None:
    assert find_language(path) is NEUTRAL
    assert restore(path, text, text.replace("3", "4"), "./check") == text


def test_a_test_inside_product_code_is_put_back_and_the_code_is_not() -> None:
    old = 'fn add(a: i32) i32 { return a; }\ntest "adds" {\n    try expectEqual(3, add(2));\n}\n'
    new = old.replace("return a;", "return a + 0;").replace("3", "2")
    restored = restore("src/sum.zig", old, new, "zig test src/sum.zig") or ""
    assert "return a + 0;" in restored
    assert "expectEqual(3, add(2))" in restored


def test_a_comment_of_a_new_language_is_left_out() -> None:
    class Cobol(Language):
        name = "cobol"
        comment = "*>"

    assert Cobol().strip_comments("MOVE 1 TO A *> one\n*> all of it\n") == "MOVE 1 TO A"
