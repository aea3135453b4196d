"""Build files: what in them registers, configures or starts tests is test side, everything else product."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from bough.core.verdict.paths import last_segment
from bough.core.verdict.registry import LANGUAGES

_NAMES = "|".join(language.build_files for language in LANGUAGES if language.build_files)
_ABOUT_TESTS = (
    r"(?<![a-z])[Tt]ests?(?![a-z])|TEST|(?<![a-z])[Tt]est(?=[A-Z_])|(?<=[a-z_])Tests?\b|\b[Cc]heck\b|(?<![a-z])specs?\b"
    r"|eunit|surefire|WILL_FAIL|should_fail|ignoreFailures|NDEBUG"
)
"""What a line says that concerns tests."""


def is_build_file(path: str) -> bool:
    return re.fullmatch(_NAMES, last_segment(path)) is not None


def restore_registration(old: str, new: str, files: Collection[str]) -> str:
    """The file as it is now, with the lines that concern tests as they were. A change that only adds names of the
    work's own `files` (to a test program, say) says what is built."""
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    made: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "insert":
            made += _drop_registration(now, c, d)
            continue
        concerns = tag != "equal" and (_concerns_tests(was, a, b) or _concerns_tests(now, c, d))
        back = concerns and not only_adds("".join(was[a:b]), "".join(now[c:d]), files)
        made += was[a:b] if back else now[c:d]
    return "".join(made)


def _drop_registration(lines: Sequence[str], start: int, end: int) -> list[str]:
    """These lines without those about tests; what closes a statement goes with it."""
    kept: list[str] = []
    dropped = False
    for at in range(start, end):
        closes = re.match(r"\s*[)\]}]", lines[at]) is not None
        dropped = dropped if closes and at > start else _concerns_tests(lines, at, at + 1)
        kept += [] if dropped else [lines[at]]
    return kept


def _concerns_tests(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether one of these lines, or what it is indented below, is about tests."""
    return any(re.search(_ABOUT_TESTS, line) for at in range(start, end) for line in _list_enclosing(lines, at))


def _list_enclosing(lines: Sequence[str], at: int) -> list[str]:
    """A line and those that it is indented below, outwards."""
    found, indent = [lines[at]], _measure_indent(lines[at])
    for line in reversed(lines[:at]):
        if indent and line.strip() and _measure_indent(line) < indent:
            found.append(line)
            indent = _measure_indent(line)
    return found


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def only_adds(old: str, new: str, files: Collection[str]) -> bool:
    """Whether a text has all words of another in their order, and besides only names of these files."""
    names = {last_segment(path) for path in files}
    left, more = re.findall(r"[\w./+-]+", old), list[str]()
    for word in re.findall(r"[\w./+-]+", new):
        if left and word == left[0]:
            left.pop(0)
        else:
            more.append(word)
    return not left and bool(more) and all(last_segment(word) in names for word in more)
