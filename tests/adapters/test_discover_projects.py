"""The check of a project: its own test command, what its files tell, and the runner behind a script."""

import json
import time

import pytest

from bough.core.acceptance.verdict import Check
from bough.core.planning.plan import Step
from bough.core.verdict.discover import list_checks
from bough.core.verdict.languages.build_tools import BuildTool
from tests.adapters.finding import PYTEST_FILE, STEP, UNITTEST_FILE, find, found


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
        ({"tests/a/test_a.py": UNITTEST_FILE, "lib/test_b.py": UNITTEST_FILE},
         "python3 -m unittest discover -s lib && python3 -m unittest discover -s tests/a", ""),
        ({"check_a.py": "", "pytest.ini": "[pytest]\npython_files = check_*.py\n"}, "python3 -m pytest", ""),
        ({"check_a.py": "", "pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'},
         "python3 -m pytest", "pyproject.toml names pytest"),
        ({"a.py": "", "pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}, "python3 -m pytest", ""),
        ({"a.py": "", "tox.ini": "[testenv]\ncommands = ./check\n"}, "tox -e py", "there is a tox.ini"),
        ({"a.py": "", "pyproject.toml": "[tool.tox]\nx = 1\n"}, "tox -e py", "there is a pyproject.toml"),
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
        ({"tox.ini": "[testenv]\n"}, ".tox/py311", ".tox/py311/bin/python -m pytest", ""),
        ({"noxfile.py": "def tests(session): ...\n"}, ".nox/tests", ".nox/tests/bin/python -m pytest", ""),
        ({"tox.ini": "[testenv]\n"}, ".venv", ".venv/bin/python -m pytest", ""),
        ({"tox.ini": "[testenv]\n"}, ".tox/docs", "python3 -m pytest", ""),
        ({}, ".nox/tests-3-12", ".nox/tests-3-12/bin/python -m pytest", "there are Python tests (tests/test_a.py)"),
    ],
)
def test_environments_of_tox_and_nox_on_the_disk(files: dict[str, str], on_disk: str, command: str, why: str) -> None:
    """They are environments like any other: the sandbox makes Python import the checkout's sources first."""
    tree = {**files, "tests/test_a.py": PYTEST_FILE}
    disk = {**tree, f"{on_disk}/pyvenv.cfg": "home = /usr/bin\n"}
    check = list_checks(STEP, "goal", list(tree), disk.get)[0]
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
KINDS: list[tuple[dict[str, str], list[str]]] = [
    ({"Makefile": "test:\n\t./t\n", "tests/test_a.py": PYTEST_FILE}, ["make test", "python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: pytest -m 'not slow' --cov=x -n auto\n"},
     ["python3 -m pytest -m 'not slow'", "python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: uv run pytest tests/unit\n"},
     ["python3 -m pytest", "uv run pytest tests/unit"]),
    ({"src/a.lua": "", "test/test_a.lua": "context('a')"}, ["lua test/test_a.lua"]),
    ({"tests/test_a.py": PYTEST_FILE, CI: "- run: pytest tests/a\n- run: pytest tests/b\n"}, ["python3 -m pytest"]),
    ({"tests/test_a.py": PYTEST_FILE, "CONTRIBUTING.md": "```\npytest tests/test_a.py::test_it\n```\n"},
     ["python3 -m pytest"]),
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
     ['make quicktest OPTS="$OPTS"', "make test"]),
    ({"Makefile": "test:", "README.md": "    cd a-1.0\n    make test V=1\n"}, ["make test"]),
    ({"runtests.sh": "true", "tox.ini": "deps =\n    -r req/test.txt\n", "req/test.txt": ""}, ["bash runtests.sh"]),
    ({"Makefile.PL": "", "t/a.t": "", "lib/A.pm": "", CI: BOTH},
     ["make test", "prove -lr t", "perl Makefile.PL && make test"]),
    ({CI: "steps:\n- run: cmake .\n- run: make -j2\n- run: python3 ./tools/run-tests.py\n", "tools/run-tests.py": ""},
     ["python3 ./tools/run-tests.py"]),
    ({CI: "- run: |\n    cd web\n    make a\n    make test\n- run: tool test\n", "web/a": "", "b": ""},
     ["cd web && make test", "tool test"]),
    ({CI: "- if: always() && matrix.kind == 'tests'\n  run: tool test\n", "a": "", "b": ""}, ["tool test"]),
    ({"pyproject.toml": '[tool.ruff]\n"a/test_a.py" = ["X"]\n[tool.ruff.flake8-pytest-style]\n', "a/__init__.py": "",
      "a/test_a.py": "from x.trial.unittest import TestCase\n"}, ["python3 -m unittest discover"]),
    ({"src/a/__init__.py": "", "src/a/test_a.py": UNITTEST_FILE, "tests/test_b.py": UNITTEST_FILE},
     ["python3 -m unittest discover -s src && python3 -m unittest discover -s tests"]),
    # Prose is not read: what only a guide says is for the scout.
    ({"CONTRIBUTING.md": "    bun test\n    bun test a/<file>.ts\n", "package.json": "{}"}, []),
    ({"a.asd": ":in-order-to ((test-op …))"}, [BuildTool.starts[-2][2].replace("{file}", "a.asd")]),
    ({"manage.py": "import django"}, ["python3 manage.py test"]),
    ({"CMakeLists.txt": "enable_testing()"}, [CTEST]),
    ({"test/a.bats": ""}, ["bats -r $(ls -d test tests 2>/dev/null)"]),
    ({"test/a_test.rb": "", "lib/a.rb": ""}, [MINITEST]),
    ({"t/a.t": "", "lib/A.pm": "", "Makefile.PL": ""}, ["prove -lr t", "perl Makefile.PL && make test"]),
    ({"t/a.t": "", "A.pm": "", "Makefile.PL": ""}, ["perl Makefile.PL && make test", "prove -lr t"]),
    ({"t/a.t": "", "lib/A.xs": "", "Makefile.PL": ""}, ["perl Makefile.PL && make test", "prove -lr t"]),
    ({"tests/tests.py": UNITTEST_FILE, "a.py": ""}, ["python3 -m unittest tests/tests.py"]),
    ({"a/tests.py": PYTEST_FILE, "a/__init__.py": ">>> 1"}, ["python3 -m pytest a/tests.py"]),
    ({"test/testlex.py": UNITTEST_FILE}, ["python3 -m unittest discover -s test"]),
    ({"runtests.sh": "true"}, ["bash runtests.sh"]),
    ({"a.lua": "", "test/test.lua": 'loadfile("../a.lua")'}, ["cd test && lua test.lua"]),
    ({"a.tcl": "", "tests/all.tcl": ""}, ["tclsh tests/all.tcl"]),
    ({"configure.ac": "", "Makefile.am": ""}, ["autoreconf -fi && ./configure && make check"]),
    ({"composer.json": "{}", "tests/ATest.php": ""}, ["vendor/bin/phpunit tests", "phpunit tests"]),
    ({"Gemfile": "", "a.rb": "", CI: "- run: bundle exec rake test\n"}, ["bundle exec rake test", "rake test"]),
    ({"a.lua": "", "tests/test.lua": "", CI: "- run: lua -lluacov tests/test.lua\n"},
     ["lua tests/test.lua"]),
    ({"a.el": "", "test/a-test.el": "(ert-deftest a () (should t))"},
     [r"emacs -Q --batch -L . $(find . -name '*-test*.el' -exec echo -l {} \;) -f ert-run-tests-batch-and-exit"]),
    ({"a.el": "", "test/a-1-test.el": "(require 'a)", "test/a-test.el": "(ert-deftest a () (should t))"},
     [r"emacs -Q --batch -L . $(find . -name '*-test*.el' -exec echo -l {} \;) -f ert-run-tests-batch-and-exit"]),
    ({"package.json": '{"scripts": {"test": "vitest"}}'}, ["env CI=true npm test"]),
    ({"build.gradle": ""}, ["gradle test"]),
    ({"meson.build": "subdir('tests')\n"}, ["meson setup build-check && meson test -C build-check"]),
    ({"CMakeLists.txt": 'option(A_BUILD_TESTS "x" OFF)\nenable_testing()'},
     [CTEST.replace("-check", "-check -DA_BUILD_TESTS=ON", 1)]),
    ({"meson.build": "subdir('tests')\n", "meson_options.txt": "option('tests',\n  type : 'boolean', value : false)"},
     ["meson setup build-check -Dtests=true && meson test -C build-check"]),
    # A build file in which nothing is a test shows nothing.
    ({"meson.build": "executable('a', 'a.c')\n"}, []),
    ({"a.sln": 'Project("{8}") = "a", "a.vcproj"\n'}, []),
    ({"a.sln": 'Project("{8}") = "a", "a.csproj"\n'}, ["dotnet test"]),
    ({"CMakeLists.txt": "if (BUILD_TESTING)\n  enable_testing()\nendif()"},
     [CTEST.replace("-check", "-check -DBUILD_TESTING=ON", 1)]),
    ({"configure": "", "Makefile.in": "test: all\n\t./a\n"}, ["./configure && make test"]),
    ({"configure": "", "Makefile.in": "check: all\ntest: check\n"}, ["./configure && make check"]),
    # `make check` of a build in which nothing is a test has nothing to do.
    ({"configure": "", "Makefile.am": "bin_PROGRAMS = a\n", "Makefile.in": "check: check-am\nall:\n",
      "python/Makefile.am": "test: a\n"}, []),
    ({"configure": "", "Makefile.am": "SUBDIRS = t\n", "src/t/Makefile.am": "TESTS = a.sh\n"},
     ["./configure && make check"]),
    ({"configure.ac": "", "Makefile.in": "all:", "Mk/dir.mk.in": "test:: all\n", "t/Makefile.in": "test::\n\t./t",
      "doc/Makefile.in": "check:\n"}, ["autoreconf -fi && ./configure && make test"]),
    ({"configure.ac": "", "autogen.sh": "touch config.rpath && autoreconf -fi"},
     ["NOCONFIGURE=1 sh autogen.sh && ./configure && make check"]),
    ({"configure.ac": "", "bootstrap": "autoreconf\n./configure"},
     ["NOCONFIGURE=1 sh bootstrap && make check", "autoreconf -fi && ./configure && make check"]),
    # A language's own runner, where no manifest names it.
    ({"a.go": "", "a_test.go": ""}, ["GO111MODULE=off go test ./..."]),
    ({"README": "", "a/a.go": "", "a/a_test.go": ""}, ["GO111MODULE=off go test ./..."]),
    ({"build.xml": '<project>\n<target depends="a" name="test">', "src/A.java": ""}, ["ant test"]),
    ({"build.xml": '<project>\n<target name="jar"/>', "src/A.java": ""}, []),
    ({"build.xml": '<project>\n<target name="junit" depends="jar">', "src/A.java": ""}, ["ant junit"]),
    ({"PackageInfo.g": "", "tst/testall.g": ""}, ["gap tst/testall.g"]),
    ({"Makefile": "check: all\n", CI: "- run: xvfb-run -a make check\n"}, ["xvfb-run -a make check", "make check"]),
    ({"a.cabal": "test-suite a\n", "Setup.hs": ""},
     ["cabal test", "runghc Setup configure --enable-tests && runghc Setup build && runghc Setup test"]),
    ({"META6.json": "{}", "t/a.t": "use v6;"}, ["prove --ext .t --ext .rakutest -re 'raku -Ilib' t"]),
    ({"package.xml": "", "A-1.2/A.php": "", "A-1.2/tests/A_Test.php": ""},
     ["phpunit --include-path A-1.2 A-1.2/tests"]),
    ({"package.xml": "", "A-1.2/A.php": "", "A-1.2/test/a/b.phpt": ""},
     ["phpunit --include-path A-1.2 A-1.2/test"]),
    ({"composer.json": "{}", "A/Log/Test/ATest.php": ""}, []),  # It is for the tests of others.
    ({"config.m4": "PHP_ARG_ENABLE(a)", "tests/a.phpt": ""}, ["phpize && ./configure && NO_INTERACTION=1 make test"]),
    ({"DESCRIPTION": "Package: a\n", "tests/a.R": ""}, ["R CMD check --no-manual --ignore-vignettes ."]),
    ({"a.py": "", "test.py": "import a\n"}, ["python3 test.py"]),
    ({"a/configure.ac": "", "a/x": "", CI: "steps:\n- run: make -C build/ test all\n"},
     ["cd a && autoreconf -fi && ./configure && make check"]),
    ({"meson.build": "subdir('tests')\n", CI: "steps:\n- run: meson setup b\n- run: meson test -C b\n"},
     ["meson setup build-check && meson test -C build-check"]),
    ({"MODULE.bazel": "", "README.md": "See `lib/unittest.bzl`.\n", "lib/unittest.bzl": ""}, ["bazel test //..."]),
    ({"README.md": "", "site/manage.py": "import django"}, ["cd site && python3 manage.py test"]),
    ({"a.cabal": "test-suite t\n", "A.hs": ""}, ["cabal test"]),
    ({"Project.toml": "", "test/runtests.jl": ""}, ["julia --project -e 'using Pkg; Pkg.test()'"]),
    ({"pubspec.yaml": "", CI: "- run: dart test --platform vm\n"}, ["dart test --platform vm", "dart test"]),
    ({"package.json": '{"scripts": {"tests-only": "tape t.js"}}', CI: "with:\n  command: npm run tests-only\n"},
     ["npm run tests-only"]),
    ({CI: "# some tests follow\n- name: Run tests\n- run: fpm test --profile debug\n- run: gcc test/a.c -o test\n",
      "test/a.c": "", "README.md": ""}, ["fpm test --profile debug"]),
    ({**SELF, ".cirrus.yml": "task:\n  build_script: make\n  test_script: ./selftest.sh\n"},
     ["./selftest.sh"]),
    ({**SELF, "azure-pipelines.yml": "steps:\n- script: make\n- bash: |\n    ./x -t\n  displayName: Tests\n"}, []),
    ({**SELF, ".gitea/workflows/a.yaml": "steps:\n- name: Test\n  if: runner.os == 'Windows'\n  run: ./x -t\n"}, []),
    ({**SELF, "README.md": "Run the tests with\n\n    make && ./selftest.sh\n"}, []),
    ({**SELF, CI: "steps:\n- name: Install test tools\n  run: ./get x\n- name: Lint\n  run: [ruff, ./x -t]\n"}, []),
    ({"b/a.py": "", "c/go.mod": "", CI: "- run: cd b && pytest -q\n- run: cd c && go test ./...\n"},
     ["(cd b && pytest -q) && (cd c && go test ./...)", "cd b && pytest -q", "cd c && go test ./..."]),
    ({"Makefile": "all:", "tests/Makefile": "run: all\n", "x.c": ""}, ["make -C tests run"]),
    ({"tests/manage.py": "", "README.md": "    tests/manage.py test tests\n",
      CI: "- name: Check migrations\n  run: tests/manage.py makemigrations --check\n"},
     []),
    ({"Makefile": "all:\nunit-test:\n", "x.c": ""}, ["make unit-test"]),
    # A rule for every target, which another Makefile carries out, and BSD's make.
    ({"Makefile": "all:\n%:\n\t$(MAKE) -C src $@\n", "src/Makefile": "test:\n"},
     ["make -C src test", "make && make -C src test"]),
    ({"Makefile": "all:\n%: Makefile.x phony\n\t+@$(MAKE) -f Makefile.x $@\n", "a.v": ""}, ["make test"]),
    ({"Makefile": "%.o: %.c\n\tcc $<\n", "a.c": ""}, []),
    ({"Makefile": '.include "a.mk"\n.DEFAULT:\n\t@${MAKE} -f main.mk ${.TARGET}\n', "a.c": ""}, ["bmake test"]),
    ({"Makefile": ".if defined(X)\n.endif\ntest:\n\t./t\n", "t": ""}, ["bmake test"]),
    ({"Makefile": "d:=tests\ninclude $(d)/Makefile.sub\n", "tests/Makefile.sub": "check: a\n"}, ["make check"]),
    ({"Makefile": "include $(CONFIG)\n", "README": "test: run it\n", "a.c": ""}, []),
    # What installs packages first needs a network: the tests run without it.
    # Tests may need the built product.
    ({"Makefile": "all: x\n", "test/Makefile": "test:\n\t../x\n"}, ["make -C test test", "make && make -C test test"]),
    ({"package.json": '{"scripts": {"build": "tsc", "test": "node --test"}}'},
     ["npm test", "npm run build && npm test"]),
    ({"x.erl": "", "rebar.config": "", CI: "- run: rebar3 as test dialyzer\n"}, ["rebar3 do eunit, ct"]),
    ({"x.hx": "", "test.hxml": "", CI: "- run: haxe test.hxml\n"}, ["haxe test.hxml"]),
    ({"x.f90": "", "fpm.toml": ""}, ["fpm test"]),
    ({"META6.json": "{}", "t/a.rakutest": ""}, ["prove --ext .t --ext .rakutest -re 'raku -Ilib' t"]),
    ({"a.sh": "", ".shellspec": ""}, ["shellspec"]),
    ({"a.sh": "", "test/test_a.sh": ""}, ['for each in test/test[-_]*.sh; do bash "$each" || exit; done']),
    ({"meson.build": "project('a')\nsubdir('data')\n", "data/meson.build": "test('a', b)\n"},
     ["meson setup build-check && meson test -C build-check"]),
    ({"Makefile": "REGRESS = a\n", "a.sql": ""}, ["make && make installcheck"]),
    ({"a.cs": "", "a.Tests/a.Tests.csproj": ""}, ["dotnet test a.Tests/a.Tests.csproj"]),
]  # fmt: skip


