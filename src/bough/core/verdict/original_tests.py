"""Run the original tests on the new code, and compare their results with those before the work (at the base).

The tests as they were at the base are restored beside the new product code, and the whole check runs there. Every test
that passed at the base must exist and pass. Tests that failed at the base must pass too, since a passing check claims
that they do. If the check fails but known failures are accepted, the tests that fail in it need not pass.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from bough.core.acceptance.verdict import Disagreement, Report
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.registry import LANGUAGES, find_language, is_placeholder
from bough.core.verdict.texts import compare_lines, find_block

THE_CHECK = "the check"
"""Stands in for the test's name if a check does not name its tests."""
SHOWN_LINES = 12
SHOWN_TEXT = 600
SHOWN_SOURCE = (60, 3_000)
"""Lines and characters of a test shown to a judge: a ruling needs the lines around a change."""
_LONGEST_LINE, _MOST_READ = 2_000, 200_000
"""Characters of a line and of an output that are searched for signs that it lacked something."""
_MOVED = "|".join(language.moved for language in LANGUAGES if language.moved)
_BROKEN = rf"{_MOVED}|ENOENT|[Nn]o such file|[Cc]annot find|[Nn]ot[ _](?:found|defined)|NOT_FOUND"


def has_results(baseline: Baseline) -> bool:
    """Whether the check's run before the work has results that the new code could contradict."""
    report = baseline.report
    return bool(report.cases or report.passed or report.failed or baseline.exit_status == 0 or baseline.refuted)


def find_disagreements(
    baseline: Baseline, then: Baseline, runner: str = "", now: Report | None = None
) -> dict[str, Disagreement]:
    """Find the original tests that disagree with the new code. `then`: the check's result with the original tests on
    the new code; `now`: its report with the tests of the work."""
    if baseline.falls_silent(then):
        return {}
    if not then.report.cases and not baseline.report.cases:
        said = _compare_as_whole(baseline, then)
        return {THE_CHECK: Disagreement(THE_CHECK, said=said)} if said else {}
    still = {case.id for case in now.failing} if now is not None else set[str]()
    accepted = {case.id for case in baseline.report.failing if case.id in still or is_placeholder(case, runner)}
    found = {}
    for case in then.report.failing:
        said = _first_line(case.message)
        if case.id not in accepted:
            found[case.id] = Disagreement(case.id, find_file(case.id), said=said, asked=not re.match(_MOVED, said))
    found |= _find_missing(baseline, then, found)
    named = len(then.report.cases) >= then.report.passed + then.report.failed
    if not found and not named and (less := _explain_fewer(baseline, then)):
        found = {THE_CHECK: Disagreement(THE_CHECK, said=less)}
    return found


def _find_missing(baseline: Baseline, then: Baseline, failing: Mapping[str, Disagreement]) -> dict[str, Disagreement]:
    """Find the tests that passed at the base and are now missing or skipped."""
    outcomes = {case.id: case.outcome for case in then.report.cases}
    names = {strip_parameters(id) for id in outcomes}
    unloaded = {find_file(id): one.said for id, one in failing.items() if "::" not in id}
    # Some runners name only failed tests. With these, a test that is not named is not missing.
    complete = len(outcomes) >= then.report.passed + then.report.failed
    found = {}
    for case in baseline.report.cases:
        file = find_file(case.id)
        then_said = outcomes.get(case.id)
        if case.outcome == "skipped" or then_said in ("passed", "failed", "error") or file in unloaded:
            continue
        if then_said == "skipped":
            found[case.id] = Disagreement(case.id, file, said="it is skipped")
        elif case.outcome == "passed" and complete and strip_parameters(case.id) not in names:
            found[case.id] = Disagreement(case.id, file, said="it does not run", asked=False)
    return found


def _explain_fewer(baseline: Baseline, then: Baseline) -> str:
    was, now = baseline.report.passed, then.report.passed
    return f"only {now} tests pass, where {was} passed at the base" if now < was else ""


