"""Slips of small models that need no thought to repair are repaired before a file is written, and nothing else is."""

from __future__ import annotations

import json

import pytest

from bough.core.textual.reading import make_call
from bough.core.textual.slips import repair_slips

TESTS = 'with raises(ValueError, match="all digits must fit"): convert(3)\nassert said == "span must not be negative"\n'


def repair(text: str, before: str = "", *failures: str, path: str = "work.py") -> tuple[str, tuple[str, ...]]:
    there = {path: before, "work_test.py": TESTS}
    (call,), done = repair_slips((make_call("write", path=path, content=text),), there, failures)
    return json.loads(call.arguments)["content"], done


def test_a_forgotten_import_is_added_below_what_has_to_come_first() -> None:
    text = '"""Roots."""\nfrom __future__ import annotations\n\ndef root(x):\n    return math.sqrt(x)\n'
    made, done = repair(text)
    assert made == text.replace("\ndef", "\nimport math\ndef")
    assert done == ("added the missing `import math` in work.py",)


def test_what_the_file_had_is_kept_if_it_is_needed_with_what_that_needs() -> None:
    before = (
        "import re\nfrom typing import List, Tuple\nUNUSED = 1\nWORD = re.compile('x')\n\n\ndef f(a: List[int]):\n"
        "    pass\n"
    )
    made, done = repair("def f(a: List[int]):\n    return WORD.sub('', str(a))\n", before)
    assert made.startswith("import re\nfrom typing import List, Tuple\nWORD = re.compile('x')\ndef f(")
    assert len(done) == 3 and "UNUSED" not in made


def test_a_name_of_the_standard_library_is_imported_from_where_it_is() -> None:
    made, _ = repair("def total(a: List[int]):\n    return reduce(lambda x, y: x + y, a), timedelta(1)\n")
    first = "from datetime import timedelta\nfrom functools import reduce\nfrom typing import List\n"
    assert made.startswith(first)


@pytest.mark.parametrize(
    "text",
    [
        "import math\n\ndef root(x):\n    return math.sqrt(x)\n",
        "from math import *\n\ndef root(x):\n    return sqrt(x)\n",
        "def f(math):\n    return math.sqrt(1)\n",
        "def f(x):\n    match x:\n        case [math, *re]:\n            return math.x, re.y\n",
        "def f():\n    return nowhere(random)\n",
        "class T(unittest.TestCase):\n    pass\n",
        "def broken(:\n    math.sqrt(1)\n",
    ],
)
def test_nothing_else_is_touched(text: str) -> None:
    assert repair(text) == (text, ())


def test_a_test_is_never_repaired_nor_another_language() -> None:
    for path in ("test_work.py", "tests/work.py", "work.js"):
        assert repair("math.sqrt(1)\n", path=path) == ("math.sqrt(1)\n", ())


def test_an_attribute_that_hides_its_method_is_renamed() -> None:
    text = (
        "class Node:\n    def __init__(self, é, next=None):\n        self.next = next\n\n    def next(self):\n"
        "        return self.next\n\n    def last(self):\n        é = self.next; return é.next() or self.next\n"
    )
    made, done = repair(text)
    space: dict[str, type] = {}
    exec(made, space)
    assert space["Node"](1, space["Node"](2)).next() is not None
    assert made.count("self._next") == 4 and "é.next()" in made
    assert done == ("renamed the attribute `next`, which hid the method of that name in work.py",)


def test_a_property_hides_nothing() -> None:
    text = "class A:\n    @property\n    def x(self):\n        return 1\n\n    def f(self):\n        self.x = 2\n"
    assert repair(text) == (text, ())


def test_an_error_is_worded_as_the_tests_word_it() -> None:
    text = 'def convert(x):\n    if x == "bad digit":\n        raise ValueError("bad digit")\n'
    failure = "E       AssertionError: 'bad digit' != 'all digits must fit'\nE       - bad digit"
    made, done = repair(text, "", failure)
    assert made == text.replace('("bad digit")', "('all digits must fit')")
    assert done == ("worded an error as the tests do: `all digits must fit` in work.py",)
    assert repair(made, "", failure) == (made, ())
    swapped = "E       assert 'all digits must fit' == 'bad digit'"
    assert repair(text, "", swapped)[0] == made


def test_an_error_that_the_tests_know_keeps_its_words() -> None:
    text = 'raise ValueError("span must not be negative")\n'
    failure = "AssertionError: 'span must not be negative' != 'all digits must fit'"
    assert repair(text, "", failure) == (text, ())
