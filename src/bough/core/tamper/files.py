"""Which paths the tamper gate looks at, and what each of them is. Paths are relative, with forward slashes."""

from __future__ import annotations

import re
import shlex
from functools import cache, lru_cache
from itertools import pairwise

from bough.core.tamper.wording import listed

LARGEST = 500_000
"""Characters. A longer file is not read: that it changed at all is what is reported."""

RUNNER_MODULES = listed(
    """
    pytest _pytest pluggy iniconfig unittest doctest nose nose2 xdist tox nox hypothesis pytest_cov pytest_asyncio
    pytest_mock pytest_timeout testtools assertpy
    """
)
"""Python modules that decide what a test run says."""

RUNNER_PROGRAMS = listed(
    """
    pytest py.test unittest python python3 tox nox nose2 jest vitest mocha node npm npx yarn pnpm bun deno ava tap
    playwright cypress go cargo make gradle gradlew mvn mvnw rspec rake bundle phpunit dotnet ctest bats prove mix
    swift bazel just task hatch pdm poetry uv gotestsum nextest tsx ts-node
    """
)
JS_RUNNERS = frozenset({"jest", "vitest", "mocha", "ava", "tap", "playwright", "cypress", "@jest", "jest-cli"})

LANGUAGES = {
    "python": ("py", "pyi"),
    "javascript": ("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"),
    "go": ("go",),
    "rust": ("rs",),
    "ruby": ("rb",),
    "jvm": ("java", "kt", "kts", "scala", "groovy"),
    "csharp": ("cs", "fs", "vb"),
    "php": ("php",),
    "elixir": ("ex", "exs"),
    "swift": ("swift",),
    "c": ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm"),
    "shell": ("sh", "bash", "bats"),
    "perl": ("t", "pl"),
    "dart": ("dart",),
}
_LANGUAGE = {ending: language for language, endings in LANGUAGES.items() for ending in endings}

_TEST_WORDS = frozenset({"test", "tests", "spec", "specs", "e2e"})
"""What the name of a folder of tests has in it, as a word of its own."""
_FOREIGN = frozenset(
    {"node_modules", ".venv", "venv", "site-packages", ".git", ".tox", ".nox", "__pycache__", ".bough"}
)
_TEST_NAME = {
    "python": r"^(?:test.*|.*_tests?|conftest)\.py$",
    "javascript": r"[.\-_](?:test|spec|tests|specs|e2e|cy)\.[^.]+$|^tests?[.\-]",
    "go": r"_test\.go$",
    "rust": r"\.rs$",
    "ruby": r"_(?:spec|test)\.rb$|^test_|_helper\.rb$",
    "jvm": r"(?:Tests?|IT|Spec|TestCase)\.\w+$|^Test[A-Z]",
    "csharp": r"Tests?\.\w+$|^Test[A-Z]",
    "php": r"Test\.php$",
    "elixir": r"_test\.exs$|^test_helper\.exs$",
    "swift": r"Tests?\.swift$",
    "c": r"[-_]tests?\.\w+$|^tests?[-_.]|Tests?\.\w+$",
    "shell": r"^(?:run[-_]?)?tests?\b|[-_]tests?\.\w+$|\.bats$",
    "perl": r"\.t$",
    "dart": r"_test\.dart$",
}
_DATA = listed("json jsonl ndjson yaml yml toml csv tsv txt snap ambr golden")
_MORE_DATA = listed("expected out approved snapshot xml html md sql ini cfg feature")

