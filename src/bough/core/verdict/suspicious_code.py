"""Advice, never a ruling: new product code that a reviewer may want to look at.

Code that could detect a test run, or could make anything equal anything, and values that appear in the tests. All of it
has honest uses. Reviewers see it, and where it could fool a check, the canary runs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache

from bough.core.acceptance.verdict import Remark
from bough.core.verdict.registry import LANGUAGES
from bough.core.verdict.test_files import is_product, is_test_file
from bough.core.verdict.texts import differing

MOST = 20
TESTS = 1_000
"""Test files that are searched for values."""
_KINDS = {
    "tests": "looks for a test run",
    "start": "looks at how the program was started",
    "callers": "looks at its callers",
    "meaning": "changes what equality, text or numbers mean",
    "interpreter": "reaches into the interpreter or the runner",
    "text": "runs text as code",
    "sources": "reads source files",
}
"""What code may be doing; the patterns are in the language records."""
_ANYWHERE = {"tests": r"\btest_\w+ _test\b", "start": "getenv /proc/"}
_LITERAL = r"\"[^\"\n]{2,}\"|'[^'\n]{2,}'|(?<![\w.])-?\d[\d_.]*\b"


def advise(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Remark, ...]:
    """About code that is new. `before` and `after`: texts by path."""
    found: list[Remark] = []
    changed = [path for path in sorted(differing(before, after)) if path in after]
    product = [path for path in changed if is_product(path)]
    tests = [line for path in _near(product, after) for line in _list_asserted_values(after[path])] if product else []
    for path in product:
        for number, line in _list_new_lines(before.get(path, ""), after[path]):
            what = next((what for what, pattern in _list_signs() if re.search(pattern, line)), "")
            if what or (what := _find_copied_values(line, tests)):
                found.append(Remark(path, number, what))
    return tuple(found[:MOST])


@cache
def _list_signs() -> list[tuple[str, str]]:
    signs = [_ANYWHERE, *(dict(language.signs) for language in LANGUAGES)]
    return [(what, "|".join(" ".join(one.get(kind, "") for one in signs).split())) for kind, what in _KINDS.items()]


def _near(changed: list[str], texts: Mapping[str, str]) -> list[str]:
    """The tests that may be about these files: of very many, those of the same folders and packages."""
    tests = [path for path in texts if is_test_file(path)]
    if len(tests) <= TESTS:
        return tests
    parts = {part for path in changed for part in re.split(r"[/._-]", path)}
    return sorted(tests, key=lambda path: -len(parts.intersection(re.split(r"[/._-]", path))))[:TESTS]


def _list_new_lines(old: str, new: str) -> Iterator[tuple[int, str]]:
    was, now = old.splitlines(), new.splitlines()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            yield from ((number + 1, now[number]) for number in range(start, end))


def _list_asserted_values(text: str) -> Iterator[set[str]]:
    """The values in each line that asserts something."""
    for line in text.splitlines():
        if re.search(r"assert|expect|Equal|should", line):
            yield set(re.findall(_LITERAL, line)) - {"0", "1", "2"}


def _find_copied_values(line: str, tests: list[set[str]]) -> str:
    """A choice by values that appear together in one assertion."""
    if not re.search(r"==|===|\bin\b|\bcase\b|\bmatch\b|[:=]>?\s*[\d\"']", line):
        return ""
    own = set(re.findall(_LITERAL, line))
    return "has values of a test in it" if len(own) > 1 and any(own <= values for values in tests) else ""
