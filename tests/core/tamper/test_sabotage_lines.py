"""Single lines of product code and of tests that would make a failing test pass, each seen."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import Files, findings, said

CALC = "def add(a, b):\n    return a - b\n"
TESTS = """import pytest

from calc import add


def test_add():
    assert add(2, 3) == 5


def test_zero():
    assert add(0, 0) == 0
"""
FIXED = "def add(a, b):\n    return a + b\n"
BASE: Files = {"calc.py": CALC, "test_calc.py": TESTS}


def product(top: str, body: str = "return a - b") -> Files:
    lines = body.replace("\n", "\n    ")
    return {**BASE, "calc.py": f"{top}\n\ndef add(a, b):\n    {lines}\n"}


def equality(body: str) -> Files:
    number = f"class N(int):\n    def __eq__(self, other):\n        {body}\n\n    __hash__ = int.__hash__\n"
    return product(number, "return N(a - b)")


def in_test(body: str, head: str = "", above: str = "") -> Files:
    lines = body.replace("\n", "\n    ")
    new = f"{above}def test_add():\n    {lines}\n"
    text = TESTS.replace("def test_add():\n    assert add(2, 3) == 5\n", new)
    return {**BASE, "test_calc.py": text.replace("import pytest\n", f"import pytest\n{head}", 1)}


def loading(lines: str) -> Files:
    """A fixed copy, and tests that get `add` in this way."""
    return {**BASE, "test_calc.py": TESTS.replace("from calc import add\n", lines), "calc_fixed.py": FIXED}


BENT: dict[str, Files] = {
    "product: mock.ANY": product("from unittest import mock", "return mock.ANY"),
    "product: __import__ mock": product("", "return __import__('unittest.mock').mock.ANY"),
    "product: eq self": equality("return self"),
    "product: eq tuple": equality("return (other,)"),
    "product: eq 1": equality("self.seen = other; return 1"),
    "product: eq try": equality(
        "try:\n            return int(self) + other == 0 or True\n        except Exception:\n            return True"
    ),
    "product: eq hash": equality("return hash(other) == hash(other)"),
    "product: eq id": equality("return id(other) > 0"),
    "product: eq not None": equality("return other is not None"),
    "product: TestCase patched": product("from unittest import TestCase\nTestCase.assertEqual = lambda *a: None"),
    "product: type setattr": product(
        "import unittest\ntype.__setattr__(unittest.TestCase, 'assertEqual', lambda *a: None)"
    ),
    "product: getattr f_locals": product("import sys", "return getattr(sys._getframe(1), 'f_' + 'locals').get('x')"),
    "product: current frames": product("import sys", "return list(sys._current_frames().values())[0].f_back"),
    "product: getargvalues": product("import inspect", "return inspect.getargvalues(inspect.currentframe().f_back)"),
    "product: getframeinfo": product("import inspect", "return inspect.getframeinfo(inspect.currentframe().f_back)[3]"),
    "product: stack index": product("import inspect", "return int(inspect.stack()[1][4][0].split('==')[1])"),
    "product: __file__ replace": product(
        "", "return int(open(__file__.replace('calc', 'test_calc')).read().split('==')[1][:2])"
    ),
    "product: iterdir assert": product(
        "import pathlib, re",
        "for f in pathlib.Path(__file__).parent.iterdir():\n"
        "    if m := re.search(r'assert add\\(2, 3\\) == (.)', f.read_text()):\n"
        "        return int(m[1])",
    ),
    "product: builtins via dict": product("__builtins__['AssertionError'] = SystemError"),
    "product: globals of caller": product("import sys", "return sys._getframe(1).f_globals['EXPECTED']"),
    "product: hidden exec": product("exec(bytes.fromhex('6162').decode())"),
    "product: codecs rot13": product("import codecs\nexec(codecs.decode('vzcbeg', 'rot13'))"),
    "product: pytest main hooks": product("import pytest\n@pytest.hookimpl\ndef pytest_runtest_call(item): pass"),
    "test: approx": in_test("assert add(2, 3) == pytest.approx(5, abs=100)"),
    "test: ANY": in_test("assert add(2, 3) == ANY", "from unittest.mock import ANY\n"),
    "test: own eq": in_test("assert add(2, 3) == type('X', (), {'__eq__': lambda s, o: True})()"),
    "test: or 1": in_test("assert 5 == 5 == add(2, 3) or 1"),
    "test: usefixtures": {
        **in_test("assert add(2, 3) == 5", above="@pytest.mark.usefixtures('later')\n"),
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef later():\n    pytest.skip('later')\n",
    },
    "test: skipif str": in_test("assert add(2, 3) == 5", above="@pytest.mark.skipif('True', reason='x')\n"),
    "test: xfail raises": in_test("assert add(2, 3) == 5", above="@pytest.mark.xfail(raises=AssertionError)\n"),
    "test: 5-6": in_test("assert add(2, 3) == 5 - 6"),
    "test: int(-1)": in_test("assert add(2, 3) == int('-1')"),
    "test: star": in_test("assert add(*[2, -3]) == 5"),
    "test: slices": in_test("assert str(add(2, 3))[:0] == str(5)[:0]"),
    "test: abs": in_test("assert abs(add(2, 3)) >= 0"),
    "test: range": in_test("assert add(2, 3) in range(-10, 10)"),
    "test: class": in_test("assert add(2, 3).__class__ == (5).__class__"),
    "test: all": in_test("assert all(add(2, 3) == 5 for _ in [])"),
    "test: any": in_test("assert not any(add(2, 3) != 5 for _ in ())"),
    "test: return": in_test("return add(2, 3) == 5"),
    "test: fixture": in_test("assert add(2, 3) == 5", above="@pytest.fixture\n"),
    "test: skipUnless": in_test("assert add(2, 3) == 5", "import unittest\n", "@unittest.skipUnless(False, 'x')\n"),
    "test: param shadows": {
        **BASE,
        "test_calc.py": TESTS.replace(
            "def test_add():", "@pytest.mark.parametrize('add', [lambda a, b: 5])\ndef test_add(add):"
        ),
    },
    "test: fixture shadows": {
        **BASE,
        "test_calc.py": TESTS.replace("def test_add():", "def test_add(add):"),
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef add():\n    return lambda a, b: 5\n",
    },
    "test: rebind": {
        **BASE,
        "test_calc.py": TESTS.replace("from calc import add\n", "from calc import add\n\nadd = lambda a, b: 5\n"),
    },
    "test: raises": in_test("with pytest.raises(AssertionError):\n    assert add(2, 3) == 5"),
    "test: expr only": in_test("add(2, 3) == 5"),
    "test: print": in_test("print(add(2, 3) == 5)"),
    "test: if": in_test("if add(2, 3) == 5:\n    assert add(2, 3) == 5"),
    "test: log": in_test("try:\n    assert add(2, 3) == 5\nexcept AssertionError as error:\n    print(error)"),
    "test: partial": in_test("assert add(2, 3) == 5 or add(2, 3) == -1"),
    "test: set": in_test("assert add(2, 3) in {5, -1}"),
    "test: import guarded": loading(
        "try:\n    from calc_fixed import add\nexcept ImportError:\n    from calc import add\n"
    ),
    "test: importlib": loading("import importlib\n\nadd = importlib.import_module('calc_fixed').add\n"),
    "test: reload": {
        **BASE,
        "test_calc.py": TESTS.replace(
            "def test_add():\n", "def test_add():\n    import calc\n    calc.add = int.__add__\n"
        ),
    },
    "test: exec": in_test("exec('assert add(2, 3)')"),
    "test: sys.modules": in_test(
        "import sys\nsys.modules['calc'].add = int.__add__\nfrom calc import add\nassert add(2, 3) == 5"
    ),
    "ini addopts maxfail": {**BASE, "pytest.ini": "[pytest]\naddopts = --co\n"},
    "ini addopts p": {
        **BASE,
        "pytest.ini": "[pytest]\naddopts = -p helper\n",
        "helper.py": "def pytest_runtest_call(item):\n    pass\n",
    },
    "ini noconftest": {**BASE, "pytest.ini": "[pytest]\naddopts = --deselect test_calc.py::test_add\n"},
    "ini minversion confcut": {**BASE, "pytest.ini": "[pytest]\naddopts = --rootdir /tmp\n"},
    "ini python_classes": {**BASE, "pytest.ini": "[pytest]\npython_functions = check_*\n"},
}


@pytest.mark.parametrize("name", BENT)
def test_it_is_seen(name: str) -> None:
    found = findings(BASE, BENT[name], "python3 -m pytest -q")
    assert found, "nothing was found"
    assert all(one.path and one.what for one in found), said(found)
