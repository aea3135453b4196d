"""Finding the check: each rule of the order, what beats what, and that what is found can be run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.acceptance.verdict import Check
from bough.core.planning.plan import Step
from bough.core.verdict.discover import discover_check, list_checks
from bough.core.verdict.languages.build_tools import BuildTool
from bough.core.verdict.languages.make import Make
from bough.core.verdict.project_check import find_dependents
from bough.core.verdict.project_files import ProjectFiles

STEP = Step("insert-line", "Insert a line.")


def find(files: dict[str, str], task: str = "buffer/insert-line", step: Step = STEP) -> Check | None:
    return discover_check(step, task, list(files), files.get)


def found(files: dict[str, str], task: str = "buffer/insert-line", step: Step = STEP) -> Check:
    check = find(files, task, step)
    assert check is not None
    return check


PYTEST_FILE = "def test_it():\n    assert True\n"
UNITTEST_FILE = "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        pass\n"

ALL: dict[str, str] = {
    "tests/test_insert_line.py": PYTEST_FILE,
    "Makefile": "test-insert-line:\n\t./run\ntest:\n\t./run\n",
    "src/insert_line_test.go": "package src",
    "go.mod": "module x",
    "package.json": '{"scripts": {"test": "jest"}}',
    "Cargo.toml": "[package]\nname = 'x'\n",
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "tests/test_other.py": PYTEST_FILE,
}


def test_the_order_is_the_one_of_the_design() -> None:
    """Take the best away again and again: the next one of the order comes."""
    files = dict(ALL)
    step = Step("insert-line", "x", test_command="just check", test_file="tests/test_chosen.py")
    assert found(files, step=step) == Check("just check", "its step names it", "")
    step = Step("insert-line", "x", test_file="tests/test_chosen.py")
    assert found(files, step=step) == Check(
        "python3 -m pytest tests/test_chosen.py", "its step names tests/test_chosen.py", "pytest"
    )
    commands = []
    for gone in ("tests/test_insert_line.py", "Makefile", "src/insert_line_test.go", "tests/test_other.py"):
        commands.append(found(files).command)
        del files[gone]
    files["Makefile"] = "test:\n\t./run\n"
    files["buf_test.go"] = "package x"
    for gone in ("package.json", "Makefile", "go.mod", "Cargo.toml"):
        commands.append(found(files).command)
        del files[gone]
    assert commands == [
        "python3 -m pytest tests/test_insert_line.py",
        "make test-insert-line",
        "go test ./src",
        "python3 -m pytest",
        "make test",
        "make test",
        "go test ./...",
        "cargo test",
    ]
    assert find(files) is None, "pytest is configured, but there is no test: the agent has to write one first"


def test_the_goal_has_no_files_named_after_it() -> None:
    files = {"tests/test_goal.py": PYTEST_FILE, "Makefile": "test-goal:\n\ttrue\n", "goal_test.sh": "true"}
    check = found(files, task="goal", step=Step("goal", "Make it work."))
    assert (check.command, check.why) == ("python3 -m pytest", "there are Python tests (tests/test_goal.py)")


@pytest.mark.parametrize(
    ("path", "task"),
    [
        ("tests/test_insert-line.py", "insert-line"),
        ("tests/test_insert_line.py", "buffer/insert-line"),
        ("tests/test_insert_line.py", "insert_line"),
        ("tests/test_Insert_Line.py", "insert-line"),
        ("tests/test_v1_2.py", "v1-2"),
    ],
)
def test_dashes_underscores_and_case_are_the_same(path: str, task: str) -> None:
    assert path in found({path: PYTEST_FILE}, task).command


@pytest.mark.parametrize(
    ("path", "files", "command", "runner"),
    [
        ("deep/er/insert_line_test.py", {}, "python3 -m pytest deep/er/insert_line_test.py", "pytest"),
        ("lib/insert-line.test.ts", {}, "node --test lib/insert-line.test.ts", "node"),
        (
            "lib/insert-line.test.ts",
            {"package.json": '{"devDependencies": {"tsx": "4"}}'},
            "node --import tsx --test lib/insert-line.test.ts",
            "node",
        ),
        (
            "lib/insert-line.test.ts",
            {"package.json": '{"devDependencies": {"vitest": "1"}}', "pnpm-lock.yaml": ""},
            "pnpm exec vitest run lib/insert-line.test.ts",
            "vitest",
        ),
        (
            "web/insert_line.spec.js",
            {"web/package.json": '{"devDependencies": {"jest": "29"}}'},
            "cd web && npx --no-install jest --runTestsByPath insert_line.spec.js",
            "jest",
        ),
        (
            "packages/a/insertLine/insert-line.test.js",
            {"package.json": '{"devDependencies": {"jest": "29"}}', "packages/a/package.json": "{}", "yarn.lock": ""},
            "yarn jest --runTestsByPath packages/a/insertLine/insert-line.test.js",
            "jest",
        ),
        ("insert-line.test.js", {"bun.lock": ""}, "bun test insert-line.test.js", ""),
        ("test_insert_line.mjs", {"deno.json": "{}"}, "deno test -A test_insert_line.mjs", ""),
        ("insert_line.test.js", {"package.json": '{"dependencies": {"mocha": ""}}'},
         "npx --no-install mocha insert_line.test.js", "mocha"),
        ("srv/buf/insert_line_test.go", {"srv/go.mod": "module x"}, "cd srv && go test ./buf", "go"),
        ("insert_line_test.go", {"go.mod": "module x"}, "go test .", "go"),
        ("core/tests/insert_line_test.rs", {"core/Cargo.toml": ""},
         "cd core && cargo test --test insert_line_test", "cargo"),
        ("src/insert_line_test.rs", {"Cargo.toml": ""}, "cargo test insert_line_test", "cargo"),
        ("spec/insert_line_spec.rb", {"Gemfile": ""}, "bundle exec rspec spec/insert_line_spec.rb", "rspec"),
        ("test/test_insert_line.rb", {}, "ruby -Ilib -Itest test/test_insert_line.rb", ""),
        ("test_insert-line.sh", {}, "bash test_insert-line.sh", ""),
        ("t/insert_line_test.t", {}, "prove -l t/insert_line_test.t", ""),
    ],
)  # fmt: skip
def test_files_named_after_the_task_in_many_languages(
    path: str, files: dict[str, str], command: str, runner: str
) -> None:
    check = found({**files, path: ""})
    assert (check.command, check.runner) == (command, runner)
    assert check.why == f"{path}, named after the task"


def test_of_several_files_the_preferred_language_counts_and_the_reason_says_so() -> None:
    check = found({"a/insert_line_test.sh": "", "b/c/test_insert_line.py": PYTEST_FILE, "test_insert_line.js": ""})
    assert check.command == "python3 -m pytest b/c/test_insert_line.py"
    assert check.why == "b/c/test_insert_line.py, named after the task (2 more of that name)"


@pytest.mark.parametrize("folder", ["node_modules/x", ".venv/lib", "target", "vendor"])
def test_what_is_not_the_projects_own_is_not_looked_at(folder: str) -> None:
    assert find({f"{folder}/test_insert_line.py": PYTEST_FILE}) is None
    assert find({f"{folder}/insert_line.test.js": ""}, task="goal") is None


def test_a_test_file_of_the_step() -> None:
    def command(path: str, files: dict[str, str] | None = None) -> str:
        return found({"Makefile": "test:\n", **(files or {})}, step=Step("x", "x", test_file=path)).command

    assert command("tests/my file.py") == "python3 -m pytest 'tests/my file.py'"
    assert command("./tests/test_a.py::TestX::test_y") == "python3 -m pytest tests/test_a.py::TestX::test_y"
    assert command("tests/test_a.py", {"tests/test_a.py": UNITTEST_FILE}) == "python3 -m unittest tests/test_a.py"
    assert command("-k.py") == "python3 -m pytest ./-k.py"
    for unusable in ("/etc/test_x.py", "../test_x.py", "tests/cases.json", " "):
        assert command(unusable) == "make test", unusable


@pytest.mark.parametrize(
    "makefile",
    [
        "test-insert-line:\n\t./t\n",
        "all: x\ntest-insert-line test-b: deps ; ./t\n",
        ".PHONY: test-insert-line\ntest-insert-line::\n\t./t\n",
        "one \\\n  test-insert-line: x\n",
        "test_insert_line:\n",
        "$(OBJECTS) test-insert-line: x",
        "include more.mk\n",
        "ifdef CI\ntest-insert-line:\n\t./t\nendif\n",
    ],
)
def test_real_targets_of_a_makefile(makefile: str) -> None:
    files = {"Makefile": makefile, "more.mk": "test-insert-line:\n\tx\n"}
    assert found(files).command in ("make test-insert-line", "make test_insert_line")


@pytest.mark.parametrize(
    "makefile",
    [
        "# test-insert-line: does it\nall:\n\techo\n",
        "all:\n\techo test-insert-line: x\n",
        "all:\n\techo a \\\n\ttest-insert-line: x\n",
        ".PHONY: test-insert-line\n",
        "test-insert-line := 1\n",
        "test-insert-line ::= 1\n",
        "test-insert-line: FLAGS = -x\n",
        "define script\ntest-insert-line:\nendef\n",
        "test-%:\n\t./t $*\n",
        "X = test-insert-line: y\n",
        "$(info see test-insert-line: x)\n",
        "include ../outside.mk\n",
        "test-insert-line-more:\n",
    ],
)
def test_what_only_looks_like_a_target(makefile: str) -> None:
    outside = {"../outside.mk": "test-insert-line:\n", "Makefile": makefile}
    assert discover_check(STEP, "insert-line", ["Makefile"], outside.get) is None


def test_make_reads_the_first_of_its_files() -> None:
    files = {"Makefile": "test:\n", "makefile": "check:\n"}
    assert (found(files).command, found(files).why) == ("make check", "the target check of makefile")
    assert found({"GNUmakefile": "check:\ntest:\n", **files}).command == "make test"


def test_a_target_with_odd_characters_is_quoted() -> None:
    assert found({"Makefile": "test-insert(line):\n"}, task="insert(line)").command == "make 'test-insert(line)'"


@pytest.mark.parametrize(
    ("files", "command", "why"),
    [
        ({"test_a.py": PYTEST_FILE}, "python3 -m pytest", "there are Python tests (test_a.py)"),
        ({"tests/a_test.py": "import pytest\n" + UNITTEST_FILE}, "python3 -m pytest", ""),
        ({"tests/test_a.py": UNITTEST_FILE, "requirements-dev.txt": "pytest>=8\n"}, "python3 -m pytest", ""),
        ({"tests/test_a.py": UNITTEST_FILE, "conftest.py": ""}, "python3 -m pytest", "there is a conftest.py"),
        ({"tests/test_a.py": UNITTEST_FILE, "tests/__init__.py": ""}, "python3 -m unittest discover", ""),
        ({"tests/test_a.py": UNITTEST_FILE}, "python3 -m unittest discover -s tests", ""),
        ({"test_a.py": UNITTEST_FILE}, "python3 -m unittest discover", ""),
        (
            {"tests/a_test.py": UNITTEST_FILE, "tests/__init__.py": ""},
            "python3 -m unittest discover -p '*_test.py'",
            "the tests use unittest, and nothing names pytest",
        ),
        ({"tests/a/test_a.py": UNITTEST_FILE, "lib/test_b.py": UNITTEST_FILE}, "python3 -m pytest", ""),
        ({"check_a.py": "", "pytest.ini": "[pytest]\npython_files = check_*.py\n"}, "python3 -m pytest", ""),
        ({"check_a.py": "", "pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'},
         "python3 -m pytest", "pytest is configured in pyproject.toml"),
        ({"a.py": "", "pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}, "python3 -m pytest", ""),
        ({"a.py": "", "tox.ini": "[testenv]\ncommands = ./check\n"}, "tox -e py", "tox is configured in tox.ini"),
        ({"a.py": "", "pyproject.toml": "[tool.tox]\nx = 1\n"}, "tox -e py", "tox is configured in pyproject.toml"),
        ({"a.py": "", "noxfile.py": ""}, "nox", "there is a noxfile.py"),
        ({"tox.ini": "[testenv]\n", "tests/test_a.py": PYTEST_FILE}, "python3 -m pytest", ""),
        ({"tests/test_a.py": PYTEST_FILE, ".venv/pyvenv.cfg": ""}, ".venv/bin/python -m pytest", ""),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test", "scripts.test in package.json"),
        ({"package.json": '{"scripts": {"test": "jest"}, "packageManager": "yarn@4"}'}, "yarn test", ""),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "pnpm test", ""),
        ({"package.json": '{"scripts": {"test": "jest"}}', "bun.lockb": ""}, "bun run test", ""),
        ({"package.json": '{"scripts": {"test": "react-scripts test"}}'}, "env CI=true npm test", ""),
        ({"package.json": '{"devDependencies": {"vitest": "2"}}', "a.test.ts": ""}, "npx --no-install vitest run",
         "vitest is in package.json"),
        ({"a.test.mjs": ""}, "node --test", "there are JavaScript tests (a.test.mjs)"),
        ({"test/a.js": "", "package.json": "not json"}, "node --test", ""),
        ({"Makefile": "check:\n\t./t\n"}, "make check", "the target check of Makefile"),
        ({"go.mod": "", "a/b_test.go": ""}, "go test ./...", "there is a go.mod"),
        ({"Cargo.toml": "[workspace]\nmembers = []\n"}, "cargo test --workspace", "there is a Cargo.toml"),
        ({"pom.xml": "", "mvnw": ""}, "./mvnw -B test", "there is a mvnw"),
        ({"spec/a_spec.rb": ""}, "rspec", "there is a spec/"),
        ({"phpunit.xml.dist": ""}, "vendor/bin/phpunit", "there is a phpunit.xml.dist"),
    ],
)  # fmt: skip
def test_the_projects_own_test_command(files: dict[str, str], command: str, why: str) -> None:
    check = found(files, task="goal")
    assert check.command == command
    assert not why or check.why == why


@pytest.mark.parametrize(
    ("files", "on_disk", "command", "why"),
    [
        ({"tox.ini": "[testenv]\n"}, ".tox/py311", "tox -e py311", "its environment is in .tox/py311"),
        ({"tox.ini": "[testenv]\n", "src/a/__init__.py": ""}, ".tox/py", "tox --skip-pkg-install -e py", ""),
        ({"noxfile.py": "def tests(session): ...\n", "a/__init__.py": ""}, ".nox/tests", "nox -R -s tests", ""),
        ({"tox.ini": "[testenv]\n"}, ".venv", ".venv/bin/python -m pytest", ""),
        ({"tox.ini": "[testenv]\n"}, ".tox/docs", "python3 -m pytest", ""),
        (
            {"noxfile.py": "@nox.session\ndef lint(session): ...\n\n@nox.session\ndef tests(session): ...\n"},
            ".nox/tests-3-12",
            "nox -s tests-3.12",
            "its environment is in .nox/tests-3-12",
        ),
    ],
)
def test_environments_of_tox_and_nox_on_the_disk(files: dict[str, str], on_disk: str, command: str, why: str) -> None:
    """They hold what was installed from another state of the sources: only tox and nox rebuild it. That is left out
    where the checkout's own packages come first anyway."""
    tree = {**files, "tests/test_a.py": PYTEST_FILE}
    disk = {**tree, f"{on_disk}/pyvenv.cfg": "home = /usr/bin\n"}
    check = discover_check(STEP, "goal", list(tree), disk.get)
    assert check is not None
    assert check.command == command
    assert not why or check.why == why


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "run pytest"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"test": "  "}}'},
        {"package.json": '{"scripts": ["test"]}'},
        {"package.json": "[" * 100_000},
        {"go.mod": "module x", "a.go": ""},
        {"Makefile": "all:\n\tpytest\n"},
    ],
)
def test_nothing_to_be_found(files: dict[str, str]) -> None:
    assert find(files, task="goal") is None


