"""The door: a project's own environment comes along, and what it lacks is said before anything is spent."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.workspaces.git import GitWorkspaces
from bough.app import Choices, RunObserver, open_session, project
from bough.core import events as e
from bough.core.acceptance.verdict import Case, Report
from bough.core.errors import SetupFailed
from bough.core.messages import Answer
from bough.core.planning.plan import build_goal_step
from bough.core.verdict.missing import Base, find_missing, set_aside
from bough.testing import ScriptedModel, call
from tests.harness import allow_settings, git, run_to_end

PYPROJECT = """\
[project]
name = "pair"
version = "1.0"
[project.optional-dependencies]
tests = ["pytest", "only-here"]
[tool.pytest.ini_options]
testpaths = ["tests"]
"""
DONE = [call("write", path="NOTES.txt", content="x\n"), call("done", summary="written")]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library whose tests need a package that lies in its ignored, not activated environment and nowhere else."""
    root = tmp_path / "pair"
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "pair.py").write_text("def pair(a, b):\n    return a, b\n")
    (root / "tests" / "test_pair.py").write_text(
        "import only_here\nfrom pair import pair\n\ndef test_pair():\n    assert pair(1, 2) == (1, 2)\n"
    )
    (root / ".gitignore").write_text(".venv/\n.env\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a library")
    return root


