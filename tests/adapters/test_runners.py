"""Recognising runners, making them report, running single tests again: by table. Real runs: `test_runners_run.py`."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.shell_syntax import split_commands
from bough.core.verdict.registry import (
    RUNNERS,
    has_refused,
    instrument,
    recognise,
)
from bough.core.verdict.registry import narrow as rerun

REPORT = "/scratch/r.xml"


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest", "pytest"),
        ("pytest -q tests", "pytest"),
        ("py.test", "pytest"),
        (".venv/bin/pytest -x", "pytest"),
        ("python -m pytest", "pytest"),
        ("python3.12 -X dev -W error -m pytest tests", "pytest"),
        ("/usr/bin/python3 -mpytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("uv run --with pytest --extra dev pytest -q", "pytest"),
        ("uv run python -m pytest", "pytest"),
        ("poetry run pytest", "pytest"),
        ("hatch run python -m pytest", "pytest"),
        ("coverage run -m pytest", "pytest"),
        ("python -m coverage run --source src -m pytest", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("env A=1 pytest", "pytest"),
        ("PYTHONPATH=src pytest", "pytest"),
        ("cd api && pytest", "pytest"),
        ("pytest 2>&1 | tee log", "pytest"),
        ("bash -c 'cd a && pytest -q'", "pytest"),
        ("python -m unittest", "unittest"),
        ("python -m unittest discover -s tests", "unittest"),
        ("node --test", "node"),
        ("node --import tsx --test src", "node"),
        ("npx tsx --test", "node"),
        ("npx jest --ci", "jest"),
        ("npx --no-install jest", "jest"),
        ("npm exec -- jest", "jest"),
        ("yarn jest", "jest"),
        ("pnpm exec vitest run", "vitest"),
        ("node_modules/.bin/vitest", "vitest"),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", "jest"),
        ("cross-env NODE_ENV=test jest", "jest"),
        ("go test ./...", "go"),
        ("go -C sub test ./...", "go"),
        ("cargo test", "cargo"),
        ("cargo +nightly -q test --lib", "cargo"),
        ("cargo nextest run", ""),
        ("pytest && npx jest", "jest"),
        ("", ""),
        ("make test", ""),
        ("tox -e py312", ""),
        ("nox", ""),
        ("npm test", ""),
        ("npm run jest", ""),
        ("yarn test", ""),
        ("echo pytest", ""),
        ("grep -r pytest .", ""),
        ("cat pytest", ""),
        ("# pytest", ""),
        ("echo 'x; pytest'", ""),
        ("python manage.py test", ""),
        ("python -m mypy && echo -m pytest", ""),
        ("python -c 'import pytest'", ""),
        ("go vet ./...", ""),
        ("go run . test", ""),
        ("cargo build", ""),
        ("cargo run -- test", ""),
        ("node server.js", ""),
        ("echo $(pytest)", ""),
        ("cat <<E\npytest\nE", ""),
        ("'pytest", ""),
    ],
)
def test_recognise(command: str, runner: str) -> None:
    assert recognise(command) == runner


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("A=1 B='x y' cmd -x", [["cmd", "-x"]]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(cd x && y)", [["cd", "x"], ["y"]]),
        ("cmd >out 2>&1 <in arg", [["cmd", "arg"]]),
        ("a # b && c\nd", [["a"], ["d"]]),
        ('a "b\\"c" "\\x"', [["a", 'b"c', "\\x"]]),
        ("a `b`", []),
        ('a "$(b)"', []),
        ("a '$(b)'", [["a", "$(b)"]]),
        ("a \"b", []),
    ],
)  # fmt: skip
def test_parts_of_a_line(line: str, words: list[list[str]]) -> None:
    assert [[word.text for word in part] for part in split_commands(line)] == words


@given(st.text(alphabet="ab '\"\\|&;<>()$`#=\n\tpytest", max_size=40))
def test_any_line_is_taken_apart_or_left_alone(line: str) -> None:
    for part in split_commands(line):
        for word in part:
            assert 0 <= word.start < word.end <= len(line)
    for runner in ("", *(each.name for each in RUNNERS)):
        instrument(line, runner, REPORT, {})
        rerun(line, runner, ["tests/a.py::b", "p::c"])
    recognise(line)


@given(st.lists(st.text(alphabet="ab c'\"\\$|", min_size=1), min_size=1, max_size=4))
def test_words_are_those_of_a_shell(words: list[str]) -> None:
    taken = split_commands(shlex.join(["x", *words]))
    assert [word.text for word in taken[0]] == ["x", *words]


# Instrumenting, by table


@pytest.mark.parametrize(
    ("command", "runner", "made"),
    [
        ("python -m unittest discover -s t", "unittest", "python -m unittest discover -v -s t"),
        ("python -m unittest tests.a", "unittest", "python -m unittest -v tests.a"),
        ("python -m unittest -v", "unittest", "python -m unittest -v"),
        ("go test ./... | tee log", "go", "go test -v ./... | tee log"),
        ("go test -v .", "go", "go test -v ."),
        ("cargo test --lib -- --nocapture", "cargo", "cargo test --no-fail-fast --lib -- --nocapture"),
        ("npx jest src 2>&1", "jest", "npx jest src --json --outputFile=/scratch/r.xml 2>&1"),
        ("cd a && yarn jest; echo", "jest", "cd a && yarn jest --json --outputFile=/scratch/r.xml; echo"),
        ("npm test", "jest", "npm test -- --json --outputFile=/scratch/r.xml"),
        ("npm test -- --ci", "jest", "npm test -- --ci --json --outputFile=/scratch/r.xml"),
        ("yarn test", "jest", "yarn test --json --outputFile=/scratch/r.xml"),
        ("pnpm test", "jest", "pnpm test --json --outputFile=/scratch/r.xml"),
        ("npx jest --json", "jest", "npx jest --json"),
        (
            "npx vitest run",
            "vitest",
            "npx vitest run --reporter=default --reporter=junit --outputFile.junit=/scratch/r.xml",
        ),
        ("npx vitest run --outputFile=x", "vitest", "npx vitest run --outputFile=x"),
        ("make test", "", "make test"),
        ("pytest -q", "pytest", "pytest -q"),
        ("cd a && pytest -qx tests | tee log", "pytest", "cd a && pytest -qx tests --maxfail=0 | tee log"),
        ("pytest --maxfail=2", "pytest", "pytest --maxfail=2 --maxfail=0"),
    ],
)
def test_what_is_added_to_a_command(command: str, runner: str, made: str) -> None:
    assert instrument(command, runner, REPORT, {})[0] == made


def test_what_the_person_set_stays() -> None:
    env = {"PYTEST_ADDOPTS": "-p no:randomly", "NODE_OPTIONS": "--enable-source-maps", "A": "b"}
    _, given_ = instrument("make test", "", REPORT, env)
    assert given_["PYTEST_ADDOPTS"].startswith("-p no:randomly --junitxml=/scratch/r.xml ")
    assert (given_["NODE_OPTIONS"], given_["A"]) == ("--enable-source-maps", "b")
    _, given_ = instrument("node --test", "node", REPORT, env)
    assert given_["NODE_OPTIONS"].startswith("--enable-source-maps --test-reporter=data:text/javascript,")
    assert given_["PYTEST_ADDOPTS"] == "-p no:randomly"
    assert env == {"PYTEST_ADDOPTS": "-p no:randomly", "NODE_OPTIONS": "--enable-source-maps", "A": "b"}
    own = "node --test --test-reporter=dot"
    assert instrument(own, "node", REPORT, {}) == (own, {})


@pytest.mark.parametrize(
    ("runner", "output", "so"),
    [
        ("pytest", "error: unrecognized arguments: --junitxml=/scratch/r.xml", True),
        ("pytest", "ERROR: Unknown config option: cache_dir", True),
        ("pytest", "error: unrecognized arguments: --fast", False),
        ("pytest", "E  assert 'cache_dir' in text\n1 failed in 0.1s", False),
        ("node", "node: --test-reporter= is not allowed in NODE_OPTIONS", True),
        ("vitest", "CACError: Unknown option `--outputFile`", True),
        ("", "error: unrecognized arguments: --junitxml=/scratch/r.xml", True),
    ],
)
def test_a_runner_that_refuses_what_was_added(runner: str, output: str, so: bool) -> None:
    made, env = instrument(runner or "make test", runner, REPORT, {})
    assert has_refused(output, (made, *env.values()), runner) is so


# Running again, by table


@pytest.mark.parametrize(
    ("command", "runner", "ids", "made"),
    [
        (
            "pytest -q tests -k 'a or b'",
            "pytest",
            ["tests/test_a.py::test_x[p q]"],
            "pytest -q -k 'a or b' 'tests/test_a.py::test_x[p q]' --maxfail=0",
        ),
        (
            "cd api && uv run pytest tests/unit tests/b.py::x -n 2 --cov src | tee log",
            "pytest",
            ["tests/b.py"],
            "cd api && uv run pytest -n 2 --cov src tests/b.py --maxfail=0 | tee log",
        ),
        ("python -m pytest", "pytest", ["a.py::b", "c.py::d"], "python -m pytest a.py::b c.py::d --maxfail=0"),
        ("pytest", "pytest", ["no file::b"], None),
        ("make test", "", ["a.py::b"], None),
        ("make test", "pytest", ["a.py::b"], None),
        ("pytest", "pytest", [], None),
        (
            "python -m unittest discover -s t",
            "unittest",
            ["t.A.x", "t.A.y"],
            "python -m unittest discover -s t -k t.A.x -k t.A.y",
        ),
        (
            "go test ./... -args -x",
            "go",
            ["m/a::TestB/sub", "m/b::TestA", "m/c"],
            "go test ./... -count=1 -run '^(TestA|TestB)$' -args -x",
        ),
        ("cargo test", "cargo", ["x:src/lib.rs::tests::a"], "cargo test -- --exact tests::a"),
        ("cargo test -- --nocapture", "cargo", ["x:src/lib.rs::a"], "cargo test -- --nocapture --exact a"),
        ("cargo test", "cargo", ["x:doc::src/lib.rs - add#2"], "cargo test -- 'src/lib.rs - add'"),
        (
            "node --test src",
            "node",
            ["a.mjs::g > does (it)", "b.mjs"],
            "node --test-name-pattern='(^| )does \\(it\\)$' --test src",
        ),
        ("npx jest --ci", "jest", ["a.js::g > b.c"], "npx jest --ci -t '(g( > | )b\\.c)$'"),
        ("npm test", "vitest", ["a.js::b", "a.js::c"], "npm test -- -t '(b|c)$'"),
        ("npm test", "node", ["a.js::b"], None),
    ],
)
def test_running_single_tests_again(command: str, runner: str, ids: list[str], made: str | None) -> None:
    assert rerun(command, runner, ids) == made


def test_no_command_line_grows_without_bound() -> None:
    assert rerun("pytest", "pytest", [f"tests/test_a.py::test_{n}" for n in range(10_000)]) is None


# With the real runners