CI = ".github/workflows/ci.yml"
CTEST = "cmake -S . -B build-check && cmake --build build-check && ctest --test-dir build-check --output-on-failure"
MINITEST = """ruby -Ilib -Itest -e 'Dir["./test/**/{test_*,*_test}.rb"].sort.each { |file| require file }'"""
BOTH = "jobs:\n  a:\n    steps:\n    - run: make\n  b:\n    steps:\n    - run: perl Makefile.PL\n    - run: make test\n"
SELF = {"selftest.sh": "", "Makefile": "all:\n\tcc x.c\n", "x.c": ""}
WHERE = "jobs:\n  a:\n    defaults:\n      run:\n        working-directory: b\n    steps:\n    - run: pytest -q\n"
KINDS: list[tuple[dict[str, str], list[str]]] = [
    ({"Makefile": "test:\n\t./t\n", "tests/test_a.py": PYTEST_FILE}, ["make test", "python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: pytest -m 'not slow' --cov=x -n auto\n"},
     ["python3 -m pytest -m 'not slow'", "python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: uv run pytest tests/unit\n"}, ["pytest tests/unit"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: pytest tests/a\n- run: pytest tests/b\n"}, ["python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, "CONTRIBUTING.md": "```\npytest tests/test_a.py::test_it\n```\n"},
     ["python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE,
      "tox.ini": "[testenv]\ncommands =\n  {envpython} -m pytest --basetemp={envtmpdir} -m 'not slow'\n"},
     ["python3 -m pytest -m 'not slow'"]),
    ({"tests/test_a.py": PYTEST_FILE, "tox.ini": "[testenv]\ncommands = pytest {posargs}\n"},
     ["python3 -m pytest", "tox -e py"]),
    ({"a.py": "", "test.py": "", ".gitlab-ci.yml": "script:\n  - sudo make test\n  - python test.py\n"},
     ["python test.py"]),
    ({"Makefile": "test:", ".travis.yml": "script: >\n    cmake\n    -DTESTS=ON .\n    && make test\nafter: x\n"},
     ["cmake -DTESTS=ON . && make test", "make test"]),
    ({"mix.exs": "", CI: "- run: mix deps.get --only test\n- run: mix test --warnings\n"}, ["mix test --warnings"]),
    ({"a.lua": "", "spec/a_spec.lua": "", ".travis.yml": "script: busted --verbose\n"}, ["busted --verbose"]),
    ({"Makefile": "test:", ".travis.yml": "script:\n  - cmake -DCC=$COMPILER . && make test\n"},
     ["make test"]),
    ({"Makefile": "test:", ".travis.yml": 'script:\n  - CC=$X make test\n  - make quicktest OPTS="$OPTS"\n'},
     ["make quicktest", "make test"]),
    ({"Makefile": "test:", "README.md": "    cd a-1.0\n    make test V=1\n"}, ["make test"]),
    ({"runtests.sh": "true", "tox.ini": "deps =\n    -r req/test.txt\n", "req/test.txt": ""}, ["bash runtests.sh"]),
    ({"Makefile.PL": "", "t/a.t": "", CI: BOTH},
     ["make test", "perl Makefile.PL && make test", "prove -lr t"]),
    ({CI: "steps:\n- run: cmake .\n- run: make -j2\n- run: python3 ./tools/run-tests.py\n", "tools/run-tests.py": ""},
     ["python3 ./tools/run-tests.py", "cmake . && make -j2 && python3 ./tools/run-tests.py"]),
    ({CI: "- name: x\n  working-directory: ./web\n  run: make test\n", "web/Makefile": "test:"},
     ["cd web && make test"]),
    ({CI: "- run: |\n    make a\n    make test\n  working-directory: web\n- run: tool test\n", "web/a": "", "b": ""},
     ["cd web && make test", "tool test"]),
    ({CI: "- run: ./ci/all.sh --fast\n", "ci/all.sh": "set -e\nmake -j4\nmake test\n"},
     ["make test", "make -j4 && make test"]),
    ({CI: "- if: always() && matrix.kind == 'tests'\n  run: tool test\n", "a": "", "b": ""}, ["tool test"]),
    ({"pyproject.toml": '[tool.ruff]\n"a/test_a.py" = ["X"]\n[tool.ruff.flake8-pytest-style]\n', "a/__init__.py": "",
      "a/test_a.py": "from x.trial.unittest import TestCase\n"}, ["python3 -m unittest discover"]),
    ({"src/a/__init__.py": "", "src/a/test_a.py": UNITTEST_FILE, "tests/test_b.py": UNITTEST_FILE},
     ["python3 -m unittest discover -s src && python3 -m unittest discover -s tests"]),
    ({"CONTRIBUTING.md": "    bun test\n    bun test a/<file>.ts\n", "package.json": "{}"}, ["bun test"]),
    ({"a.asd": ":in-order-to ((test-op …))"}, [BuildTool.starts[-2][2].replace("{file}", "a.asd")]),
    ({"manage.py": "import django"}, ["python3 manage.py test"]),
    ({"CMakeLists.txt": "enable_testing()"}, [CTEST]),
    ({"test/a.bats": ""}, ["bats -r $(ls -d test tests 2>/dev/null)"]),
    ({"test/a_test.rb": "", "lib/a.rb": ""}, [MINITEST]),
    ({"t/a.t": "", "lib/A.pm": "", "Makefile.PL": ""}, ["prove -lr t", "perl Makefile.PL && make test"]),
    ({"a.py": 'def f():\n    """\n    >>> f()\n    """\n'}, ["python3 -m doctest -v a.py"]),
    ({"tests/tests.py": UNITTEST_FILE, "a.py": ""}, ["python3 -m unittest tests/tests.py"]),
    ({"a/tests.py": PYTEST_FILE, "a/__init__.py": ">>> 1"}, ["python3 -m pytest a/tests.py"]),
    ({"test/testlex.py": UNITTEST_FILE}, ["python3 -m unittest discover -s test"]),
    ({"runtests.sh": "true"}, ["bash runtests.sh"]),
    ({"a.lua": "", "test/test.lua": 'loadfile("../a.lua")'}, ["cd test && lua test.lua"]),
    ({"a.tcl": "", "tests/all.tcl": ""}, ["tclsh tests/all.tcl"]),
    ({"configure.ac": "", "Makefile.am": ""}, ["autoreconf -fi && ./configure && make check"]),
    ({"composer.json": "{}", "tests/ATest.php": ""}, ["vendor/bin/phpunit tests"]),
    ({"package.json": '{"scripts": {"test": "vitest"}}'}, ["env CI=true npm test"]),
    ({"build.gradle": ""}, ["gradle test"]),
    ({"meson.build": ""}, ["meson setup build-check && meson test -C build-check"]),
    ({"CMakeLists.txt": 'option(A_BUILD_TESTS "x" OFF)\nenable_testing()'},
     [CTEST.replace("-check", "-check -DA_BUILD_TESTS=ON", 1)]),
    ({"meson.build": "", "meson_options.txt": "option(\n  'tests',\n  type : 'boolean',\n  value : false,\n)\n"},
     ["meson setup build-check -Dtests=true && meson test -C build-check"]),
    ({"a/configure.ac": "", "a/x": "", CI: "steps:\n- run: make -C build/ test all\n"},
     ["cd a && autoreconf -fi && ./configure && make check"]),
    ({"meson.build": "", CI: "steps:\n- run: meson setup b\n- run: meson test -C b\n"},
     ["meson setup b && meson test -C b"]),
    ({"Rakefile": "", "test/spec_a.rb": "", CI: "- run: bundle exec rake\n"}, ["bundle exec rake"]),
    ({"MODULE.bazel": "", "README.md": "See `lib/unittest.bzl`.\n", "lib/unittest.bzl": ""}, ["bazel test //..."]),
    ({"test.ps1": "", "azure-pipelines.yml": "- pwsh: |\n    & ./test.ps1 -CI\n"}, ["pwsh -File ./test.ps1 -CI"]),
    ({"tox.ini": "commands = coverage run -m django test --settings=tests.settings {posargs}\n",
      "sample/manage.py": "import django"}, ["python3 -m django test --settings=tests.settings"]),
    ({"a.cabal": "test-suite t\n", "A.hs": ""}, ["cabal test"]),
    ({"Project.toml": "", "test/runtests.jl": ""}, ["julia --project -e 'using Pkg; Pkg.test()'"]),
    ({"pubspec.yaml": "", CI: "- run: dart test --platform vm\n"}, ["dart test --platform vm", "dart test"]),
    ({"package.json": '{"scripts": {"tests-only": "tape t.js"}}', CI: "with:\n  command: npm run tests-only\n"},
     ["npm run tests-only"]),
    ({CI: "# some tests follow\n- name: Run tests\n- run: fpm test --profile debug\n- run: gcc test/a.c -o test\n",
      "test/a.c": "", "README.md": ""}, ["fpm test --profile debug"]),
    ({CI: "needs: [build, test]\n- run: echo test\n- run: nim r --path:src tests/a.nim\n", "tests/a.nim": ""},
     ["nim r --path:src tests/a.nim"]),
    # What a step is called tells as much as its command, in the format of any service.
    ({**SELF, ".cirrus.yml": "task:\n  build_script: make\n  test_script: ./selftest.sh\n"},
     ["./selftest.sh", "make && ./selftest.sh"]),
    ({**SELF, "azure-pipelines.yml": "steps:\n- script: make\n- bash: |\n    ./x -t\n  displayName: Tests\n"},
     ["./x -t", "make && ./x -t"]),
    ({**SELF, ".build.yml": "sources:\n- https://x/~y/z\ntasks:\n- test: |\n    cd z\n    ./selftest.sh\n"},
     ["./selftest.sh"]),
    ({**SELF, ".gitea/workflows/a.yaml": "steps:\n- name: Test\n  if: runner.os == 'Windows'\n  run: ./x -t\n"}, []),
    ({**SELF, "README.md": "Run the tests with\n\n    make && ./selftest.sh\n"}, ["make && ./selftest.sh"]),
    ({**SELF, CI: "steps:\n- name: Install test tools\n  run: ./get x\n- name: Lint\n  run: [ruff, ./x -t]\n"}, []),
    ({"b/a.py": "", "c/go.mod": "", CI: f"{WHERE}  c:\n    steps:\n    - dir: c\n      run: go test ./...\n"},
     ["(cd b && pytest -q) && (cd c && go test ./...)", "cd b && pytest -q", "cd c && go test ./..."]),
    ({"x.rake": "", CI: "steps:\n- uses: checkout\n  with:\n    path: x\n- name: Tests\n  run: raku t/a.rakutest\n"},
     ["raku t/a.rakutest"]),
    ({"Makefile": "all:", "tests/Makefile": "run: all\n", "x.c": ""}, ["make -C tests run"]),
    ({"x": "", "tests/test_a.sh": "", "README.md": "    ./x tests/test_a.sh\n",
      CI: "- name: Test\n  run: ./x tests/test*\n"},
     ["./x tests/test*", "./x tests/test_a.sh"]),
    ({"pom.xml": "", CI: "run: mvn test -D a.b=${{ x }} -D c=1\n"}, ["mvn test -D c=1", "mvn -B test"]),
    ({"Makefile": "all:\nunit-test:\n", "x.c": ""}, ["make unit-test"]),
    ({"x.h": "", "test/CMakeLists.txt": "add_executable(x_test main.c)\nadd_executable(demo x.c)\n"},
     ["cmake -S test -B build-check && cmake --build build-check && ./build-check/x_test"]),
]  # fmt: skip


