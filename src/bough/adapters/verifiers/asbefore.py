"""The tests of the base, asked about the code of now.

A test that failed at the base and passes now owes that to the code, or to what was done to the tests. Where tests were
changed, those that failed, and those that were written otherwise, are put back as they were and run once more: one that
fails, and not because what it asks is called otherwise now, was bent. That holds however it was done, also in ways that
no comparison of texts sees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from bough.core.acceptance import Report, Tampering
from bough.core.tamper.files import language, name_of, test_file

LINE_END = "\n"
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


def asked_again(baseline: Report, texts: Mapping[str, str | None], after: Mapping[str, str]) -> dict[str, bool]:
    """The ids of tests to run as they were: those that failed at the base, and (with true) those that passed there and
    were written anew. What a test puts stand-ins in the place of may have moved: then it cannot be asked as it was."""
    found = {case.id: False for case in baseline.cases if case.outcome in ("failed", "error")}
    anew = {path: _written_anew(text, after[path]) for path, text in texts.items() if text and path in after}
    for case in baseline.cases if any(anew.values()) else ():
        plain = re.sub(r"\[.*", "", case.id)
        file, _, name = plain.partition("::")
        for path, names in anew.items():
            dotted = path.removesuffix(".py").replace("/", ".")
            title = name.replace("::", ".") if file == path else plain.removeprefix(f"{dotted}.")
            if case.outcome == "passed" and title in names:
                found[case.id] = True
    return found


def _written_anew(old: str, new: str) -> set[str]:
    """Tests of a Python file that are in both texts, and not alike, by name: `TestAdd.test_small`."""
    try:
        was, now = (_tests(ast.parse(text)) for text in (old, new))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {name for name, said in was.items() if name in now and now[name] != said and not _DOUBLES.search(said)}


def _tests(tree: ast.Module | ast.ClassDef, within: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= _tests(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found[within + node.name] = ast.dump(node)
    return found


_DOUBLES = re.compile("patch|mock", re.I)
_ASSERTED = re.compile(r"assert|AssertionError\b|Failed\b")


def bent(report: Report, ids: Mapping[str, bool], texts: Mapping[str, str | None]) -> dict[str, Tampering]:
    """Those of the tests that fail as they were at the base, by id."""
    found = {}
    for case in report.cases:
        file = case.id.partition("::")[0]
        # Named, or of a file that could not be loaded then.
        if case.outcome != "failed" or not {case.id, file} & {*ids} or _NOT_ASKED.match(case.message):
            continue
        passed = ids.get(case.id, False)
        if passed and not _ASSERTED.match(case.message):
            continue
        how = "fails" if passed else "still fails"
        what = f"{case.id} {how} when the tests are put back as they were: {case.message.partition(LINE_END)[0]}"
        found[case.id] = Tampering(file if file in texts else next(iter(texts)), 0, what)
    return found
