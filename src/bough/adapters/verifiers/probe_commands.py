"""Probes in the project's own test framework: how one is written there, and the results of running it.

Each probe has its own file and its own process, in a checkout that nobody works in. Only the exit status decides; a
file that cannot be run as a test at all shows nothing.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from bough.adapters.tools.output_text import cut_middle, decode_output
from bough.adapters.verifiers.runners.pytest import Pytest
from bough.core.acceptance.probes import OUTPUT, Form, Probe, Probed, is_test_path
from bough.core.acceptance.verdict import Check
from bough.ports import Finished

_PYTHON = "One function `test_…` with plain `assert`s; `pytest.raises` for errors."
_JS = "One test with the framework's own assertions; `await import(…)` inside it."
_HOW = {
    "pytest": _PYTHON,
    "unittest": "One `unittest.TestCase` with one `test_…` method; `self.assertRaises` for errors.",
    "node": f"`node:test` and `node:assert/strict`. {_JS}",
    "jest": _JS,
    "vitest": f"Import `test` and `expect` from vitest. {_JS}",
    "go": "One function `TestProbe…` in the package that it tests, whose folder `folder` names; package clause first.",
    "cargo": "An integration test: `use` the crate by its name; one `#[test]` function.",
    "": "A shell script that ends with exit status 0 when what it shows holds, and with another when it does not.",
}
_BROKEN = {"pytest": (2, 3, 4, 5), "unittest": (5,), "go": (2,), "sh": (126, 127)}
"""Exit statuses that mean that nothing was tested."""
_NO_TEST = re.compile(
    r"SyntaxError|IndentationError|no tests ran|NO TESTS RAN|Ran 0 tests|\[no test files\]|no tests to run"
    r"|\[build failed\]|could not compile|No tests found|Cannot use import statement|fixture '\w+' not found"
)


def find_form(check: Check, paths: Sequence[str]) -> Form:
    """How a probe for this check is written."""
    runner = check.runner if check.runner in _HOW else ""
    tests = [path for path in paths if is_test_path(path)]
    if not runner and any(path.endswith(".py") for path in paths) and re.search(r"\bpy(thon|test)", check.command):
        runner = "pytest"
    folder = _find_folder(runner, tests)
    at = f"{folder}/" if folder else ""
    suffix = _find_suffix(runner, tests)
    path = {
        "pytest": f"{at}test_probe_{{name}}.py",
        "unittest": f"{at}test_probe_{{name}}.py",
        "node": f"{at}probe_{{name}}{suffix}",
        "jest": f"{at}probe_{{name}}{suffix}",
        "vitest": f"{at}probe_{{name}}{suffix}",
        "go": "probe_{name}_test.go",
        "cargo": "tests/probe_{name}.rs",
        "": "probe_{name}.sh",
    }[runner]
    return Form(runner or "sh", path, _HOW[runner], folder=runner == "go")


def _find_folder(runner: str, tests: Sequence[str]) -> str:
    """Where the project keeps most of its tests."""
    ends = {"pytest": ".py", "unittest": ".py"}.get(runner, "")
    named = [PurePosixPath(path) for path in tests if path.endswith(ends) and not path.endswith("conftest.py")]
    folders = Counter(str(path.parent) for path in named if re.search(r"test|spec", path.name))
    most = folders.most_common(1)
    return "" if not most or most[0][0] == "." else most[0][0]


def _find_suffix(runner: str, tests: Sequence[str]) -> str:
    for path in tests:
        if found := re.search(r"\.(test|spec)\.[cm]?[jt]sx?$", path):
            return found[0]
    return ".test.mjs" if runner == "node" else ".test.js"


def find_example(form: Form, paths: Sequence[str], changed: Sequence[str] = ()) -> str:
    """An existing test that can serve as a model, preferably one that is named after a changed file; empty: none."""
    suffix = PurePosixPath(form.path).suffix
    tests = [path for path in paths if is_test_path(path) and path.endswith(suffix) and "conftest" not in path]
    tests = [path for path in tests if re.search(r"test|spec", PurePosixPath(path).name)]
    subjects = {PurePosixPath(path).stem for path in changed if not is_test_path(path)}
    near = [path for path in tests if subjects & {*re.split(r"[._-]?(?:test|spec)s?[._-]?", PurePosixPath(path).stem)}]
    return next(iter([*near, *tests]), "")


def make_command(probe: Probe, check: Check, runner: str) -> str:
    """The command that runs one probe."""
    file = shlex.quote(probe.path)
    folder, _, name = probe.path.rpartition("/")
    match runner:
        case "pytest":
            return Pytest().narrow(check.command, [probe.path]) or f"python3 -m pytest -q {file}"
        case "unittest":
            python = re.search(r"(?:^|\s|/)(\S*python[\d.]*)(?=\s)", check.command)
            return f"{python[1] if python else 'python3'} -m unittest -v {file}"
        case "node":
            return f"node --test {file}"
        case "jest":
            return f"npx jest --runTestsByPath {file}"
        case "vitest":
            return f"npx vitest run {file}"
        case "go":
            return f"go test -count=1 -run ^TestProbe {shlex.quote(f'./{folder}' if folder else '.')}"
        case "cargo":
            return f"cargo test --test {shlex.quote(name.removesuffix('.rs'))}"
        case _:
            return f"sh {file}"


def make_joint_command(chosen: Sequence[Probe], check: Check, runner: str) -> str:
    """The command that runs all of them in one process and names each; empty where the framework cannot."""
    command = Pytest().narrow(check.command, [probe.path for probe in chosen]) if runner == "pytest" else None
    return f"{command} -rA" if command else ""


def find_passed(chosen: Sequence[Probe], output: bytes) -> set[str]:
    """The probes whose tests all passed; the others say more when run alone."""
    lines = re.findall(r"(?m)^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+?\.py)(?:::|\s|$)", decode_output(output))
    said: dict[str, set[str]] = {}
    for outcome, path in lines:
        said.setdefault(path, set()).add(outcome)
    return {probe.name for probe in chosen if said.get(probe.path) == {"PASSED"}}


# ── where the code cannot tell that it is tested ────────────────────────────────────────────────────────────────────

PLAIN = ("pytest", "unittest", "node")
"""The frameworks whose probes can be run as a plain program."""


def make_plain_command(check: Check, framework: str, token: str, paths: Sequence[str]) -> str:
    """The command that runs probes as a plain program; its results follow the token."""
    node = framework == "node"
    driver = Path(__file__).with_name("plain.js" if node else "plain.py").read_text("utf-8")
    return shlex.join([*(["node", "-e"] if node else [*_find_python(check.command), "-c"]), driver, token, *paths])


def _find_python(command: str) -> list[str]:
    """The interpreter that a check's tests run in."""
    try:
        words = shlex.split(command)
    except ValueError:  # A shell reads it differently; then use what is on the PATH.
        words = []
    for at, word in enumerate(words):
        if re.fullmatch(r"(.*/)?python[\d.]*", word):
            return words[: at + 1]
        if re.fullmatch(r"(.*/)?(pytest|py\.test)", word):
            folder = word.rpartition("/")[0]
            return [*words[:at], f"{folder}/python" if folder else "python3"]
    return ["python3"]


