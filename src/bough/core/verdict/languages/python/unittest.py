"""The runners that come with Python: `unittest`, which names its tests if it is verbose (Django's own runner reports
like it), and `doctest`, for examples in documentation."""

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.shell_syntax import Part, get_word
from bough.core.verdict.check_run import make_case
from bough.core.verdict.languages.python.interpreter import (
    PythonRunner,
    find_interpreter,
    find_module_word,
    list_python_tests,
)
from bough.core.verdict.languages.python.pytest import find_pytest_sign
from bough.core.verdict.paths import last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import MOST_LINES, ProjectCommand, Runner

_MOST_READ = 300
"""The maximum number of files that are read to find out which framework a project's tests use."""
_TEST = r"(\w[\w./-]*) \(([\w.<>/-]+)\)(.*)"
_ENDING = r"(?:.* \.\.\. )?(ok|FAIL|ERROR|skipped ['\"].*['\"]|expected failure|unexpected success)"
_BLOCK = (
    r"(?m)^={70}\n(FAIL|ERROR|UNEXPECTED SUCCESS): (?:(\w[\w./-]*) \(([\w.<>/-]+)\).*|Failure: (\w+ \(.*\)))"
    r"(?:\n(?![=-]{70}$).*)?(?:\n-{70})?((?:\n(?!={70}$|-{70}$).*)*)"
)
"""Pattern for a failure: its title, perhaps the first line of the test's docstring, and the trace between two rules.
The second form of the title is nose's, for files that it could not load."""
_LOADERS = r"unittest\.loader\._FailedTest|nose2\.loader\.\w+Failure"
_FIXTURES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_OUTCOMES: dict[str, CaseOutcome] = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "error",
    "UNEXPECTED SUCCESS": "failed",
    "expected failure": "skipped",
    "unexpected success": "failed",
}


class Unittest(PythonRunner):
    name = "unittest"
    report_flag = "-v"
    nameable = ""
    closes = (
        r"Ran (?P<total>\d{1,9}) tests? in [\d.]+s\n(?:OK|NO TESTS RAN|(?P<least>FAILED))(?: \((?:(?:"
        r"failures=(?P<failed>\d{1,9})|errors=(?P<failed2>\d{1,9})|unexpected successes=(?P<failed3>\d{1,9})"
        r"|skipped=(?P<skipped>\d{1,9})|expected failures=(?P<skipped2>\d{1,9})|[a-z ]+=\d{1,9})(?:, )?)+\))?"
    )
    placeholder = (
        r"(?:.*[./])?([^./]+): (?:ModuleNotFound|Import|Attribute)Error: .*(?:No module named|has no attribute)"
        r" '(?:[^']*[./])?\1'|\w+ \((?:No module named|.*has no attribute) '(?:[^']*\.)?(?i:test\w*|\w+tests?)'\): "
    )

    def recognise(self, part: Part, at: int) -> int | None:
        end = find_module_word(part, at, "unittest")
        return end if end is None else end + (get_word(part, end + 1) == "discover")

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(f"-k {quote(one)}" for one in ids))

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        """Read the tests from the lines that -v prints, and their failures from the blocks after these lines."""
        outcomes: dict[str, CaseOutcome] = {}
        current = ""
        blocks = next((at for at, line in enumerate(lines) if line == "=" * 70), len(lines))
        for line in lines[:blocks]:
            test = re.fullmatch(_TEST, line)
            if test:
                current = _make_id(test[1], test[2])
                # If a test prints something, its outcome is on another line; it passed unless a block says otherwise.
                outcomes.setdefault(current, "passed")
            ending = re.fullmatch(_ENDING, test[3] if test else line)
            if ending and current:
                outcomes[current] = _OUTCOMES.get(ending[1], "skipped")
                current = ""
        traces: dict[str, list[str]] = {}
        for found in re.finditer(_BLOCK, "\n".join(lines[blocks:])):
            # Several sub-tests of one test may have failed; the first is reported.
            name = _make_id(found[2], found[3]) if found[2] else found[4]
            traces.setdefault(name, found[5].split("\n")[1 : MOST_LINES * 3])
            outcomes[name] = _OUTCOMES[found[1]]
        cases = []
        for name, outcome in outcomes.items():
            trace = traces.get(name, [])
            # The message is the last unindented line that names an error, such as `ValueError: x`.
            error = r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)?\b(:|$)"
            named = [line for line in trace if re.match(error, line)]
            cases.append(make_case(name, outcome, named[-1] if named else "", "\n".join(trace), root=root))
        return cases

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if "django" in look.text("manage.py"):
            yield ProjectCommand(f"{find_interpreter(look)} manage.py test", "there is a manage.py")
        tests = list_python_tests(look)
        command = _make_discovery(look, tests) if tests and _is_unittest_only(look, tests[:_MOST_READ]) else ""
        if command:
            yield ProjectCommand(command, "the tests use unittest, and nothing names pytest")
        others = [path for path in look.near if not tests and re.fullmatch(r"(?:\w+/)?test(?!s?\.py)\w+\.py", path)]
        for folder in dict.fromkeys(parent_folder(path) for path in others if "TestCase" in look.text(path)):
            inside = f" -s {quote(folder)}" if folder else ""
            yield ProjectCommand(f"{find_interpreter(look)} -m unittest discover{inside}", f"there is a {others[0]}")
        scripts = [path for path in look.near if re.fullmatch(r"(?:\w+/)?(?:(?:run_?)?(?:all_?)?tests?)\.py", path)]
        for path in scripts:
            text = look.text(path)
            if re.search(r"^if __name__ ==", text, re.MULTILINE):
                yield ProjectCommand(f"{find_interpreter(look)} {quote(path)}", f"there is a {path}")
            elif "TestCase" in text:
                yield ProjectCommand(f"{find_interpreter(look)} -m unittest {quote(path)}", f"there is a {path}")

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        named = not test and re.fullmatch(r"[\w/]+\.py", path)
        command = f"{find_interpreter(look)} -m unittest {quote(path)}"
        return command if named and _is_unittest_only(look, [path]) else None