def environment(root: Path) -> Path:
    """A real one. It sees this Python's packages, and has one of its own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    packages = next((root / ".venv" / "lib").glob("python*")) / "site-packages"
    seen = Path(pytest.__file__).parents[1]
    (packages / "others.pth").write_text(f"{seen}\n")
    (packages / "only_here.py").write_text("")
    return packages


def test_an_ignored_environment_is_used(library: Path) -> None:
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.completed
    (base,) = journal.of(e.BaseChecked)
    assert base.command == ".venv/bin/python -m pytest" and base.environment == "the environment in .venv"
    assert (base.exit_status, base.passed, base.failed) == (0, 1, 0)
    records = [type(record.event) for record in journal.records]
    assert records.index(e.BaseChecked) < records.index(e.RoundStarted)


def test_what_is_missing_halts_before_anything_is_spent(library: Path) -> None:
    packages = environment(library)
    (packages / "only_here.py").unlink()
    asked: list[object] = []

    def answer(prompt: object) -> Answer:
        asked.append(prompt)
        return DONE[0]

    outcome, journal = run_to_end(library, answer, goal="Write NOTES.txt.", check=None)
    assert outcome.exit_status == 2 and not asked and not journal.of(e.RoundStarted)
    (halt,) = journal.of(e.RunHalted)
    assert halt.reason == "environment"
    assert "only_here is not installed (pyproject.toml names it)" in halt.message
    assert ".venv/bin/python -m pip install only_here" in halt.message


def test_a_mistyped_check_is_not_a_bug(library: Path) -> None:
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="pytst -q")
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert "the command `pytst` is not found" in journal.of(e.RunHalted)[0].message


def test_a_module_that_the_work_will_write_is_not_missing(library: Path) -> None:
    environment(library)
    (library / "tests" / "test_new.py").write_text("from pairs import pairs\n\ndef test_it():\n    assert pairs()\n")
    new = call("write", path="pairs.py", content="def pairs():\n    return [1]\n")
    outcome, journal = run_to_end(library, [new, DONE[1]], goal="Make the tests pass.", check=None)
    assert outcome.completed, journal.of(e.RunHalted)
    assert journal.of(e.BaseChecked)[0].failed == 1


def test_files_variables_and_a_set_up_come_along(library: Path) -> None:
    environment(library)
    (library / ".env").write_text("# secret\nexport GREETING='hello there'\n")
    (library / "data").mkdir()
    (library / "data" / "rows.csv").write_text("1,2\n")
    (library / "local.cfg").write_text("on\n")
    (library / ".gitignore").write_text(".venv/\n.env\ndata/\nlocal.cfg\nmade.txt\n")
    (library / "bough.toml").write_text(
        '[workspace]\nlink = ["data"]\ncopy = ["local.cfg"]\nenv_file = ".env"\nsetup = "echo made > made.txt"\n'
        '[workspace.env]\nCOLOUR = "green"\n[check]\nbefore = "test -f made.txt"\n[check.env]\nONLY = "c"\n'
    )
    allow_settings(library)
    script = (
        'import os, pathlib as p\nassert p.Path("data/rows.csv").read_text() == "1,2\\n"\n'
        'assert p.Path("local.cfg").read_text() == "on\\n" and p.Path("made.txt").exists()\n'
        'assert (os.environ["GREETING"], os.environ["COLOUR"], os.environ["ONLY"]) == ("hello there", "green", "c")\n'
        'assert int(os.environ["PORT"]) > 0 and os.environ["BOUGH_TASK"]\n'
    )
    (library / "probe.py").write_text(script)
    spoil = call("bash", command="echo off > local.cfg; cat data/rows.csv; echo $GREETING-$ONLY; echo x > data/new")
    model = ScriptedModel([spoil, *DONE])
    outcome, journal = run_to_end(library, model, goal="Write NOTES.txt.", check="python3 probe.py")
    assert outcome.completed, [event.verdict for event in journal.of(e.CheckFinished)]
    said = journal.of(e.ToolFinished)[0].output
    assert "hello there-\n" in said and "1,2" in said
    assert not (library / "data" / "new").exists() and (library / "local.cfg").read_text() == "on\n"


def test_a_service_runs_alongside_each_checkout(library: Path) -> None:
    environment(library)
    (library / "bough.toml").write_text(
        '[services.web]\nrun = "python3 -m http.server $PORT --directory $DATA"\nbefore = "echo up > $DATA/state"\n'
        '[services.web.env]\nWEB_URL = "http://127.0.0.1:$PORT"\n'
    )
    allow_settings(library)
    (library / "probe.py").write_text(
        'import os, urllib.request as u\nassert u.urlopen(os.environ["WEB_URL"] + "/state").read() == b"up\\n"\n'
    )
    outcome, _ = run_to_end(library, DONE, goal="Write NOTES.txt.", check="python3 probe.py")
    assert outcome.completed


def test_a_set_up_that_fails_halts_the_run(library: Path) -> None:
    (library / "bough.toml").write_text('[workspace]\nsetup = "echo no network; exit 3"\n')
    allow_settings(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="true")
    assert outcome.exit_status == 2 and "no network" in journal.of(e.RunHalted)[0].message


def test_a_red_suite_is_usable_when_the_person_says_so(library: Path) -> None:
    environment(library)
    test = library / "tests" / "test_pair.py"
    test.write_text(test.read_text() + "\ndef test_red():\n    assert 1 == 2\n")
    choices = Choices(accept_failing=True)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=choices)
    assert outcome.completed
    assert "1 test fails as it did before the" in journal.of(e.CheckFinished)[-1].verdict.reason
    worse = [call("write", path="pair.py", content="def pair(a, b):\n    return b, a\n"), DONE[1]]
    limited = Choices(accept_failing=True, rounds=2)
    outcome, journal = run_to_end(library, worse, goal="Worse.", check=None, choices=limited)
    assert not outcome.completed and journal.of(e.CheckFinished)[-1].verdict.ruling == "failed", "it is a new failure"


def test_the_check_can_be_replaced_on_the_way_and_afterwards(library: Path) -> None:
    environment(library)
    first, _ = run_to_end(library, DONE, goal="Write NOTES.txt.", check="pytst")
    assert first.exit_status == 2

    async def go_on() -> None:
        async with open_session(library) as opened:
            model = ScriptedModel(DONE)
            done = await opened.resume(first.run, Choices(model=model, check="test -f pair.py"), RunObserver())
            assert done.completed and (await opened.run(first.run)).plan.goal.test_command == "test -f pair.py"
            judged = await opened.verify(first.run, Choices(check="test -f NOTES.txt"), RunObserver())
            assert judged.verdict.ruling == "passed"
            judged = await opened.verify(first.run, Choices(check="test -f nowhere"), RunObserver())
            assert judged.verdict.ruling == "failed"
            assert (await opened.outcome(first.run)).exit_status == 5

    asyncio.run(go_on())


def test_a_package_of_the_monorepo_is_the_checkouts_own(library: Path) -> None:
    """Installed as editable in the environment, it would be the person's: not seen, and not what was changed."""
    packages = environment(library)
    (library / "lib" / "src").mkdir(parents=True)
    (library / "lib" / "src" / "helper.py").write_text("def help():\n    return 1\n")
    (library / "lib" / "pyproject.toml").write_text("[project]\nname = 'helper'\n")
    (packages / "__editable__.helper.pth").write_text(f"{library}/lib/src\n")
    app = library / "app"
    app.mkdir()
    (app / "pyproject.toml").write_text("[project]\nname = 'app'\n[tool.pytest.ini_options]\n")
    (app / "test_app.py").write_text("import helper\n\ndef test_it():\n    assert helper.help() == 1\n")
    assert run_to_end(app, DONE, goal="Write NOTES.txt.", check=None)[0].completed
    worse = [call("write", path="../lib/src/helper.py", content="def help():\n    return 2\n"), DONE[1]]
    outcome, journal = run_to_end(app, worse, goal="Worse.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed
    assert journal.of(e.BaseChecked)[0].command == "cd app && ../.venv/bin/python -m pytest"


def test_a_candidate_that_runs_no_test_gives_way_to_one_that_does(library: Path) -> None:
    environment(library)
    (library / "Makefile").write_text("test:\n\techo all is well\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    first, second = journal.of(e.BaseStarted)
    assert first.command == "make test" and second.command == ".venv/bin/python -m pytest"
    assert "`make test` runs no test" in second.why
    (base,) = journal.of(e.BaseChecked)
    assert base.command == second.command and base.passed == 1
    assert outcome.completed and journal.of(e.CheckFinished)[-1].verdict.command == second.command
    # What was found out about these files is not found out again.
    assert [one.command for one in run_to_end(library, DONE, goal="x", check=None)[1].of(e.BaseStarted)] == [
        "make test",
        second.command,
    ]
    # Failing tests are no reason to switch: they may show the very bug.
    (library / "Makefile").write_text("test:\n\tpython3 -m unittest -q bad\n")
    (library / "bad.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail()\n")
    (base,) = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=Choices(rounds=1))[1].of(
        e.BaseChecked
    )
    assert base.command == "make test" and base.failed == 1


def test_a_suite_that_lacks_its_packages_does_not_give_way_to_a_few_tests(library: Path) -> None:
    """What the project itself runs needs a package; a script that needs none runs one test."""
    (library / "package.json").write_text(
        '{"scripts": {"test": "linter && mocha"}, "devDependencies": {"linter": "*"}}'
    )
    (library / "package-lock.json").write_text("{}")
    (library / ".github" / "workflows").mkdir(parents=True)
    (library / ".github" / "workflows" / "test.yml").write_text("steps:\n  - run: npm ci\n  - run: npm test\n")
    (library / "tests" / "test_pair.py").write_text("def test_pair():\n    pass\n")
    for name in ("one", "two"):
        (library / "tests" / f"{name}.test.js").write_text('require("mocha")\n')
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert journal.of(e.BaseChecked)[0].command == "npm test"
    assert "the command `linter` is not found" in journal.of(e.BaseChecked)[0].lacking
    assert "The project's own set-up is `npm ci`" in journal.of(e.RunHalted)[0].message


def test_where_most_tests_lack_a_package_the_whole_cannot_run(library: Path) -> None:
    """The few that run anyway say nothing about the product."""
    (environment(library) / "only_here.py").unlink()
    for name in "abc":
        (library / "tests" / f"test_{name}.py").write_text("import only_here\n\ndef test_it():\n    pass\n")
    (library / "tests" / "test_plain.py").write_text("def test_it():\n    pass\n")
    command = "python3 -m pytest --continue-on-collection-errors"
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=command)
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert "only_here is not installed" in journal.of(e.RunHalted)[0].message


