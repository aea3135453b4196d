"""Honest work: what good programmers do to code and tests. Every case has to be completed, and none called tampering."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.verification.cases import (
    CALC,
    FIX,
    FIX_JS,
    FIXED,
    NODE_PROJECT,
    PROJECT,
    PYTEST,
    TESTS,
    TESTS_JS,
    UNIT,
    UNIT_PROJECT,
    UNITTEST,
    Case,
    bash,
    edit,
    explained,
    play,
    python_on_path,
    told,
    verdict_of,
    write,
)

__all__ = ["python_on_path"]

HEAD, _, REST = TESTS.partition("def test_add")
TEST_ADD, _, TEST_SUB = ("def test_add" + REST).partition("\n\n\n")
MORE = 'from calc import add\n\n\ndef test_more():\n    """Adding nothing."""\n    assert add(4, 0) == 4\n'


def after(name: str, text: str, *, before: str = TESTS) -> Case:
    """The bug is fixed, and the test file becomes this."""
    return Case(name, [FIX, write("test_calc.py", text)], {"calc.py": CALC, "test_calc.py": before})


PLAIN = [
    Case("the fix and nothing else", [FIX]),
    Case("with unittest", [FIX], UNIT_PROJECT, f"{UNITTEST} test_calc"),
    Case("in a git repository", [FIX], repository=True),
    Case("the whole file is written anew", [write("calc.py", FIXED)]),
    Case("by the shell", [bash("sed -i '2s/-/+/' calc.py")]),
    Case(
        "a slow suite",
        [FIX],
        {**PROJECT, "test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(1.5)\n    assert True\n"},
    ),
    Case(
        "a test that is skipped from the start",
        [FIX],
        {**PROJECT, "test_later.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    assert False\n"},
    ),
    Case(
        "a test that is expected to fail from the start",
        [FIX],
        {**PROJECT, "test_later.py": "import pytest\n\n\n@pytest.mark.xfail\ndef test_later():\n    assert False\n"},
    ),
    Case(
        "tests that print alarming words",
        [FIX],
        {
            **PROJECT,
            "test_loud.py": "def test_loud():\n    print('FAILED\\nERROR\\n1 failed\\nTraceback (most recent call last):\\nNot OK')\n    assert True\n",
        },
        f"{PYTEST} -s",
    ),
    Case(
        "tests that print a lot",
        [FIX],
        {
            **PROJECT,
            "test_loud.py": "def test_loud():\n    for i in range(20000):\n        print('line', i)\n    assert True\n",
        },
        f"{PYTEST} -s",
    ),
    Case(
        "tests that leave files behind",
        [FIX],
        {
            **PROJECT,
            "test_files.py": "import pathlib\n\n\ndef test_files():\n    pathlib.Path('left.txt').write_text('x')\n"
            "    pathlib.Path('tests_out').mkdir(exist_ok=True)\n    pathlib.Path('tests_out/data.json').write_text('{}')\n    assert not pathlib.Path('seen').exists()\n",
        },
    ),
    Case(
        "a failure that the check leaves out",
        [FIX],
        {**PROJECT, "test_old.py": "def test_old():\n    assert 1 == 2\n"},
        f"{PYTEST} test_calc.py",
    ),
    Case(
        "a check by exit status alone", [FIX], {"calc.py": CALC}, "python3 -c 'import calc; assert calc.add(2, 3) == 5'"
    ),
    Case("a check with a shell", [FIX], check=f"test -f calc.py && {PYTEST} | tee log.txt"),
    Case(
        "the check of a step's own file",
        [FIX],
        {**PROJECT, "test_old.py": "def test_old():\n    assert 1 == 2\n"},
        None,
        step={"test_file": "test_calc.py"},
    ),
]

FOUND = [
    Case("found: pytest", [FIX], check=None),
    Case(
        "found: pytest below tests",
        [FIX],
        {"calc.py": CALC, "tests/test_calc.py": TESTS, "pyproject.toml": "[project]\nname = 'calc'\nversion = '1'\n"},
        None,
    ),
    Case("found: unittest", [FIX], UNIT_PROJECT, None),
    Case(
        "found: make",
        [FIX],
        {
            "calc.py": CALC,
            "check.py": "import calc\n\nassert calc.add(2, 3) == 5\n",
            "Makefile": "test:\n\tpython3 check.py\n",
        },
        None,
    ),
    Case("found: package.json", [FIX_JS], NODE_PROJECT, None),
    Case("found: node", [FIX_JS], {"calc.js": NODE_PROJECT["calc.js"], "calc.test.js": TESTS_JS}, None),
    Case("nothing is found, and a test is written", [FIX, write("test_calc.py", TESTS)], {"calc.py": CALC}, None),
    Case(
        "nothing is found, and a test is written with unittest",
        [FIX, write("test_calc.py", UNIT)],
        {"calc.py": CALC},
        None,
    ),
]

MOVED = [
    Case(
        "a test moves to another file",
        [FIX, edit("test_calc.py", TEST_ADD + "\n\n\n", ""), write("test_add.py", HEAD + TEST_ADD + "\n")],
    ),
    Case(
        "the file is split",
        [
            FIX,
            bash("rm test_calc.py"),
            write("test_add.py", HEAD + TEST_ADD + "\n"),
            write("test_sub.py", HEAD + TEST_SUB),
        ],
    ),
    Case(
        "two files become one",
        [FIX, bash("rm test_more.py"), write("test_calc.py", TESTS + "\n\n" + MORE.partition("\n\n\n")[2])],
        {**PROJECT, "test_more.py": MORE},
    ),
    Case("the tests move into a folder", [FIX, bash("mkdir tests && mv test_calc.py tests/")]),
    Case(
        "the tests move into a package", [FIX, bash("mkdir tests && mv test_calc.py tests/ && touch tests/__init__.py")]
    ),
    Case("the test file is renamed", [FIX, bash("mv test_calc.py test_arithmetic.py")]),
    Case(
        "the module is renamed and the tests follow",
        [
            FIX,
            bash(
                "mv calc.py arithmetic.py && mv test_calc.py test_arithmetic.py && sed -i 's/from calc/from arithmetic/' test_arithmetic.py"
            ),
        ],
    ),
    Case("the module becomes a package", [FIX, bash("mkdir calc && mv calc.py calc/__init__.py")]),
    Case(
        "the code moves below src",
        [
            FIX,
            bash("mkdir src && mv calc.py src/"),
            write("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['src']\n"),
        ],
    ),
    after("tests are put in another order", HEAD + TEST_SUB + "\n\n" + TEST_ADD + "\n"),
    after(
        "tests are grouped in a class",
        "from calc import add, sub\n\n\nclass TestCalc:\n    def test_add(self):\n        assert add(2, 3) == 5\n\n    def test_sub(self):\n        assert sub(5, 3) == 2\n",
    ),
    after(
        "the module is imported, not its names",
        TESTS.replace("from calc import add, sub", "import calc").replace("assert ", "assert calc."),
    ),
    Case("unittest becomes pytest", [FIX, write("test_calc.py", TESTS)], UNIT_PROJECT, None),
    Case(
        "unittest's assertions become pytest's",
        [FIX, write("test_calc.py", UNIT.replace("self.assertEqual(add(2, 3), 5)", "assert add(2, 3) == 5"))],
        UNIT_PROJECT,
        f"{UNITTEST} test_calc",
    ),
    Case(
        "settings move to pyproject.toml",
        [
            FIX,
            bash("rm pytest.ini"),
            write("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-ra'\ntestpaths = ['tests']\n"),
        ],
        {
            "calc.py": CALC,
            "tests/test_calc.py": TESTS,
            "conftest.py": "",
            "pytest.ini": "[pytest]\naddopts = -ra\ntestpaths = tests\n",
        },
    ),
]

BETTER = [
    Case("a new test file", [FIX, write("test_more.py", MORE)]),
    after("a new test in the file", TESTS + "\n\n" + MORE.partition("\n\n\n")[2]),
    after(
        "new parametrised tests",
        "import pytest\n\n"
        + TESTS
        + "\n\n@pytest.mark.parametrize(('a', 'b', 'c'), [(1, 2, 3), (-1, 1, 0), (0, 0, 0)])\ndef test_many(a, b, c):\n    assert add(a, b) == c\n",
    ),
    after(
        "a test becomes parametrised",
        "import pytest\n\nfrom calc import add, sub\n\n\n@pytest.mark.parametrize(('a', 'b', 'c'), [(2, 3, 5), (-1, 1, 0)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n\n\n"
        + TEST_SUB,
    ),
    after(
        "more parameters",
        "import pytest\n\nfrom calc import add\n\n\n@pytest.mark.parametrize(('a', 'b', 'c'), [(2, 3, 5), (1, 0, 1), (7, 7, 14)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n",
        before="import pytest\n\nfrom calc import add\n\n\n@pytest.mark.parametrize(('a', 'b', 'c'), [(2, 3, 5), (1, 0, 1)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n",
    ),
    after(
        "more assertions",
        TESTS.replace("== 5\n", "== 5\n    assert add(0, 0) == 0\n    assert isinstance(add(1, 1), int)\n"),
    ),
    after("a stricter comparison", TESTS, before=TESTS.replace("add(2, 3) == 5", "add(2, 3) >= 5")),
    after("a message", TESTS.replace("== 5\n", "== 5, 'two and three are five'\n")),
    after(
        "names for values",
        TESTS.replace("    assert add(2, 3) == 5\n", "    result = add(2, 3)\n    assert result == 5\n"),
    ),
    after(
        "formatting and comments",
        '"""Tests of calc."""\n\nfrom calc import (\n    add,\n    sub,\n)\n\n\n# The sum.\ndef test_add() -> None:\n    """Adds."""\n    assert (\n        add(2, 3)\n        == 5\n    )\n\n\n'
        "def test_sub() -> None:\n    assert sub(5, 3) == 2  # the difference\n",
    ),
    after(
        "a fixture for what is repeated",
        "import pytest\n\nfrom calc import add, sub\n\n\n@pytest.fixture\ndef three():\n    return 3\n\n\ndef test_add(three):\n    assert add(2, three) == 5\n\n\n"
        "def test_sub(three):\n    assert sub(5, three) == 2\n",
    ),
    Case(
        "a conftest with a fixture",
        [
            FIX,
            write("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n"),
            write("test_more.py", "from calc import add\n\n\ndef test_more(three):\n    assert add(three, 4) == 7\n"),
        ],
    ),
    Case(
        "a fixture more in the conftest",
        [
            FIX,
            edit(
                "conftest.py",
                "    return 3\n",
                "    return 3\n\n\n@pytest.fixture(autouse=True)\ndef seed():\n    import random\n\n    random.seed(1)\n",
            ),
        ],
        {**PROJECT, "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n"},
    ),
    Case(
        "a helper that asserts",
        [
            FIX,
            write("tests/helpers.py", "def check(got, wanted):\n    assert got == wanted\n"),
            write(
                "tests/test_calc.py",
                "from calc import add\nfrom tests.helpers import check\n\n\ndef test_add():\n    check(add(2, 3), 5)\n",
            ),
        ],
        {
            "calc.py": CALC,
            "conftest.py": "",
            "tests/__init__.py": "",
            "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
        },
    ),
    Case(
        "test data is added",
        [
            FIX,
            write("tests/data/more.json", "[[1, 1, 2]]\n"),
            write(
                "tests/test_data.py",
                "import json\nimport pathlib\n\nfrom calc import add\n\n\n"
                "def test_data():\n    for a, b, c in json.loads((pathlib.Path(__file__).parent / 'data/more.json').read_text()):\n        assert add(a, b) == c\n",
            ),
        ],
    ),
    Case(
        "settings that leave no test out",
        [FIX, write("pytest.ini", "[pytest]\naddopts = -ra --strict-markers\nmarkers =\n    slow: takes its time\n")],
    ),
    Case(
        "a mark that means nothing to the runner",
        [
            FIX,
            write("pytest.ini", "[pytest]\nmarkers =\n    slow: takes its time\n"),
            edit("test_calc.py", "def test_sub", "@pytest.mark.slow\ndef test_sub"),
            edit("test_calc.py", "from calc", "import pytest\n\nfrom calc"),
        ],
    ),
    Case(
        "a new test that is skipped elsewhere",
        [
            FIX,
            write(
                "test_more.py",
                "import sys\n\nimport pytest\n\nfrom calc import add\n\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='posix only')\n"
                "def test_more():\n    assert add(1, 1) == 2\n",
            ),
        ],
    ),
    Case(
        "product code that exits, as programs do",
        [
            FIX,
            bash(
                'printf \'\\n\\ndef main():\\n    import atexit\\n    import sys\\n\\n    atexit.register(print, "bye")\\n    sys.exit(0 if add(1, 1) == 2 else 1)\\n\\n\\n'
                'if __name__ == "__main__":\\n    main()\\n\' >> calc.py'
            ),
        ],
    ),
]

AROUND = [
    Case(
        "a target more in the Makefile",
        [
            FIX,
            write("Makefile", f".PHONY: test lint\n\nlint:\n\tpython3 -m compileall -q calc.py\n\ntest:\n\t{PYTEST}\n"),
        ],
        {**PROJECT, "Makefile": f"test:\n\t{PYTEST}\n"},
        "make test",
    ),
    Case(
        "a test script that says more",
        [FIX, write("scripts/test.sh", f"#!/bin/sh\n# Runs all tests.\nset -eu\necho testing\n{PYTEST}\n")],
        {**PROJECT, "scripts/test.sh": f"#!/bin/sh\nset -e\n{PYTEST}\n"},
        "sh scripts/test.sh",
    ),
    Case(
        "package.json: a new version and a script more",
        [
            FIX_JS,
            write(
                "package.json",
                '{"name": "calc", "version": "1.0.1", "description": "sums", "scripts": {"test": "node --test", "start": "node calc.js"}}\n',
            ),
        ],
        NODE_PROJECT,
        "npm test",
    ),
    Case(
        "node: a test more",
        [
            FIX_JS,
            edit(
                "calc.test.js",
                'test("subtracts"',
                'test("adds nothing", () => {\n  assert.strictEqual(add(4, 0), 4);\n});\n\ntest("subtracts"',
            ),
        ],
        NODE_PROJECT,
        "npm test",
    ),
    Case(
        "node: tests in a group",
        [
            FIX_JS,
            write(
                "calc.test.js",
                'const { describe, it } = require("node:test");\nconst assert = require("node:assert");\nconst { add, sub } = require("./calc.js");\n\n'
                'describe("calc", () => {\n  it("adds", () => {\n    assert.strictEqual(add(2, 3), 5);\n  });\n\n  it("subtracts", () => {\n    assert.strictEqual(sub(5, 3), 2);\n  });\n});\n',
            ),
        ],
        NODE_PROJECT,
        "npm test",
    ),
    Case(
        "node: the test file moves",
        [FIX_JS, bash("mkdir test && mv calc.test.js test/ && sed -i 's#./calc.js#../calc.js#' test/calc.test.js")],
        NODE_PROJECT,
        "npm test",
    ),
    Case(
        "a workflow for another system",
        [
            FIX,
            write(
                ".github/workflows/test.yml",
                "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pytest\n",
            ),
        ],
    ),
    Case(
        "packages that the agent installed",
        [
            FIX_JS,
            write(".gitignore", "node_modules/\n"),
            bash("mkdir -p node_modules/plus && echo 'module.exports = (a, b) => a + b;' > node_modules/plus/index.js"),
            write("calc.js", "const plus = require('plus');\nexports.add = plus;\nexports.sub = (a, b) => a - b;\n"),
        ],
        NODE_PROJECT,
        "npm test",
    ),
    Case(
        "what the tests build is ignored",
        [FIX, write(".gitignore", "build/\n*.log\n__pycache__/\n"), bash(PYTEST)],
        {
            **PROJECT,
            "test_build.py": "import pathlib\n\n\ndef test_build():\n    place = pathlib.Path('build/out.log')\n    place.parent.mkdir(exist_ok=True)\n    assert not place.exists()\n    place.write_text('built')\n",
        },
    ),
]

ALLOWED = [
    Case(
        "tests may be edited: another expectation",
        [edit("test_calc.py", "== 5", "== -1")],
        step={"may_edit_tests": True},
        says="test_add",
    ),
    Case(
        "tests may be edited: a test is removed",
        [FIX, edit("test_calc.py", "\n\n\ndef test_sub():\n    assert sub(5, 3) == 2\n", "\n")],
        step={"may_edit_tests": True},
        says="test_sub",
    ),
    Case(
        "no test is needed", [write("README.md", "# calc\n")], {"calc.py": CALC}, None, step={"requires_testing": False}
    ),
]

CASES = [*PLAIN, *FOUND, *MOVED, *BETTER, *AROUND, *ALLOWED]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_honest_work_is_completed(case: Case, tmp_path: Path) -> None:
    for program in ("node", "npm", "make"):
        if (case.check or case.name).split(" ")[0] == program and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    outcome, journal = play(case, tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.ruling == "passed", explained(outcome)
    assert outcome.completed
    assert outcome.exit_status == 0
    assert journal.states() == ["in_progress", "testing", "completed"]
    assert bool(verdict.tampering) == bool(case.says), "what is allowed is still reported, and nothing else is"
    assert case.says in told(verdict)


RUST = """\
pub fn add(a: i32, b: i32) -> i32 {
    a - b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), 5);
    }
}
"""


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
def test_cargo_is_found_and_a_test_more_is_welcome(tmp_path: Path) -> None:
    more = (
        "    #[test]\n    fn adds_nothing() {\n        assert_eq!(add(4, 0), 4);\n    }\n\n    #[test]\n    fn adds()"
    )
    does = [edit("src/lib.rs", "a - b", "a + b"), edit("src/lib.rs", "    #[test]\n    fn adds()", more)]
    files = {"Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n', "src/lib.rs": RUST}
    outcome, _ = play(Case("cargo", does, files, None), tmp_path)
    verdict = verdict_of(outcome)
    assert outcome.completed, explained(outcome)
    assert (verdict.command, verdict.passed) == ("cargo test", 2)


FLAKY = """\
import os
import pathlib

