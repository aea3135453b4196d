"""Reading the reports that runners write into a file: JUnit XML, and jest's JSON.

The file is untrusted: the tests' own code could have written it. It is read with expat and handlers of our own instead
of a tree builder, because that bounds depth, size and number before anything is kept. A document type declaration is
refused outright: without one there are no entities to expand and nothing external to load, which is what `defusedxml`
would add at the price of a dependency.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from xml.parsers import expat

import msgspec

from bough.adapters.verifiers.cases import MOST_CASES, make_case, one_each
from bough.core.acceptance import Case, CaseOutcome

LARGEST = 64 * 1024 * 1024
_DEEPEST = 50
_MOST_TEXT = 20_000
"""Characters of one failure's text that are kept; `make_case` cuts further."""
_OUTCOMES: dict[str, CaseOutcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class _Unreadable(Exception):
    """The document is not one that a runner writes."""


def read_file(report: bytes, root: str = "") -> tuple[Case, ...] | None:
    """The tests in a report that `instrument` asked for, whichever kind it is; None when it cannot be read."""
    head = report[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    return read_jest(report, root) if head.startswith(b"{") else read_junit(report, root)


def read_junit(xml: bytes, root: str = "") -> tuple[Case, ...] | None:
    """The tests of a JUnit report, each id once; None when it is no whole, well-formed report within bounds.

    Ids hold nothing of the checkout's place when `root`, the workspace's path, is given.
    """
    if len(xml) > LARGEST:
        return None
    reader = _Reader(root)
    parser = expat.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    # Runners copy what tests print. Control characters are not XML, but no reason to lose the whole report.
    clean = _CONTROL.sub(b"?", xml).decode("utf-8", "replace").encode()
    try:
        parser.Parse(clean, True)
    except (expat.ExpatError, _Unreadable):
        return None
    return one_each(reader.cases) if reader.is_junit else None


class _Reader:
    """Keeps what JUnit's elements say, and nothing of any others."""

    def __init__(self, root: str) -> None:
        self.cases: list[Case] = []
        self.is_junit = False
        self._root = root
        self._depth = 0
        self._case: dict[str, str] | None = None
        self._outcome: CaseOutcome = "passed"
        self._todo = False
        self._message = ""
        self._text: list[str] = []
        self._room = 0

    def doctype(self, *_: object) -> None:
        raise _Unreadable("a document type declaration")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST or len(self.cases) > MOST_CASES:
            raise _Unreadable("too deep or too long")
        if self._depth == 1:
            self.is_junit = name in ("testsuites", "testsuite")
        elif name == "testcase" and self._case is None:
            self._begin(attributes)
        elif name in _OUTCOMES and self._case is not None:
            self._found(_OUTCOMES[name], attributes)

    def _begin(self, attributes: dict[str, str]) -> None:
        self._case, self._message, self._text, self._room = attributes, "", [], 0
        self._outcome = "skipped" if attributes.get("status") in ("notrun", "disabled") else "passed"
        self._todo = False

    def _found(self, outcome: CaseOutcome, attributes: dict[str, str]) -> None:
        self._todo |= outcome == "skipped" and attributes.get("type") == "todo"
        if outcome == "skipped":
            self._outcome = "skipped" if self._outcome == "passed" else self._outcome
            return
        # Of a failure and an error in one test, the error is the more telling one and stands.
        self._outcome = "error" if "error" in (outcome, self._outcome) else "failed"
        self._message = self._message or attributes.get("message", "") or attributes.get("type", "")
        self._room = max(_MOST_TEXT - sum(map(len, self._text)), 0)

    def text(self, text: str) -> None:
        if self._room > 0 and self._case is not None:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name in _OUTCOMES:
            self._room = 0
        elif name == "testcase" and self._case is not None:
            self.cases.append(self._made(self._case))
            self._case = None

    def _made(self, attributes: dict[str, str]) -> Case:
        outcome: CaseOutcome = "skipped" if self._todo else self._outcome
        try:
            seconds = float(attributes.get("time", "0").replace(",", ""))
        except ValueError:
            seconds = 0.0
        text = "".join(self._text)
        if self._message == "collection failure" and (told := re.findall(r"^E +(\S.*)", text, re.MULTILINE)):
            self._message = told[-1]
        return make_case(_id(attributes, self._root), outcome, self._message, text, seconds, self._root)


def _id(attributes: dict[str, str], root: str) -> str:
    """`file::group::name`, as near to what the runner itself takes as an argument as the attributes allow."""
    name, group = attributes.get("name", ""), attributes.get("classname", "")
    file = attributes.get("file", "").replace("\\", "/").removeprefix("./")
    if root and file.startswith("/"):
        file = file.removeprefix(root.rstrip("/") + "/")
    if file.endswith(".py") or (not file and _dotted(group or name)):
        return _pytest_id(file, group, name)
    if file:
        return f"{file}::{f'{group} > ' if group else ''}{name}" if name else file
    return f"{group}::{name}" if group else name


def _dotted(text: str) -> bool:
    """Whether this is how pytest writes a module and its classes: `tests.test_a.TestX`."""
    return bool(re.fullmatch(r"[\w-]+(\.[\w-]+)*", text)) and _module_end(text.split(".")) > 0


def _module_end(segments: list[str]) -> int:
    """How many segments are the module: up to the last that is named like a test file."""
    named = [at for at, segment in enumerate(segments, 1) if re.fullmatch(r"test_.+|.+_test|conftest", segment)]
    return named[-1] if named else 0


def _pytest_id(file: str, group: str, name: str) -> str:
    """pytest's own id. It writes modules and classes with dots between all; the file tells where the module ends."""
    module = file.removesuffix(".py").replace("/", ".")
    if not group:  # A file that could not be collected: its name stands where the test's would.
        return file or name.replace(".", "/") + ".py"
    if file and (group == module or group.startswith(f"{module}.")):
        classes = group[len(module) + 1 :].split(".")
    else:
        # No file, or that of a base class in another module, from where the test was inherited.
        segments = group.split(".")
        end = _module_end(segments) or len(segments)
        file, classes = "/".join(segments[:end]) + ".py", segments[end:]
    return "::".join([file, *filter(None, classes), name])


class _Assertion(msgspec.Struct):
    status: str = ""
    title: str = ""
    ancestorTitles: list[str] = []
    failureMessages: list[str] = []
    duration: float | None = None


class _File(msgspec.Struct):
    name: str = ""
    status: str = ""
    message: str = ""
    assertionResults: list[_Assertion] = []


class _Jest(msgspec.Struct):
    testResults: list[_File]


_JEST: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


def read_jest(body: bytes, root: str = "") -> tuple[Case, ...] | None:
    """The tests in what `jest --json --outputFile` writes; None when it is not that."""
    if len(body) > LARGEST:
        return None
    try:
        read = msgspec.json.decode(body, type=_Jest)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    cases: list[Case] = []
    for file in read.testResults[:MOST_CASES]:
        where = str(PurePosixPath(file.name.replace("\\", "/")))
        if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
            # The file itself could not be run: jest then lists no test of it.
            cases.append(make_case(where, "error", file.message.strip().split("\n")[0], file.message, root=root))
        for test in file.assertionResults:
            trace = "\n".join(test.failureMessages)[:_MOST_TEXT]
            name = f"{where}::{' > '.join([*test.ancestorTitles, test.title])}"
            first = next((line for line in trace.split("\n") if line.strip()), "")
            seconds = (test.duration or 0) / 1000
            cases.append(make_case(name, _JEST.get(test.status, "skipped"), first, trace, seconds, root))
    return one_each(cases)