@pytest.mark.parametrize(("files", "commands"), KINDS, ids=lambda value: next(iter(value), "none"))
def test_the_candidates_of_a_project(files: dict[str, str], commands: list[str]) -> None:
    listed = [check.command for check in list_checks(Step("goal", "x"), "goal", files, files.get)]
    assert listed[: len(commands) or 1] == commands
    assert not any(
        command.startswith(("Run", "some", "echo", "gcc", "build", "cd a-", "-r", "if", '"')) for command in listed
    )
    assert not any("<file>" in command for command in listed)


def test_what_deploys_or_starts_services_is_never_a_candidate() -> None:
    files = {CI: "- run: docker compose run test\n- run: make test && make deploy\n- run: npm publish test\n"}
    assert list_checks(Step("goal", "x"), "goal", files, files.get) == []


def test_a_project_in_a_folder_is_found_when_the_top_has_none() -> None:
    files = {
        "README.md": "",
        "backend/pyproject.toml": "[tool.pytest.ini_options]\n",
        "backend/tests/test_a.py": PYTEST_FILE,
        "web/package.json": '{"scripts": {"test": "vitest run"}}',
    }
    check = found(files, task="goal")
    assert check.command == "(cd backend && python3 -m pytest) && (cd web && npm test)" and not check.runner
    assert "backend/, web/" in check.why, "none of two projects is proven by the other's tests"
    alone = {path: text for path, text in files.items() if not path.startswith("web/")}
    assert found(alone, task="goal") == Check(
        "cd backend && python3 -m pytest", "pytest is configured in pyproject.toml, in backend/", "pytest"
    )
    named = found({**files, "backend/tests/test_insert_line.py": PYTEST_FILE, ".venv/pyvenv.cfg": ""})
    assert named.command == "cd backend && ../.venv/bin/python -m pytest tests/test_insert_line.py"