def _is_unittest_only(look: ProjectFiles, tests: Sequence[str]) -> bool:
    """Whether these tests use unittest, and nothing shows that the project uses pytest."""
    if find_pytest_sign(look):
        return False
    texts = [look.text(test) for test in tests]
    if any(re.search(r"^[ \t]*(import|from) pytest\b|^(async )?def test", text, re.MULTILINE) for text in texts):
        return False
    return any(re.search(r"^[ \t]*(import|from) (\w+\.)*unittest\b", text, re.MULTILINE) for text in texts)


def _make_discovery(look: ProjectFiles, tests: Sequence[str]) -> str:
    """Return the command that discovers all these tests, which unittest finds only in packages and by one pattern."""
    named = {"test*.py" if last_segment(path).startswith("test") else "*_test.py" for path in tests}
    if len(named) > 1:
        return ""
    pattern = "" if named == {"test*.py"} else f" -p {quote(named.pop())}"
    # A folder in a package is found from the folder that holds the package.
    above = ((folder, *list_parents(folder)) for folder in {parent_folder(path) for path in tests})
    starts = {next((one for one in each if f"{one}/__init__.py" not in look.files), "") for each in above}
    command = f"{find_interpreter(look)} -m unittest discover"
    return " && ".join(f"{command}{f' -s {quote(start)}' if start else ''}{pattern}" for start in sorted(starts))


def _make_id(name: str, dotted: str) -> str:
    """Make an id such as `tests.test_a.TestX.test_y`; before 3.11 Python writes only the class after the name."""
    dotted = re.sub(rf"^(?:{_LOADERS})\.?", "", dotted)
    if name in _FIXTURES or dotted == name or dotted.endswith(f".{name}"):
        return dotted
    return f"{dotted}.{name}" if dotted else name


class Doctest(Runner):
    name = "doctest"
    # doctest prints one closing line for each file.
    closes = r"(?P<passed>\d{1,9}) passed(?: and (?P<failed>\d{1,9}) failed)?\."
    in_parts = True
