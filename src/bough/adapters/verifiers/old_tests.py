"""The tests of the base, asked about the code of now.

A test that failed at the base and passes now owes that to the code, or to what was done to the tests. Where tests, or
how they are run, were changed, they are put back as they were (`tamper.put_back`) and run once more. One that fails
then was bent, however that was done, also in ways that no comparison of texts sees; unless it could not ask, because
what it asks for is called otherwise now or lies elsewhere.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping

from bough.adapters.verifiers.baseline import Known
from bough.adapters.verifiers.rulings import Ran
from bough.core.acceptance import CaseOutcome, Report, Tampering

Back = Mapping[str, str | None]
"""Texts of test files and their settings as they were, by path; None: there was none."""
THE_CHECK = "the check"
"""Stands for its tests where they have no names."""

_ELSEWHERE = r"(?:Import|ModuleNotFound|Attribute|Name|Type|FileNotFound|Reference|Syntax)Error"
"""What it is called when something is called otherwise now, or lies elsewhere."""
_NOT_ASKED = rf"{_ELSEWHERE}\b|fixture '|.* is not (?:a function|defined)"
_REFUTED = r"assert|AssertionError\b|Failed\b"
_DOUBLES = r"(?i)patch|mock"
_ASSERTED = r"(?im)\bAssert\w*Error\b|\bassert\w* .*failed|\bexpect(?:ed)?\b|--- FAIL:|^not ok\b"
_BROKEN = rf"{_ELSEWHERE}|MODULE_NOT_FOUND|ENOENT|[Nn]o such file|[Cc]annot find|not (?:found|defined)"


def asked_again(baseline: Known, back: Back, after: Mapping[str, str]) -> dict[str, CaseOutcome]:
    """The tests to run as they were, with how they ended at the base: those that failed there, and in Python those that
    passed and were written anew. Where they cannot be named, one for the check as a whole. Empty: nothing to learn."""
    if not back:
        return {}
    failed: dict[str, CaseOutcome] = {case.id: case.outcome for case in baseline.report.failing}
    if _python(back):
        return failed | dict.fromkeys(_written_anew(baseline.report, back, after), "passed")
    return (failed or {THE_CHECK: "failed"}) if refutable(baseline) else {}


def bent(baseline: Known, ran: Ran, asked: Mapping[str, CaseOutcome], back: Back) -> dict[str, Tampering]:
    """Those of them that fail as they were at the base, by name."""
    if not _python(back):
        name = still(baseline, ran)
        what = f"with it as it was at the base, {name} fails as it did there"
        return {name: Tampering(next(iter(back)), 0, what)} if name else {}
    found = {}
    for case in ran.report.cases:
        file = case.id.partition("::")[0]
        # Named, or of a file that could not be loaded then.
        if case.outcome != "failed" or not {case.id, file} & {*asked} or re.match(_NOT_ASKED, case.message):
            continue
        passed = asked.get(case.id) == "passed"
        if passed and not re.match(_REFUTED, case.message):
            continue
        how, said = "fails" if passed else "still fails", case.message.partition("\n")[0]
        what = f"{case.id} {how} when the tests are put back as they were: {said}"
        found[case.id] = Tampering(file if file in back else next(iter(back)), 0, what)
    return found


def _python(back: Back) -> bool:
    return any(path.endswith(".py") for path in back)


# ── Python: by name ─────────────────────────────────────────────────────────────────────────────────────────────────


def _written_anew(baseline: Report, back: Back, after: Mapping[str, str]) -> list[str]:
    """Tests that passed at the base and are written otherwise now."""
    anew = {path: _changed(text, after[path]) for path, text in back.items() if text and path in after}
    found = []
    for case in baseline.cases if any(anew.values()) else ():
        plain = re.sub(r"\[.*", "", case.id)
        file, _, name = plain.partition("::")
        for path, names in anew.items():
            dotted = path.removesuffix(".py").replace("/", ".")
            title = name.replace("::", ".") if file == path else plain.removeprefix(f"{dotted}.")
            if case.outcome == "passed" and title in names:
                found.append(case.id)
    return found


def _changed(old: str, new: str) -> set[str]:
    """Tests of a Python file that are in both texts, and not alike, by name: `TestAdd.test_small`. What a test puts
    stand-ins in the place of may have moved: then it cannot be asked as it was."""
    try:
        was, now = (_tests(ast.parse(text)) for text in (old, new))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {name for name, said in was.items() if name in now and now[name] != said and not re.search(_DOUBLES, said)}


def _tests(tree: ast.Module | ast.ClassDef, within: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= _tests(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found[within + node.name] = ast.dump(node)
    return found


# ── other languages: what fails in the same words ───────────────────────────────────────────────────────────────────


def refuted(text: str) -> str:
    """What a check printed, but for numbers, as a hash, when an assertion was refuted and nothing was amiss besides.
    `text`: without the path of the workspace, which is another one each time."""
    if not re.search(_ASSERTED, text) or re.search(_BROKEN, text):
        return ""
    return hashlib.sha256(re.sub(r"\d+", "", text).encode()).hexdigest()


def refutable(baseline: Known) -> bool:
    """Something was refuted at the base of which it can be seen whether it still is."""
    return baseline.exit_status not in (0, None) and bool(baseline.refuted or _refuted(baseline.report))


def _refuted(report: Report) -> dict[str, str]:
    """What assertions said, but for numbers, by test."""
    failed = [case for case in report.cases if case.outcome == "failed" and case.message]
    return {case.id: re.sub(r"\d+", "", case.message) for case in failed if not re.search(_BROKEN, case.message)}


def still(baseline: Known, ran: Ran) -> str:
    """What failed at the base and fails in the same way with the base's tests on the code of now; empty: nothing."""
    if ran.finished.exit_status in (0, None):
        return ""
    was, now = _refuted(baseline.report), _refuted(ran.report)
    if not baseline.report.failing:
        return THE_CHECK if baseline.refuted and baseline.refuted == ran.refuted else ""
    return next((name for name, said in was.items() if now.get(name) == said), "")
