"""A project's own test command, found by its manifests.

In order: Python (pytest, unittest, tox, nox), package.json, Makefile (`test`, `check`), go.mod, Cargo.toml, and then
Maven, Gradle, RSpec, PHPUnit and Mix. The first that fits counts; the others are named in the reason. When the top of
the workspace has none, its folders are looked at in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from shlex import quote
from typing import Any, NamedTuple

from bough.adapters.verifiers import makefiles
from bough.adapters.verifiers.commandline import parts
from bough.adapters.verifiers.languages import (
    JAVASCRIPT,
    js_command,
    js_tool,
    manager,
    package,
    pytest_sign,
    python_tests,
    table,
    unittest_alone,
)
from bough.adapters.verifiers.look import Look, folder_of, last, within
from bough.adapters.verifiers.runners import recognise
from bough.core.acceptance import Check

_MANIFESTS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "noxfile.py", "package.json"}
    | {"go.mod", "Cargo.toml", "pom.xml", "gradlew", "Gemfile", "phpunit.xml", "mix.exs", *makefiles.NAMES}
)
"""What makes a folder a project of its own."""


class Found(NamedTuple):
    command: str
    why: str
    runner: str
    kind: str
    """What names it among others: `package.json`."""


def project_check(look: Look) -> Check | None:
    """The check that proves the project as a whole; None when it shows no way to test it."""
    found = [hit for find in _ORDER if (hit := find(look))]
    if found:
        return Check(found[0].command, _why(found), found[0].runner)
    for folder in sorted({folder_of(path) for path in look if path.count("/") == 1 and last(path) in _MANIFESTS}):
        below = [hit for find in _ORDER if (hit := find(look.inside(folder)))]
        if below:
            return Check(within(folder, below[0].command), f"{_why(below)}, in {folder}/", below[0].runner)
    return None


def _why(found: Sequence[Found]) -> str:
    if len(found) == 1:
        return found[0].why
    others = " and ".join(dict.fromkeys(hit.kind for hit in found[1:]))
    return f"{found[0].why} (before {others})"


def _python(look: Look) -> Found | None:
    tests = python_tests(look)
    sign = pytest_sign(look)
    if tests and unittest_alone(look):
        command = _unittest_discovery(look, tests)
        if command:
            return Found(command, "the tests are unittest's, and nothing names pytest", "unittest", "Python")
    doctests = re.search(r"--doctest-(modules|glob)", look.text("pyproject.toml") + look.text("pytest.ini"))
    if tests or (sign and doctests):
        why = sign or f"there are Python tests ({tests[0]})"
        return Found(f"{look.python()} -m pytest", why, "pytest", "Python")
    return None


def _unittest_discovery(look: Look, tests: Sequence[str]) -> str:
    """unittest finds tests only in packages below where it starts, and only by one pattern."""
    named = {"test*.py" if PurePosixPath(path).name.startswith("test") else "*_test.py" for path in tests}
    if len(named) > 1:
        return ""
    pattern = "" if named == {"test*.py"} else f" -p {quote(named.pop())}"
    folders = {str(PurePosixPath(path).parent) for path in tests}
    if all(_is_package(look, folder) for folder in folders):
        return f"{look.python()} -m unittest discover{pattern}"
    tops = {PurePosixPath(folder).parts[0] if folder != "." else "." for folder in folders}
    if len(tops) == 1 and (top := tops.pop()) != ".":
        inner = look.inside(top)
        below = {str(PurePosixPath(folder).relative_to(top)) for folder in folders}
        if all(_is_package(inner, folder) for folder in below):
            return f"{look.python()} -m unittest discover -s {quote(top)}{pattern}"
    return ""


def _is_package(look: Look, folder: str) -> bool:
    """Whether each folder on the way down is a package."""
    path = PurePosixPath(folder)
    chain = [path, *path.parents]
    return all(str(each) == "." or f"{each}/__init__.py" in look.files for each in chain)


def _tox(look: Look) -> Found | None:
    for name, section in (
        ("tox.ini", r"^\[(tox|testenv.*)\]"),
        ("tox.toml", r""),
        ("pyproject.toml", r"^\[tool\.tox[.\]]"),
        ("setup.cfg", r"^\[tox:tox\]"),
    ):
        if name in look.files and re.search(section, look.text(name), re.MULTILINE):
            return Found("tox", f"tox is configured in {name}", "", "tox")
    return None


def _nox(look: Look) -> Found | None:
    return Found("nox", "there is a noxfile.py", "", "nox") if "noxfile.py" in look.files else None


_PLACEHOLDER = "no test specified"


def _node(look: Look) -> Found | None:
    about = package(look)
    scripts = table(about, "scripts")
    script = scripts.get("test")
    if isinstance(script, str) and script.strip() and _PLACEHOLDER not in script:
        by = manager(look)
        command = "bun run test" if by == "bun" else f"{by} test"
        # Without CI set, its test script waits for changes and for keys.
        waits = "react-scripts test" in script
        return Found(
            f"env CI=true {command}" if waits else command,
            "scripts.test in package.json",
            script_runner(script, scripts),
            "package.json",
        )
    tests = [path for path in look if _is_js_test(path)]
    nested = {folder_of(path) for path in look if last(path) == "package.json"} - {""}
    own = [path for path in tests if not any(path.startswith(f"{folder}/") for folder in nested)]
    if own:
        made, runner = js_command(look)
        why = f"{js_tool(look)} is in package.json" if js_tool(look) else f"there are JavaScript tests ({own[0]})"
        return Found(made, why, runner, "JavaScript tests")
    return None


def _is_js_test(path: str) -> bool:
    if path[path.rfind(".") :] not in JAVASCRIPT:
        return False
    where = PurePosixPath(path)
    return bool(re.search(r"[._-]test$|[._-]spec$|^test-|^test$", where.stem)) or "test" in where.parts[:-1]


def runner_behind(command: str, look: Look) -> str:
    """The runner that a command runs, also behind a script of package.json (`npm test`, `cd web && yarn run unit`)."""
    runner = recognise(command)
    words = [[word.text for word in part] for part in parts(command)]
    folder = words[0][1] if words and len(words[0]) == 2 and words[0][0] == "cd" else ""
    scripts_run = [part for part in words if len(part) > 1 and part[0] in ("npm", "yarn", "pnpm", "bun")]
    if runner or len(scripts_run) != 1 or folder.startswith(("/", "..")):
        return runner
    name = next((word for word in scripts_run[0][1:] if word not in ("run", "run-script")), "")
    scripts = table(package(look.inside(str(PurePosixPath(folder)) if folder else "")), "scripts")
    script = scripts.get("test" if name == "t" else name)
    return script_runner(script, scripts) if isinstance(script, str) else ""


def script_runner(script: str, scripts: dict[str, Any], depth: int = 0) -> str:
    """The runner behind a script of package.json, looking through `npm run other`; empty when it cannot be told to
    report from outside."""
    runner = recognise(script)
    words = [[word.text for word in part] for part in parts(script)]
    if not runner and len(words) == 1 and depth < 3 and words[0][0] in ("npm", "yarn", "pnpm"):
        other = scripts.get(words[0][-1])
        inner = script_runner(other, scripts, depth + 1) if isinstance(other, str) else ""
        # Arguments do not reach through a second script; the environment does.
        return inner if inner in ("node", "pytest") else ""
    if runner in ("jest", "vitest"):
        # Arguments are added to the end of the script, so it has to be the last command.
        last = parts(script)[-1]
        return runner if recognise(script[last[0].start :]) == runner else ""
    return runner


def _make(look: Look) -> Found | None:
    name, known = makefiles.targets(look)
    target = next((target for target in ("test", "check") if target in known), "")
    return Found(f"make {target}", f"the target {target} of {name}", "", name) if target else None


def _go(look: Look) -> Found | None:
    if "go.mod" in look.files and any(path.endswith("_test.go") for path in look):
        return Found("go test ./...", "there is a go.mod", "go", "go.mod")
    return None


def _cargo(look: Look) -> Found | None:
    if "Cargo.toml" not in look.files:
        return None
    whole = re.search(r"^\[workspace\]", look.text("Cargo.toml"), re.MULTILINE)
    return Found(f"cargo test{' --workspace' if whole else ''}", "there is a Cargo.toml", "cargo", "Cargo.toml")


def _others(look: Look) -> Found | None:
    def found(command: str, file: str) -> Found:
        return Found(command, f"there is a {file}", "", file)

    if "pom.xml" in look.files:
        return found(f"{'./mvnw' if 'mvnw' in look.files else 'mvn'} -B test", "pom.xml")
    if "gradlew" in look.files:
        return found("./gradlew test", "gradlew")
    if any(re.fullmatch(r"spec/.*_spec\.rb", path) for path in look):
        return found(f"{'bundle exec ' if 'Gemfile' in look.files else ''}rspec", "spec/")
    if {"phpunit.xml", "phpunit.xml.dist"} & look.files:
        return found("vendor/bin/phpunit", "phpunit.xml")
    return found("mix test", "mix.exs") if "mix.exs" in look.files else None


_ORDER: tuple[Callable[[Look], Found | None], ...] = (_python, _tox, _nox, _node, _make, _go, _cargo, _others)
