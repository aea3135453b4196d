"""The runner `pytest`, which gets its report options through the environment, so that they also reach it through make,
tox, nox and scripts; and tox and nox, which create environments and run the project's test runner in them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import ClassVar

from bough.core.acceptance.verdict import Case
from bough.core.shell_syntax import Part, get_program_name, insert_arguments
from bough.core.verdict.junit import make_plain_id, read_junit
from bough.core.verdict.languages.python.interpreter import (
    PythonRunner,
    find_interpreter,
    find_module_word,
    list_python_tests,
)
from bough.core.verdict.paths import last_segment
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, join_options


class Tox(Runner):
    name = "tox"
    wraps = True
    settings = r"tox\.(ini|toml)"
    sections = (("pyproject.toml", "tool.tox"), ("setup.cfg", "tox:tox"))
    # Run only one of tox's environments: the rest is for other interpreters, documents and releases.
    starts = (
        (r"tox\.(?:ini|toml)", r"(?m)^\[(tox|testenv.*)\]|^\[?env", "tox -e py"),
        (r"pyproject\.toml|setup\.cfg", r"(?m)^\[(tool\.tox[.\]]|tox:tox\])", "tox -e py"),
    )


class Nox(Runner):
    name = "nox"
    wraps = True
    settings = r"noxfile\.py"
    starts = ((r"noxfile\.py", r"(?m)^def tests\(", "nox -s tests"), (r"noxfile\.py", "", "nox"))


_STOPS_EARLY = r"\s(-[a-zA-Z]*x[a-zA-Z]*|--exitfirst|--maxfail\b.*)(\s|$)"
_VALUED = frozenset(
    """-k -m -p -c -o -W -r -n --rootdir --confcutdir --tb --maxfail --junitxml --junit-xml --ignore --ignore-glob
    --deselect --durations --override-ini --import-mode --log-level --log-cli-level --basetemp --color --dist --cov
    --cov-report --cov-config --cov-fail-under --timeout --asyncio-mode --capture --show-capture""".split()  # noqa: SIM905
)
_DECLARES = (
    r"pyproject\.toml|setup\.(py|cfg)|Pipfile|tox\.ini|\.?pytest\.ini|noxfile\.py"
    r"|[\w-]*requirements[\w-]*\.txt|requirements/[^/]+\.txt"
)


class Pytest(PythonRunner):
    name = "pytest"
    settings = r"\.?pytest\.(ini|toml)|conftest\.py"
    sections = (("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
    runs_tests_of = ("unittest",)
    always_reports = True
    reporting = (
        r" --(?:cov|junit|html|durations|color|tb|benchmark|codspeed|dist|maxfail|no-header|verbose|quiet)[\w-]*"
        r"(?:=\S+| (?=[^-])[\w.:/]+\.(?:xml|html)\b)?| -n ?(?:auto|logical|\d+)| -[vqsxr]\w*(?= )"
    )
    unique_ids = r"[^:]*\.py(::|$)"
    nameable = f"^{unique_ids}"
    closes = (
        r"(?:=+ )?(?P<counts>no tests ran|(?:\d{1,9} (?:(?:subtests )?(?:passed|failed|skipped)|errors?|xfailed|xpassed"
        r"|deselected|warnings?|reruns?)(?:, )?)+) in [\d.]+s(?: \([\d:]+\))?(?: =+)?"
    )
    named = r"(?P<outcome>FAILED|ERROR) (?P<test>.+?\.py(?:::[^\[]+?(?:\[.*?\])?)?)(?: - (?P<said>.*))?"
    outcomes: ClassVar = {"ERROR": "error"}
    repeated = r"=.*"
    by_environment = True

    def recognise(self, part: Part, at: int) -> int | None:
        if get_program_name(part, at) in ("pytest", "py.test", "pytest-3"):
            return at
        return find_module_word(part, at, "pytest")

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        made = {**env, "PYTEST_ADDOPTS": join_options(env.get("PYTEST_ADDOPTS"), _make_options(report, command))}
        # The command line comes after PYTEST_ADDOPTS and wins, so a `-x` in it can only be undone at its end.
        stops = self.place(command) and re.search(_STOPS_EARLY, command)
        return (self.append(command, "--maxfail=0") or command) if stops else command, made

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        found = self.place(command)
        if found is None:
            return None
        part, head = found
        words = part[head + 1 :]
        chosen = [word for at, word in enumerate(words) if _selects(word.text, words[at - 1].text if at else "")]
        # Edit from right to left, so that the positions of the words further left stay valid.
        line = insert_arguments(command, part[-1].end, " ".join([*map(quote, ids), "--maxfail=0"]))
        for word in reversed(chosen):
            line = line[: word.start].rstrip(" ") + line[word.end :]
        return line

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        return read_junit(report, root, _make_id, self.unique_ids)

    def cases(self, lines: Sequence[str], root: str) -> Iterable[Case]:
        """List the failed tests from the short summary at the end of the output."""
        starts = [at for at, line in enumerate(lines) if re.fullmatch(r"=+ short test summary info =+", line)]
        return super().cases(lines[starts[-1] :] if starts else [], root)

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        tests, sign = list_python_tests(look), find_pytest_sign(look)
        others = r"--doctest-(modules|glob)|^python_files\b"
        named = any(re.search(others, look.text(name), re.MULTILINE) for name in ("pyproject.toml", "pytest.ini"))
        if tests or (sign and named):
            why = sign or f"there are Python tests ({tests[0]})"
            yield ProjectCommand(f"{find_interpreter(look)} -m pytest", why)
        for path in (path for path in look.near if not tests and re.fullmatch(r"(?:\w+/)?tests?\.py", path)):
            if re.search(r"^(?:async )?def test", look.text(path), re.MULTILINE):
                yield ProjectCommand(f"{find_interpreter(look)} -m pytest {quote(path)}", f"there is a {path}")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{find_interpreter(look)} -m pytest {quote(f'{path}::{test}' if test else path)}"


def find_pytest_sign(look: ProjectFiles) -> str:
    """Say, as a phrase for people, which file shows that a project uses pytest; empty if none does."""
    for path in look:
        if last_segment(path) == "conftest.py":
            return f"there is a {path}"
        names = path.count("/") < 2 and re.fullmatch(_DECLARES, path)
        if names and re.search(r"(?<!flake8-)\bpytest\b", look.text(path)):
            return f"{path} names pytest"
    return ""


def _make_options(report: str, command: str) -> str:
    # The format xunit1 names each test's file. A file that fails to load must not hide the results of others.
    options = f"{quote(f'--junitxml={report}')} -o junit_family=xunit1 --maxfail=0 --continue-on-collection-errors"
    if "no:cacheprovider" in command:  # Without the plugin the next option would be unknown.
        return options
    # Use a new cache outside the workspace for each report, so that a configured `--lf` does not leave tests out.
    return f"{options} -o {quote(f'cache_dir={report}.cache')}"


def _selects(word: str, before: str) -> bool:
    """Whether a word of a command is a path or test id, and not an option or its value."""
    if word.startswith("-") or before in _VALUED:
        return False
    # The value of a plugin's option rarely looks like a path.
    return not before.startswith("--") or "=" in before or "/" in word or ".py" in word


# Recover pytest's own ids from a report that joins modules and classes with dots.


def _make_id(file: str, group: str, name: str) -> str:
    # pytest writes a module and its classes as `tests.test_a.TestX`.
    dotted = re.fullmatch(r"[\w-]+(\.[\w-]+)*", group or name) and _find_module_end((group or name).split("."))
    if not (file.endswith(".py") or (not file and dotted)):
        return make_plain_id(file, group, name)
    module = file.removesuffix(".py").replace("/", ".")
    if not group:  # The case is a file that failed to load, named in place of a test.
        return file or name.replace(".", "/") + ".py"
    if file and (group == module or group.startswith(f"{module}.")):
        classes = group[len(module) + 1 :].split(".")
    else:
        # The report names no file, or the file of a base class in another module from which the test is inherited.
        segments = group.split(".")
        end = _find_module_end(segments) or len(segments)
        file, classes = "/".join(segments[:end]) + ".py", segments[end:]
    return "::".join([file, *filter(None, classes), name])


def _find_module_end(segments: list[str]) -> int:
    """Count the segments of a dotted name that form the module: up to the last one named like a test file."""
    named = [at for at, segment in enumerate(segments, 1) if re.fullmatch(r"test_.+|.+_test|conftest", segment)]
    return named[-1] if named else 0
