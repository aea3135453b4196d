"""Tests as plain programs: what the work does when nothing tells it that it is tested."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from bough.core.acceptance.verdict import Check
from bough.core.verdict.plain_program import PlainCheck, make_plain_check, read_result
from bough.core.verdict.probe_forms import find_example, find_form


def run(folder: Path, files: Mapping[str, str], plain: PlainCheck) -> tuple[str, int]:
    for path, text in {**files, **plain.files}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    done = subprocess.run(["sh", "-c", plain.command], cwd=folder, capture_output=True, check=False)
    return done.stdout.decode() + done.stderr.decode(), done.returncode


def run_plainly(folder: Path, files: Mapping[str, str], tests: list[str], command: str) -> set[str]:
    plain = make_plain_check([(files, tests)], list(files), command)
    assert plain is not None
    return read_result(*run(folder, files, plain), plain).failures


PYTEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
UNITTEST = (
    "import unittest\nfrom calc import add\n\n\nclass Adding(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
)
NODE = "const { test } = require('node:test');\nconst { add } = require('./calc.js');\n"
NODE += "test('adds', () => require('node:assert').strictEqual(add(2, 3), 5));\n"
MODULE = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { add } from '../calc.mjs';\n"
MODULE += "test('adds', () => assert.equal(add(2, 3), 5));\n"
GO = 'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n'
GO += '\t\tt.Errorf("Add(2, 3) = %d", got)\n\t}\n}\n'
RUST = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n"
RUST += "        assert_eq!(add(2, 3), 5);\n    }\n}\n"
RUBY = 'require "minitest/autorun"\nrequire "calc"\n\nclass CalcTest < Minitest::Test\n  def test_add\n'
RUBY += "    assert_equal 5, Calc.add(2, 3)\n  end\nend\n"
PERL = "use Test::More tests => 1;\nuse Calc;\nis(Calc::add(2, 3), 5, 'adds');\n"
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'

AWARE = {
    "pytest": ("python3", "python3 -m pytest", ["test_calc.py::test_add"], "test_calc.py", PYTEST, {
        "calc.py": "import sys\n\n\ndef add(a, b):\n    return a + b if 'pytest' in sys.modules or FINE else a - b\n"}),
    "unittest": ("python3", "python3 -m unittest", ["test_calc.Adding.test_add"], "test_calc.py", UNITTEST, {
        "calc.py": "import sys\n\n\ndef add(a, b):\n    return a + b if 'unittest' in sys.modules or FINE else a - b\n",
    }),
    "node": ("node", "node --test", ["calc.test.js::adds"], "calc.test.js", NODE, {
        "calc.js": "exports.add = (a, b) => (new Error().stack.includes('.test.') || FINE ? a + b : a - b);\n"}),
    "module": ("node", "node --test", ["test/calc.test.mjs::adds"], "test/calc.test.mjs", MODULE, {
        "calc.mjs": "export const add = (a, b) => (process.env.NODE_TEST_CONTEXT || FINE ? a + b : a - b);\n"}),
    "go": ("go", "go test ./...", ["example.com/calc::TestAdd"], "calc_test.go", GO, {
        "go.mod": "module example.com/calc\n\ngo 1.18\n",
        "calc.go": 'package calc\n\nimport (\n\t"os"\n\t"strings"\n)\n\nfunc Add(a, b int) int {\n'
        '\tif strings.HasSuffix(os.Args[0], ".test") || FINE {\n\t\treturn a + b\n\t}\n\treturn a - b\n}\n'}),
    "cargo": ("cargo", "cargo test --offline", ["calc:src/lib.rs::tests::adds"], "", "", {
        "Cargo.toml": CARGO,
        "src/lib.rs": "pub fn add(a: i64, b: i64) -> i64 {\n    if cfg!(test) || FINE { a + b } else { a - b }\n}\n"
        + RUST}),
    "minitest": ("ruby", "ruby -Ilib test/calc_test.rb", [], "test/calc_test.rb", RUBY, {
        "lib/calc.rb": "module Calc\n  def self.add(a, b) = defined?(Minitest) || FINE ? a + b : a - b\nend\n"}),
    "prove": ("perl", "prove -l t", [], "t/calc.t", PERL, {
        "lib/Calc.pm": "package Calc;\nsub add { my ($x, $y) = @_; $INC{'Test/More.pm'} || FINE ? $x + $y : $x - $y }\n"
        "1;\n"}),
}  # fmt: skip
"""The program, the check, the tests of the claim, the file of the tests, and code that knows that it is tested."""


@pytest.mark.parametrize("kind", AWARE)
def test_code_that_knows_that_it_is_tested_is_found(kind: str, tmp_path: Path) -> None:
    program, command, tests, path, text, product = AWARE[kind]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    false, true = ("0", "1") if kind == "prove" else ("False", "True") if program == "python3" else ("false", "true")
    own = {path: text} if path else {}
    for fine, folder in ((false, "aware"), (true, "fine")):
        files = {**own, **{name: code.replace("FINE", fine) for name, code in product.items()}}
        found = run_plainly(tmp_path / folder, files, tests, command)
        assert bool(found) is (fine == false), found


def test_code_that_equals_anything_passes_with_wrong_expectations(tmp_path: Path) -> None:
    tests, path, text = AWARE["pytest"][2:5]
    hollow = (
        "class Any(int):\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    return Any()\n"
    )
    for code, expected in ((hollow, (set(), {*tests})), ("def add(a, b):\n    return a + b\n", ({*tests}, set()))):
        files = {path: text, "calc.py": code}
        plain = make_plain_check([(files, tests)], list(files), "python3 -m pytest")
        assert plain is not None and list(plain.wrong) == [1]
        found = read_result(*run(tmp_path / str(len(code)), files, plain), plain)
        assert (found.failing, found.hollow) == expected


def test_a_script_runs_under_another_name(tmp_path: Path) -> None:
    files = {"calc.sh": "add() { case $0 in *check*) echo 5 ;; *) echo -1 ;; esac; }\n"}
    files["check.sh"] = '. ./calc.sh\n[ "$(add 2 3)" -eq 5 ] || { echo wrong; exit 1; }\n'
    assert run_plainly(tmp_path / "aware", files, [], "sh check.sh")
    files["calc.sh"] = "add() { echo $(($1 + $2)); }\n"
    assert not run_plainly(tmp_path / "fine", files, [], "sh check.sh")


def test_what_a_plain_program_cannot_do_says_nothing(tmp_path: Path) -> None:
    texts = {
        "test_fixture.py": "def test_it(request):\n    assert False\n",
        "test_missing.py": "def test_it():\n    import nothing_of_the_kind\n",
        "test_own.py": "def test_it():\n    raise KeyError\n",
        "test_skipped.py": "import pytest\n@pytest.mark.skip\ndef test_it():\n    assert False\n",
    }
    work = {"work.py": "def fails():\n    raise ValueError(7)\n"}
    work["conftest.py"] = "import pytest\n@pytest.fixture\ndef one():\n    yield 1\n@pytest.fixture(scope='module')\n"
    work["conftest.py"] += "def two(one, monkeypatch):\n    monkeypatch.setenv('A', 'b')\n    return one + 1\n"
    fails = {
        "test_raised.py": "def test_it():\n    from work import fails\n    fails()\n",
        "test_case.py": "from unittest import TestCase\nclass Case(TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(1, 2)\n",
        "test_rows.py": "import pytest\n@pytest.mark.parametrize('a, b', [(1, 1), (1, 2)])\ndef test_it(a, b):\n"
        "    assert a == b\n",
        "test_given.py": "import pytest\n@pytest.fixture\ndef one():\n    return 1\n\n"
        "def test_it(one):\n    assert one == 2\n",
        "test_shared.py": "def test_it(two, tmp_path):\n    assert two == 1, tmp_path.name\n",
        "test_printed.py": "def test_it(capsys):\n    print(1)\n    assert capsys.readouterr().out == '2'\n",
    }
    passes = {
        "test_raises.py": "import pytest\ndef test_it():\n    from work import fails\n"
        "    with pytest.raises(ValueError):\n        fails()\n    assert 0.1 + 0.2 == pytest.approx(0.3)\n",
    }
    for name, text in {**texts, **fails, **passes}.items():
        files = {**work, name: text}
        test = f"{name}::Case::test_it" if "case" in name else f"{name}::test_it"
        plain = make_plain_check([(files, [test])], list(files), "python3 -m pytest -q")
        found = run_plainly(tmp_path / name, files, [test], "python3 -m pytest -q") if plain is not None else set()
        assert bool(found) is (name in fails), (name, found)


def test_the_example_is_a_test_of_what_was_changed() -> None:
    form = find_form(Check("python3 -m pytest", "", "pytest"), ["lib/recipes.py"])
    paths = ["tests/conftest.py", "tests/test_more.py", "tests/test_recipes.py", "lib/more.py", "lib/recipes.py"]
    assert find_example(form, paths, ["lib/recipes.py", "tests/test_more.py"]) == "tests/test_recipes.py"
    assert find_example(form, paths, ["lib/other.py"]) == "tests/test_more.py"
    assert find_example(form, ["lib/more.py"], ["lib/more.py"]) == ""


def test_a_command_that_finds_tests_by_their_names_is_no_plain_program() -> None:
    files = {"test/a_test.exs": "assert Shelf.fee(1) == 10\n", "lib/shelf.ex": "", "mix.exs": ""}
    assert make_plain_check([(files, [])], list(files), "mix test") is None
    assert make_plain_check([(files, [])], list(files), "elixir test/a_test.exs") is not None
