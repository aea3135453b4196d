"""Which check a run takes where a project has several, none that runs, or none that any rule knows."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.workspaces.git import GitWorkspaces
from bough.app import Choices, project
from bough.core import events as e
from bough.core.acceptance.verdict import Case, Report
from bough.core.verdict.check_run import count_told
from bough.core.verdict.language import Missing
from bough.core.verdict.missing import ProjectFacts, find_missing, set_aside
from bough.core.verdict.registry import LANGUAGES, instrument, read_results
from bough.engine import run_loop
from bough.interfaces.terminal.banner import render_banner
from bough.views.telling.run_events import describe_base
from tests.engine.libraries import DONE, environment, library, look
from tests.harness import git, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

__all__ = ["library"]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
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


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_suite_that_lacks_its_packages_does_not_give_way_to_a_few_tests(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the project itself runs needs a package; a script that needs none runs one test, and no agent begins for
    it."""
    monkeypatch.setattr(run_loop, "AHEAD", 0.0)
    (library / "package.json").write_text(
        '{"scripts": {"test": "linter && mocha"}, "devDependencies": {"linter": "*"}}'
    )
    (library / "package-lock.json").write_text("{}")
    (library / ".github" / "workflows").mkdir(parents=True)
    (library / ".github" / "workflows" / "test.yml").write_text("steps:\n  - run: npm ci\n  - run: npm test\n")
    ends_late = "import atexit, time\natexit.register(time.sleep, 1)\ndef test_pair():\n    pass\n"
    (library / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    (library / "tests" / "test_pair.py").write_text(ends_late)
    for name in ("one", "two"):
        (library / "tests" / f"{name}.test.js").write_text('require("mocha")\n')
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert journal.of(e.BaseChecked)[0].command == "npm test"
    assert "the command `linter` is not found" in journal.of(e.BaseChecked)[0].lacking
    assert "The project's own set-up is `npm ci`" in journal.of(e.RunHalted)[0].message


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
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
    (127, "bash: line 1: ./run-tests: No such file or directory", "first test"),
    (127, "", "the command `mvn` is not found"),
    (2, "make: jq: No such file or directory\nmake: *** [Makefile:2: test] Error 127", "`jq`"),
    (2, "make: dune: No such file or directory\nmake: *** [Makefile:2: test] Error 127", "`dune`"),
    (2, "bash: test1.sh: No such file or directory\nmake: *** [Makefile:2: test] Error 127", "first test"),
    (2, "bash: line 1: aclocal-1.14: command not found\nmake: *** [aclocal.m4] Error 127", "it starts nothing"),
    (2, "Could not execute (raku t/a.t): open3: exec of raku -Ilib t/a.t failed: No such file or dir", "`raku`"),
    (1, "busted: error: LuaCov not found on the system, try running without --coverage", "LuaCov is not installed"),
    (1, "got: {error,{connection_error,econnrefused}}\n22 tests, 11 failures", "nothing answers at localhost"),
    (1, 'code in directory /w/a expects import "github.com/a/b"', "go.mod is not there"),
    (2, "ok 3 tests\nError: Cannot find module '/w/test/__tad'\n", ""),
    (
        1,
        "go: go.mod requires go >= 1.23.0 (running go 1.21.4; GOTOOLCHAIN=local)",
        "first test: go: go.mod requires go >= 1.23.0",
    ),
    (1, "x.go:4:2: undefined: atomic.Pointer\nnote: module requires Go 1.20", "first test: note: module requires Go"),
    (101, "error: package `a v1.0.0` cannot be built because it requires rustc 1.99 or newer", "requires rustc 1.99"),
    (
        1,
        "CMake Error at CMakeLists.txt:1:\n  CMake 3.28 or higher is required.  You are running",
        "first test: CMake Error at CMakeLists.txt:1: CMake 3.28",
    ),
    (1, "meson.build:1:0: ERROR: Meson version is 1.0.1 but project requires >= 1.4.0", "requires >= 1.4.0"),
    (
        1,
        f"{CHILD}    raise error(number, said)\nFileNotFoundError: [Errno 2] No such file or directory: 'lint'",
        "`lint`",
    ),
    (2, 'Can\'t exec "autopoint": No such file or directory at FileUtils.pm line 293.', "`autopoint`"),
    (1, 'generate.go:3: running "stringer": exec: "stringer": executable file not found in $PATH', "`stringer`"),
    (1, "spawn: No such file or directory - ditaa (Errno::ENOENT)", "`ditaa`"),
    (1, "meson.build:9:0: ERROR: Program 'gperf' not found or not executable", "Program 'gperf' not found"),
    (127, "sh: 1: eslint: not found", "the command `eslint` is not found"),
    (1, "PHP Fatal error: Failed opening required '/p/vendor/autoload.php'", "is not installed"),
    (2, "Can't locate Try/Tiny.pm in @INC (you may need to install the Try::Tiny module)", "(cpanfile names it)"),
    (1, "<internal:kernel>: cannot load such file -- pair/other (LoadError)", "first test"),
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
    (1, "lua: t.lua:1: module 'luaunit' not found:", "luaunit is not installed"),
    (1, "lua: t.lua:1: module 'pair.other' not found:", "first test"),
    (1, "lua: t.lua:1: module 'other' not found:", "other is not installed"),
    (1, "lua: t.lua:1: module 'pair_of' not found:", "first test"),
    (1, "lua: t.lua:1: module 'lxp.lom' not found:", "luaexpat is not installed"),
    (1, "Can't locate Any/Pair.pm in @INC (you may need to install the Any::Pair module)", "first test"),
    (255, 'Base class package "Class::Accessor" is empty.', "Class::Accessor is not installed"),
    (1, "Package required but not available: ‘formatR’\n", "not available: ‘formatR’"),
    (1, "ocamlfind: Package `ounit2' not found", "Package `ounit2'"),
    (1, "    Could not find module ‘Test.Hspec’", "module ‘Test.Hspec’"),
    (1, "a.java:3: error: package org.junit.jupiter.api does not exist", "org.junit.jupiter"),
    (255, "Cannot open load file: No such file or directory, dash", "directory, dash"),
    (1, "can't find package tcllib", "package tcllib"),
    (1, "can't find package pair", "first test"),
    (1, 'a.go:3:8: cannot find package "github.com/a/b" in any of:\n\t/usr/lib', "github.com/a/b is not installed"),
    (2, "cc: error: unrecognized command-line option ‘-m64’\nmake: *** [a.o] Error 1", "first test: cc: error"),
    (1, "configure.ac:4: error: required file './config.rpath' not found", "first test: configure.ac:4"),
    (
        2,
        "Can't locate Test/Nginx/Socket.pm in @INC (you may need to install it)",
        "Test::Nginx::Socket is not installed",
    ),
    (1, 'Error: Library "qcheck" not found.', 'Library "qcheck" not found'),
    (1, "Error in loadNamespace(x) : there is no package called ‘testthat’", "‘testthat’"),
    (1, 'Component "chunga" not found, required by #<SYSTEM "web">', 'Component "chunga"'),
    (1, '  add_subdirectory given source "gtest-1.7.0" which is not an existing', '"gtest-1.7.0"'),
    (1, 'This needs Tcl.\nMake sure that "tclsh8.5" or "tclsh85" is in your $PATH', '"tclsh8.5"'),
    (
        1,
        "ERROR: Not the project root: first statement must be a call to project()",
        "first test: ERROR: Not the project",
    ),
    (2, "a.cpp:7:3: error: 'memcpy' was not declared in this scope\nmake: *** [a.o] Error 1", "first test: a.cpp:7:3"),
    (2, "a.c:7: error: old\nPASS: adds\nmake: *** [all] Error 1", ""),
    (
        2,
        "Error: it has type string\nmake: *** [Makefile:55: setup.data] Error 2",
        "first test: Error: it has type string",
    ),
    (1, "expected 5, got 6\nmake: *** [Makefile:5: test] Error 1", ""),
    (134, "t: t.c:5: main: Assertion `add(2, 3) == 5' failed.\nmake: *** [test] Aborted", ""),
    (2, "cppcheck -v . 2> err.txt\nmake: *** [Makefile:208: check] Error 127", "the command `cppcheck`"),
    (1, "emacs: standard input is not a tty", "it needs a terminal"),
    (1, "configure: error: Your intltool is too old.", "first test: configure: error: Your"),
    (1, "pattern ./...: directory prefix . does not contain main module", "go.mod is not there"),
    (1, "assert 1 == 2, about psycopg2", ""),
    (1, "# bats_load_safe: Could not find '/p/test/../node_modules/bats-support/load'[.bash]", "bats-support is not"),
    (1, '  Could not find a package configuration file provided by "GTest" with', '"GTest"'),
]