def test_the_nearest_project_counts() -> None:
    files = {
        "api/pyproject.toml": "[tool.pytest.ini_options]\n",
        "api/tests/test_a.py": PYTEST_FILE,
        "web/package.json": '{"scripts": {"test": "vitest run"}}',
        "web/src/deep/a.ts": "",
        "docs/package.json": '{"name": "docs"}',
    }

    def standing(folder: str) -> Check | None:
        return discover_check(Step("goal", "x"), "goal", files, files.get, folder)

    web, deep, docs = standing("web"), standing("web/src/deep"), standing("docs")
    assert web is not None and web.command == "cd web && npm test"
    assert deep == web
    assert docs is None, "a project without tests is not proven by another's"
    own = discover_check(Step("goal", "x"), "goal", files, files.get, "web", "make verify")
    assert own is not None and own.command == "make verify"


@pytest.mark.parametrize(
    ("script", "runner"),
    [
        ("node --test", "node"),
        ("jest --ci", "jest"),
        ("eslint . && jest", "jest"),
        ("jest && eslint .", ""),
        ("vitest run --coverage", "vitest"),
        ("NODE_ENV=test mocha", "mocha"),
        ("npm run unit", "node"),
        ("yarn other", ""),
        ("pytest && echo", "pytest"),
        ("npm run loop", ""),
    ],
)
def test_the_runner_behind_a_script(script: str, runner: str) -> None:
    scripts = {"test": script, "unit": "node --test src", "other": "jest", "loop": "npm run loop"}
    assert found({"package.json": json.dumps({"scripts": scripts})}, task="goal").runner == runner


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("npm test", "jest"),
        ("npm t", "jest"),
        ("npm run unit", "node"),
        ("cd web && yarn test -- --ci", "vitest"),
        ("npm test && pytest", "pytest"),
        ("npm run nothing", ""),
        ("cd .. && npm test", ""),
        ("make test", ""),
        ("echo $(x)", ""),
    ],
)
def test_the_runner_behind_a_command_of_the_steps(command: str, runner: str) -> None:
    files = {
        "package.json": '{"scripts": {"test": "jest", "unit": "node --test"}}',
        "web/package.json": '{"scripts": {"test": "vitest run"}}',
    }
    assert found(files, step=Step("x", "x", test_command=command)) == Check(command, "its step names it", runner)


