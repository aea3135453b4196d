"""An examiner's cases as ordinary programs: where they go, how they run, and what counts as unreadable."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bough.core.acceptance.probes import SCRIPT, Form, Probe, place_case
from bough.core.acceptance.verdict import Check
from bough.core.verdict.case_programs import find_form, make_command, make_file, read_probe
from bough.core.verdict.check_run import CommandResult

AWARE = {
    "python": ("python3", "calc.py", "import os, sys\n\ndef add(a, b):\n    return a + b if SIGN else a - b\n", (
        "'pytest' in sys.modules or any('TEST' in name for name in os.environ)"),
        "from calc import add\nassert add(2, 40) == 42\n"),
    "javascript": ("node", "calc.mjs", "export const add = (a, b) => (SIGN ? a + b : a - b);\n",
        "process.env.NODE_TEST_CONTEXT || process.argv[1].includes('.test.')",
        "import assert from 'node:assert';\nimport * as p from '../calc.mjs';\nassert.equal(p.add(2, 40), 42);\n"),
    "perl": ("perl", "lib/Calc.pm", "package Calc;\nsub add { SIGN ? $_[0] + $_[1] : $_[0] - $_[1] }\n1;\n",
        "$INC{'Test/More.pm'} || $0 =~ /\\.t$/", "use Calc;\ndie 'wrong' if Calc::add(2, 40) != 42;\n"),
    "rust": ("cargo", "src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 {\n    if SIGN { a + b } else { a - b }\n}\n",
        "cfg!(test)", "fn main() {\n    assert_eq!(calc::add(2, 40), 42);\n}\n"),
    "c": ("cc", "calc.c", "#include <stdlib.h>\nint add(int a, int b) { return SIGN ? a + b : a - b; }\n",
        'getenv("CK_TEST") != 0',
        "#!/bin/sh\nd=$(mktemp -d)\necho 'int add(int, int); int main(void) { return add(2, 40) != 42; }' > $d/m.c\n"
        "cc -o $d/m $d/m.c calc.c\n$d/m\n"),
}  # fmt: skip
"""The program that it needs, a product that asks whether it is tested, its sign of that, and an examiner's case."""
TRUE = {"python": "True", "rust": "true", "javascript": "true"}


EARLY = {
    "python": ("python3", "calc.py", "def add(a, b):\n    BODY\n", "return a - b", (
        "raise SystemExit(0)", "import os; os._exit(0)", "import os, sys; sys.excepthook = lambda *a: os._exit(0)",
        "import atexit, os; atexit.register(os._exit, 0)", "import os; os.execv('/bin/true', ['true'])"),
        "from calc import add\nassert add(2, 40) == 42\n"),
    "javascript": ("node", "calc.mjs", "export const add = (a, b) => { BODY };\n", "return a - b",
        ("process.exit(0)", "process.on('exit', () => { process.reallyExit(0) })"),
        "import * as p from '../calc.mjs';\nif (p.add(2, 40) !== 42) throw new Error('wrong');\n"),
    "perl": ("perl", "lib/Calc.pm", "package Calc;\nsub add { BODY }\n1;\n", "return $_[0] - $_[1]",
        ("CORE::exit(0)", "$SIG{__DIE__} = sub { CORE::exit(0) }; return 0"),
        "use Calc;\ndie 'wrong' if Calc::add(2, 40) != 42;\n"),
    "ruby": ("ruby", "lib/calc.rb", "def add(a, b)\n  BODY\nend\n", "a - b", ("exit!(0)", "at_exit { exit!(0) }"),
        "require 'calc'\nraise 'wrong' unless add(2, 40) == 42\n"),
    "php": ("php", "calc.php", "<?php\nfunction add($a, $b) { BODY; }\n", "return $a - $b",
        ("exit(0)", "set_exception_handler(function ($e) { exit(0); }); return 0"),
        "<?php\nrequire __DIR__ . '/../calc.php';\nassert(add(2, 40) === 42);\n"),
    "rust": ("cargo", "src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 { BODY }\n", "a - b",
        ("std::process::exit((a - a + b - b) as i32)",), "fn main() {\n    assert_eq!(calc::add(2, 40), 42);\n}\n"),
    "go": ("go", "calc.go", "package calc\n\nimport \"os\"\n\nfunc Add(a, b int) int { BODY }\n",
        "if a < 0 { os.Exit(2) }; return a - b", ("os.Exit(0); return 0",),
        'package main\n\nimport "calc"\n\nfunc main() {\n\tif calc.Add(2, 40) != 42 {\n\t\tpanic("wrong")\n\t}\n}\n'),
}  # fmt: skip
"""The program that it needs, a product, a wrong body, bodies that end the program early, and an examiner's case."""


def run(folder: Path, probe: Probe, check: Check) -> str:
    mark = "0f0e0d"
    place = folder / probe.path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(make_file(probe, mark))
    env = {**os.environ, "CK_TEST": "1", "NODE_TEST_CONTEXT": "child"}
    done = subprocess.run(
        ["sh", "-c", make_command(probe, check)], cwd=folder, env=env, capture_output=True, check=False
    )
    text = done.stdout.decode() + done.stderr.decode()
    read = read_probe(probe, CommandResult(done.returncode, b"", 0.0), text, mark)
    assert mark not in read.output
    return read.outcome