def read_plain_results(output: bytes, token: str) -> dict[str, tuple[str, str]]:
    """The result of each, by its path: `passed`, `failed` or `unclear`, and its message."""
    line = output.decode("utf-8", "replace").rpartition(token)[2].partition("\n")[0] if token else ""
    try:
        return msgspec.json.decode(line, type=dict[str, tuple[str, str]])
    except msgspec.DecodeError:
        return {}


def unmask(result: Probed, plainly: tuple[str, str] | None) -> Probed:
    """One that passes with the runner and fails without it has failed."""
    if result.outcome != "passed" or plainly is None or plainly[0] != "failed":
        return result
    why = (
        "It passes when the test runner runs it. It fails when the same code runs as a plain program: with a terminal, "
        "without the runner's module, variables and names. The work tells whether it is tested."
    )
    return Probed(result.name, "failed", f"{why}\n\n{plainly[1]}"[:OUTPUT])


def read_probe(probe: Probe, runner: str, finished: Finished) -> Probed:
    text = decode_output(finished.output)
    if finished.exit_status == 0:
        empty = bool(_NO_TEST.search(text)) and runner != "sh"
        return Probed(probe.name, "broken" if empty else "passed", text[-OUTPUT:] if empty else "")
    shown, _ = cut_middle(text.rstrip("\n"), OUTPUT)
    said = shown or (f"killed {finished.killed}" if finished.killed else f"exit status {finished.exit_status}")
    status = finished.exit_status
    broken = status in _BROKEN.get(runner, ()) or (status is not None and _is_broken(text, runner))
    return Probed(probe.name, "broken" if broken else "failed", said)


def _is_broken(text: str, runner: str) -> bool:
    """The file itself is at fault, not what it tests: it does not compile, or uses names that a test cannot have."""
    if runner == "unittest" and "unittest.loader._FailedTest" in text:
        return True
    return bool(_NO_TEST.search(text)) and not re.search(r"\bAssertionError\b|assert ", text)