def _compare_as_whole(baseline: Baseline, then: Baseline) -> str:
    """Compare two results whose tests have no names, and say how the later one is worse; empty if it is not."""
    ended = "it was killed" if then.exit_status is None else f"it ends with exit status {then.exit_status}"
    if then.exit_status == 0:
        return _explain_fewer(baseline, then)
    if baseline.exit_status == 0 or baseline.report.failed:
        return ended
    # Both runs failed and name no tests: the later one is no worse only if its failure differs.
    return ended if baseline.refuted and baseline.refuted == then.refuted else ""


def find_fixed(baseline: Baseline, then: Baseline) -> tuple[str, ...]:
    """Find the original tests that failed (or whose file failed to load) before the work and pass on the new code."""
    if then.report.cases:
        return tuple(find_carrying(then.report, baseline.report)[0])
    return (THE_CHECK,) if baseline.red and then.exit_status == 0 else ()


def find_carrying(now: Report, baseline: Report) -> tuple[list[str], list[str]]:
    """List the passing tests that should prove the work: those that failed at the base, and those that are new."""
    failed = {case.id for case in baseline.failing}
    if not now.cases:
        return sorted(failed), []
    known = {case.id for case in baseline.cases}
    passing = [case.id for case in now.cases if case.outcome == "passed"]
    # A file that could not be loaded failed as a whole, under its own name.
    fixed = [id for id in passing if id in failed or find_file(id) in failed]
    return fixed, [id for id in passing if id not in known and id not in {*fixed}]


def is_certain(baseline: Baseline, found: Mapping[str, Disagreement]) -> bool:
    """Whether the tests fail exactly as they did at the base. If so, no second run is needed to rule out chance."""
    said = {case.id: _first_line(case.message) for case in baseline.report.failing}
    return bool(found) and all(one.said and said.get(id) == one.said for id, one in found.items())


def hash_refutation(text: str) -> str:
    """Hash a check's output without its numbers; empty if the check lacked something, since it then tested nothing.
    `text`: the output without the path of the workspace, which differs each time."""
    # Patterns that begin with any text take a time that grows with the square of a line's length.
    if any(re.search(_BROKEN, line[:_LONGEST_LINE]) for line in text[-_MOST_READ:].splitlines()):
        return ""
    return hashlib.sha256(re.sub(r"\d+", "", text).encode()).hexdigest()


def find_file(id: str) -> str:
    return id.partition("::")[0]


def strip_parameters(id: str) -> str:
    """Return a test's id without its parameters, which may contain anything."""
    return id.partition("[")[0]


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "")[:SHOWN_TEXT]


# ── what it expected, and what it expects now ───────────────────────────────────────────────────────────────────────


def add_expectations(one: Disagreement, before: Mapping[str, str], after: Mapping[str, str]) -> Disagreement:
    """Add the test's source to a disagreement, and mark the lines that the work changed."""
    held = (path for path in before if find_language(path).holds_test(one.test, path))
    path = one.path if one.path in before else next(held, "")
    if not path:
        return one
    old, new = before[path].splitlines(), after.get(path, "").splitlines()
    # Show the test, or the whole file if the test's name is not found in it.
    name = re.split(r"::| > |\.(?=\w+$)", strip_parameters(one.test))[-1].strip()
    at = next((n for n, line in enumerate(old) if name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line)), None)
    if at is None and old == new:
        return one
    start, end = find_block(old, at) if at is not None else (0, len(old))
    removed: list[str] = []
    added: list[str] = []
    source: list[str] = []
    for tag, a, b, c, d in compare_lines(old, new):
        here = [line for line in old[max(a, start) : min(b, end)] if line.strip()]
        if tag == "equal":
            source += [f"  {line}" for line in here]
        elif here or (tag == "insert" and start <= a <= end):
            there = [line for line in new[c:d] if line.strip()]
            removed += here
            added += there
            source += [*(f"- {line}" for line in here), *(f"+ {line}" for line in there)]
    return replace(
        one, path=path, was=_limit_lines(removed), now=_limit_lines(added), source=_limit_lines(source, *SHOWN_SOURCE)
    )


def _limit_lines(lines: Sequence[str], most: int = SHOWN_LINES, longest: int = SHOWN_TEXT) -> str:
    return "\n".join(lines[:most])[:longest]
