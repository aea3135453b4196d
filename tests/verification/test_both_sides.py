"""What is put back with the tests of the base, in whole runs: product stays as the work left it, whatever it is named;
what registers tests does not."""

from pathlib import Path

import pytest

from tests.sampling import in_turn
from tests.verification.cases import Act, Case, explained, play, python_on_path, verdict_of

__all__ = ["python_on_path"]

CMAKE = """\
cmake_minimum_required(VERSION 3.5)
project(calc C)
enable_testing()
add_executable(calc_test calc_test.c calc.c)
add_test(NAME calc COMMAND calc_test)
"""
C_FILES = {
    "CMakeLists.txt": CMAKE,
    "calc.c": "int add(int a, int b) { return a - b; }\n",
    "calc_test.c": "int add(int, int);\nint main(void) { return add(2, 3) == 5 ? 0 : 1; }\n",
}
CTEST = "cmake -S . -B build && cmake --build build && ctest --test-dir build"
AWK = {
    "Makefile": "test:\n\tawk -f cart.awk -f checks.awk\n",
    "cart.awk": "function total(a, b) { return a - b }\n",
    "checks.awk": "BEGIN { if (total(2, 3) != 5) { print 2, 3; exit 1 } }\n",
}
TESTING = {
    "pkg/__init__.py": "",
    "pkg/app.py": "from pkg.testing import add\n\n\ndef total(a, b):\n    return add(a, b)\n",
    "pkg/testing.py": "def add(a, b):\n    return a - b\n",
    "tests/test_app.py": "from pkg.app import total\n\n\ndef test_total():\n    assert total(2, 3) == 5\n",
}


@in_turn
@pytest.mark.parametrize(
    "case",
    [
        Case(name="awk", project="none", files=AWK, check="make test", does=[Act(bash="sed -i s/-/+/ cart.awk")]),
        Case(name="testing.py", project="none", files=TESTING, does=[Act(bash="sed -i s/-/+/ pkg/testing.py")]),
    ],
    ids=lambda case: case.name,
)
def test_product_is_not_put_back(case: Case, tmp_path: Path) -> None:
    if missing := case.needs():
        pytest.skip(f"no {missing}")
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)


@in_turn
def test_a_test_that_is_registered_to_fail_proves_nothing(tmp_path: Path) -> None:
    trick = Act(bash="echo 'set_tests_properties(calc PROPERTIES WILL_FAIL TRUE)' >> CMakeLists.txt")
    case = Case(name="", project="none", files=C_FILES, check=CTEST, does=[trick], goal="Make add add its numbers.")
    if missing := case.needs():
        pytest.skip(f"no {missing}")
    outcome, _ = play(case, tmp_path)
    verdict = verdict_of(outcome)
    assert not outcome.completed and verdict.ruling == "needs_approval", explained(outcome)
    assert verdict.disagreements[0].test == "calc"


COMPARE = {
    "compare.py": "def same_price(a, b):\n    return abs(a - b) < 0.01\n",
    "test_compare.py": (
        "from compare import same_price\n\n\ndef test_near():\n    near = same_price(1.0, 1.001)\n    assert near\n"
    ),
}


@in_turn
def test_what_may_be_product_is_read_as_both(tmp_path: Path) -> None:
    """Only tests load it, and its name says that it compares: put back, it would hide what the work broke."""
    breaks = Act(bash="sed -i 's/abs(a - b) < 0.01/a == b/' compare.py; sed -i s/1.001/1.0/ test_compare.py")
    outcome, _ = play(Case(name="", files=COMPARE, does=["fix", breaks]), tmp_path)
    verdict = verdict_of(outcome)
    assert not outcome.completed and verdict.ruling == "needs_approval", explained(outcome)
    assert [one.test for one in verdict.disagreements] == ["test_compare.py::test_near"]


CONFIG = {
    "lib/Settings.pm": (
        "package Settings;\n\nsub read {\n    my ($class, $file) = @_;\n"
        '    open my $in, "<", $file or die "$file: $!";\n    return join "", <$in>;\n}\n\n1;\n'
    ),
    "t/read.t": "use Test::More;\nuse Settings;\n\nis(Settings->read('t/a.ini'), qq(a\\n), 'one');\n"
    "is(Settings->read('t/a.ini', 't/a.ini'), qq(a\\na\\n), 'two');\ndone_testing;\n",
    "t/a.ini": "a\n",
}
ANAGRAM = {
    "anagram.ex": "defmodule Anagram do\n  def of?(a, b), do: a == b\nend\n",
    "anagram_test.exs": (
        'Code.require_file("anagram.ex", __DIR__)\nExUnit.start()\n\ndefmodule AnagramTest do\n  use ExUnit.Case\n\n'
        '  test "letters" do\n    assert Anagram.of?("on", "no")\n  end\nend\n'
    ),
}
MOVES = (
    "mkdir lib; sed -i s,anagram.ex,lib/anagram.ex, anagram_test.exs; sed 's/a == b/Enum.sort(to_charlist(a)) == "
    "Enum.sort(to_charlist(b))/' anagram.ex > lib/anagram.ex; rm anagram.ex"
)


@pytest.mark.parametrize(
    "case",
    [
        Case(
            name="perl", project="none", files=CONFIG, check="prove -l t",
            does=[Act(bash=r"sed -i 's/, $file) = @_/, @files) = @_; local @ARGV = @files; return join \"\", <>/' "
                      "lib/Settings.pm")],
        ),
        Case(name="elixir", project="none", files=ANAGRAM, check="elixir anagram_test.exs", does=[Act(bash=MOVES)]),
    ],
    ids=lambda case: case.name,
)  # fmt: skip
@in_turn
def test_a_module_that_dies_and_one_that_moved_are_product(case: Case, tmp_path: Path) -> None:
    if missing := case.needs():
        pytest.skip(f"no {missing}")
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)
