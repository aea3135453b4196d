"""The original tests in the new names of what they test."""

from collections.abc import Mapping, Sequence

from bough.core.verdict import original_tests
from bough.core.verdict.texts import FileChange

BEFORE = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
}
RENAMED = "from calc import plus\n\n\ndef test_add():\n    assert plus(2, 3) == 5\n"


def apply_new_names(before: Mapping[str, str], after: Mapping[str, str], restored: Sequence[str]) -> dict[str, str]:
    changes = [FileChange("M", path) for path in {*before, *after} if before.get(path) != after.get(path)]
    return original_tests.apply_new_names(before, after, restored, changes)


def asked(calc: str, test: str, **more: str) -> dict[str, str]:
    after = {"calc.py": calc, "test_calc.py": test, **{f"{name}.py": text for name, text in more.items()}}
    return apply_new_names(BEFORE, after, ["test_calc.py"])


def test_a_function_with_another_name_is_asked_by_it() -> None:
    weaker = RENAMED.replace("== 5", "== -1")
    assert asked("def plus(a, b):\n    return a - b\n", weaker) == {"test_calc.py": RENAMED}, "and expects what it did"


def test_a_module_with_another_name_is_asked_in_its_place() -> None:
    after = {"sums.py": BEFORE["calc.py"], "test_sums.py": BEFORE["test_calc.py"].replace("calc", "sums")}
    found = apply_new_names(BEFORE, after, ["test_calc.py", "test_sums.py"])
    assert found == {"test_calc.py": after["test_sums.py"]}


def test_what_is_still_there_is_asked_by_its_own_name() -> None:
    assert asked(BEFORE["calc.py"] + "\n\ndef plus(a, b):\n    return 5\n", RENAMED) == {}
    assert asked("def plus(a, b):\n    return 5\n", RENAMED, other="from old import add\n") == {}


def test_a_name_that_the_product_does_not_define_is_none() -> None:
    test = "def plus(a, b):\n    return 5\n\n\n" + RENAMED.partition("\n\n\n")[2]
    assert asked("def subtract(a, b):\n    return a - b\n", test) == {}


def test_what_the_test_itself_calls_so_is_not_mixed_up_with_it() -> None:
    before = {**BEFORE, "test_calc.py": BEFORE["test_calc.py"] + "    plus = 1\n"}
    after = {"calc.py": "def plus(a, b):\n    return a\n", "test_calc.py": RENAMED}
    assert apply_new_names(before, after, ["test_calc.py"]) == {}


def test_two_names_for_one_are_not_a_name() -> None:
    before = {**BEFORE, "test_more.py": BEFORE["test_calc.py"]}
    calc = "def plus(a, b):\n    return a\n\n\ndef five(a, b):\n    return 5\n"
    after = {"calc.py": calc, "test_calc.py": RENAMED, "test_more.py": RENAMED.replace("plus", "five")}
    assert apply_new_names(before, after, ["test_calc.py", "test_more.py"]) == {}


def test_what_moved_to_another_module_is_loaded_from_there() -> None:
    moved = BEFORE["test_calc.py"].replace("from calc import", "from adding import")
    weaker = moved.replace("== 5", "== -1")
    assert asked("", weaker, adding=BEFORE["calc.py"]) == {"test_calc.py": moved}, "and expects what it did"
    assert asked(BEFORE["calc.py"], weaker, adding="def add(a, b):\n    return 5\n") == {}, "it is still in its place"
    assert asked("", moved.replace("import add", "import add, os"), adding=BEFORE["calc.py"]) == {}, "something else"
