"""Test configuration, Makefiles, scripts and CI files that were changed to run less or to fail less."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import TEST, Files, findings, one, said

ADD = "def test_add():\n    assert add(1, 2) == 3\n"
SLOW = {"slow/test_big.py": "def test_big():\n    assert big() == 1\n"}
PYPROJECT = '[tool.pytest.ini_options]\naddopts = "-q"\n'
MAKE = "PYTEST = pytest\n\ntest: unit\n\t$(PYTEST) tests\n\nunit:\n\tpytest unit\n"
SHELL = "#!/bin/bash\nset -euo pipefail\npytest tests\n"
TOX = "[testenv]\ncommands =\n    pytest tests\n"
NOX = "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest', 'tests')\n"
PACKAGE = '{\n  "scripts": {\n    "test": "jest",\n    "check": "npm test"\n  }\n}\n'
JEST = "module.exports = {\n  testMatch: ['**/*.test.js'],\n  testPathIgnorePatterns: ['/node_modules/'],\n};\n"
CI = "jobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - run: pytest tests\n"
DOCUMENTED = 'def add(a, b):\n    """Sum.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
CARGO = '[package]\nname = "x"\n'


def options(text: str) -> Files:
    return {"pyproject.toml": PYPROJECT.replace("-q", text)}


CHANGED: dict[str, tuple[Files, Files, str, str]] = {
    "-k": ({"pyproject.toml": PYPROJECT}, options("-q -k fast"), "pytest", "addopts has a new `-k fast`"),
    "-m": ({"pyproject.toml": PYPROJECT}, options("-m 'not slow'"), "pytest", "addopts has a new `-m not slow`"),
    "--deselect": (
        {"pyproject.toml": PYPROJECT},
        options("--deselect tests/test_calc.py::test_add"),
        "pytest",
        "addopts has a new `--deselect",
    ),
    "--ignore": (
        {"pyproject.toml": PYPROJECT},
        options("--ignore=tests"),
        "pytest",
        "addopts has a new `--ignore tests`",
    ),
    "--co": ({"pyproject.toml": PYPROJECT}, options("--co"), "pytest", "addopts has a new `--co`"),
    "--collect-only": ({"pyproject.toml": PYPROJECT}, options("--collect-only"), "pytest", "--collect-only"),
    "-p": ({"pyproject.toml": PYPROJECT}, options("-p calm"), "pytest", "addopts has a new `-p calm`"),
    "-pcalm": ({"pyproject.toml": PYPROJECT}, options("-pcalm"), "pytest", "addopts has a new `-p calm`"),
    "--lf": ({"pyproject.toml": PYPROJECT}, options("--lf"), "pytest", "--lf"),
    "--reruns": ({"pyproject.toml": PYPROJECT}, options("--reruns 5"), "pytest", "--reruns 5"),
    "--version": ({"pyproject.toml": PYPROJECT}, options("--version"), "pytest", "--version"),
    "a list of options": (
        {"pyproject.toml": PYPROJECT},
        {"pyproject.toml": PYPROJECT.replace('"-q"', '["-q", "-k", "fast"]')},
        "pytest",
        "addopts has a new `-k fast`",
    ),
    "a new pytest.ini in front": (
        {"pyproject.toml": PYPROJECT, **one(ADD)},
        {"pyproject.toml": PYPROJECT, **one(ADD), "pytest.ini": "[pytest]\naddopts = -k nothing\n"},
        "pytest",
        "addopts has a new `-k nothing`",
    ),
    "xfail_strict": (
        {"pyproject.toml": PYPROJECT + "xfail_strict = true\n"},
        {"pyproject.toml": PYPROJECT},
        "pytest",
        "xfail_strict was switched off",
    ),
    "asyncio_mode": (
        {"pytest.ini": "[pytest]\nasyncio_mode = auto\n"},
        {"pytest.ini": "[pytest]\nasyncio_mode = strict\n"},
        "pytest",
        "asyncio_mode is no longer auto",
    ),
    "testpaths": (
        {**one(ADD), **SLOW, "setup.cfg": "[tool:pytest]\ntestpaths = tests slow\n"},
        {**one(ADD), **SLOW, "setup.cfg": "[tool:pytest]\ntestpaths = tests\n"},
        "pytest",
        "testpaths no longer covers slow/test_big.py",
    ),
    "new testpaths": (
        {**one(ADD), **SLOW},
        {**one(ADD), **SLOW, "tox.ini": "[pytest]\ntestpaths = tests\n"},
        "pytest",
        "testpaths no longer covers slow/test_big.py",
    ),
    "python_files": (
        one(ADD),
        {**one(ADD), "pytest.ini": "[pytest]\npython_files = check_*.py\n"},
        "pytest",
        f"python_files no longer covers {TEST}",
    ),
    "python_functions": (
        one(ADD),
        {**one(ADD), "pytest.ini": "[pytest]\npython_functions = check_*\n"},
        "pytest",
        "python_functions no longer covers test_add",
    ),
    "norecursedirs": (
        one(ADD),
        {**one(ADD), "pytest.ini": "[pytest]\nnorecursedirs = tests\n"},
        "pytest",
        f"norecursedirs now leaves out {TEST}",
    ),
    "doctests": (
        options("--doctest-modules"),
        options("-q"),
        "pytest",
        "addopts no longer has `--doctest-modules`",
    ),
    "pyproject broken": (
        {"pyproject.toml": PYPROJECT},
        {"pyproject.toml": PYPROJECT + "["},
        "pytest",
        "no longer parses",
    ),
    "tox: ignored": (
        {"tox.ini": TOX},
        {"tox.ini": TOX.replace("    pytest", "    - pytest")},
        "tox",
        "failures are ignored",
    ),
    "tox: fewer": ({"tox.ini": TOX}, {"tox.ini": TOX.replace("tests", "tests -k fast")}, "tox", "`-k fast` is new"),
    "tox: outcome": (
        {"tox.ini": TOX},
        {"tox.ini": TOX + "ignore_outcome = true\n"},
        "tox",
        "`ignore_outcome = true` is new",
    ),
    "nox: another command": (
        {"noxfile.py": NOX},
        {"noxfile.py": NOX.replace("'pytest', 'tests'", "'true'")},
        "nox",
        "removed",
    ),
    "nox: success codes": (
        {"noxfile.py": NOX},
        {"noxfile.py": NOX.replace("'tests')", "'tests', success_codes=[0, 1])")},
        "nox",
        "success_codes",
    ),
    "make: || true": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace(" tests", " tests || true")},
        "make test",
        "failures are ignored",
    ),
    "make: ; exit 0": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace(" tests", " tests; exit 0")},
        "make test",
        "success is forced",
    ),
    "make: a dash": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("\t$(P", "\t-$(P")},
        "make test",
        "failures are ignored",
    ),
    "make: @-": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("\t$(P", "\t@-$(P")},
        "make test",
        "failures are ignored",
    ),
    "make: echo": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("$(PYTEST) tests", "@echo ok")},
        "make test",
        "target test",
    ),
    "make: a pipe": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace(" tests", " tests | tee log")},
        "make test",
        "a pipe hides",
    ),
    "make: the variable": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("= pytest", "= true")},
        "make test",
        "target test",
    ),
    "make: the variable's options": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("= pytest", "= pytest -k fast")},
        "make test",
        "`-k fast` is new",
    ),
    "make: a prerequisite dropped": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("test: unit", "test:")},
        "make test",
        "no longer makes unit",
    ),
    "make: a prerequisite emptied": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("\tpytest unit", "")},
        "make test",
        "target unit does nothing",
    ),
    "make: the target removed": (
        {"Makefile": MAKE},
        {"Makefile": "unit:\n\tpytest unit\n"},
        "make test",
        "target test was removed",
    ),
    "make: defined again": ({"Makefile": MAKE}, {"Makefile": MAKE + "\ntest:\n\ttrue\n"}, "make test", "target test"),
    "make: .IGNORE": ({"Makefile": MAKE}, {"Makefile": ".IGNORE:\n" + MAKE}, "make test", ".IGNORE is new"),
    "make: SHELL": ({"Makefile": MAKE}, {"Makefile": "SHELL = /bin/true\n" + MAKE}, "make test", "SHELL is now"),
    "make: MAKEFLAGS": ({"Makefile": MAKE}, {"Makefile": "MAKEFLAGS += -i\n" + MAKE}, "make test", "MAKEFLAGS is now"),
    "make: exported options": (
        {"Makefile": MAKE},
        {"Makefile": "export PYTEST_ADDOPTS = -k nothing\n" + MAKE},
        "make test",
        "PYTEST_ADDOPTS is now",
    ),
    "make: GNUmakefile in front": (
        {"Makefile": MAKE},
        {"Makefile": MAKE, "GNUmakefile": "test:\n\ttrue\n"},
        "make test",
        "target test",
    ),
    "make: a target that is not the check's": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace(" tests", " tests || true")},
        "pytest",
        "failures are ignored",
    ),
    "make: removed": ({"Makefile": MAKE}, {}, "make test", "Makefile was removed"),
    "script: || true": (
        {"run_tests.sh": SHELL},
        {"run_tests.sh": SHELL.replace("pytest tests", "pytest tests || true")},
        "./run_tests.sh",
        "failures are ignored",
    ),
    "script: exit 0": (
        {"run_tests.sh": SHELL},
        {"run_tests.sh": SHELL + "exit 0\n"},
        "bash run_tests.sh",
        "success is forced",
    ),
    "script: no set -e": (
        {"scripts/test": SHELL},
        {"scripts/test": SHELL.replace("set -euo pipefail\n", "")},
        "scripts/test",
        "no longer stops at a failure",
    ),
    "script: set +e": (
        {"scripts/test": SHELL},
        {"scripts/test": SHELL.replace("pytest", "set +e\npytest")},
        "scripts/test",
        "errors are ignored",
    ),
    "script: a trap": (
        {"scripts/test": SHELL},
        {"scripts/test": "trap 'exit 0' EXIT\n" + SHELL},
        "scripts/test",
        "is new",
    ),
    "script: no runner": (
        {"scripts/test": SHELL},
        {"scripts/test": "#!/bin/bash\nset -euo pipefail\necho ok\n"},
        "scripts/test",
        "removed",
    ),
    "script: through make": (
        {"Makefile": "test:\n\t./ci/all.sh\n", "ci/all.sh": SHELL},
        {"Makefile": "test:\n\t./ci/all.sh\n", "ci/all.sh": SHELL + "exit 0\n"},
        "make test",
        "success is forced",
    ),
    "script: fewer tests": (
        {"scripts/test": SHELL},
        {"scripts/test": SHELL.replace("tests", "tests/test_a.py")},
        "scripts/test",
        "no longer runs tests",
    ),
    "npm: forced": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"jest || true"')},
        "npm test",
        "failures are ignored",
    ),
    "npm: no tests are fine": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"jest --passWithNoTests"')},
        "npm test",
        "`--passWithNoTests` is new",
    ),
    "npm: echo": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"echo ok"')},
        "npm test",
        "script test",
    ),
    "npm: node -e": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"node -e \\"process.exit(0)\\""')},
        "npm run check",
        "script test",
    ),
    "npm: snapshots rewritten": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"jest -u"')},
        "npm test",
        "`-u` is new",
    ),
    "npm: removed": (
        {"package.json": PACKAGE},
        {"package.json": '{"scripts": {}}'},
        "npm test",
        "script test was removed",
    ),
    "npm: a hook before": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"test"', '"posttest": "exit 0",\n    "test"')},
        "npm test",
        "script posttest is new",
    ),
    "npm: no JSON": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE + "}"},
        "npm test",
        "no longer parses as JSON",
    ),
    "npm: jest's settings": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("{\n  ", '{\n  "jest": {"testPathIgnorePatterns": ["calc"]},\n  ', 1)},
        "npm test",
        "jest: testPathIgnorePatterns now leaves out calc",
    ),
    "jest: testMatch": (
        {"jest.config.js": JEST},
        {"jest.config.js": JEST.replace("**/*.test.js", "**/none.js")},
        "npm test",
        "testMatch was changed",
    ),
    "jest: ignored": (
        {"jest.config.js": JEST},
        {"jest.config.js": JEST.replace("['/node_modules/']", "['/node_modules/', 'calc']")},
        "npm test",
        "testPathIgnorePatterns now leaves out calc",
    ),
    "jest: no tests are fine": (
        {"jest.config.js": JEST},
        {"jest.config.js": JEST.replace("testMatch", "passWithNoTests: true,\n  testMatch")},
        "npm test",
        "passWithNoTests is now true",
    ),
    "jest: bail": (
        {"jest.config.js": JEST},
        {"jest.config.js": JEST.replace("testMatch", "bail: 1,\n  testMatch")},
        "npm test",
        "bail is now 1",
    ),
    "vitest: excluded": (
        {"vitest.config.ts": "export default defineConfig({ test: { globals: true } })\n"},
        {
            "vitest.config.ts": (
                "export default defineConfig({ test: { globals: true, exclude: ['src/calc.test.ts'] } })\n"
            )
        },
        "npx vitest run",
        "exclude now leaves out src/calc.test.ts",
    ),
    "vitest: a new file of settings": (
        {"src/calc.test.ts": "test('a', () => { expect(a()).toBe(1) })\n"},
        {
            "src/calc.test.ts": "test('a', () => { expect(a()).toBe(1) })\n",
            "vitest.config.ts": (
                "export default defineConfig({ test: { passWithNoTests: true, exclude: ['src/**'] } })\n"
            ),
        },
        "npx vitest run",
        "passWithNoTests is now true",
    ),
    "mocha: grep": (
        {".mocharc.json": '{"spec": "test"}'},
        {".mocharc.json": '{"spec": "test", "grep": "fast"}'},
        "mocha",
        "grep is new",
    ),
    "hatch: forced": (
        {"pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = "pytest tests"\n'},
        {"pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = "pytest tests || true"\n'},
        "hatch run test",
        "failures are ignored",
    ),
    "poe: another command": (
        {"pyproject.toml": '[tool.poe.tasks]\ntest = "pytest"\n'},
        {"pyproject.toml": '[tool.poe.tasks]\ntest = "echo ok"\n'},
        "poe test",
        "it no longer runs pytest",
    ),
    "just: forced": (
        {"justfile": "test:\n    pytest tests\n"},
        {"justfile": "test:\n    -pytest tests\n"},
        "just test",
        "failures are ignored",
    ),
    "ci: removed": ({".github/workflows/ci.yml": CI}, {}, "pytest", "CI file .github/workflows/ci.yml was removed"),
    "ci: continue-on-error": (
        {".github/workflows/ci.yml": CI},
        {".github/workflows/ci.yml": CI + "        continue-on-error: true\n"},
        "pytest",
        "continue-on-error",
    ),
    "ci: no tests": (
        {".github/workflows/ci.yml": CI},
        {".github/workflows/ci.yml": CI.replace("      - run: pytest tests\n", "")},
        "pytest",
        "CI file changed: `pytest tests` was removed",
    ),
    "ci: forced": (
        {".gitlab-ci.yml": "test:\n  script: pytest tests\n"},
        {".gitlab-ci.yml": "test:\n  script: pytest tests || true\n"},
        "pytest",
        "failures are ignored",
    ),
    "cargo: no harness": (
        {"Cargo.toml": CARGO},
        {"Cargo.toml": CARGO + "[lib]\ntest = false\n"},
        "cargo test",
        "`test = false` is new",
    ),
    "cargo: an alias": (
        {"Cargo.toml": CARGO},
        {"Cargo.toml": CARGO, ".cargo/config.toml": '[alias]\ntest = "version"\n'},
        "cargo test",
        "changes what cargo runs",
    ),
    "maven": (
        {"pom.xml": "<project></project>"},
        {"pom.xml": "<project><testFailureIgnore>true</testFailureIgnore></project>"},
        "mvn test",
        "testFailureIgnore",
    ),
    "gradle": (
        {"build.gradle": "test { }\n"},
        {"build.gradle": "test { ignoreFailures = true }\n"},
        "./gradlew test",
        "ignoreFailures",
    ),
    "ctest": (
        {"CMakeLists.txt": "add_test(NAME a COMMAND a)\nadd_test(NAME b COMMAND b)\n"},
        {"CMakeLists.txt": "add_test(NAME a COMMAND a)\n"},
        "ctest",
        "lists 1 tests where it listed 2",
    ),
    "data: json": (
        {"tests/data/cases.json": '[{"in": 1, "out": 2}]'},
        {"tests/data/cases.json": '[{"in": 1, "out": 3}]'},
        "pytest",
        "test data changed",
    ),
    "data: golden": (
        {"tests/golden/a.txt": "one\ntwo\n"},
        {"tests/golden/a.txt": "one\nthree\n"},
        "pytest",
        "`two` is gone",
    ),
    "data: a snapshot": (
        {"src/__snapshots__/a.test.js.snap": "exports[`a 1`] = `1`;\n"},
        {"src/__snapshots__/a.test.js.snap": "exports[`a 1`] = `2`;\n"},
        "jest",
        "test data changed",
    ),
    "warnings are no longer errors": (
        {"pytest.ini": "[pytest]\nfilterwarnings =\n    error\n    ignore::DeprecationWarning\n"},
        {"pytest.ini": "[pytest]\nfilterwarnings =\n    ignore::DeprecationWarning\n"},
        "pytest",
        "filterwarnings no longer has `error`",
    ),
    "-W error": (options("-q -W error"), options("-q"), "pytest", "addopts no longer has `-W error`"),
    "-W error of the Makefile": (
        {"Makefile": "test:\n\tpytest -W error tests\n"},
        {"Makefile": "test:\n\tpytest tests\n"},
        "make test",
        "`-W error` was dropped",
    ),
    "a fixture for every test": (
        {"pytest.ini": "[pytest]\n"},
        {"pytest.ini": "[pytest]\nusefixtures = calm\n"},
        "pytest",
        "usefixtures now gives every test calm",
    ),
    "tox: a variable of pytest": (
        {"tox.ini": TOX},
        {"tox.ini": TOX.replace("commands", "setenv =\n    PYTEST_ADDOPTS = -k nothing\ncommands")},
        "tox",
        "`PYTEST_ADDOPTS` is new in tox.ini",
    ),
    "jest: another module in place of the tested one": (
        {"jest.config.js": JEST},
        {"jest.config.js": JEST.replace("};", "  moduleNameMapper: { '^./calc$': '<rootDir>/fake.js' },\n};")},
        "npx jest",
        "moduleNameMapper now puts <rootDir>/fake.js",
    ),
    "jest: the tests are rewritten": (
        {"package.json": PACKAGE},
        {
            "package.json": PACKAGE.replace(
                '{\n  "scripts"', '{\n  "jest": {"transform": {".js$": "./t.js"}},\n  "scripts"'
            )
        },
        "npm test",
        "transform now puts ./t.js",
    ),
    "vitest: an alias": (
        {"vitest.config.ts": "export default {\n  test: {},\n};\n", "a.test.ts": "test('a', () => {});\n"},
        {
            "vitest.config.ts": "export default {\n  resolve: { alias: { './calc': './fake.ts' } },\n  test: {},\n};\n",
            "a.test.ts": "test('a', () => {});\n",
        },
        "npx vitest run",
        "alias now puts ./fake.ts",
    ),
    "doctest: removed": (
        {"calc.py": DOCUMENTED},
        {"calc.py": DOCUMENTED.replace("    >>> add(1, 2)\n    3\n", "")},
        "pytest --doctest-modules",
        "a doctest was removed or changed: `add(1, 2)` shows `3`",
    ),
    "doctest: another value": (
        {"calc.py": DOCUMENTED, **options("--doctest-modules")},
        {"calc.py": DOCUMENTED.replace("    3\n", "    -1\n"), **options("--doctest-modules")},
        "pytest",
        "a doctest was removed or changed",
    ),
    "doctest: skipped": (
        {"calc.py": DOCUMENTED},
        {"calc.py": DOCUMENTED.replace("2)\n", "2)  # doctest: +SKIP\n")},
        "python -m doctest calc.py",
        "a doctest was removed or changed",
    ),
    "doctest: a document": (
        {"README.md": "# Calc\n\n>>> 1 + 1\n2\n"},
        {"README.md": "# Calc\n"},
        "python -m doctest README.md",
        "a doctest was removed or changed",
    ),
    "data: removed": ({"tests/data/a.json": "[1]"}, {}, "pytest", "test data tests/data/a.json was removed"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_weakened_configuration_is_named(name: str) -> None:
    before, after, command, fragment = CHANGED[name]
    found = findings(before, after, command)
    assert fragment in said(found), said(found) or "nothing was found"


@pytest.mark.parametrize("name", CHANGED)
def test_nothing_is_named_when_nothing_changed(name: str) -> None:
    before, after, command, _ = CHANGED[name]
    assert findings(before, before, command) == []
    assert findings(after, after, command) == []