_CONFIG_NAMES = listed(
    """
    pytest.ini .pytest.ini pytest.toml .pytest.toml pyproject.toml setup.cfg tox.ini noxfile.py tox.toml setup.py
    package.json karma.conf.js Cargo.toml CMakeLists.txt CTestCustom.cmake pom.xml build.gradle build.gradle.kts
    Rakefile .rspec phpunit.xml phpunit.xml.dist justfile Justfile .justfile Taskfile.yml Taskfile.yaml .env
    entry_points.txt mix.exs .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml bunfig.toml go.mod go.work
    rust-toolchain rust-toolchain.toml .pnp.cjs .pnp.loader.mjs .swcrc .babelrc .babelrc.json .envrc
    """
)
_CONFIG_STARTS = (
    *("jest.config.", "jest.setup.", "vitest.config.", "vitest.workspace.", "vitest.setup.", "vite.config."),
    *(".mocharc", "babel.config.", "playwright.config.", "cypress.config.", "ava.config."),
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""
_CI_NAMES = listed(
    """
    .gitlab-ci.yml .travis.yml azure-pipelines.yml Jenkinsfile appveyor.yml .appveyor.yml bitbucket-pipelines.yml
    .drone.yml .cirrus.yml .woodpecker.yml cloudbuild.yaml buildspec.yml
    """
)


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def folder_of(path: str) -> str:
    """The folder that a path is in, empty for the root."""
    return path.rpartition("/")[0]


def folders(path: str) -> list[str]:
    return path.split("/")[:-1]


def ending(path: str) -> str:
    name = name_of(path)
    return name.rpartition(".")[2].lower() if "." in name else ""


def language(path: str) -> str:
    return _LANGUAGE.get(ending(path), "")


def foreign(path: str) -> bool:
    """Installed or generated, not the project's own."""
    return _holds_foreign(folder_of(path))


@lru_cache(maxsize=1_000)
def _holds_foreign(folder: str) -> bool:
    return any(part in _FOREIGN or part.endswith(".egg-info") for part in folder.split("/"))


def in_tests(path: str) -> bool:
    return _holds_tests(folder_of(path))


@lru_cache(maxsize=1_000)
def _holds_tests(folder: str) -> bool:
    parts = folder.lower().split("/")
    return any(part in ("__mocks__", "__snapshots__") or _TEST_WORDS & _name_words(part) for part in parts)


@lru_cache(maxsize=1_000)
def _holds_data(folder: str) -> bool:
    parts = folder.lower().split("/")
    return any(part in ("testdata", "__snapshots__") or {"test", "tests"} & _name_words(part) for part in parts)


def _name_words(name: str) -> set[str]:
    return set(name.replace("-", "_").replace(".", "_").split("_"))


def test_file(path: str) -> bool:
    """Code of the test side: tests, and what lies beside them."""
    if foreign(path):
        return False
    return test_named(path) or (language(path) in _TEST_NAME and in_tests(path))


def test_named(path: str) -> bool:
    """Called as tests are in its language, wherever it lies."""
    named = _test_name(language(path))
    return named is not None and named.search(name_of(path)) is not None


@cache
def _test_name(language: str) -> re.Pattern[str] | None:
    """Compiled when it is first asked for: a project is in one or two languages."""
    return re.compile(_TEST_NAME[language]) if language in _TEST_NAME else None


def test_data(path: str) -> bool:
    """Recorded expectations and inputs that tests read."""
    if foreign(path) or language(path):
        return False
    kind = ending(path)
    if kind in ("snap", "ambr", "golden", "approved") or "__snapshots__" in folders(path):
        return True
    return data(path) and _holds_data(folder_of(path))


def data(path: str) -> bool:
    return ending(path) in _DATA or ending(path) in _MORE_DATA


def makefile(path: str) -> bool:
    return name_of(path) in _MAKEFILES or ending(path) in ("mk", "mak")


def makefile_rank(path: str) -> int:
    return _MAKEFILES.index(name_of(path)) if name_of(path) in _MAKEFILES else len(_MAKEFILES)


def ci_file(path: str) -> bool:
    inside = path.startswith(
        (".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".forgejo/workflows/")
    )
    return name_of(path) in _CI_NAMES or (inside and ending(path) in ("yml", "yaml", "sh", "js", "json"))


def config_file(path: str) -> bool:
    name = name_of(path)
    if name in _CONFIG_NAMES or name.startswith(_CONFIG_STARTS) or name.endswith((".mk", ".mak")):
        return not foreign(path) or name == "entry_points.txt"
    return path.endswith((".cargo/config.toml", ".cargo/config"))


def script(path: str) -> bool:
    """A program that a check may well call."""
    if foreign(path):
        return False
    top = path.split("/")[0]
    in_scripts = top in ("scripts", "script", "bin", "ci", "tools", "hack", "dev", ".ci")
    return language(path) == "shell" or (in_scripts and (not ending(path) or bool(language(path))))


def shadow_candidate(path: str) -> bool:
    """Could stand in front of the test runner."""
    name = name_of(path)
    if name in ("sitecustomize.py", "usercustomize.py", "entry_points.txt") or ending(path) == "pth":
        return True
    parts = path.split("/")
    if compiled(path) or {"sitecustomize", "usercustomize"} & {*parts[:-1]}:
        return True
    stem = name.removesuffix(".py")
    if (name.endswith(".py") and stem in RUNNER_MODULES) or any(part in RUNNER_MODULES for part in parts[:-1]):
        return True
    return program_in_front(path) or fake_package(path)


def compiled(path: str) -> bool:
    """Something that Python imports as a module and nobody can read."""
    return ending(path) in ("pyc", "pyo", "so", "pyd") and not foreign(path)


def program_in_front(path: str) -> bool:
    """`bin/pytest`: a program of a runner's name in a folder that may be on the search path."""
    parts = path.split("/")
    stem = parts[-1].removesuffix(".sh").removesuffix(".cmd").removesuffix(".exe")
    return stem in RUNNER_PROGRAMS and len(parts) > 1 and parts[-2] in ("bin", ".bin", "Scripts", ".local")


def fake_package(path: str) -> bool:
    parts = path.split("/")
    return any(a == "node_modules" and b in JS_RUNNERS for a, b in pairwise(parts))


@lru_cache(maxsize=8)
def words(command: str) -> tuple[str, ...]:
    """A command line's words; one that a shell could not read is split at its blanks."""
    try:
        return tuple(shlex.split(command, comments=False))
    except ValueError:
        return tuple(command.split())


def plain_path(word: str) -> str:
    """A word of a command as a path: `./tests/test_a.py::test_b` → `tests/test_a.py`."""
    path = word.split("::")[0]
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/")


def named(command: str, path: str) -> bool:
    """The command names exactly this file, as a path or as a Python module."""
    for word in words(command):
        plain = plain_path(word)
        if plain == path:
            return True
        if path.endswith(".py") and re.fullmatch(r"[\w.]+", word) and path == word.replace(".", "/") + ".py":
            return True
    return False


def watched(path: str, command: str = "") -> bool:
    """The gate wants to see this file: a test, test configuration, a CI file, a Makefile, a script, code (it can
    bend the runner from anywhere), anything that could stand in front of the runner, or what the command names."""
    if language(path) in ("python", "rust", "javascript", "go") and not foreign(path):
        return True
    if shadow_candidate(path) or config_file(path) or ci_file(path) or makefile(path):
        return True
    return test_file(path) or test_data(path) or script(path) or (bool(command) and named(command, path))
