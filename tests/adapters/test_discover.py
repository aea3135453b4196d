"""Finding the check: each rule of the order, what beats what, and that what is found can be run."""

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
from bough.core.verdict.discover import list_checks
from bough.core.verdict.languages.make import Make
from bough.core.verdict.project_files import ProjectFiles
from tests.adapters.finding import PYTEST_FILE, STEP, UNITTEST_FILE, find, found
from tests.sampling import in_turn, sample

ALL: dict[str, str] = {
    "tests/test_insert_line.py": PYTEST_FILE,
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
    for gone in ("tests/test_insert_line.py", "src/insert_line_test.go", "tests/test_other.py"):
        commands.append(found(files).command)
        del files[gone]
    files["Makefile"] = "test:\n\t./run\n"
    files["buf_test.go"] = "package x"
    for gone in ("package.json", "Makefile", "go.mod", "Cargo.toml"):
        commands.append(found(files).command)
        del files[gone]
    assert commands == [
        "python3 -m pytest tests/test_insert_line.py",
        "go test ./src",
        "python3 -m pytest",
        "make test",
        "make test",
        "go test ./...",
        "cargo test",
    ]
    del files["buf_test.go"]
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
        "test:\n\t./t\n",
        "all: x\ntest test-b: deps ; ./t\n",
        ".PHONY: test\ntest::\n\t./t\n",
        "one \\\n  test: x\n",
        "check:\n",
        "$(OBJECTS) test: x",
        "include more.mk\n",
        "ifdef CI\ntest:\n\t./t\nendif\n",
    ],
)
def test_real_targets_of_a_makefile(makefile: str) -> None:
    files = {"Makefile": makefile, "more.mk": "test:\n\tx\n"}
    assert found(files).command in ("make test", "make check")


@pytest.mark.parametrize(
    "makefile",
    [
        "# test: does it\nall:\n\techo\n",
        "all:\n\techo test: x\n",
        "all:\n\techo a \\\n\ttest: x\n",
        ".PHONY: test\n",
        "test := 1\n",
        "test ::= 1\n",
        "test: FLAGS = -x\n",
        "test-%:\n\t./t $*\n",
        "X = test: y\n",
        "include ../outside.mk\n",
        "test-more:\n",
    ],
)
def test_what_only_looks_like_a_target(makefile: str) -> None:
    outside = {"../outside.mk": "test:\n", "Makefile": makefile}
    assert not list_checks(STEP, "insert-line", ["Makefile"], outside.get)


def test_make_reads_the_first_of_its_files() -> None:
    files = {"Makefile": "test:\n", "makefile": "check:\n"}
    assert (found(files).command, found(files).why) == ("make check", "the target check of makefile")
    assert found({"GNUmakefile": "check:\ntest:\n", **files}).command == "make test"


@in_turn
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
    sample(
        [
            ({"tests/test_insert_line.py": PYTEST_FILE}, sys.executable),
            ({"tests/test_insert-line.py": PYTEST_FILE}, sys.executable),
            ({"tests/test_insert_line.py": UNITTEST_FILE}, sys.executable),
            ({"tests/test_other.py": UNITTEST_FILE}, sys.executable),
            ({"tests/test_other.py": UNITTEST_FILE, "tests/__init__.py": ""}, sys.executable),
            ({"src/a.test.mjs": "import test from 'node:test'; test('x', () => {});"}, "node"),
            ({"deep/insert_line_test.js": "require('node:test')('x', () => {});"}, "node"),
            (
                {"package.json": '{"scripts": {"test": "node --test"}}', "a.test.cjs": "require('node:test')('x')"},
                "npm",
            ),
            ({"Makefile": "test:\n\t@test -e Makefile\n"}, "make"),
            ({"insert_line_test.sh": "test -e insert_line_test.sh"}, "bash"),
        ],
        3,
    ),
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
