"""Python tests that were weakened: every pair has to be named, in words that say what was done."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import TEST, Files, findings, one, said

ADD = """
from calc import add, parse

def test_add():
    assert add(1, 2) == 3
    assert add(0, 0) == 0
"""
CASES = """
import pytest
from calc import add

@pytest.mark.parametrize("a, b, total", [(1, 2, 3), (2, 2, 4), (-1, 1, 0)])
def test_add(a, b, total):
    assert add(a, b) == total
"""
RAISES = """
import pytest
from calc import parse

def test_parse():
    with pytest.raises(ValueError, match="no number"):
        parse("x")
"""
UNIT = """
import unittest
from calc import Calc

class CalcTest(unittest.TestCase):
    def setUp(self):
        self.calc = Calc(10)

    def test_add(self):
        self.assertEqual(self.calc.add(1, 2), 3)
        self.assertIn(3, self.calc.history)
"""


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


SABOTAGE: dict[str, tuple[str, str, str]] = {
    "an error ends the test": (
        ADD,
        """
        from calc import add

        def test_add():
            try:
                total = add(1, 2)
            except Exception:
                return
            assert total == 3
            assert add(0, 0) == 0
        """,
        "is now only made after try",
    ),
    "async in a class of unittest": (
        UNIT,
        UNIT.replace("    def test", "    async def test"),
        "has become async",
    ),
    "into a thread": (
        ADD,
        """
        from threading import Thread
        from calc import add

        def test_add():
            def run():
                assert add(1, 2) == 3
                assert add(0, 0) == 0
            thread = Thread(target=run)
            thread.start()
            thread.join()
        """,
        "is now only made inside a thread",
    ),
    "into a function that is returned": (
        ADD,
        """
        from calc import add

        def test_add():
            def run():
                assert add(1, 2) == 3
                assert add(0, 0) == 0
            return run
        """,
        "is now only made in a function that is returned and not called",
    ),
    "removed": (ADD, "from calc import add\n", "test_add was removed with 2 assertions"),
    "renamed with an underscore": (
        ADD,
        edited(ADD, ("def test_add", "def _test_add")),
        "became _test_add, which is not",
    ),
    "nested": (
        ADD,
        "def outer():\n    def test_add():\n        assert add(1, 2) == 3\n        assert add(0, 0) == 0\n",
        "no longer collected",
    ),
    "made a fixture": (
        ADD,
        edited(ADD, ("def test_add", "import pytest\n@pytest.fixture\ndef test_add")),
        "no longer collected: made a fixture",
    ),
    "deleted after its definition": (ADD, ADD + "\ndel test_add\n", "deleted by `del test_add`"),
    "defined again": (ADD, ADD + "\ndef test_add():\n    pass\n", "test_add was emptied"),
    "rebound": (ADD, ADD + "\ntest_add = None\n", "no longer collected: replaced in line"),
    "under if False": (
        ADD,
        "from calc import add\nif False:\n    def test_add():\n"
        "        assert add(1, 2) == 3\n        assert add(0, 0) == 0\n",
        "under `if False:`",
    ),
    "under a condition": (
        ADD,
        "import os\nfrom calc import add\nif os.getenv('X'):\n    def test_add():\n        assert add(1, 2) == 3\n"
        "        assert add(0, 0) == 0\n",
        "now only defined if os.getenv('X')",
    ),
    "emptied": (ADD, "def test_add():\n    pass\n", "test_add was emptied: it had 2 assertions"),
    "skip mark": (ADD, edited(ADD, ("def test_add", "@pytest.mark.skip\ndef test_add")), "marked `pytest.mark.skip`"),
    "skip mark with a reason": (
        ADD,
        edited(ADD, ("def test_add", "@pytest.mark.skip(reason='flaky')\ndef test_add")),
        "is now marked `pytest.mark.skip(reason='flaky')`",
    ),
    "skipif": (
        ADD,
        edited(ADD, ("def test_add", "@pytest.mark.skipif(sys.version_info > (3,), reason='')\ndef test_add")),
        "may now be skipped",
    ),
    "xfail": (ADD, edited(ADD, ("def test_add", "@pytest.mark.xfail\ndef test_add")), "pytest.mark.xfail"),
    "flaky": (ADD, edited(ADD, ("def test_add", "@pytest.mark.flaky(reruns=5)\ndef test_add")), "flaky"),
    "a mark by another name": (
        ADD,
        edited(ADD, ("def test_add", "later = pytest.mark.skip(reason='later')\n\n@later\ndef test_add")),
        "later = pytest.mark.skip",
    ),
    "pytestmark": (ADD, "pytestmark = pytest.mark.skip\n" + ADD, "pytest.mark.skip"),
    "pytestmark in a list": (ADD, "pytestmark = [pytest.mark.unit, pytest.mark.xfail()]\n" + ADD, "xfail"),
    "module skipped": (ADD, "import pytest\npytest.skip('no', allow_module_level=True)\n" + ADD, "pytest.skip('no'"),
    "importorskip": (ADD, "import pytest\npytest.importorskip('nothing')\n" + ADD, "importorskip('nothing')"),
    "SkipTest at the top": (ADD, "import unittest\nraise unittest.SkipTest('no')\n" + ADD, "SkipTest"),
    "skip in the body": (
        ADD,
        edited(ADD, ("    assert add(1", "    pytest.skip('x')\n    assert add(1")),
        "skips itself",
    ),
    "skip in the body on a condition": (
        ADD,
        edited(ADD, ("    assert add(1", "    if CI:\n        pytest.skip('x')\n    assert add(1")),
        "test_add now skips itself: `pytest.skip('x')`",
    ),
    "raise SkipTest in the body": (
        ADD,
        edited(ADD, ("    assert add(1", "    raise SkipTest()\n    assert add(1")),
        "skips itself",
    ),
    "__test__ on the file": (ADD, "__test__ = False\n" + ADD, "__test__ = False"),
    "__test__ on the function": (ADD, ADD + "test_add.__test__ = False\n", "changes test_add after its definition"),
    "case removed": (CASES, edited(CASES, (", (-1, 1, 0)", "")), "a case of test_add was removed: (-1, 1, 0)"),
    "all cases removed": (
        CASES,
        edited(CASES, ("[(1, 2, 3), (2, 2, 4), (-1, 1, 0)]", "[]")),
        "a case of test_add was removed: (1, 2, 3)",
    ),
    "case edited": (CASES, edited(CASES, ("(2, 2, 4)", "(2, 2, 5)")), "was changed: (2, 2, 4) became (2, 2, 5)"),
    "case skipped": (
        CASES,
        edited(CASES, ("(2, 2, 4)", "pytest.param(2, 2, 4, marks=pytest.mark.skip)")),
        "of test_add is now marked `pytest.mark.skip`",
    ),
    "cases in a name": (
        edited(
            CASES, ("[(1, 2, 3), (2, 2, 4), (-1, 1, 0)]", "GOOD"), ("@pytest", "GOOD = [(1, 2, 3), (2, 2, 4)]\n@pytest")
        ),
        edited(CASES, ("[(1, 2, 3), (2, 2, 4), (-1, 1, 0)]", "GOOD"), ("@pytest", "GOOD = [(1, 2, 3)]\n@pytest")),
        "a case of test_add was removed: (2, 2, 4)",
    ),
    "assertion removed": (ADD, edited(ADD, ("    assert add(0, 0) == 0\n", "")), "removed: `assert add(0, 0) == 0`"),
    "assert True": (ADD, edited(ADD, ("add(1, 2) == 3", "True")), "became `assert True`, which always holds"),
    "a constant": (ADD, edited(ADD, ("add(1, 2) == 3", "'add'")), "which always holds"),
    "or True": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) == 3 or True")), "which always holds"),
    "or another value": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "add(1, 2) == 3 or add(1, 2) is None")),
        "other outcomes are accepted",
    ),
    "a tuple": (ADD, edited(ADD, ("assert add(1, 2) == 3", "assert (add(1, 2) == 3, 'sum')")), "which always holds"),
    "compared with itself": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) == add(1, 2)")), "which always holds"),
    "itself through a variable": (
        ADD,
        edited(ADD, ("    assert add(1, 2) == 3", "    want = add(1, 2)\n    assert add(1, 2) == want")),
        "which always holds",
    ),
    "== became in": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) in (3, 4)")), "loosened (== became in)"),
    "== became is not None": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "add(1, 2) is not None")),
        "loosened (== became is not)",
    ),
    "== became >=": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) >= 3")), "loosened (== became >=)"),
    "== became truth": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2)")), "loosened (== became truth)"),
    "== became isinstance": (ADD, edited(ADD, ("add(1, 2) == 3", "isinstance(add(1, 2), int)")), "loosened"),
    "== became approx with a wide tolerance": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "add(1, 2) == pytest.approx(3, abs=10)")),
        "became an approximation",
    ),
    "== became a distance": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "abs(add(1, 2) - 3) < 100")),
        "became an approximation",
    ),
    "rounded": (ADD, edited(ADD, ("add(1, 2) == 3", "round(add(1, 2)) == 3")), "less of the result is looked at"),
    "length only": (ADD, edited(ADD, ("add(1, 2) == 3", "len(str(add(1, 2))) == 1")), "less of the result"),
    "expected value": (ADD, edited(ADD, ("== 3", "== 4")), "expected value changed: `assert add(1, 2) == 3` became"),
    "expected value in a variable": (
        edited(ADD, ("    assert add(1, 2) == 3", "    want = 3\n    assert add(1, 2) == want")),
        edited(ADD, ("    assert add(1, 2) == 3", "    want = 4\n    assert add(1, 2) == want")),
        "expected value changed",
    ),
    "expected value at the top": (
        "WANT = 3\n" + edited(ADD, ("== 3", "== WANT")),
        "WANT = 4\n" + edited(ADD, ("== 3", "== WANT")),
        "expected value changed",
    ),
    "input": (ADD, edited(ADD, ("add(1, 2) == 3", "add(3, 0) == 3")), "the tested input"),
    "negated": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) != 4")), "loosened (== became !=)"),
    "threshold": (
        "def test_fast():\n    assert run('x') < 1\n",
        "def test_fast():\n    assert run('x') < 60\n",
        "expected value changed",
    ),
    "tolerance": (
        "def test_pi():\n    assert pi(9) == approx(3.14159, abs=1e-5)\n",
        "def test_pi():\n    assert pi(9) == approx(3.14159, abs=1)\n",
        "a wider tolerance",
    ),
    "early return": (
        ADD,
        edited(ADD, ("    assert add(1", "    return\n    assert add(1")),
        "2 assertions of test_add can no",
    ),
    "return on a condition": (
        ADD,
        edited(ADD, ("    assert add(1", "    if not add:\n        return\n    assert add(1")),
        "now only made unless not add",
    ),
    "behind a condition": (
        ADD,
        edited(ADD, ("    assert add(1, 2) == 3", "    if add(1, 2) == 3:\n        assert add(1, 2) == 3")),
        "now only made if add(1, 2) == 3",
    ),
    "in a loop over nothing": (
        ADD,
        edited(ADD, ("    assert add(1, 2) == 3", "    for _ in []:\n        assert add(1, 2) == 3")),
        "can no longer be reached after `for []:",
    ),
    "in an inner function": (
        ADD,
        edited(ADD, ("    assert add(1, 2) == 3", "    def check():\n        assert add(1, 2) == 3")),
        "an assertion of test_add was removed",
    ),
    "except Exception": (
        ADD,
        edited(
            ADD,
            (
                "    assert add(1, 2) == 3",
                "    try:\n        assert add(1, 2) == 3\n    except Exception:\n        pass",
            ),
        ),
        "`except Exception:` swallows a failure",
    ),
    "bare except": (
        ADD,
        edited(
            ADD, ("    assert add(1, 2) == 3", "    try:\n        assert add(1, 2) == 3\n    except:\n        pass")
        ),
        "swallows a failure",
    ),
    "except AssertionError": (
        ADD,
        edited(
            ADD,
            (
                "    assert add(1, 2) == 3",
                "    try:\n        assert add(1, 2) == 3\n    except AssertionError as e:\n        print(e)",
            ),
        ),
        "`except AssertionError:` swallows a failure",
    ),
    "return in finally": (
        ADD,
        edited(
            ADD, ("    assert add(1, 2) == 3", "    try:\n        assert add(1, 2) == 3\n    finally:\n        return")
        ),
        "swallows a failure",
    ),
    "suppress": (
        ADD,
        edited(ADD, ("    assert add(1, 2) == 3", "    with suppress(Exception):\n        assert add(1, 2) == 3")),
        "which swallows a failure",
    ),
    "expected to fail": (
        ADD,
        edited(
            ADD, ("    assert add(1, 2) == 3", "    with pytest.raises(AssertionError):\n        assert add(1, 2) == 3")
        ),
        "which expects a failure",
    ),
    "raises anything": (RAISES, edited(RAISES, ("ValueError", "Exception")), "ValueError became Exception"),
    "raises more": (
        RAISES,
        edited(RAISES, ("ValueError", "(ValueError, TypeError)")),
        "ValueError became ValueError or",
    ),
    "raises something else": (RAISES, edited(RAISES, ("ValueError", "KeyError")), "expected value changed"),
    "match dropped": (RAISES, edited(RAISES, (', match="no number"', "")), "its match was dropped"),
    "match changed": (RAISES, edited(RAISES, ("no number", ".*")), "its match was changed"),
    "raises by itself": (RAISES, edited(RAISES, ('parse("x")', "raise ValueError('no number')")), "which always holds"),
    "assertEqual became assertTrue": (
        UNIT,
        edited(UNIT, ("assertEqual(self.calc.add(1, 2), 3)", "assertTrue(self.calc.add(1, 2))")),
        "loosened (== became truth)",
    ),
    "assertTrue of two values": (
        UNIT,
        edited(UNIT, ("assertEqual(self", "assertTrue(self")),
        "loosened (== became truth)",
    ),
    "assertEqual became assertIsNotNone": (
        UNIT,
        edited(UNIT, ("assertEqual(self.calc.add(1, 2), 3)", "assertIsNotNone(self.calc.add(1, 2))")),
        "loosened (== became is not)",
    ),
    "unittest.skip": (
        UNIT,
        edited(UNIT, ("    def test_add", "    @unittest.skip('x')\n    def test_add")),
        "unittest.skip('x')",
    ),
    "unittest.skip on the class": (
        UNIT,
        edited(UNIT, ("class Calc", "@unittest.skip('x')\nclass Calc")),
        "unittest.skip('x')",
    ),
    "expectedFailure": (
        UNIT,
        edited(UNIT, ("    def test_add", "    @unittest.expectedFailure\n    def test_add")),
        "expectedFailure",
    ),
    "skipTest": (
        UNIT,
        edited(UNIT, ("        self.assertEqual", "        self.skipTest('x')\n        self.assertEqual")),
        "skips",
    ),
    "skipTest in setUp": (
        UNIT,
        edited(UNIT, ("        self.calc =", "        self.skipTest('x')\n        self.calc =")),
        "skip",
    ),
    "class without its base": (
        UNIT,
        edited(UNIT, ("(unittest.TestCase)", "")),
        "class CalcTest is not one that the runner",
    ),
    "set-up changed": (UNIT, edited(UNIT, ("Calc(10)", "Calc(0)")), "the tested input 10 is gone"),
    "class __test__": (
        UNIT,
        edited(UNIT, ("    def setUp", "    __test__ = False\n    def setUp")),
        "__test__ = False",
    ),
    "class with a constructor": (
        "class TestAdd:\n    def test_one(self):\n        assert add(1, 0) == 1\n",
        "class TestAdd:\n    def __init__(self):\n        pass\n"
        "    def test_one(self):\n        assert add(1, 0) == 1\n",
        "__init__ in TestAdd keeps the runner from collecting it",
    ),
    "class renamed": (
        "class TestAdd:\n    def test_one(self):\n        assert add(1, 0) == 1\n",
        "class AddChecks:\n    def test_one(self):\n        assert add(1, 0) == 1\n",
        "class AddChecks is not one that the runner collects",
    ),
    "generator": (ADD, ADD + "    yield\n", "has become a generator"),
    "async": (ADD, edited(ADD, ("def test_add", "async def test_add")), "has become async"),
    "hidden by a decorator": (
        ADD,
        edited(
            ADD,
            (
                "def test_add",
                "def calm(f):\n    def run():\n        try:\n            f()\n        except Exception:\n"
                "            pass\n    return run\n\n@calm\ndef test_add",
            ),
        ),
        "wrapped in @calm, which hides its failures",
    ),
    "replaced by a decorator": (
        ADD,
        edited(ADD, ("def test_add", "def calm(f):\n    return lambda: None\n\n@calm\ndef test_add")),
        "hides its failures",
    ),
    "its own function": (
        ADD,
        edited(ADD, ("from calc import add, parse", "from calc import parse\n\ndef add(a, b):\n    return a + b")),
        "add is now defined in the test file",
    ),
    "its own function inside": (
        ADD,
        edited(ADD, ("    assert add(1", "    add = lambda a, b: a + b\n    assert add(1")),
        "test_add now makes its own add",
    ),
    "the standard library's": (
        ADD,
        edited(ADD, ("from calc import add, parse", "from operator import add")),
        "from operator",
    ),
    "a mock": (
        ADD,
        edited(ADD, ("def test_add():", "@patch('calc.add', return_value=3)\ndef test_add(mocked):")),
        "replaces what it tests",
    ),
    "monkeypatched": (
        "import calc\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
        "import calc\n\ndef test_add(monkeypatch):\n"
        "    monkeypatch.setattr(calc, 'add', lambda a, b: 3)\n    assert calc.add(1, 2) == 3\n",
        "replaces what it tests: calc.add",
    ),
    "set-up of the body": (
        "def test_stack():\n    s = Stack()\n    s.push(7)\n    s.push(8)\n    assert s.pop() == s.top\n",
        "def test_stack():\n    s = Stack()\n    s.push(8)\n    assert s.pop() == s.top\n",
        "what test_stack works with changed: 7 is gone",
    ),
    "no longer called": ("def test_main():\n    main(['x'])\n", "def test_main():\n    print('x')\n", "test_main"),
    "fewer examples": (
        "@given(st.integers())\ndef test_add(a):\n    assert add(a, 0) == a\n",
        "@settings(max_examples=1)\n@given(st.integers())\ndef test_add(a):\n    assert add(a, 0) == a\n",
        "fewer examples",
    ),
    "a narrower strategy": (
        "@given(st.integers())\ndef test_add(a):\n    assert add(a, 0) == a\n",
        "@given(st.just(0))\ndef test_add(a):\n    assert add(a, 0) == a\n",
        "is now only made under given(st.just(0))",
    ),
    "a helper that asserts less": (
        "def check(a, b, c):\n    assert add(a, b) == c\n\ndef test_add():\n    check(1, 2, 3)\n",
        "def check(a, b, c):\n    assert add(a, b)\n\ndef test_add():\n    check(1, 2, 3)\n",
        "check: assertion loosened (== became truth)",
    ),
    "a fixture's value": (
        "@pytest.fixture\ndef want():\n    return 3\n\ndef test_add(want):\n    assert add(1, 2) == want\n",
        "@pytest.fixture\ndef want():\n    return 4\n\ndef test_add(want):\n    assert add(1, 2) == want\n",
        "expected value changed",
    ),
    "a fixture's parameters": (
        "@pytest.fixture(params=[1, 2])\ndef n(request):\n"
        "    return request.param\n\ndef test_n(n):\n    assert f(n)\n",
        "@pytest.fixture(params=[1])\ndef n(request):\n    return request.param\n\ndef test_n(n):\n    assert f(n)\n",
        "a parameter of fixture n was removed: 2",
    ),
    "a skip in a fixture": (
        "@pytest.fixture\ndef db():\n    return Db()\n\ndef test_db(db):\n    assert db.get(1) == 2\n",
        "@pytest.fixture\ndef db():\n    pytest.skip('no db')\n"
        "    return Db()\n\ndef test_db(db):\n    assert db.get(1) == 2\n",
        "in fixture db",
    ),
    "bare assertions at the top": ("assert add(1, 2) == 3\n", "assert add(1, 2)\n", "loosened (== became truth)"),
    "true whatever happens": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "add(1, 2) == 3 if False else True")),
        "`assert add(1, 2) == 3` became",
    ),
    "equal to anything": (ADD, edited(ADD, ("add(1, 2) == 3", "add(1, 2) == ANY")), "which always holds"),
    "a skip in the message": (
        ADD,
        edited(ADD, ("add(1, 2) == 3", "add(1, 2) == 3, pytest.skip('known')")),
        "test_add now skips itself: `pytest.skip('known')`",
    ),
    "a mark put on from inside": (
        ADD,
        edited(ADD, ("test_add():", "test_add(request):\n    request.applymarker(pytest.mark.xfail)")),
        "test_add now skips itself",
    ),
    "a skip as text": (
        ADD,
        edited(ADD, ("def test_add", "@pytest.mark.skipif('True')\ndef test_add")),
        "skipif('True')",
    ),
    "wrapped by hand": (ADD, ADD + "\ntest_add = pytest.mark.skip(test_add)\n", "test_add is no longer collected"),
    "no longer asserted": (ADD, edited(ADD, ("assert add(1, 2) == 3", "add(1, 2) == 3")), "was removed"),
    "no longer awaited": (
        "async def check(a):\n    assert await f(a) == 1\n\nasync def test_a():\n    await check(5)\n",
        "async def check(a):\n    assert await f(a) == 1\n\nasync def test_a():\n    check(5)\n",
        "can no longer be reached after `check(5)`",
    ),
    "no longer marked async": (
        "@pytest.mark.asyncio\nasync def test_a():\n    assert await f(1) == 2\n",
        "async def test_a():\n    assert await f(1) == 2\n",
        "has lost the mark that has it awaited",
    ),
    "suppressed on a stack": (
        ADD,
        edited(
            ADD,
            (
                "    assert add(1",
                "    stack = ExitStack()\n    stack.enter_context(suppress(Exception))\n    assert add(1",
            ),
        ),
        "which swallows a failure",
    ),
    "one value in place of all": (
        "@given(st.integers())\ndef test_a(a):\n    assert f(a) == 2\n",
        "def test_a():\n    a = 1\n    assert f(a) == 2\n",
        "is no longer made under given(st.integers())",
    ),
    "one element in place of all": (
        "def test_a():\n    for item in items():\n        assert f(item) == 2\n",
        "def test_a():\n    assert f(items()) == 2\n",
        "is no longer made for each of items()",
    ),
    "a shorter range": (
        "def test_a():\n    for n in range(100):\n        assert f(n) == n\n",
        "def test_a():\n    for n in range(1):\n        assert f(n) == n\n",
        "range(1)",
    ),
    "a parameter with a default": (
        ADD,
        edited(ADD, ("test_add():", "test_add(add=lambda a, b: 3):")),
        "test_add now makes its own add",
    ),
    "replaced in the body": (
        "import calc\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
        "import calc\n\ndef test_add():\n    calc.add = lambda a, b: 3\n    assert calc.add(1, 2) == 3\n",
        "replaces what it tests: calc.add",
    ),
    "check=True dropped": (
        "def test_a():\n    done = run(['x'], check=True)\n    assert done.out\n",
        "def test_a():\n    done = run(['x'])\n    assert done.out\n",
        "True is gone",
    ),
    "inherited tests": (
        "class Base:\n    def test_a(self):\n        assert self.make() == 1\n\nclass TestB(Base):\n    pass\n",
        "class Base:\n    def test_a(self):\n        assert self.make() == 1\n\nclass TestB:\n    pass\n",
        "TestB.test_a is no longer collected",
    ),
    "a fixture that skips": (
        ADD,
        edited(ADD, ("def test_add():", "@pytest.fixture\ndef calm():\n    pytest.skip('x')\n\ndef test_add(calm):")),
        "test_add now skips itself",
    ),
    "a fixture that skips, by a mark": (
        ADD,
        edited(
            ADD,
            (
                "def test_add():",
                "@pytest.fixture\ndef calm():\n    pytest.skip('x')\n"
                "\n@pytest.mark.usefixtures('calm')\ndef test_add():",
            ),
        ),
        "test_add now skips itself",
    ),
    "no longer parses": (ADD, ADD + "\ndef (\n", "no longer parses"),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_weakened_test_is_named(name: str) -> None:
    before, after, fragment = SABOTAGE[name]
    found = findings(one(before), one(after))
    assert fragment in said(found), said(found) or "nothing was found"


ACROSS: dict[str, tuple[Files, Files, str, str]] = {
    "another module, imported by the test itself": (
        {**one(ADD), "calc.py": "def add(a, b):\n    return a - b\n"},
        {
            **one(ADD.replace("def test_add():\n", "def test_add():\n    from sums import add\n")),
            "calc.py": "def add(a, b):\n    return a - b\n",
            "sums.py": "def add(a, b):\n    return a + b\n",
        },
        "pytest",
        "add is now imported from sums, no longer from calc",
    ),
    "a package that skips itself": (
        one(ADD),
        {**one(ADD), "tests/__init__.py": "import unittest\n\nraise unittest.SkipTest('later')\n"},
        "python -m unittest discover",
        "skips all tests of the folder",
    ),
    "the file was removed": (one(ADD), {}, "pytest", "test_add was removed"),
    "the file is not collected any more": (
        one(ADD),
        {"tests/calc_checks.py": ADD},
        "pytest",
        "its file's name is not one",
    ),
    "moved out of the check": (
        {"tests/unit/test_calc.py": ADD},
        {"later/test_calc.py": ADD},
        "pytest tests",
        "later/test_calc.py, which the check does not run",
    ),
    "moved out of the named file": (
        {**one(ADD), "tests/test_b.py": "def test_b():\n    assert b() == 1\n"},
        {"tests/test_b.py": "def test_b():\n    assert b() == 1\n" + ADD, TEST: ""},
        f"pytest {TEST}",
        "which the check does not run",
    ),
    "a mark that the check leaves out": (
        one(ADD),
        one(edited(ADD, ("def test_add", "@pytest.mark.slow\ndef test_add"))),
        "pytest -m 'not slow'",
        "left out by `-m 'not slow'`",
    ),
    "a name that the check leaves out": (
        one(ADD),
        one(edited(ADD, ("def test_add", "def test_add_slow"))),
        "pytest -k 'not slow'",
        "left out by `-k 'not slow'`",
    ),
    "a helper in another file": (
        {
            "tests/helpers.py": "def check(r):\n    assert r.status == 200\n",
            TEST: "from tests.helpers import check\n\ndef test_a():\n    check(get())\n",
        },
        {
            "tests/helpers.py": "def check(r):\n    assert r\n",
            TEST: "from tests.helpers import check\n\ndef test_a():\n    check(get())\n",
        },
        "pytest",
        "loosened",
    ),
    "cases in another file": (
        {
            "tests/data.py": "CASES = [1, 2]\n",
            TEST: "from tests.data import CASES\n\ndef test_a():\n    for c in CASES:\n        assert f(c)\n",
        },
        {
            "tests/data.py": "CASES = [1]\n",
            TEST: "from tests.data import CASES\n\ndef test_a():\n    for c in CASES:\n        assert f(c)\n",
        },
        "pytest",
        "CASES, which tests use, changed: 2 is gone",
    ),
    "a fixture in conftest": (
        {
            "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef want():\n    return 3\n",
            **one("def test_a(want):\n    assert f() == want\n"),
        },
        {
            "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef want():\n    return 4\n",
            **one("def test_a(want):\n    assert f() == want\n"),
        },
        "pytest",
        "the value of fixture want changed: 3 is gone",
    ),
    "one of two equal assertions": (
        {TEST: "def test_a():\n    assert f(1) == 1\n", "tests/test_b.py": "def test_b():\n    assert f(1) == 1\n"},
        {TEST: "def test_a():\n    assert f(1) == 1\n", "tests/test_b.py": "X = 1\n"},
        "pytest",
        "test_b was removed",
    ),
    "moved and weakened": (
        one(ADD),
        {"tests/test_sums.py": edited(ADD, ("== 3", "is not None"))},
        "pytest",
        "loosened (== became is not)",
    ),
    "renamed and weakened": (
        one(ADD),
        one(edited(ADD, ("test_add", "test_addition"), ("== 3", "in (3, 5)"))),
        "pytest",
        "test_add (now test_addition): assertion loosened",
    ),
    "a new file of fakes": (
        {**one(ADD), "calc.py": "def add(a, b):\n    return a - b\n"},
        {
            **one(edited(ADD, ("from calc import add, parse", "from tests.fakes import add"))),
            "calc.py": "def add(a, b):\n    return a - b\n",
            "tests/fakes.py": "def add(a, b):\n    return a + b\n",
        },
        "pytest",
        "add is now imported from tests.fakes, no longer from calc",
    ),
    "a fixture that takes another's place": (
        {
            "conftest.py": "import pytest\n\n@pytest.fixture\ndef client():\n    return Client()\n",
            TEST: "def test_a(client):\n    assert client.get() == 1\n",
        },
        {
            "conftest.py": "import pytest\n\n@pytest.fixture\ndef client():\n    return Client()\n",
            "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef client():\n    return Fake()\n",
            TEST: "def test_a(client):\n    assert client.get() == 1\n",
        },
        "pytest",
        "fixture client takes the place of the one that tests use",
    ),
    "moved where pytest does not look": (
        {"tests/test_a.py": ADD},
        {"tests/build/test_a.py": ADD},
        "pytest tests",
        "which the check does not run",
    ),
    "a program of assertions": (
        {"verify.py": "from calc import add\nassert add(1, 2) == 3\nprint('ok')\n"},
        {"verify.py": "from calc import add\nprint('ok')\n"},
        "python verify.py",
        "an assertion",
    ),
    "a program that no longer says what it found": (
        {"run_all.py": "import sys, pytest\nsys.exit(pytest.main(['tests']))\n"},
        {"run_all.py": "import sys, pytest\npytest.main(['tests'])\nsys.exit(0)\n"},
        "python run_all.py",
        "no longer ends with `pytest.main(['tests'])`",
    ),
    "text that never was Python": (
        one("def test_a(:\n    assert f() == 1\n    assert g() == 2\n"),
        one("def test_a(:\n    assert f() == 1\n"),
        "pytest",
        "assert",
    ),
}


@pytest.mark.parametrize("name", ACROSS)
def test_weakening_across_files_is_named(name: str) -> None:
    before, after, command, fragment = ACROSS[name]
    found = findings(before, after, command)
    assert fragment in said(found), said(found) or "nothing was found"


def test_there_are_enough_cases() -> None:
    assert len(SABOTAGE) + len(ACROSS) >= 60