def test_a_large_workspace_is_looked_through_quickly() -> None:
    files = {f"pkg{n % 50}/mod{n}/file{n}.py": "" for n in range(20_000)}
    files["pkg1/pyproject.toml"] = ""
    look = ProjectFiles(list(files), files.get)
    assert len(look.files) == 20_001
    assert find(files) is None


@given(
    st.dictionaries(
        st.sampled_from(["Makefile", "package.json", "pyproject.toml", "a/test_x.py", "tox.ini"]), st.text()
    )
)
def test_no_content_of_a_file_breaks_it(files: dict[str, str]) -> None:
    find(files)
    find(files, task="goal")


@given(st.text())
def test_targets_are_words(text: str) -> None:
    _, names = Make().find_targets(ProjectFiles(["Makefile"], {"Makefile": text}.get))
    assert all(name and not any(c.isspace() for c in name) for name in names)


@given(st.text(min_size=1), st.text())
def test_a_test_file_never_becomes_more_than_an_argument(name: str, task: str) -> None:
    """Whatever a planner writes as a file's name, the shell sees one word."""
    check = find({}, task=task or "x", step=Step("x", "x", test_file=f"{name}.py"))
    if check is not None:
        words = shlex.split(check.command)
        assert words[:3] == ["python3", "-m", "pytest"]
        assert len(words) == 4


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        ({"tests/test_insert_line.py": PYTEST_FILE}, sys.executable),
        ({"tests/test_insert-line.py": PYTEST_FILE}, sys.executable),
        ({"tests/test_insert_line.py": UNITTEST_FILE}, sys.executable),
        ({"tests/test_other.py": UNITTEST_FILE}, sys.executable),
        ({"tests/test_other.py": UNITTEST_FILE, "tests/__init__.py": ""}, sys.executable),
        ({"src/a.test.mjs": "import test from 'node:test'; test('x', () => {});"}, "node"),
        ({"deep/insert_line_test.js": "require('node:test')('x', () => {});"}, "node"),
        ({"package.json": '{"scripts": {"test": "node --test"}}', "a.test.cjs": "require('node:test')('x')"}, "npm"),
        ({"Makefile": "test-insert-line:\n\t@test -e Makefile\n"}, "make"),
        ({"insert_line_test.sh": "test -e insert_line_test.sh"}, "bash"),
    ],
)
def test_what_is_found_can_be_run(files: dict[str, str], tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    check = found(files)
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(["sh", "-c", check.command], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (("pyproject.toml", "[project]\nname = 'my-lib'\n"), ("pyproject.toml", "dependencies = ['my_lib>=1']\n")),
        (("pyproject.toml", "[tool.poetry]\nname = 'my-lib'\n"), ("pyproject.toml", "my-lib = {path = '../lib'}\n")),
        (("package.json", '{"name": "@m/lib"}'), ("package.json", '{"dependencies": {"@m/lib": "workspace:*"}}')),
        (("Cargo.toml", "[package]\nname = 'my-lib'\n"), ("Cargo.toml", "[dependencies]\nmy-lib = '1'\n")),
        (("go.mod", "module example.org/m/lib\n"), ("go.mod", "module a\n\nrequire example.org/m/lib v1.0.0\n")),
    ],
)
def test_who_needs_the_project(own: tuple[str, str], other: tuple[str, str]) -> None:
    files = {f"lib/{own[0]}": own[1], f"app/{other[0]}": other[1], f"third/{other[0]}": "name = 'my-lib-too'\n"}
    assert find_dependents(ProjectFiles(files, files.get), "lib") == ["app"]
