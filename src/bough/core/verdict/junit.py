"""Read JUnit XML, which most test runners can write.

The file is untrusted, since the tests' own code could have written it. Only comments may stand before its first
element, so it cannot declare a document type: there are no entities to expand and nothing external to load. That is all
that the library `defusedxml` would add. Elements that are no test case are dropped as soon as they have been read.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, deduplicate, make_case

if TYPE_CHECKING:  # Load the XML library only where it is used: few runs need it.
    from xml.etree.ElementTree import Element

LARGEST = 64 * 1024 * 1024
_DEEPEST = 50
_AT_ONCE = 65_536
MOST_TEXT = 20_000
"""The maximum number of characters that are kept of one failure's text; `make_case` shortens the text further."""
_MARKS: dict[str, CaseOutcome] = {"skipped": "skipped", "failure": "failed", "error": "error"}
"""Elements that give a case its outcome; the last one here counts, as an error says more than a failure."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*(?=<testsuites?[\s/>])", re.DOTALL)


Identify = Callable[[str, str, str], str]
"""Makes a test's id from file, group and name, as close as possible to what the runner accepts as an argument."""


def read_junit(
    xml: bytes, root: str = "", identify: Identify | None = None, unique: str = ""
) -> tuple[Case, ...] | None:
    """Return the tests of a JUnit report; None if it is incomplete, malformed or too large. `unique`: see `Runner`."""
    if len(xml) > LARGEST:
        return None
    # Runners copy what tests print. Control characters are not allowed in XML, so the parser would reject the report.
    clean = _CONTROL.sub(b"?", xml).decode("utf-8", "replace")
    head = _HEAD.match(clean)
    if head is None:
        return None
    from xml.etree.ElementTree import ParseError, XMLPullParser

    parser: Any = XMLPullParser(("start", "end"))
    cases: list[Case] = []
    depth = seen = 0
    try:
        for at in range(head.end(), len(clean), _AT_ONCE):
            parser.feed(clean[at : at + _AT_ONCE])
            for event, element in parser.read_events():
                depth, seen = depth + (1 if event == "start" else -1), seen + 1
                if depth > _DEEPEST or len(cases) > MOST_CASES or seen > 10 * MOST_CASES:
                    return None
                name = element.tag.rpartition("}")[2]
                if event == "end" and name == "testcase":
                    cases.append(_build_case(element, root, identify or make_plain_id))
                if event == "end" and name not in _MARKS:
                    element.clear()
        parser.close()
    except ParseError:
        return None
    return deduplicate(cases, unique)


def _build_case(case: "Element", root: str, identify: Identify) -> Case:
    marks = [(mark.tag.rpartition("}")[2], mark) for mark in case]
    kinds, bad = {name for name, _ in marks}, [mark for name, mark in marks if name in ("failure", "error")]
    outcome: CaseOutcome = "skipped" if case.get("status") in ("notrun", "disabled") else "passed"
    for kind, name in _MARKS.items():
        outcome = name if kind in kinds else outcome
    text = "".join(mark.text or "" for mark in bad)[:MOST_TEXT]
    told = [line.strip() for line in text.split("\n") if line.strip() and case.get("name", "") not in line]
    message = next(
        filter(None, (*(mark.get("message") for mark in bad), *told, *(mark.get("type") for mark in bad))), ""
    )
    try:
        seconds = float(case.get("time", "0").replace(",", ""))
    except ValueError:
        seconds = 0.0
    if message == "collection failure" and (told := re.findall(r"^E +(\S.*)", text, re.MULTILINE)):
        message = told[-1]
    file = case.get("file", "").replace("\\", "/").removeprefix("./")
    if root and file.startswith("/"):
        file = file.removeprefix(root.rstrip("/") + "/")
    id = identify(file, case.get("classname", ""), case.get("name", ""))
    return make_case(id, outcome, message, text, seconds, root)


def make_plain_id(file: str, group: str, name: str) -> str:
    """Return `file::group > name`, without the parts that the runner does not give."""
    if file:
        return f"{file}::{f'{group} > ' if group else ''}{name}" if name else file
    return f"{group}::{name}" if group else name
