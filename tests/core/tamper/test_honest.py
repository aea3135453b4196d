"""Work on tests that takes nothing away: the gate has to stay silent."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import TEST, Files, findings, one, said

ADD = """
from calc import add

def test_add():
    assert add(1, 2) == 3
    assert add(0, 0) == 0
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
        self.assertTrue(self.calc.ready)
        self.assertAlmostEqual(self.calc.half(1), 0.5)
        self.assertCountEqual(self.calc.names(), ["a", "b"])
        self.assertIsInstance(self.calc.add(1, 1), int)
        self.assertIsNone(self.calc.error)

    def test_bad(self):
        with self.assertRaises(ValueError):
            self.calc.add("x", 1)
        with self.assertRaisesRegex(TypeError, "none"):
            self.calc.add(None, 1)
        self.assertRaises(KeyError, self.calc.get, "x")
"""

SAME_FILE: dict[str, tuple[str, str]] = {
    "a new test": (ADD, ADD + "\ndef test_more():\n    assert add(5, 5) == 10\n"),
    "a new test that is skipped": (ADD, ADD + "\n@pytest.mark.skip\ndef test_later():\n    assert add(5, 5) == 10\n"),
    "an added assertion": (ADD, ADD + "    assert add(2, 2) == 4\n"),
    "comments and docstrings": (ADD, ADD.replace("test_add():", 'test_add():\n    """Adds."""\n    # small ones')),
    "formatting": (
        ADD,
        ADD.replace(
            "add(1, 2) == 3", "(\n        add(\n            1,\n            2,\n        )\n        == 3\n    )"
        ),
    ),
    "type hints": (ADD, ADD.replace("def test_add():", "def test_add() -> None:")),
    "imports sorted": ("import b\nimport a\n" + ADD, "import a\nimport b\n\n" + ADD),
    "quotes": ('def test_a():\n    assert f("x") == "y"\n', "def test_a():\n    assert f('x') == 'y'\n"),
    "an assertion's message": (ADD, ADD.replace("== 3", "== 3, 'one and two'")),
    "sides exchanged": (ADD, ADD.replace("add(1, 2) == 3", "3 == add(1, 2)")),
    "a variable for the result": (
        ADD,
        ADD.replace("    assert add(1, 2) == 3", "    total = add(1, 2)\n    assert total == 3"),
    ),
    "a variable renamed": (
        "def test_a():\n    x = f(1)\n    y = g(x)\n    assert y.z == 2\n",
        "def test_a():\n    first = f(1)\n    second = g(first)\n    assert second.z == 2\n",
    ),
    "a loop's variable renamed": (
        "def test_a():\n    for x in items():\n        assert f(x) == 1\n",
        "def test_a():\n    for item in items():\n        assert f(item) == 1\n",
    ),
    "renamed": (ADD, ADD.replace("test_add", "test_addition_of_small_numbers")),
    "split in two": (
        ADD,
        "from calc import add\n\ndef test_small():\n    assert add(1, 2) == 3\n"
        "\ndef test_zero():\n    assert add(0, 0) == 0\n",
    ),
    "two made one": (
        "def test_small():\n    assert add(1, 2) == 3\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
        "def test_add():\n    assert add(1, 2) == 3\n    assert add(0, 0) == 0\n",
    ),
    "parametrised": (
        ADD,
        "import pytest\nfrom calc import add\n\n@pytest.mark.parametrize(('a', 'b', 'total'), [(1, 2, 3), (0, 0, 0)])\n"
        "def test_add(a, b, total):\n    assert add(a, b) == total\n",
    ),
    "a case added": (
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a) == a\n",
        "@pytest.mark.parametrize('a', [1, 2, 3, 10])\ndef test_a(a):\n    assert f(a) == a\n",
    ),
    "cases with ids": (
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a) == a\n",
        "@pytest.mark.parametrize('a', [pytest.param(1, id='one'), pytest.param(2, id='two')])\n"
        "def test_a(a):\n    assert f(a) == a\n",
    ),
    "cases given a name": (
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a) == a\n",
        "GOOD = [1, 2]\n\n@pytest.mark.parametrize('a', GOOD)\ndef test_a(a):\n    assert f(a) == a\n",
    ),
    "cases sorted": (
        "@pytest.mark.parametrize('a, b', [(2, 3), (1, 2)])\ndef test_a(a, b):\n    assert f(a) == b\n",
        "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert f(a) == b\n",
    ),
    "a loop made parameters": (
        "def test_a():\n    for a, b in [(1, 2), (2, 3)]:\n        assert f(a) == b\n",
        "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert f(a) == b\n",
    ),
    "a helper extracted": (
        "def test_a():\n    r = get('/a')\n    assert r.status == 200\n    assert r.body == 'a'\n\n"
        "def test_b():\n    r = get('/b')\n    assert r.status == 200\n    assert r.body == 'b'\n",
        "def expect(path, body):\n    r = get(path)\n    assert r.status == 200\n    assert r.body == body\n\n"
        "def test_a():\n    expect('/a', 'a')\n\ndef test_b():\n    expect('/b', 'b')\n",
    ),
    "a maker extracted": (
        "def test_a():\n    s = Stack()\n    s.push(1)\n    s.push(2)\n    assert s.pop() == 2\n",
        "def filled():\n    s = Stack()\n    s.push(1)\n    s.push(2)\n"
        "    return s\n\ndef test_a():\n    s = filled()\n    assert s.pop() == 2\n",
    ),
    "a fixture extracted": (
        "def test_a():\n    s = Stack()\n    s.push(1)\n    assert s.pop() == 1\n",
        "@pytest.fixture\ndef stack():\n    s = Stack()\n    s.push(1)\n"
        "    return s\n\ndef test_a(stack):\n    assert stack.pop() == 1\n",
    ),
    "a constant extracted": (
        "def test_a():\n    assert f(10) == 100\n",
        "TEN = 10\n\ndef test_a():\n    assert f(TEN) == 100\n",
    ),
    "a helper inlined": (
        "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    "put into a class": (
        ADD,
        "from calc import add\n\nclass TestAdd:\n    def test_small(self):\n        assert add(1, 2) == 3\n\n"
        "    def test_zero(self):\n        assert add(0, 0) == 0\n",
    ),
    "unittest made pytest": (
        UNIT,
        """
