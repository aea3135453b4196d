"""Reading JUnit XML, which most runners can write.

The file is untrusted: the tests' own code could have written it. It is read with expat and our own handlers instead of
a tree builder, because that bounds depth, size and number before anything is kept. A document type declaration is
rejected outright: without one there are no entities to expand and nothing external to load, which is what `defusedxml`
would add at the price of a dependency.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, deduplicate, make_case

LARGEST = 64 * 1024 * 1024
_DEEPEST = 50
MOST_TEXT = 20_000
"""The most characters of one failure's text that are kept; `make_case` cuts further."""
_MOST_MARKS = 100
_MARKS: dict[str, CaseOutcome] = {"skipped": "skipped", "failure": "failed", "error": "error"}
"""Elements that give a case its outcome. The last one counts: an error says more than a failure beside it."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class _Unreadable(Exception):
    """The document is not a report that a runner writes."""


Identify = Callable[[str, str, str], str]
"""Makes a test's id from file, group and name, as close as possible to what the runner accepts as an argument."""


def read_junit(
    xml: bytes, root: str = "", identify: Identify | None = None, unique: str = ""
) -> tuple[Case, ...] | None:
    """The tests of a JUnit report, each id once; None when it is not a complete, well-formed report within bounds.

    Ids do not contain the checkout's location when `root`, the workspace's path, is given. `unique`: as in
    `Runner.unique_ids`.
    """
    if len(xml) > LARGEST:
        return None
    from xml.parsers import expat

    reader = _JUnitReader(root, identify or make_plain_id)
    parser = expat.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    # Runners copy what tests print. Control characters are not XML: expat would stop at the first and lose the report.
    clean = _CONTROL.sub(b"?", xml).decode("utf-8", "replace").encode()
    try:
        parser.Parse(clean, True)
    except (expat.ExpatError, _Unreadable):
        return None
    return deduplicate(reader.cases, unique) if reader.is_junit else None


class _JUnitReader:
    """Keeps the content of JUnit's elements, and nothing of any others."""

    def __init__(self, root: str, identify: Identify) -> None:
        self._identify = identify
        self.cases: list[Case] = []
        self.is_junit = False
        self._root = root
        self._depth = 0
        self._case: dict[str, str] | None = None
        self._marks: list[tuple[str, dict[str, str]]] = []
        """Outcome elements of the current case, with their attributes."""
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
            self._case, self._marks, self._text, self._room = attributes, [], [], 0
        elif name in _MARKS and self._case is not None and len(self._marks) < _MOST_MARKS:
            self._marks.append((name, attributes))
            self._room = max(MOST_TEXT - sum(map(len, self._text)), 0) if name != "skipped" else 0

    def text(self, text: str) -> None:
        if self._room > 0 and self._case is not None:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name in _MARKS:
            self._room = 0
        elif name == "testcase" and self._case is not None:
            self.cases.append(self._build_case(self._case))
            self._case = None

    def _build_case(self, attributes: dict[str, str]) -> Case:
        kinds = {kind for kind, _ in self._marks}
        todo = any(kind == "skipped" and said.get("type") == "todo" for kind, said in self._marks)
        outcome: CaseOutcome = "skipped" if attributes.get("status") in ("notrun", "disabled") else "passed"
        for kind, name in _MARKS.items():
            outcome = name if kind in kinds else outcome
        said = (each.get("message") or each.get("type", "") for kind, each in self._marks if kind != "skipped")
        message = next(filter(None, said), "")
        try:
            seconds = float(attributes.get("time", "0").replace(",", ""))
        except ValueError:
            seconds = 0.0
        text = "".join(self._text)
        if message == "collection failure" and (told := re.findall(r"^E +(\S.*)", text, re.MULTILINE)):
            message = told[-1]
        file = attributes.get("file", "").replace("\\", "/").removeprefix("./")
        if self._root and file.startswith("/"):
            file = file.removeprefix(self._root.rstrip("/") + "/")
        id = self._identify(file, attributes.get("classname", ""), attributes.get("name", ""))
        return make_case(id, "skipped" if todo else outcome, message, text, seconds, self._root)


def make_plain_id(file: str, group: str, name: str) -> str:
    """Return `file::group > name`, with the parts that the runner gives."""
    if file:
        return f"{file}::{f'{group} > ' if group else ''}{name}" if name else file
    return f"{group}::{name}" if group else name
