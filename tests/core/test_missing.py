"""What keeps a check from running is read from what it printed."""

import pytest

from bough.core.acceptance.verdict import Case, Report
from bough.core.verdict.check_run import count_told
from bough.core.verdict.language import Missing
from bough.core.verdict.missing import ProjectFacts, find_missing, find_test_library, set_aside
from bough.core.verdict.registry import LANGUAGES, instrument, read_results

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
    (1, "git: 'send-email' is not a git command. See 'git --help'.\nFAILED", "the command `send-email`"),
    (1, "E   ModuleNotFoundError: No module named 'psutil'", "psutil is not installed"),
    (2, "/bin/sh: 1: ./cdecl: not found\nmake: *** [Makefile:9: test] Error 127", ""),
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
    (1, "lua: t.lua:1: module 'lxp.lom' not found:", "lxp is not installed"),
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
    (1, "expected 5, got 6\nmake: *** [Makefile:5: test] Error 1", ""),
    (134, "t: t.c:5: main: Assertion `add(2, 3) == 5' failed.\nmake: *** [test] Aborted", ""),
    (1, "Packages suggested but not available:\n  'a'\n\nSuggested packages are required.", "Suggested packages are"),
    (1, "Package suggested but not available: ‘a’\n\nSuggested packages are required.", "not available: ‘a’"),
    (1, "configure: error: Your intltool is too old.", "first test: configure: error: Your"),
    (1, "pattern ./...: directory prefix . does not contain main module", "go.mod is not there"),
    (1, "assert 1 == 2, about psycopg2", ""),
    (125, "docker: Cannot connect to the Docker daemon at unix:///run/docker.sock.", "first test: docker: Cannot"),
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
    said = "/usr/include/b.h:7:3: error: 'memcpy' was not declared in this scope\nmake: *** [a.o] Error 1"
    found = find_missing(2, "make check", said, Report("exit status"), base, given=given)
    assert (found is not None) == stops


@pytest.mark.parametrize(
    ("said", "fails"),
    [
        ("../src/a.cpp:7:3: error: 'memcpy' was not declared in this scope", True),
        ("a.cpp:3:10: fatal error: b.h: No such file or directory", False),
        ("a.cpp:7:3: error: unknown type name 'B'\na.cpp:3:10: note: install B, which is required", False),
        ("configure.ac:7: error: syntax", False),
        ("a.o: multiple definition of `x'\ncollect2: error: ld returned 1 exit status", True),
        ("a.o: undefined reference to `b'\ncollect2: error: ld returned 1 exit status", False),
    ],
)
def test_an_error_in_the_projects_own_source_is_a_failure(said: str, fails: bool) -> None:
    base = ProjectFacts({}, ["src/a.cpp", "configure.ac"])
    said += "\nmake: *** [a.o] Error 1"
    assert (find_missing(2, "make check", said, Report("exit status"), base) is None) == fails


@pytest.mark.parametrize(
    ("module", "goal", "missing"),
    [
        ("psutil", "Add a shop.", True),
        ("psutil", "Write `psutil`.", False),
        ("psutil", "Make the tests pass.", True),
        ("pears", "Make the tests pass.", False),
        ("pair_tools", "Add a shop.", False),
    ],
)
def test_a_module_that_nothing_declares_is_missing_unless_the_work_may_write_it(
    module: str, goal: str, missing: bool
) -> None:
    case = Case("test_pair.py", "error", f"ModuleNotFoundError: No module named '{module}'")
    base = ProjectFacts({}, ["pair.py", "test_pair.py"], goal, is_published=lambda one: one.name == "psutil")
    found = find_missing(2, "pytest", case.message, Report("junit", (case,), failed=1), base)
    assert (found is not None) == missing


def test_a_build_without_tests_may_lack_their_library() -> None:
    found = find_test_library("-- Could NOT find GTest (missing: GTEST_LIBRARY)\nNo tests were found!!!")
    assert found == "GTest" and find_test_library("No tests were found!!!") == ""


def test_what_was_looked_for_before_a_build_stopped() -> None:
    said = (
        "checking for cc... no\nRun-time dependency lv2 found: NO (tried pkgconfig)\n\na:1:0: ERROR: No lv2.wrap file."
    )
    found = find_missing(1, "meson setup b", said, Report("exit status"), ProjectFacts({}, ["a.c"]))
    assert found is not None and found.module == "lv2"
    said = "checking for gsl_ran in -lgsl... no\nconfigure: error: Missing the Scientific Library."
    found = find_missing(1, "./configure", said, Report("exit status"), ProjectFacts({}, ["a.c"]))
    assert found is not None and found.module == "gsl"


def test_a_runner_that_names_only_failing_tests_shows_that_the_others_ran() -> None:
    case = Case("test_loads(CalcTest)", "failed", "LoadError: cannot load such file -- rack")
    base = ProjectFacts({"Gemfile": 'gem "rack"'}, ["lib/calc.rb"])
    few = Report("closing line", (case,), passed=53, failed=1)
    assert find_missing(1, "rake test", "", few, base) is None
    assert set_aside(few, base) == {case.id: "rack is not installed (Gemfile names it)"}
    assert find_missing(1, "rake test", "", Report("closing line", (case,), passed=0, failed=1), base) is not None
    file = Case("t/a.t", "failed", "LoadError: cannot load such file -- rack")
    base = ProjectFacts({"Gemfile": 'gem "rack"'}, ["t/a.t"])
    assert find_missing(1, "rake test", "", Report("closing line", (file,), passed=5, failed=1), base) is not None


def test_tests_that_need_an_empty_submodule_are_set_aside() -> None:
    base = ProjectFacts({".gitmodules": "path = tests/kit\n"}, ["tests/test_a.py"])
    case = Case("tests/test_a.py::test_kit", "failed", "No such file: 'tests/kit/cases.json'")
    report = Report("junit", (case, Case("tests/test_a.py::test_b", "passed")), passed=1, failed=1)
    assert find_missing(1, "pytest", case.message, report, base) is None
    assert set_aside(report, base) == {case.id: "the git submodule tests/kit is empty"}


def test_what_configure_and_cmake_look_for_is_no_test() -> None:
    said = "checking for strtod() works... ok\nchecking 3 tests of the linker... OK\n-- Performing Test A: OK\n"
    assert count_told(said) == 0 and count_told(f"{said}1 test passed\n") == 1


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


@pytest.mark.parametrize(("path", "typed"), [("src/humanize/time.py", "-e ."), ("tests/test_a.py", "humanize")])
def test_a_project_that_asks_for_its_own_version_has_to_be_installed(path: str, typed: str) -> None:
    said = "E   importlib.metadata.PackageNotFoundError: No package metadata was found for humanize"
    lacks = find_missing(2, "pytest", said, Report("exit status"), ProjectFacts({}, [path]))
    assert lacks is not None and str(lacks) == "humanize is not installed"
    python = next(each for each in LANGUAGES if each.name == "python")
    assert f"pip install {typed}`" in python.explain_install(lacks, "", "")
