"""Divide build files: lines that register, configure or start tests belong to the tests, other lines to the product."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bough.core.verdict.paths import last_segment
from bough.core.verdict.registry import LANGUAGES
from bough.core.verdict.texts import compare_lines, measure_indent

_NAMES = "|".join(language.build_files for language in LANGUAGES if language.build_files)
_ABOUT_TESTS = (
    r"(?<![a-z])[Tt]ests?(?![a-z])|TEST|(?<![a-z])[Tt]est(?=[A-Z_])|(?<=[a-z_])Tests?\b|\b[Cc]heck\b|(?<![a-z])specs?\b"
    r"|eunit|surefire|WILL_FAIL|should_fail|ignoreFailures|NDEBUG"
)
"""Words that make a line of a build file concern tests."""


def is_build_file(path: str) -> bool:
    return re.fullmatch(_NAMES, last_segment(path)) is not None


def restore_registration(old: str, new: str, files: Collection[str]) -> str:
    """Return the new file with the lines about tests restored from the old one. A change that only adds names of
    `files` (the files that the work changed) is kept, since it only says what is built."""
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    before, after = _mark_tests(was), _mark_tests(now)
    made: list[str] = []
    for tag, a, b, c, d in compare_lines(was, now):
        if tag == "insert":
            made += _drop_registration(now[c:d], after[c:d])
            continue
        concerns = tag != "equal" and any(before[a:b] + after[c:d])
        back = concerns and not only_adds("".join(was[a:b]), "".join(now[c:d]), files)
        made += was[a:b] if back else now[c:d]
    return "".join(made)


def _drop_registration(lines: Sequence[str], marks: Sequence[bool]) -> list[str]:
    """Remove the lines about tests, with the lines that close their statements."""
    kept: list[str] = []
    dropped = False
    for at, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        closes = re.match(r"\s*[)\]}]", line) is not None
        dropped = dropped if closes and at else mark
        kept += [] if dropped else [line]
    return kept


def _mark_tests(lines: Sequence[str]) -> list[bool]:
    """Mark each line that is about tests, or is indented below such a line."""
    marks: list[bool] = []
    around: list[tuple[int, bool]] = []
    for line in lines:
        indent = measure_indent(line)
        while line.strip() and around and around[-1][0] >= indent:
            around.pop()
        below = next((mark for outer, mark in reversed(around) if outer < indent), False)
        marks.append(below or re.search(_ABOUT_TESTS, line) is not None)
        if line.strip():
            around.append((indent, marks[-1]))
    return marks


def only_adds(old: str, new: str, files: Collection[str]) -> bool:
    """Whether the new text has all words of the old one in the same order, and otherwise only names of these files."""
    names = {last_segment(path) for path in files}
    left, more = iter(re.findall(r"[\w./+-]+", old)), list[str]()
    wanted = next(left, None)
    for word in re.findall(r"[\w./+-]+", new):
        if word == wanted:
            wanted = next(left, None)
        else:
            more.append(word)
    return wanted is None and bool(more) and all(last_segment(word) in names for word in more)