def test_a_command_that_only_the_end_of_a_check_needs_is_not_hunted(library: Path) -> None:
    """The tests fail at the base, so nobody knows yet that the linter after them is missing."""
    environment(library)
    (library / "pair.py").write_text("def pair(a, b):\n    return b, a\n")
    (library / "Makefile").write_text("test:\n\tpython3 -m pytest -q\n\tlinter pair.py\n")
    right = call("write", path="pair.py", content="def pair(a, b):\n    return a, b\n")
    model = ScriptedModel([right, DONE[1]])
    with pytest.raises(SetupFailed, match=r"All tests pass, but the command `linter` is not found\. Install linter"):
        run_to_end(library, model, goal="Fix pair.", check="make test")


def test_an_empty_submodule_is_named(library: Path) -> None:
    (library / ".gitmodules").write_text('[submodule "kit"]\n\tpath = tests/kit\n\turl = ../kit\n')
    (library / "Makefile").write_text("test:\n\ttests/kit/run tests\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="make test")
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    said = journal.of(e.RunHalted)[0].message
    assert "the git submodule tests/kit is empty" in said and "git submodule update --init" in said


def test_an_environment_is_used_without_a_sandbox_too(library: Path) -> None:
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=Choices(sandbox="none"))
    (base,) = journal.of(e.BaseChecked)
    assert (base.exit_status, base.passed) == (0, 1) and outcome.completed