import pytest
from calc import Calc

@pytest.fixture
def calc():
    return Calc(10)

def test_add(calc):
    assert calc.add(1, 2) == 3
    assert 3 in calc.history
    assert calc.ready
    assert calc.half(1) == pytest.approx(0.5)
    assert sorted(calc.names()) == sorted(["a", "b"])
    assert isinstance(calc.add(1, 1), int)
    assert calc.error is None

def test_bad(calc):
    with pytest.raises(ValueError):
        calc.add("x", 1)
    with pytest.raises(TypeError, match="none"):
        calc.add(None, 1)
    with pytest.raises(KeyError):
        calc.get("x")
""",
    ),
    "stricter: truth became a value": ("def test_a():\n    assert f(1)\n", "def test_a():\n    assert f(1) == 2\n"),
    "stricter: in became ==": ("def test_a():\n    assert 'x' in f(1)\n", "def test_a():\n    assert f(1) == 'axb'\n"),
    "stricter: is not None became ==": (
        "def test_a():\n    assert f(1) is not None\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    "stricter: length became the list": (
        "def test_a():\n    assert len(f(1)) == 2\n",
        "def test_a():\n    assert f(1) == ['a', 'b']\n",
    ),
    "stricter: bounds": ("def test_a():\n    assert f(1) < 10\n", "def test_a():\n    assert f(1) < 5\n"),
    "stricter: raises": (
        "def test_a():\n    with pytest.raises(Exception):\n        f('x')\n",
        "def test_a():\n    with pytest.raises(ValueError, match='x'):\n        f('x')\n",
    ),
    "stricter: a skip taken away": ("@pytest.mark.skip\n" + ADD.lstrip().replace("from calc import add\n\n", ""), ADD),
    "stricter: assertTrue became is True": (
        "class T(TestCase):\n    def test_a(self):\n        self.assertTrue(f(1))\n",
        "def test_a():\n    assert f(1) is True\n",
    ),
    "as linters want it": (
        "def test_a():\n    assert f(1) == True\n    assert f(2) == None\n"
        "    assert not f(3) == 4\n    assert f(4) == False\n",
        "def test_a():\n    assert f(1)\n    assert f(2) is None\n    assert f(3) != 4\n    assert not f(4)\n",
    ),
    "and taken apart": (
        "def test_a():\n    assert f(1) == 2 and g(1) == 3\n",
        "def test_a():\n    assert f(1) == 2\n    assert g(1) == 3\n",
    ),
    "floats compared as floats": (
        "def test_a():\n    assert f(0.1) == 0.3\n",
        "def test_a():\n    assert f(0.1) == pytest.approx(0.3)\n",
    ),
    "the function under test renamed": (ADD, ADD.replace("add(", "plus(").replace("import add", "import plus")),
    "the function under test moved": (ADD, ADD.replace("from calc import add", "from calc.sums import add")),
    "imported as a module": (
        ADD,
        "import calc\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n    assert calc.add(0, 0) == 0\n",
    ),
    "an argument added to the call": (ADD, ADD.replace("add(1, 2)", "add(1, 2, exact=True)")),
    "a mark that selects": (ADD, ADD.replace("def test_add", "@pytest.mark.unit\ndef test_add")),
    "a timeout": (ADD, ADD.replace("def test_add", "@pytest.mark.timeout(5)\ndef test_add")),
    "asyncio": (
        "def test_a():\n    assert f(1) == 2\n",
        "@pytest.mark.asyncio\nasync def test_a():\n    assert await f(1) == 2\n",
    ),
    "a clock replaced": (
        ADD,
        ADD.replace("test_add():", "test_add(monkeypatch):\n    monkeypatch.setattr('time.sleep', lambda s: None)"),
    ),
    "a new fixture": (
        ADD,
        ADD + "\n@pytest.fixture\ndef calc():\n    return 1\n\ndef test_b(calc):\n    assert calc == 1\n",
    ),
    "a new fixture that skips": (
        ADD,
        ADD
        + (
            "\n@pytest.fixture\ndef docker():\n    if not there():\n"
            "        pytest.skip('no docker')\n\ndef test_b(docker):\n    assert up()\n"
        ),
    ),
    "a skipped test removed": (ADD + "\n@pytest.mark.skip\ndef test_old():\n    assert old() == 1\n", ADD),
    "an empty test removed": (ADD + "\ndef test_nothing():\n    pass\n", ADD),
    "a tautology repaired": ("def test_a():\n    assert True\n", "def test_a():\n    assert f(1) == 2\n"),
    "an unused helper removed": (ADD + "\ndef unused():\n    return 3\n", ADD),
    "a try around the set-up": (
        "def test_a():\n    f = open_it()\n    assert f.read() == 'x'\n",
        "def test_a():\n    f = open_it()\n    try:\n        assert f.read() == 'x'\n    finally:\n        f.close()\n",
    ),
    "a with around the set-up": (
        "def test_a():\n    f = open_it('p')\n    assert f.read() == 'x'\n    f.close()\n",
        "def test_a():\n    with open_it('p') as f:\n        assert f.read() == 'x'\n",
    ),
    "subTest": (
        "class T(TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
        "class T(TestCase):\n    def test_a(self):\n"
        "        with self.subTest('one'):\n            self.assertEqual(f(1), 2)\n",
    ),
    "prints and sleeps removed": (
        "def test_a():\n    print('start')\n    time.sleep(0.1)\n    assert f(1) == 2\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    "an exit in a new test of the command line": (
        ADD,
        ADD
        + (
            "\ndef test_exit(monkeypatch):\n    monkeypatch.setattr(sys, 'exit', fake)\n"
            "    with pytest.raises(SystemExit):\n        main()\n"
        ),
    ),
    "a mock in a new test": (
        ADD,
        ADD + "\n@patch('calc.add')\ndef test_call(add):\n    run()\n    add.assert_called_once_with(1)\n",
    ),
    "run as a program": (ADD, ADD + "\nif __name__ == '__main__':\n    sys.exit(pytest.main([__file__]))\n"),
    "tests made in a loop": (ADD, ADD + "\nfor n in NAMES:\n    globals()[f'test_{n}'] = make(n)\n"),
    "repaired from nonsense": ("def test_a(:\n    assert f() == 1\n", "def test_a():\n    assert f() == 1\n"),
    "an async helper": (
        "def test_a():\n    assert asyncio.run(f(1)) == 2\n",
        "def test_a():\n    async def main():\n        assert await f(1) == 2\n"
        "    asyncio.run(main())\n    assert asyncio.run(f(1)) == 2\n",
    ),
    "examples added": (
        "@given(st.integers())\ndef test_a(a):\n    assert f(a) == a\n",
        "@settings(max_examples=500)\n@example(0)\n@given(st.integers())\ndef test_a(a):\n    assert f(a) == a\n",
    ),
    "deprecated names of unittest": (
        "class T(TestCase):\n    def test_a(self):\n"
        "        self.assertEquals(f(1), 2)\n        self.assertRegexpMatches(g(), 'x')\n",
        "class T(TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(f(1), 2)\n        self.assertRegex(g(), 'x')\n",
    ),
    "a skip's reason": (
        "@pytest.mark.skipif(OLD, reason='too old')\ndef test_a():\n    assert f(1) == 2\n",
        "@pytest.mark.skipif(OLD, reason='needs 3.12')\ndef test_a():\n    assert f(1) == 2\n",
    ),
    "a condition of a skip dropped": (
        "@pytest.mark.skipif(OLD, reason='too old')\n"
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
    ),
    "strings formatted in another way": (
        "def test_a():\n    assert f(1) == 'a {} b {!r}'.format(x, y)\n    assert g(1) == '%s-%r' % (x, y)\n",
        "def test_a():\n    assert f(1) == f'a {x} b {y!r}'\n    assert g(1) == f'{x}-{y!r}'\n",
    ),
    "a pattern escaped": (
        "def test_a():\n    with pytest.raises(ValueError, match='no. 1'):\n        f('x')\n",
        "def test_a():\n    with pytest.raises(ValueError, match=r'no\\. 1'):\n        f('x')\n",
    ),
    "is in place of ==": (
        "def test_a():\n    assert kind(1) == float\n",
        "def test_a():\n    assert float is kind(1)\n",
    ),
    "a variable that an inner function sets": (
        "def test_a():\n    def go():\n        nonlocal seen\n        seen = 1\n"
        "    seen: int | None\n    run(go)\n    assert seen == 1\n",
        "def test_a():\n    def go():\n        nonlocal seen\n        seen = 1\n"
        "    seen: int | None = None\n    run(go)\n    assert seen == 1\n",
    ),
    "a list that is filled": (
        "def test_a():\n    seen = []\n    run(seen.append)\n    assert seen == [1]\n",
        "def test_a():\n    calls: list[int] = []\n    run(calls.append)\n    assert calls == [1]\n",
    ),
    "an if made one expression": (
        "def test_a():\n    if two():\n        c = C(1, 2)\n    else:\n        c = C(1)\n    assert c.x == 1\n",
        "def test_a():\n    c = C(1, 2) if two() else C(1)\n    assert c.x == 1\n",
    ),
    "dict made a literal": (
        "def test_a():\n    kwargs = dict(a=1, b=2)\n    if kwargs['a']:\n        assert f(**kwargs) == 3\n",
        "def test_a():\n    kwargs = {'a': 1, 'b': 2}\n    if kwargs['a']:\n        assert f(**kwargs) == 3\n",
    ),
    "if and fail made an assertion": (
        "def test_a():\n    if f(1) != 2:\n        pytest.fail('no')\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    "all made a loop": (
        "def test_a():\n    assert all(f(x) == 1 for x in [1, 2])\n",
        "def test_a():\n    for x in [1, 2]:\n        assert f(x) == 1\n",
    ),
}


@pytest.mark.parametrize("name", SAME_FILE)
def test_an_honest_edit_is_no_tampering(name: str) -> None:
    before, after = SAME_FILE[name]
    assert said(findings(one(before), one(after))) == ""


CONFTEST = "import pytest\n\n@pytest.fixture\ndef calc():\n    return 1\n"
PYPROJECT = '[project]\nname = "x"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-q"\n'
MAKE = "test:\n\tpytest tests\n\nlint:\n\truff check\n"
SHELL = "#!/bin/sh\nset -e\npytest tests\n"
PACKAGE = '{"name": "x", "scripts": {"test": "jest"}, "jest": {"testMatch": ["**/*.test.js"]}}'
DOCUMENTED = 'def add(a, b):\n    """Sum.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
CI = "jobs:\n  test:\n    steps:\n      - uses: actions/checkout@v3\n      - run: pytest\n"
JS = """
import { add } from "../src/calc";

describe("add", () => {
  it("adds", () => {
    expect(add(1, 2)).toBe(3);
    expect(add(0, 0)).toEqual(0);
  });
});
"""
GO = """
package calc

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{
		{1, 2, 3},
		{0, 0, 0},
	} {
		if got := Add(c.a, c.b); got != c.want {
			t.Errorf("Add(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
"""
RUST = """
pub fn add(a: i32, b: i32) -> i32 { a + b }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
"""