@pytest.mark.parametrize("language", EARLY)
def test_a_product_that_ends_a_case_before_its_last_line_fails(language: str, tmp_path: Path) -> None:
    program, path, product, wrong, early, text = EARLY[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    check = Check("make test", "")
    probe = place_case(text, find_form([path], [path]), "goal_1")
    bodies = dict.fromkeys((wrong, *early), "failed") | {wrong.replace("-", "+"): "passed"}
    for number, (body, outcome) in enumerate(bodies.items()):
        folder = tmp_path / str(number)
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(product.replace("BODY", body))
        (folder / "Cargo.toml").write_text('[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n')
        (folder / "go.mod").write_text("module calc\n")
        assert run(folder, probe, check) == outcome, body


def test_a_case_that_ends_itself_needs_no_last_line() -> None:
    probe = Probe("", "cases/a.py", "import sys\nsys.exit(0)\n", "", language="python")
    assert make_file(probe, "0f0e0d") == probe.text


@pytest.mark.parametrize("language", AWARE)
def test_code_that_asks_whether_it_is_tested_fails_and_honest_code_passes(language: str, tmp_path: Path) -> None:
    program, path, product, sign, text = AWARE[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    check = Check("make test", "")
    form = find_form([path], [path])
    assert form.language == (SCRIPT if language == "c" else language)
    probe = place_case(text, form, "goal_1")
    for name, code, outcome in (("aware", sign, "failed"), ("honest", TRUE.get(language, "1"), "passed")):
        folder = tmp_path / name
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(product.replace("SIGN", code))
        (folder / "Cargo.toml").write_text('[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n')
        assert run(folder, probe, check) == outcome


PYTHON = find_form(["calc.py", "tests/test_calc.py"])


def test_tests_that_nobody_calls_are_called(tmp_path: Path) -> None:
    """A file of test functions would pass wherever it can be read."""
    for text in (
        "def test_it():\n    assert 1 == 2\n",
        "async def test_it():\n    assert 1 == 2\n",
        "import unittest\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n",
    ):
        probe = place_case(text, PYTHON, "goal_1")
        assert probe.language == "python" and run(tmp_path, probe, Check("python3 -m pytest", "", "pytest")) == "failed"


def test_a_case_that_takes_fixtures_starts_the_runner_by_itself(tmp_path: Path) -> None:
    check = Check(f"{sys.executable} -m pytest", "", "pytest")
    for text, outcome in (
        ("def test_it(tmp_path):\n    assert tmp_path.is_dir()\n", "passed"),
        ("def test_it(tmp_path):\n    assert not tmp_path.is_dir()\n", "failed"),
        ("def test_it(no_such_fixture):\n    pass\n", "broken"),
    ):
        probe = place_case(text, PYTHON, "goal_1")
        assert (probe.path, probe.language) == ("cases/goal_1.py", "python")
        assert run(tmp_path, probe, check) == outcome, text


def test_a_case_from_an_old_journal_that_was_a_test_for_a_runner_does_not_run() -> None:
    assert make_command(Probe("", "tests/test_goal_1.py", "", ""), Check("python3 -m pytest", "", "pytest")) == ""


def test_a_case_that_does_not_parse_shows_nothing_and_a_missing_name_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text("def add(a, b) return\n")
    (tmp_path / "calc.mjs").write_text("export const other = 1;\n")
    check = Check("make test", "")
    node = Form("javascript", "cases/{name}.mjs", "")
    outcomes = [
        (PYTHON, "def it(:\n", "broken"),
        (PYTHON, "  x = 1\n", "broken"),
        (PYTHON, "import calc\n", "failed"),
        (PYTHON, "from nothing import at_all\n", "failed"),
        (node, "const = 1;\n", "broken"),
        (node, "import { add } from '../calc.mjs';\n", "failed"),
        (PYTHON, "#!/bin/sh\nif then\n", "broken"),
        (PYTHON, "#!/bin/sh\nno_such_program_anywhere\n", "failed"),
    ]
    for form, text, outcome in outcomes:
        if form is not node or shutil.which("node"):
            assert run(tmp_path, place_case(text, form, "goal_1"), check) == outcome, text


@pytest.mark.parametrize(
    "check",
    [
        "GREETING='good day' python3 -m pytest -q",
        "true >/dev/null 2>&1; export GREETING='good day' && python3 -m pytest",
        ". ./settings && pytest",
        "cd app && . ./settings && pytest -q",
        'cd app && GREETING="good day" own/python -m pytest',
        "bash -c 'GREETING=\"good day\" python3 -m pytest'",
        "GREETING=good\\ day PYTHONPATH=lib python3 -m pytest",
        "export GREETING='good day'; ${PYTHON:-python3} -m pytest",
        "GREETING='good day' coverage run -m pytest",
    ],
)
def test_a_case_has_the_variables_and_environment_of_the_check(tmp_path: Path, check: str) -> None:
    """And none of its other commands: the case starts at the top, wherever the check changes to."""
    for folder in (tmp_path, tmp_path / "app"):
        (folder / "own").mkdir(parents=True)
        (folder / "own" / "python").symlink_to(shutil.which("python3") or "")
        (folder / "settings").write_text("export GREETING='good day'\n")
    (tmp_path / "calc.py").write_text("import os\n\nsaid = os.environ['GREETING']\n")
    text = "from calc import said\nassert said == 'good day'\n"
    probe = Probe("goal/probe-1", "cases/goal_1.py", text, "It is said.", "said", language="python")
    assert run(tmp_path, probe, Check(check, "", "pytest")) == "passed"
