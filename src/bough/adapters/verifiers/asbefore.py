"""The tests of the base, asked about the code of now.

A test that failed at the base and passes now owes that to the code, or to what was done to the tests. Where tests were
changed, the ones that failed are put back as they were and run once more: one that fails still, and not because what it
asks is called otherwise now, was bent. That holds however it was done, also in ways that no comparison of texts sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from bough.core.acceptance import Report, Tampering
from bough.core.tamper.files import language, name_of, test_file

_LANGUAGES = ("python", "javascript", "go")
"""Those with tests in files of their own."""
_TESTS = re.compile(r"\bdef test|\bclass \w*Test|\bassert|\b(?:it|test|describe)\s*\(|\bfunc Test")
_NOT_ASKED = re.compile(
    r"(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError|FileNotFoundError|ReferenceError"
    r"|SyntaxError)\b|fixture '|.* is not (?:a function|defined)"
)
"""What a test says for which something is called otherwise now, or lies elsewhere: it could not ask."""


def put_back(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """The files of tests that differ, as they were at the base; None for one that was not there."""
    found: dict[str, str | None] = {}
    for path in sorted({*before, *after}):
        old = before.get(path)
        if old == after.get(path) or language(path) not in _LANGUAGES or not test_file(path):
            continue
        if old is None or name_of(path) == "conftest.py" or _TESTS.search(old):
            found[path] = old
    return found


def lay_back(root: Path, texts: Mapping[str, str | None]) -> None:
    """Write the files into a workspace. What lies there is the agent's: no link of it is followed."""
    top = root.resolve()
    for path, text in texts.items():
        place = root / path
        if not place.parent.resolve().is_relative_to(top):
            continue
        if place.is_symlink() or place.is_file():
            place.unlink()
        if text is not None and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)


def failed_before(baseline: Report) -> list[str]:
    return [case.id for case in baseline.cases if case.outcome in ("failed", "error")]


def bent(report: Report, ids: Iterable[str], texts: Mapping[str, str | None]) -> tuple[Tampering, ...]:
    """Of the tests that failed at the base, those that fail with the tests of then."""
    known, found = {*ids}, []
    for case in report.cases:
        file = case.id.partition("::")[0]
        # Named, or of a file that could not be loaded then.
        if case.outcome != "failed" or not {case.id, file} & known or _NOT_ASKED.match(case.message):
            continue
        said = case.message.partition("\n")[0]
        what = f"{case.id} still fails when the tests are put back as they were: {said}"
        found.append(Tampering(file if file in texts else next(iter(texts)), 0, what))
    return tuple(found)