ACROSS: dict[str, tuple[Files, Files, str]] = {
    "moved to another file": (one(ADD), {"tests/unit/test_sums.py": ADD}, "pytest"),
    "the file was renamed": ({"tests/test_a.py": ADD}, {"tests/test_b.py": ADD}, "pytest tests"),
    "the file was split": (
        one(ADD),
        {
            "tests/test_small.py": "from calc import add\n\ndef test_small():\n    assert add(1, 2) == 3\n",
            "tests/test_zero.py": "from calc import add\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
        },
        "pytest",
    ),
    "moved within what the check runs": (
        {"tests/test_a.py": ADD},
        {"tests/sums/test_a.py": ADD, "tests/sums/__init__.py": ""},
        "pytest tests",
    ),
    "a fixture moved to conftest": (
        one(CONFTEST + "\ndef test_a(calc):\n    assert calc == 1\n"),
        {"tests/conftest.py": CONFTEST, TEST: "def test_a(calc):\n    assert calc == 1\n"},
        "pytest",
    ),
    "set-up moved to a fixture of conftest": (
        one("def test_a():\n    s = Stack(5)\n    assert s.size == 5\n"),
        {
            "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef stack():\n    return Stack(5)\n",
            TEST: "def test_a(stack):\n    assert stack.size == 5\n",
        },
        "pytest",
    ),
    "helpers moved to a file of their own": (
        one("def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n"),
        {
            "tests/helpers.py": "def check(a, b):\n    assert f(a) == b\n",
            TEST: "from tests.helpers import check\n\ndef test_a():\n    check(1, 2)\n",
        },
        "pytest",
    ),
    "a new conftest": (one(ADD), {**one(ADD), "conftest.py": CONFTEST}, "pytest"),
    "markers registered in conftest": (
        {**one(ADD), "conftest.py": CONFTEST},
        {
            **one(ADD),
            "conftest.py": CONFTEST
            + "\ndef pytest_configure(config):\n    config.addinivalue_line('markers', 'slow: takes long')\n",
        },
        "pytest",
    ),
    "the path set in conftest": (
        one(ADD),
        {
            **one(ADD),
            "conftest.py": (
                "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent / 'src'))\n"
            ),
        },
        "pytest",
    ),
    "an option added in conftest": (
        {**one(ADD), "conftest.py": CONFTEST},
        {**one(ADD), "conftest.py": CONFTEST + "\ndef pytest_addoption(parser):\n    parser.addoption('--slow')\n"},
        "pytest",
    ),
    "a clean-up after the session": (
        {**one(ADD), "conftest.py": CONFTEST},
        {**one(ADD), "conftest.py": CONFTEST + "\ndef pytest_sessionfinish(session):\n    shutil.rmtree('tmp')\n"},
        "pytest",
    ),
    "an environment for all tests": (
        {**one(ADD), "conftest.py": CONFTEST},
        {
            **one(ADD),
            "conftest.py": CONFTEST
            + (
                "\n@pytest.fixture(autouse=True)\ndef env(monkeypatch, tmp_path):\n"
                "    monkeypatch.setenv('HOME', str(tmp_path))\n"
            ),
        },
        "pytest",
    ),
    "a missing library replaced": (
        {**one(ADD), "conftest.py": CONFTEST},
        {
            **one(ADD),
            "conftest.py": "import sys\nfrom unittest.mock import MagicMock\nsys.modules['RPi.GPIO'] = MagicMock()\n"
            + CONFTEST,
        },
        "pytest",
    ),
    "setup.py left out of collection": (
        {**one(ADD), "conftest.py": CONFTEST},
        {**one(ADD), "conftest.py": CONFTEST + "\ncollect_ignore = ['setup.py']\n"},
        "pytest",
    ),
    "markers in pyproject": (
        {**one(ADD), "pyproject.toml": PYPROJECT},
        {**one(ADD), "pyproject.toml": PYPROJECT + 'markers = ["slow: takes long"]\n'},
        "pytest",
    ),
    "quiet options": (
        {**one(ADD), "pyproject.toml": PYPROJECT},
        {
            **one(ADD),
            "pyproject.toml": PYPROJECT.replace('"-q"', '"-v --junitxml=report.xml --tb short -p no:cacheprovider"'),
        },
        "pytest",
    ),
    "dependencies": (
        {**one(ADD), "pyproject.toml": PYPROJECT},
        {**one(ADD), "pyproject.toml": PYPROJECT.replace('name = "x"', 'name = "x"\ndependencies = ["httpx"]')},
        "pytest",
    ),
    "settings moved to pyproject": (
        {**one(ADD), "setup.cfg": "[tool:pytest]\ntestpaths = tests\naddopts = -q\n"},
        {**one(ADD), "setup.cfg": "", "pyproject.toml": PYPROJECT},
        "pytest",
    ),
    "new settings that cover all": (
        one(ADD),
        {**one(ADD), "pytest.ini": "[pytest]\ntestpaths = tests\npython_files = test_*.py\n"},
        "pytest",
    ),
    "coverage raised": (
        {**one(ADD), "pyproject.toml": PYPROJECT + "\n[tool.coverage.report]\nfail_under = 80\n"},
        {**one(ADD), "pyproject.toml": PYPROJECT + "\n[tool.coverage.report]\nfail_under = 95\n"},
        "pytest",
    ),
    "a new target": ({"Makefile": MAKE}, {"Makefile": MAKE + "\ndocs:\n\tmkdocs build\n"}, "make test"),
    "a quieter recipe": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("pytest tests", "@pytest -q tests --junitxml=r.xml")},
        "make test",
    ),
    "python -m pytest": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("pytest tests", "python -m pytest tests")},
        "make test",
    ),
    "a variable for the runner": (
        {"Makefile": MAKE},
        {"Makefile": "PYTEST = pytest\n" + MAKE.replace("pytest tests", "$(PYTEST) tests")},
        "make test",
    ),
    "another target changed": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("ruff check", "ruff check . || true")},
        "make test",
    ),
    "a script that prints": (
        {"run_tests.sh": SHELL},
        {"run_tests.sh": SHELL.replace("pytest tests", "echo start\npytest -v tests")},
        "./run_tests.sh",
    ),
    "another script": (
        {"scripts/deploy.sh": "rsync -a . host:\n"},
        {"scripts/deploy.sh": "rsync -a . host: || true\n"},
        "pytest",
    ),
    "a verbose jest": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"}', '"jest --verbose --coverage"}')},
        "npm test",
    ),
    "a first test script": (
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"test": "vitest run"}}'},
        "npm test",
    ),
    "a dependency of package.json": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"name": "x"', '"name": "x", "dependencies": {"left-pad": "1"}')},
        "npm test",
    ),
    "a new action in CI": (
        {".github/workflows/ci.yml": CI},
        {".github/workflows/ci.yml": CI.replace("v3", "v4") + "      - run: ruff check\n"},
        "pytest",
    ),
    "an installation in CI": (
        {".github/workflows/ci.yml": CI + "      - run: pip install tox\n"},
        {".github/workflows/ci.yml": CI + "      - run: pip install 'tox<4'\n"},
        "pytest",
    ),
    "another command of tox": (
        {"tox.ini": "[testenv:types]\ncommands = mypy src\n"},
        {"tox.ini": "[testenv:types]\ncommands = mypy src tests\n"},
        "pytest",
    ),
    "a CI file renamed": ({".github/workflows/ci.yml": CI}, {".github/workflows/tests.yml": CI}, "pytest"),
    "a new CI file": ({}, {".github/workflows/ci.yml": CI}, "pytest"),
    "a JavaScript test added": (
        {"test/calc.test.js": JS},
        {
            "test/calc.test.js": JS.replace(
                'describe("add"',
                'it.todo("divides");\n\ntest("subtracts", () => { expect(sub(1, 2)).toBe(-1); });\n\ndescribe("add"',
            )
        },
        "npm test",
    ),
    "a JavaScript test reformatted": (
        {"test/calc.test.js": JS},
        {
            "test/calc.test.js": JS.replace(
                "expect(add(1, 2)).toBe(3);", "// one and two\n    expect(\n      add(1, 2)\n    ).toBe(3)"
            )
        },
        "npm test",
    ),
    "a JavaScript test moved": ({"test/calc.test.js": JS}, {"test/sums/add.test.js": JS}, "npm test"),
    "a JavaScript test made a table": (
        {"test/calc.test.js": JS},
        {
            "test/calc.test.js": """
import { add } from "../src/calc";

describe("add", () => {
  it.each([
    [1, 2, 3],
    [0, 0, 0],
  ])("adds %i and %i", (a, b, want) => {
    expect(add(a, b)).toBe(want);
  });
});
"""
        },
        "npm test",
    ),
    "a JavaScript test with its own runner, extended": (
        {"test/calc.test.js": JS.replace("describe(", 'import { it } from "vitest";\n\ndescribe(', 1)},
        {
            "test/calc.test.js": JS.replace(
                "describe(",
                'import { it as base } from "vitest";\n\nconst it = base.extend({ list: [] });\n\ndescribe(',
                1,
            )
        },
        "npx vitest run",
    ),
    "a JavaScript helper moved to the tests": (
        {"test/calc.test.js": 'import { one } from "../util/one";\n' + JS, "util/one.js": "export const one = 1;\n"},
        {"test/calc.test.js": 'import { one } from "./one";\n' + JS, "test/one.js": "export const one = 1;\n"},
        "npm test",
    ),
    "a JavaScript assertion within a callback": (
        {"test/calc.test.js": JS},
        {
            "test/calc.test.js": JS.replace(
                "    expect(add(1, 2)).toBe(3);\n", "    within(() => {\n      expect(add(1, 2)).toBe(3);\n    });\n"
            )
        },
        "npm test",
    ),
    "a JavaScript assertion added": (
        {"test/calc.test.js": JS},
        {"test/calc.test.js": JS.replace("expect(add(0", "expect(add(5, 5)).toBe(10);\n    expect(add(0")},
        "npm test",
    ),
    "a JavaScript test made stricter": (
        {"test/calc.test.js": JS.replace(".toBe(3)", ".toBeTruthy()")},
        {"test/calc.test.js": JS},
        "npm test",
    ),
    "a Go case added": (
        {"calc_test.go": GO},
        {"calc_test.go": GO.replace("{0, 0, 0},", "{0, 0, 0},\n\t\t{5, 5, 10},")},
        "go test ./...",
    ),
    "a Go test renamed": (
        {"calc_test.go": GO},
        {"calc_test.go": GO.replace("TestAdd", "TestAddition")},
        "go test ./...",
    ),
    "a Go message": ({"calc_test.go": GO}, {"calc_test.go": GO.replace("want %d", "expected %d")}, "go test ./..."),
    "Rust code changed, its tests not": (
        {"src/lib.rs": RUST},
        {"src/lib.rs": RUST.replace("a + b", "b + a")},
        "cargo test",
    ),
    "Rust tests moved to a file of their own": (
        {"src/lib.rs": RUST},
        {
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n",
            "tests/add.rs": "use calc::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
        },
        "cargo test",
    ),
    "test data that grew": (
        {"tests/data/cases.json": '{"cases": [{"in": 1, "out": 2}]}'},
        {"tests/data/cases.json": '{"cases": [{"in": 1, "out": 2}, {"in": 2, "out": 3}]}'},
        "pytest",
    ),
    "test data that moved": ({"tests/data/a.txt": "x\ny\n"}, {"tests/unit/data/a.txt": "x\ny\n"}, "pytest"),
    "product code": (
        {**one(ADD), "calc.py": "def add(a, b):\n    return a - b\n"},
        {
            **one(ADD),
            "calc.py": (
                "import sys\n\ndef add(a, b):\n    return a + b\n\nif __name__ == '__main__':\n    sys.exit(0)\n"
            ),
        },
        "pytest",
    ),
    "a product module named like a file of the standard library": (
        one(ADD),
        {**one(ADD), "calendar.py": "def today():\n    return 1\n"},
        "pytest",
    ),
    "an integration with the runner": (
        {**one(ADD), "src/app/__init__.py": ""},
        {**one(ADD), "src/app/__init__.py": "", "src/app/runners/pytest.py": "def parse(text):\n    return text\n"},
        "pytest",
    ),
    "a package's main": (
        {**one(ADD), "src/app/__init__.py": ""},
        {
            **one(ADD),
            "src/app/__init__.py": "",
            "src/app/__main__.py": "import sys\nfrom app.cli import main\n\nsys.exit(main())\n",
        },
        "pytest",
    ),
    "a child process in a new test": (
        one(ADD),
        {
            **one(ADD),
            "tests/test_fork.py": (
                "import os\n\ndef test_fork():\n    pid = os.fork()\n    if pid == 0:\n"
                "        os._exit(0)\n    assert os.waitpid(pid, 0)[1] == 0\n"
            ),
        },
        "pytest",
    ),
    "a product function beneath its doctest": (
        {**one(ADD), "calc.py": DOCUMENTED},
        {**one(ADD), "calc.py": DOCUMENTED.replace("a - b", "a + b") + "\n\ndef twice(a):\n    return 2 * a\n"},
        "pytest --doctest-modules",
    ),
    "a doctest that moved": (
        {**one(ADD), "calc.py": DOCUMENTED},
        {**one(ADD), "calc/__init__.py": "from calc.sums import add\n", "calc/sums.py": DOCUMENTED},
        "pytest --doctest-modules",
    ),
    "another way to lead up to what a doctest shows": (
        {**one(ADD), "calc.py": DOCUMENTED.replace(">>> ", ">>> from datetime import datetime\n    >>> ", 1)},
        {**one(ADD), "calc.py": DOCUMENTED.replace(">>> ", ">>> import datetime\n    >>> ", 1)},
        "pytest --doctest-modules",
    ),
    "a path alias for jest": (
        {"package.json": PACKAGE, "src/a.test.js": JS},
        {
            "package.json": PACKAGE.replace(
                '"testMatch"', '"moduleNameMapper": {"^@/(.*)$": "<rootDir>/src/$1.js"}, "testMatch"'
            ),
            "src/a.test.js": JS,
        },
        "npm test",
    ),
    "a src layout given up": (
        {**one(ADD), "src/calc.py": "def add(a, b):\n    return a + b\n"},
        {**one(ADD), "calc.py": "def add(a, b):\n    return a + b\n"},
        "pytest",
    ),
}


@pytest.mark.parametrize("name", ACROSS)
def test_an_honest_change_of_files_is_no_tampering(name: str) -> None:
    before, after, command = ACROSS[name]
    assert said(findings(before, after, command)) == ""


def test_there_are_enough_cases() -> None:
    assert len(SAME_FILE) + len(ACROSS) >= 40