CHILD = (
    '11 passed in 0.13s\nTraceback (most recent call last):\n  File "/subprocess.py", line 1901, in _execute_child\n'
)
COULD_NOT_RUN = [
    (1, "HTTPSConnection: Failed to resolve 'pypi.org' ([Errno -3] Temporary failure …)", "network access (pypi.org)"),
    (1, "curl: (6) Could not resolve host: example.org", "network access (example.org)"),
    (1, "Unknown host repo.maven.apache.org: Temporary failure in name resolution", "(repo.maven.apache.org)"),
    (1, "1 failed: expected `Temporary failure`", ""),
    (127, "sh: 1: vendor/bin/phpunit: not found", "the command `vendor/bin/phpunit` is not found"),
    (127, "pyenv: python3: command not found\n\nThe `python3' command exists in these versions:", "`python3`"),
    (127, "bash: line 1: ./run-tests: No such file or directory", ""),
    (127, "", "the command `mvn` is not found"),
    (2, "make: jq: No such file or directory\nmake: *** [Makefile:2: test] Error 127", "`jq`"),
    (2, "make: dune: No such file or directory\nmake: *** [Makefile:2: test] Error 127", "`dune`"),
    (
        1,
        "go: errors parsing go.mod:\ngo.mod:3: invalid go version '1.21.0': must match format 1.23",
        "it needs go 1.21.0 or newer",
    ),
    (1, "go: go.mod requires go >= 1.23.0 (running go 1.21.4; GOTOOLCHAIN=local)", "it needs go 1.23.0 or newer"),
    (1, "x.go:4:2: undefined: atomic.Pointer\nnote: module requires Go 1.20", "it needs Go 1.20 or newer"),
    (101, "error: package `a v1.0.0` cannot be built because it requires rustc 1.99 or newer", "needs rustc 1.99"),
    (1, "CMake Error at CMakeLists.txt:1:\n  CMake 3.28 or higher is required.  You are running", "needs CMake 3.28"),
    (1, "meson.build:1:0: ERROR: Meson version is 1.0.1 but project requires >= 1.4.0", "needs Meson 1.4.0"),
    (
        1,
        f"{CHILD}    raise error(number, said)\nFileNotFoundError: [Errno 2] No such file or directory: 'lint'",
        "`lint`",
    ),
    (2, 'Can\'t exec "autopoint": No such file or directory at FileUtils.pm line 293.', "`autopoint`"),
    (1, 'generate.go:3: running "stringer": exec: "stringer": executable file not found in $PATH', "`stringer`"),
    (1, "spawn: No such file or directory - ditaa (Errno::ENOENT)", "`ditaa`"),
    (1, "meson.build:9:0: ERROR: Program 'gperf' not found or not executable", "`gperf`"),
    (127, "sh: 1: eslint: not found", "the command `eslint` is not found"),
    (1, "PHP Fatal error: Failed opening required '/p/vendor/autoload.php'", "is not installed"),
    (2, "Can't locate Try/Tiny.pm in @INC (you may need to install the Try::Tiny module)", "(cpanfile names it)"),
    (1, "<internal:kernel>: cannot load such file -- pair/other (LoadError)", ""),
    (1, "cannot load such file -- rack/test (LoadError)", "rack is not installed (Gemfile names it)"),
    (4, "error: unrecognized arguments: --cov=pair", "pytest-cov is not installed (tox.ini names it)"),
    (1, "PermissionError: [Errno 13] Permission denied: '/var/run/docker.sock'", "/var/run/docker.sock"),
    (1, "touch: cannot touch '/opt/a/b': Read-only file system", "commands may not use /opt/a/b"),
    (
        1,
        "info: syncing channel updates for nightly-x86\nerror: could not create temp root",
        "nightly-x86 is not installed",
    ),
    (1, 'connection to server at "localhost" (::1), port 54 failed: Connection refused', "localhost:54"),
    (1, "lua: t.lua:1: module 'luaunit' not found:", "luaunit is not installed (.travis.yml names it)"),
    (1, "lua: t.lua:1: module 'other' not found:", ""),
    (
        1,
        "ImportError: No module named 'psycopg'\nx.ImproperlyConfigured: Error loading psycopg2 or psycopg module",
        "psycopg2 is not installed (.travis.yml",
    ),
    (1, "assert 1 == 2, about psycopg2", ""),
    (1, "# bats_load_safe: Could not find '/p/test/../node_modules/bats-support/load'[.bash]", "bats-support is not"),
    (1, '  Could not find a package configuration file provided by "GTest" with', "GTest is not installed"),
]