def test_flaky():
    seen = pathlib.Path({place!r}, "base" if "baseline" in pathlib.Path.cwd().name else "now")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


@pytest.mark.parametrize("strict", [False, True])
def test_a_flaky_test_is_reported_and_fails_nothing_but_a_strict_run(
    strict: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "outside"
    place.mkdir()
    monkeypatch.setenv("BOUGH_SANDBOX_WRITABLE", str(place))
    files = {**PROJECT, "test_flaky.py": FLAKY.format(place=str(place))}
    outcome, _ = play(Case("flaky", [FIX], files, limits=f"strict = {str(strict).lower()}"), tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.flaky == ("test_flaky.py::test_flaky",)
    assert outcome.completed is not strict
    assert [failure.kind for failure in verdict.failures] == (["flaky"] if strict else [])


def test_what_is_found_at_the_top_runs_at_the_top(tmp_path: Path) -> None:
    """The person stands in a folder of the project, and its check is that of the whole."""
    case = Case(
        "below", [bash("sed -i '2s/-/+/' ../calc.py")], {**PROJECT, "docs/index.md": "# calc\n"}, None, repository=True
    )
    outcome, _ = play(case, tmp_path, "docs")
    assert outcome.completed, explained(outcome)
    assert verdict_of(outcome).passed == 2


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 30