def test_of_several_projects_the_one_that_the_goal_names_is_checked() -> None:
    files = {f"{name}/go.mod": f"module {name}\n" for name in ("web", "libs/cart")}
    files |= {f"{name}/a_test.go": "package a\n" for name in ("web", "libs/cart")}
    both = "(cd libs/cart && go test ./...) && (cd web && go test ./...)"

    def find(goal: str) -> Check:
        (check,) = list_checks(Step("goal", goal), "goal", files, files.get)
        return check

    for goal in ("Fix total().", "Fix `web` and libs/cart.", "Fix the website."):
        assert find(goal).command == both and "there are 2 projects (libs/cart/, web/)" in find(goal).why
    for goal in ("Fix libs/cart.", "Fix `cart`.", "total in cart/a.py is wrong"):
        assert find(goal).command == "cd libs/cart && go test ./..."
        assert "the goal names it, and 1 others here are not checked (--dir" in find(goal).why


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
        "cd backend && python3 -m pytest", "pyproject.toml names pytest, in backend/", "pytest"
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
        return next(iter(list_checks(Step("goal", "x"), "goal", files, files.get, folder)), None)

    web, deep, docs = standing("web"), standing("web/src/deep"), standing("docs")
    assert web is not None and web.command == "cd web && npm test"
    assert deep == web
    assert docs is None, "a project without tests is not proven by another's"
    own = list_checks(Step("goal", "x"), "goal", files, files.get, "web", "make verify")
    assert [check.command for check in own] == ["make verify"]