@pytest.mark.parametrize(("status", "said", "lacks"), COULD_NOT_RUN)
def test_what_a_check_lacks_is_read_from_its_output(status: int, said: str, lacks: str) -> None:
    manifests = {"cpanfile": "requires 'Try::Tiny';", "Gemfile": 'gem "rack"', "tox.ini": "deps = pytest-cov"}
    manifests[".travis.yml"] = "before_script: luarocks install luaunit\nenv: other\ninstall: pip install -U psycopg2\n"
    base = Base(manifests, ["pair.py", "lib/pair/it.rb", "mvn.txt", "dune"])
    found = find_missing(status, "mvn test", said, Report("exit status"), base)
    assert lacks in str(found) if lacks else found is None


def test_a_package_that_most_files_lack_is_read_from_what_stands_beside_the_report() -> None:
    base = Base({"package.json": '{"devDependencies": {"tap": "1"}}'}, ["index.js", ".github/matchers/tap.json"])
    cases = tuple(Case(f"test/{n}.js", "failed", "test failed") for n in range(5))
    said = "Error: Cannot find module 'tap'\nRequire stack:\n"
    report = Report("junit", cases, passed=1, failed=5)
    assert "tap is not installed" in str(find_missing(1, "node --test", said * 5, report, base))
    assert find_missing(1, "node --test", said, report, base) is None, "only one of them lacks it"