@pytest.mark.parametrize(("status", "said", "lacks"), COULD_NOT_RUN)
def test_what_a_check_lacks_is_read_from_its_output(status: int, said: str, lacks: str) -> None:
    manifests = {"cpanfile": "requires 'Try::Tiny';", "Gemfile": 'gem "rack"', "tox.ini": "deps = pytest-cov"}
    manifests[".travis.yml"] = "before_script: luarocks install luaunit\nenv: other\ninstall: pip install -U psycopg2\n"
    base = ProjectFacts(manifests, ["pair.py", "lib/pair/it.rb", "mvn.txt", "dune", "tests/testthat.R", "configure.ac"])
    found = find_missing(status, "mvn test", said, Report("exit status"), base)
    assert lacks in str(found) if lacks else found is None


@pytest.mark.parametrize(
    ("goal", "work", "given", "stops"),
    [
        ("Add a shop.", False, False, True),
        ("Replace memcpy.", False, False, False),
        ("Repair the build.", False, False, False),
        ("Add a shop.", True, False, False),
        ("Add a shop.", False, True, False),
    ],
)
def test_a_check_that_stops_early_cannot_run_unless_somebody_means_it(
    goal: str, work: bool, given: bool, stops: bool
) -> None:
    base = ProjectFacts({}, ["a.cpp"], goal, work)
    said = "a.cpp:7:3: error: 'memcpy' was not declared in this scope\nmake: *** [a.o] Error 1"
    found = find_missing(2, "make check", said, Report("exit status"), base, given=given)
    assert (found is not None) == stops


