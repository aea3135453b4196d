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
"""Characters of one failure's text that are kept; `make_case` cuts further."""
_OUTCOMES: dict[str, CaseOutcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class _Unreadable(Exception):
    """The document is not one that a runner writes."""


Identify = Callable[[str, str, str], str]
"""A test's id, as close to what the runner itself takes as an argument as file, group and name allow."""


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
    # Before the parser, because expat stops at the first of them and the whole report would be lost.
    # Runners copy what tests print. Control characters are not XML, but no reason to lose the whole report.
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
            self._case, self._message, self._text, self._room, self._todo = attributes, "", [], 0, False
            self._outcome = "skipped" if attributes.get("status") in ("notrun", "disabled") else "passed"
        elif name in _OUTCOMES and self._case is not None:
            self._found(_OUTCOMES[name], attributes)

    def _found(self, outcome: CaseOutcome, attributes: dict[str, str]) -> None:
        self._todo |= outcome == "skipped" and attributes.get("type") == "todo"
        if outcome == "skipped":
            self._outcome = "skipped" if self._outcome == "passed" else self._outcome
            return
        # Of a failure and an error in one test, the error is more telling and counts.
        self._outcome = "error" if "error" in (outcome, self._outcome) else "failed"
        self._message = self._message or attributes.get("message", "") or attributes.get("type", "")
        self._room = max(MOST_TEXT - sum(map(len, self._text)), 0)

    def text(self, text: str) -> None:
        if self._room > 0 and self._case is not None:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name in _OUTCOMES:
            self._room = 0
        elif name == "testcase" and self._case is not None:
            self.cases.append(self._build_case(self._case))
            self._case = None

    def _build_case(self, attributes: dict[str, str]) -> Case:
        outcome: CaseOutcome = "skipped" if self._todo else self._outcome
        try:
            seconds = float(attributes.get("time", "0").replace(",", ""))
        except ValueError:
            seconds = 0.0
        text = "".join(self._text)
        if self._message == "collection failure" and (told := re.findall(r"^E +(\S.*)", text, re.MULTILINE)):
            self._message = told[-1]
        return make_case(self._make_id(attributes), outcome, self._message, text, seconds, self._root)

    def _make_id(self, attributes: dict[str, str]) -> str:
        file = attributes.get("file", "").replace("\\", "/").removeprefix("./")
        if self._root and file.startswith("/"):
            file = file.removeprefix(self._root.rstrip("/") + "/")
        return self._identify(file, attributes.get("classname", ""), attributes.get("name", ""))


def make_plain_id(file: str, group: str, name: str) -> str:
    """`file::group > name`, as far as the runner tells them."""
    if file:
        return f"{file}::{f'{group} > ' if group else ''}{name}" if name else file
    return f"{group}::{name}" if group else name