def test_a_runner_that_names_only_failing_tests_shows_that_the_others_ran() -> None:
    case = Case("test_loads(CalcTest)", "failed", "LoadError: cannot load such file -- rack")
    base = Base({"Gemfile": 'gem "rack"'}, ["lib/calc.rb"])
    few = Report("closing line", (case,), passed=53, failed=1)
    assert find_missing(1, "rake test", "", few, base) is None
    assert set_aside(few, base) == {case.id: "rack is not installed (Gemfile names it)"}
    assert find_missing(1, "rake test", "", Report("closing line", (case,), passed=0, failed=1), base) is not None


def test_tests_that_need_an_empty_submodule_are_set_aside() -> None:
    base = Base({".gitmodules": "path = tests/kit\n"}, ["tests/test_a.py"])
    case = Case("tests/test_a.py::test_kit", "failed", "No such file: 'tests/kit/cases.json'")
    report = Report("junit", (case, Case("tests/test_a.py::test_b", "passed")), passed=1, failed=1)
    assert find_missing(1, "pytest", case.message, report, base) is None
    assert set_aside(report, base) == {case.id: "the git submodule tests/kit is empty"}


NEEDY = """import urllib.request
def test_far():
    urllib.request.urlopen("http://far.example.org/")
def test_near():
    assert True
"""


