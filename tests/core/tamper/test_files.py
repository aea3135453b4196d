"""Which paths the gate looks at, and how a command line is read."""

from __future__ import annotations

import pytest

from bough.core.tamper import watched
from bough.core.tamper.config.reach import Reach
from bough.core.tamper.config.shell import asked, forced, weaker

SEEN = """
tests/test_a.py test_a.py a_test.py conftest.py src/app/conftest.py tests/helpers.py tests/data/a.json
pytest.ini .pytest.ini pytest.toml pyproject.toml setup.cfg tox.ini noxfile.py setup.py Makefile GNUmakefile makefile
rules.mk package.json jest.config.js vitest.config.ts vite.config.ts .mocharc.yml src/a.test.ts src/a.spec.js
src/__tests__/a.js test/a.js a_test.go src/lib.rs tests/a.rs spec/a_spec.rb src/test/java/ATest.java ATests.cs
tests/ATest.php test/a_test.exs tests/test_a.cc a.bats t/a.t run_tests.sh scripts/test bin/pytest sitecustomize.py
usercustomize.py x.pth pytest.py pytest/__init__.py _pytest/x.py .github/workflows/ci.yml .gitlab-ci.yml Jenkinsfile
.circleci/config.yml Cargo.toml .cargo/config.toml pom.xml build.gradle CMakeLists.txt src/__snapshots__/a.snap
x.egg-info/entry_points.txt node_modules/jest/index.js node_modules/.bin/jest .venv/lib/site-packages/pytest.py
src/app.py src/app.js src/main.go .npmrc go.mod rust-toolchain.toml pytest.pyc calc.cpython-311-x86_64-linux-gnu.so
sitecustomize/__init__.py vendor/github.com/stretchr/testify/assert/assertions.go
""".split()  # noqa: SIM905
UNSEEN = """
README.md src/app.css docs/index.md assets/logo.svg node_modules/left-pad/index.js .venv/lib/x.py LICENSE
spec/openapi.yaml src/latest/data.json contest/a.txt
""".split()  # noqa: SIM905


@pytest.mark.parametrize("path", SEEN)
def test_what_could_weaken_a_check_is_watched(path: str) -> None:
    assert watched(path)


@pytest.mark.parametrize("path", UNSEEN)
def test_what_could_not_is_left_alone(path: str) -> None:
    assert not watched(path)


def test_what_the_command_names_is_watched() -> None:
    assert not watched("tools.d/verify.lua")
    assert watched("tools.d/verify.lua", "lua ./tools.d/verify.lua --all")


@pytest.mark.parametrize(
    ("command", "runner", "paths"),
    [
        ("pytest -q tests", "pytest", ["tests"]),
        ("python -m pytest tests/test_a.py::test_b -k 'x and y'", "pytest", ["tests/test_a.py"]),
        ("uv run pytest ./tests/ && echo done", "pytest", ["tests"]),
        ("PYTHONPATH=src python3 -m unittest discover -s tests", "unittest", ["tests"]),
        ("npx jest --ci src", "jest", ["src"]),
        ("go test ./...", "go", ["..."]),
        ("cargo test --all", "cargo", []),
        ("make -C sub test", "make", ["test"]),
        ("echo hello", "", []),
        ("pytest 'unclosed", "pytest", ["'unclosed"]),
    ],
)
def test_what_a_command_asks_for(command: str, runner: str, paths: list[str]) -> None:
    found = asked(command)
    assert (found.runner, found.paths) == (runner, paths)


@pytest.mark.parametrize(
    "command",
    ["pytest || true", "pytest ; true", "pytest; exit 0", "pytest | tee log", "! pytest", "pytest &", "pytest || :"],
)
def test_a_forced_status_is_seen(command: str) -> None:
    assert forced(command)
    assert weaker("pytest", command)
    assert not weaker(command, "pytest")


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "cd src && pytest",
        "set -o pipefail; pytest | tee log",
        "pytest --tb=short || exit 1",
        "a=1 pytest 2>&1",
    ],
)
def test_an_honest_command_is_not_called_forced(command: str) -> None:
    assert not forced(command)


@pytest.mark.parametrize(
    ("expression", "labels", "chosen"),
    [
        ("not slow", {"slow"}, False),
        ("not slow", set(), True),
        ("unit and not (slow or net)", {"unit"}, True),
        ("unit and not (slow or net)", {"unit", "net"}, False),
        ("a-b is not an expression", set(), True),
    ],
)
def test_marks_select_tests(expression: str, labels: set[str], chosen: bool) -> None:
    assert Reach(marks=expression).selects("tests/test_a.py", "test_a", labels) is chosen


def test_folders_that_pytest_does_not_enter() -> None:
    assert Reach().covers("tests/test_a.py")
    assert not Reach().covers("build/test_a.py")
    assert Reach(roots=("build",)).covers("build/test_a.py")
    assert not Reach(roots=("tests",)).covers("tests/dist/test_a.py")
    assert not Reach(roots=("tests",), ignored=("tests/slow",)).covers("tests/slow/test_a.py")