@pytest.mark.parametrize(
    ("script", "runner"),
    [
        ("node --test", "node"),
        ("jest --ci", "jest"),
        ("eslint . && jest", "jest"),
        ("jest && eslint .", ""),
        ("vitest run --coverage", "vitest"),
        ("NODE_ENV=test mocha", "mocha"),
        ("npm run unit", ""),
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


LINE = "    - run: python -m pytest " + "a " * 50_000
BAD: list[dict[str, str]] = [
    {CI: "jobs:\n  a:\n    steps:\n" + "    - run: make test FLAG=$X \\\n" * 10_000},
    {CI: f"jobs:\n  a:\n    steps:\n{LINE}\n"},
    {CI: "- run: " + "(" * 99_000},
    {CI: "- run: |\n" + "    cd a && make test\n" * 10_000},
    {"Makefile": "\n".join(f"test-{n}: a{n}\n\tpytest" for n in range(5_000))},
    {f"{n}/M.sub" if n else "Makefile": "include $(d)/M.sub\n" * 300 for n in range(300)},
    {
        "package.json": "{" * 100_000,
        "pyproject.toml": "\0[[[=" * 10_000,
        "go.mod": "x" * 100_000,
        "tests/test_a.py": "",
    },
]


@pytest.mark.parametrize("files", BAD, ids=lambda files: "")
def test_no_project_takes_long_to_read(files: dict[str, str]) -> None:
    began = time.process_time()
    list_checks(Step("goal", "x"), "goal", [*files, "a/b"], files.get)
    assert time.process_time() - began < 5