def test_single_tests_that_cannot_run_are_set_aside(library: Path) -> None:
    environment(library)
    (library / "tests" / "test_far.py").write_text(NEEDY)
    (library / "tests" / "test_other.py").write_text("import somewhere\n\ndef test_it():\n    assert somewhere\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    (base,) = journal.of(e.BaseChecked)
    assert set(base.aside) == {"tests/test_far.py::test_far", "tests/test_other.py"}, base
    assert not base.lacking and outcome.completed, journal.of(e.CheckFinished)
    assert "not runnable here" in journal.of(e.CheckFinished)[-1].verdict.reason
    # One that ran before the work fails it, whatever it lacks now.
    worse = [call("write", path="pair.py", content="import nowhere_at_all\n"), DONE[1]]
    outcome, journal = run_to_end(library, worse, goal="Worse.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed and journal.of(e.CheckFinished)[0].verdict.ruling == "failed"


def test_a_running_service_that_commands_cannot_reach_is_said_to_run(library: Path) -> None:
    environment(library)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (library / "tests" / "test_pair.py").write_text(
            f"import socket\n\ndef test_it():\n    socket.create_connection(('localhost', {port})).close()\n"
        )
        _, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    (halt,) = journal.of(e.RunHalted)
    assert "answers on this machine" in halt.message and "--network loopback" in halt.message


def test_the_projects_own_set_up_is_offered_and_run(library: Path) -> None:
    packages = environment(library)
    (packages / "only_here.py").unlink()
    (library / ".github" / "workflows").mkdir(parents=True)
    (library / ".github" / "workflows" / "ci.yml").write_text("steps:\n  - run: pip install -e .[tests]\n")
    _, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert '--setup "pip install -e .[tests]"' in journal.of(e.RunHalted)[0].message
    # `[check] setup` in bough.toml, `--setup` on the command line: in the copies, never in the person's files.
    with_setup = Choices(setup="touch only_here.py")

    async def check() -> e.BaseChecked:
        async with open_session(library, choices=with_setup) as opened:
            return (await opened.check(build_goal_step("Check it."), with_setup, RunObserver()))[0]

    found = asyncio.run(check())
    assert (found.passed, found.lacking) == (1, "") and not (library / "only_here.py").exists()


def test_the_tests_of_those_who_need_the_project_are_asked_too(library: Path) -> None:
    environment(library)
    for name, called, needs in (("lib", "helper", ""), ("app", "app", "'helper'"), ("other", "other", "")):
        (library / name / "src").mkdir(parents=True)
        (library / name / "pyproject.toml").write_text(
            f"[project]\nname = '{called}'\ndependencies = [{needs}]\n[tool.pytest.ini_options]\n"
        )
    (library / "lib" / "src" / "helper.py").write_text("def help():\n    return 1\n")
    (library / "lib" / "test_lib.py").write_text("import helper\n\ndef test_it():\n    assert helper.help()\n")
    (library / "app" / "src" / "app.py").write_text("import helper\n\ndef run():\n    return helper.help() + 1\n")
    (library / "app" / "test_app.py").write_text("import app\n\ndef test_run():\n    assert app.run() == 2\n")
    (library / "other" / "test_other.py").write_text("def test_red():\n    assert False\n")
    here = library / "lib"
    assert run_to_end(here, DONE, goal="Write NOTES.txt.", check=None)[0].completed
    worse = [call("write", path="src/helper.py", content="def help():\n    return 2\n"), DONE[1]]
    outcome, journal = run_to_end(here, worse, goal="Worse.", check=None, choices=Choices(rounds=2))
    verdict = journal.of(e.CheckFinished)[0].verdict
    assert not outcome.completed and verdict.ruling == "failed"
    assert "not that of app/, which needs this project" in verdict.reason
    assert any("test_run" in failure.id for failure in verdict.failures)


def test_what_was_compiled_in_place_comes_along_while_it_fits(library: Path) -> None:
    environment(library)
    (library / ".gitignore").write_text(".venv/\n*.so\n")
    (library / "fast.c").write_text("int fast;\n")
    (library / "fast.so").write_text("as it was built\n")
    (library / "tests" / "test_fast.py").write_text(
        "import pathlib\n\ndef test_fast():\n    assert pathlib.Path('fast.so').exists()\n"
    )
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.completed and journal.of(e.BaseChecked)[0].passed == 2
    other = [call("write", path="fast.c", content="int faster;\n"), DONE[1]]
    outcome, _ = run_to_end(library, other, goal="Make it faster.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed, "it was built from other sources"


def look(root: Path, choices: Choices, *, cached: bool = False) -> tuple[e.BaseChecked, float]:
    async def check() -> tuple[e.BaseChecked, float]:
        async with open_session(root, create=True, choices=choices) as opened:
            return await opened.check(build_goal_step("Check it."), choices, RunObserver(), cached=cached)

    return asyncio.run(check())


def test_a_check_runs_now_and_the_last_one_can_be_looked_up(tmp_path: Path) -> None:
    root, flag = tmp_path / "p", tmp_path / "flag"
    root.mkdir()
    (root / "Makefile").write_text(f"test:\n\t@echo 1..1\n\t@test -e {flag} && echo ok 1 || (echo not ok 1; exit 1)\n")
    git(root, "init", "-q")
    open_air = Choices(sandbox="none")
    assert look(root, open_air, cached=True)[1] == 0.0
    assert look(root, open_air)[0].failed == 1
    kept, at = look(root, open_air, cached=True)
    assert kept.failed == 1 and time.time() - 60 < at <= time.time()
    flag.touch()
    assert look(root, open_air)[0].passed == 1, "a failure is not replayed"
    flag.unlink()
    assert look(root, open_air)[0].failed == 1, "nor is what passed"


@pytest.mark.parametrize("sandbox", ["auto", "landlock", "none"])
def test_no_file_of_the_persons_is_above_a_checkout(library: Path, sandbox: Mode) -> None:
    """A manifest without a section for the runner sends it further up."""
    (library / "tests" / "test_pair.py").write_text("from pair import pair\n\ndef test_it():\n    assert pair(1, 2)\n")
    (library / "pyproject.toml").write_text('[project]\nname = "pair"\n')
    (library / ".gitignore").write_text(".venv/\n_version.py\nsecrets.py\n")
    (library / "_version.py").write_text("# file generated by a tool\nversion = 1\n")
    (library / "secrets.py").write_text("key = 1\n")
    (library / "pair.py").write_text("from _version import version\n\ndef pair(a, b):\n    return a, b\n\n# secrets\n")
    (library / "tests" / "test_up.py").write_text(
        "import pathlib\n\ndef test_up():\n    here = pathlib.Path(__file__).parents[1]\n"
        "    assert not (here / 'secrets.py').exists(), 'it may hold what no agent may see'\n"
        "    assert not [up for up in here.parents if (up / 'pyproject.toml').exists()]\n"
    )
    found, _ = look(library, Choices(sandbox=sandbox))
    assert (found.passed, found.failed) == (2, 0), found.said


LANG = """\
#!/bin/sh
# Runs what no rule knows: cases of a language of its own.
n=0
for case in cases/*.qq; do sh engine/run.qx "$case" || { echo "failed $case"; exit 1; }; n=$((n + 1)); done
echo "$n cases passed"
"""


def test_a_layout_that_no_rule_knows_is_scouted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_CHECK_SCOUT")
    root = tmp_path / "p"
    for name, text in {
        "engine/run.qx": 'test "$(cat "$1")" = good\n',
        "engine/other.qx": "true\n",
        "cases/a.qq": "good\n",
        "cases/b.qq": "good\n",
        "exercise": LANG,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    proposed = call("propose_checks", commands=["echo 7 tests passed", "docker run tests", "sh exercise"])
    outcome, journal = run_to_end(root, [proposed, *DONE], goal="Write NOTES.txt.", check=None)
    (scouted,) = journal.of(e.CheckScouted)
    assert scouted.refused["echo 7 tests passed"] == "it passes on a broken product, too"
    assert scouted.refused["docker run tests"] == "it is not tried"
    (base,) = journal.of(e.BaseChecked)
    assert base.command == "sh exercise" and base.scouted and "bough.toml" in base.why
    assert outcome.completed and journal.of(e.CheckFinished)[-1].verdict.command == "sh exercise"


def test_what_does_not_even_start_is_scouted(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_CHECK_SCOUT")
    (library / "Makefile").write_text("test: lost.txt\n\t@echo never\n")
    (library / "tests" / "test_pair.py").unlink()
    (library / "cases").mkdir()
    (library / "cases" / "exercise").write_text(
        "python3 -c 'import pair; print(len(pair.pair(1, 2)), \"cases passed\")'\n"
    )
    proposed = call("propose_checks", commands=["sh cases/exercise"])
    outcome, journal = run_to_end(library, [proposed, *DONE], goal="Write NOTES.txt.", check=None)
    assert [started.command for started in journal.of(e.BaseStarted)] == ["make test", "sh cases/exercise"]
    (base,) = journal.of(e.BaseChecked)
    assert base.scouted and outcome.completed


def test_where_nothing_proposed_works_there_is_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_CHECK_SCOUT")
    for name in ("a.qx", "b.qx", "c.qx"):
        (tmp_path / name).write_text("x\n")
    git(tmp_path, "init", "-q")
    proposed = call("propose_checks", commands=["true", "qx --test"])
    _, journal = run_to_end(tmp_path, [proposed, *DONE], goal="Write NOTES.txt.", check=None, choices=Choices(rounds=2))
    (scouted,) = journal.of(e.CheckScouted)
    assert scouted.refused == {"true": "no test was seen in its output", "qx --test": "the command `qx` is not found"}
    assert journal.of(e.BaseChecked)[0].command == ""


def test_a_check_looks_at_the_files_and_at_the_sandbox_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo 1..1\n\t@echo ok 1\n")
    git(tmp_path, "init", "-q")
    both, take = threading.Barrier(2, timeout=60.0), GitWorkspaces.take

    async def takes(workspaces: GitWorkspaces) -> str:
        await asyncio.to_thread(both.wait)
        return await take(workspaces)

    def finds(mode: Mode) -> SandboxLevel:
        monkeypatch.setattr(project, "find_level", find_level)
        both.wait()
        return find_level(mode)

    monkeypatch.setattr(GitWorkspaces, "take", takes)
    monkeypatch.setattr(project, "find_level", finds)
    assert look(tmp_path, Choices(sandbox="none"))[0].passed == 1