def test_a_runner_that_names_only_failing_tests_shows_that_the_others_ran() -> None:
    case = Case("test_loads(CalcTest)", "failed", "LoadError: cannot load such file -- rack")
    base = ProjectFacts({"Gemfile": 'gem "rack"'}, ["lib/calc.rb"])
    few = Report("closing line", (case,), passed=53, failed=1)
    assert find_missing(1, "rake test", "", few, base) is None
    assert set_aside(few, base) == {case.id: "rack is not installed (Gemfile names it)"}
    assert find_missing(1, "rake test", "", Report("closing line", (case,), passed=0, failed=1), base) is not None


def test_tests_that_need_an_empty_submodule_are_set_aside() -> None:
    base = ProjectFacts({".gitmodules": "path = tests/kit\n"}, ["tests/test_a.py"])
    case = Case("tests/test_a.py::test_kit", "failed", "No such file: 'tests/kit/cases.json'")
    report = Report("junit", (case, Case("tests/test_a.py::test_b", "passed")), passed=1, failed=1)
    assert find_missing(1, "pytest", case.message, report, base) is None
    assert set_aside(report, base) == {case.id: "the git submodule tests/kit is empty"}


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_runs_now_and_the_last_one_can_be_looked_up(tmp_path: Path) -> None:
    root, flag = tmp_path / "p", tmp_path / "flag"
    root.mkdir()
    (root / "Makefile").write_text(f"test:\n\t@echo 1..1\n\t@test -e {flag} && echo ok 1 || (echo not ok 1; exit 1)\n")
    git(root, "init", "-q")
    open_air = Choices(sandbox="none", trust_config=True)
    assert look(root, open_air, cached=True)[1] == 0.0
    assert look(root, open_air)[0].failed == 1
    kept, at = look(root, open_air, cached=True)
    assert kept.failed == 1 and time.time() - 60 < at <= time.time()
    flag.touch()
    assert look(root, open_air)[0].passed == 1, "a failure is not replayed"
    flag.unlink()
    assert look(root, open_air)[0].failed == 1, "nor is what passed"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_looks_at_the_files_and_at_the_sandbox_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo 1..1\n\t@echo ok 1\n")
    git(tmp_path, "init", "-q")
    both, take = threading.Barrier(2, timeout=240.0), GitWorkspaces.take

    async def takes(workspaces: GitWorkspaces) -> str:
        await asyncio.to_thread(both.wait)
        return await take(workspaces)

    def finds(mode: Mode) -> SandboxLevel:
        monkeypatch.setattr(project, "find_level", find_level)
        both.wait()
        return find_level(mode)

    monkeypatch.setattr(GitWorkspaces, "take", takes)
    monkeypatch.setattr(project, "find_level", finds)
    assert look(tmp_path, Choices(sandbox="none", trust_config=True))[0].passed == 1


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize(
    ("program", "tools", "said"),
    [
        ("poetry", {"pipx"}, "Install poetry: `pipx install poetry`."),
        ("poetry", {"apt-get"}, "Install pipx: `apt-get install pipx` as root. Then poetry: `pipx install poetry`."),
        ("pnpm", {"npm"}, "Install pnpm: `npm install --global pnpm`."),
        ("mvn", {"apt-get"}, "Install mvn: `apt-get install maven` as root."),
        ("aclocal", {"apt-get"}, "Install aclocal: `apt-get install automake` as root."),
        ("dot", {"apt-get"}, "Install dot: `apt-get install graphviz` as root."),
        ("unheard-of", {"apt-get", "npm", "pipx"}, "Install unheard-of, or pass another check"),
    ],
)
def test_the_way_to_a_program_can_be_typed_here(
    program: str, tools: set[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing program is not provided by a set-up that begins with it."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: name if name in tools else None)
    base = ProjectFacts({}, ["poetry.lock", "pnpm-lock.yaml", "pom.xml"])
    assert CheckEnvironment().for_missing(Missing("command", program), base).startswith(said)


GEMS = ProjectFacts({"gems.rb": 'gem "bake"'}, ["gems.rb", "a.rb"])


def test_advice_names_a_service_and_a_version_as_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getservbyport", {5432: "postgresql"}.__getitem__)
    none = ProjectFacts({}, [])
    said = [
        CheckEnvironment().for_missing(missing, none)
        for missing in (
            Missing("service", "localhost:5432"),
            Missing("network", "another host"),
            Missing("script", "go.mod", language="go", module="github.com/a/b"),
        )
    ]
    assert "`[services.postgresql] run" in said[0]
    assert "`--network allow:HOST`" in said[1]
    assert "`go mod init github.com/a/b && go mod tidy`" in said[2]
    bake = find_missing(127, "bundle exec bake test", "bundler: command not found: bake", Report("exit status"), GEMS)
    assert bake is not None and "set-up is `bundle install` (gems.rb)" in CheckEnvironment().for_missing(bake, GEMS)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_what_debian_has_is_named_by_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = "re2c 3 bash-completion 2 lua-expat 1 libtext-csv-xs-perl 1 libclass-accessor-perl 0.5 libold-dev '(none)'"
    lists = f"printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' {known}"
    for name, body in (("apt-get", ""), ("apt-cache", lists)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    facts = ProjectFacts({}, ["a.c"])

    def advise(said: str) -> str:
        found = find_missing(1, "make check", said, Report("exit status"), facts)
        assert found is not None
        return CheckEnvironment().for_missing(found, facts)

    stopped = "checking for re2c... no\nconfigure: error: in `/p':\nconfigure: error: the lexer needs one"
    assert advise(stopped) == "Install re2c: `apt-get install re2c` as root."
    said = advise("Can't locate Class/Accessor.pm in @INC")
    assert said.startswith(
        "Install Class::Accessor: `apt-get install libclass-accessor-perl` as root, or `cpan Class::A"
    )
    assert "`apt-get install libtext-csv-xs-perl`" in advise("Can't locate Text/CSV_XS.pm in @INC")
    assert "`apt-get install bash-completion`" in advise('ERROR: Dependency "bash-completion" not found')
    assert "`apt-get install lua-expat` as root, or `luarocks install luaexpat`" in advise("module 'lxp' not found:")
    assert "`apt-get install qt5-qmake`" in advise("*** ERROR: qmake not found. Make sure it is in your PATH.")
    assert "apt-get" not in advise("/usr/bin/ld: cannot find -lold: No such file")


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_candidate_of_which_all_fails_does_not_replace_one_that_lacks_something(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text('test:\n\t@echo "Can\'t locate Class/Accessor.pm in @INC"; exit 2\n')
    (tmp_path / "test.sh").write_text("echo 1..1\necho not ok 1\nexit 1\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert found.command == "make test" and found.lacking == "Class::Accessor is not installed"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_that_needs_an_ignored_file_cannot_run_and_says_what_helps(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@cat build-aux/rules.am && echo 1..1 && echo ok 1\n")
    (tmp_path / "build-aux").mkdir()
    (tmp_path / "build-aux" / "rules.am").write_text("a\n")
    (tmp_path / ".gitignore").write_text("build-aux/\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert found.lacking == "build-aux is ignored by git, so no checkout has it"
    assert '`[workspace] copy = ["build-aux"]` in bough.toml' in found.way_out
    (tmp_path / "bough.toml").write_text('[workspace]\ncopy = ["build-aux"]\n')
    assert look(tmp_path, Choices(trust_config=True))[0].passed == 1, "what it says helps"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_an_ignored_source_that_others_name_is_compiled_with_them(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@cc -o a a.c roaring.c && ./a && echo 1..1 && echo ok 1\n")
    (tmp_path / "a.c").write_text("int roaring(void);\nint main(void) {\n  return roaring();\n}\n")
    (tmp_path / "roaring.c").write_text("int roaring(void) {\n  return 0;\n}\n")
    (tmp_path / ".gitignore").write_text("roaring.*\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    assert look(tmp_path, Choices())[0].passed == 1


def test_what_configure_and_cmake_look_for_is_no_test() -> None:
    said = "checking for strtod() works... ok\nchecking 3 tests of the linker... OK\n-- Performing Test A: OK\n"
    assert count_told(said) == 0 and count_told(f"{said}1 test passed\n") == 1


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_what_a_project_installs_for_itself_is_not_taken_from_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    texts = {
        "composer.json": "{}",
        "package.json": "{}",
        "rockspec/a-1.rockspec": "",
        ".travis.yml": "install:\n- npm install --save-dev coveralls@2\n- luarocks install luacov\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    given, base = CheckEnvironment(root=tmp_path), ProjectFacts(texts, [*texts])
    said = given.for_missing(Missing("command", "vendor/bin/phpunit", language="php"), base)
    assert said.startswith(
        "Install composer: `apt-get install composer` as root. The project's own set-up is `composer i"
    )
    # A line of CI that installs other packages is no set-up.
    assert "`npm install` (package.json)" in given.for_missing(Missing("command", "mocha", language="javascript"), base)
    lacks = Missing("package", "Test", "a.rockspec", "lua", module="Test.More")
    assert "`luarocks make rockspec/a-1.rockspec`" in given.for_missing(lacks, base)
    assert "`luarocks install luacov`" in given.for_missing(replace(lacks, name="luacov"), base)
    lacks = Missing("package", "Test::Nginx", "", "perl", declared=False, get="cpan Test::Nginx")
    assert given.for_missing(lacks, base).startswith(
        "Install Test::Nginx: `cpan Test::Nginx`. Should the work write it,"
    )
    assert "`--network allow:github.com`" in given.for_missing(Missing("network", "github.com"), ProjectFacts({}, []))


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_package_that_is_installed_from_beside_the_project_is_named_for_what_it_is(
    library: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path_factory.mktemp("beside") / "lib"
    beside.mkdir()
    (beside / "money.py").write_text("CENT = 1\n")
    (environment(library) / "_money.pth").write_text(f"{beside}\n")
    (library / "pair.py").write_text(f"import money\n{(library / 'pair.py').read_text()}")
    found = look(library, Choices())[0]
    assert found.lacking == f"commands may not use {beside}, from which money is installed"
    assert "`[sandbox] readable` in your settings" in found.way_out
    monkeypatch.setenv("BOUGH_SANDBOX_READABLE", str(beside))
    found = look(library, Choices())[0]
    assert found.passed == 1 and not found.lacking, "what it says helps"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_linter_beside_the_tests_is_named_as_that(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo 1..1\n\t@echo ok 1\n\t@echo a.c:1: too long; exit 3\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert describe_base(found).startswith("1 test passed, and what runs beside them fails with exit status 2 (")
    lines = ["".join(text for text, _ in line) for line in render_banner(e.Record(0, "", "", 0, 0.0, found), "")]
    assert any("a linter or a build beside the tests counts too: --check CMD takes" in line for line in lines)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_target_with_nothing_to_do_is_no_check(tmp_path: Path) -> None:
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "Makefile").write_text("check:\n")
    (tmp_path / "Makefile").write_text("check: a\n\t$(MAKE) -C doc check\na: a.c\n\tcc -o a a.c && ./a\n")
    (tmp_path / "a.c").write_text("int f(void) {\n  return 0;\n}\nint main(void) {\n  return f();\n}\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert not found.command and found.belief == "`make check`: it has nothing to do"


def test_a_check_that_printed_too_much_did_not_take_too_long() -> None:
    base, none = ProjectFacts({}, ["a.py"]), Report("exit status")
    assert "printed more" in str(find_missing(None, "pytest", "", none, base, "after 20 MB of output"))
    assert "cut off after 300 s" in str(find_missing(None, "pytest", "", none, base, "after 300 s"))


def test_go_names_its_tests_behind_a_command_that_does_not_show_it() -> None:
    """Without `-v` a package of 25 tests is one line."""
    assert instrument("make test", "", "/r.xml", {})[1]["GOFLAGS"] == "-v"
    assert instrument("make test", "", "/r.xml", {"GOFLAGS": "-mod=mod"})[1]["GOFLAGS"] == "-mod=mod"
    assert "GOFLAGS" not in instrument("go test ./...", "go", "/r.xml", {})[1]
    lines = [f"--- PASS: TestAdd{n} (0.00s)" for n in range(25)]
    said = "\n".join([*lines, "PASS", "ok  \tx.y/g\t0.005s", ""])
    assert read_results(None, said, 0, "").passed == 25


def test_what_pip_installs_goes_into_an_environment() -> None:
    python = next(language for language in LANGUAGES if language.name == "python")
    lacks = Missing("package", "pytest", language="python")
    assert python.fit_setup("pip install nox", lacks, "") == "", "it provides something else"
    assert python.fit_setup("pip install pytest", lacks, "") == "python3 -m venv .venv && .venv/bin/pip install pytest"
    assert python.fit_setup("pip install -e .[test]", lacks, "the environment in .venv") == "pip install -e .[test]"
