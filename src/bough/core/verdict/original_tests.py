"""Run the original tests on the new code, and compare their results with those before the work (at the base).

The tests as they were at the base are restored beside the new product code, and the whole check runs there. Every test
that passed at the base must exist and pass. Tests that failed at the base must pass too, since a passing check claims
that they do. If the check fails but known failures are accepted, the tests that fail in it need not pass.
"""

import hashlib
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from bough.core.acceptance.verdict import Disagreement, Report
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.paths import find_stem, last_segment, parent_folder
from bough.core.verdict.references import is_loading, list_defined
from bough.core.verdict.registry import LANGUAGES, find_language, is_placeholder
from bough.core.verdict.test_files import is_product, is_test_file
from bough.core.verdict.texts import FileChange, compare_lines, find_block

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
    """Find the original tests that disagree. `then`: their result on the new code; `now`: that of the work's tests."""
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
    """Hash a check's output without its numbers; empty if the check lacked something, and so tested nothing."""
    # Patterns that begin with any text take a time that grows with the square of a line's length.
    if any(re.search(_BROKEN, line[:_LONGEST_LINE]) for line in text[-_MOST_READ:].splitlines()):
        return ""
    return hashlib.sha256(re.sub(r"\d+", "", text).encode()).hexdigest()


def find_file(id: str) -> str:
    return id.partition("::")[0]


def strip_parameters(id: str) -> str:
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


# ── new names ───────────────────────────────────────────────────────────────────────────────────────────────────────
#
# A test that uses a name which the product no longer has cannot run. If the work renamed something, the diff of the
# tests shows the new name; the original test then uses that name, and keeps its expectations. Only a name that the
# product defined and no longer has is replaced, and only by one that the product newly defines, so that the new name
# can refer only to the product. Definitions that moved to another module are imported from there.

_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def apply_new_names(
    before: Mapping[str, str], after: Mapping[str, str], restored: Collection[str], changes: Iterable[FileChange]
) -> dict[str, str]:
    """Return the original test files that the new names change. `restored`: the files that are put back."""
    tests = {path: before[path] for path in restored if path in before and is_test_file(path)}
    changed = [change.path for change in changes if is_product(change.path)]
    # Find the product files that moved to another folder under the same name.
    new: dict[str, list[str]] = {}
    for path in changed:
        if path not in before:
            new.setdefault(last_segment(path), []).append(path)
    gone = (path for path in changed if path not in after)
    moved = {path: new[last_segment(path)][0] for path in gone if len(new.get(last_segment(path), ())) == 1}
    # Find the product modules that took over a definition from another module.
    had, has = ({path: list_defined(texts.get(path, "")) for path in changed} for texts in (before, after))
    lost = {name for path in had for name in had[path] - has[path]}
    homes = {find_stem(path) for path in has if (has[path] - had[path]) & lost}
    made = {path: _follow_imports(text, after.get(path, text), homes) for path, text in tests.items()}
    names = _find_names(tests, before, after, changed)
    made = {path: _follow_moved(text, path, moved) for path, text in made.items()}
    made = {path: _rename(text, names) for path, text in made.items()}
    return {path: text for path, text in made.items() if text != tests[path]}


def _follow_moved(text: str, test: str, moved: Mapping[str, str]) -> str:
    """Correct the quoted relative paths in a test that lead to files which have moved."""
    folder = parent_folder(test)
    for old, new in moved.items():
        was, now = (posixpath.relpath(path, folder or ".") for path in (old, new))
        now = now if now.startswith(".") else f"./{now}"
        stem, suffix = re.escape(was.rpartition(".")[0]), re.escape(f".{was.rpartition('.')[2]}")
        start = "" if was.startswith(".") else rf"(?:\./|(?={stem}{suffix}))"
        pattern = rf"([\"'`]){start}{stem}({suffix})?\1"
        text = re.sub(pattern, lambda hit: f"{hit[1]}{now if hit[2] else now.rpartition('.')[0]}{hit[1]}", text)  # noqa: B023
    return text


def _follow_imports(text: str, successor: str, homes: set[str]) -> str:
    """Return a test with the imports of its `successor` that name nothing new but `homes` of moved definitions."""
    lines, others = text.splitlines(keepends=True), successor.splitlines(keepends=True)
    made: list[str] = []
    for tag, a, b, c, d in compare_lines(lines, others):
        was, now = lines[a:b], others[c:d]
        fresh = {*_WORD.findall("".join(now))} - {*_WORD.findall("".join(was))}
        follows = tag == "replace" and all(map(is_loading, was + now)) and bool(fresh) and fresh <= homes
        made += now if follows else was
    return "".join(made)


def _find_names(
    tests: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str], changed: Sequence[str]
) -> dict[str, str]:
    gone = _list_defined(before, changed) - _list_words(after, changed)
    gone &= {word for text in tests.values() for word in _WORD.findall(text)} if gone else set()
    gone -= _list_words(after, filter(is_product, after)) if gone else set()
    new = _list_defined(after, changed) - _list_words(before, filter(is_product, before)) if gone else set[str]()
    if not gone or not new:
        return {}
    # Pair each old test file with itself or with one of the new files.
    left = [path for path in after if path not in before and is_test_file(path)]
    pairs = {
        pair
        for path, text in tests.items()
        for pair in _pair_names(text, [after[own] for own in ([path] if path in after else left)], gone, new)
    }
    return {old: called for old, called in pairs if sum(other == old for other, _ in pairs) == 1}


def _list_words(texts: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    return {word for path in paths if path in texts for word in (*_WORD.findall(texts[path]), *_WORD.findall(path))}


def _list_defined(texts: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    """List the names that these files define, including modules and packages, which are named after the files."""
    here = [path for path in paths if path in texts]
    found = {word for path in here for word in list_defined(texts[path])}
    return found | {word for path in here for word in _WORD.findall(path.rpartition(".")[0])}


def _pair_names(old: str, successors: Iterable[str], gone: set[str], new: set[str]) -> Iterator[tuple[str, str]]:
    """Pair each lost name with the new name that replaces it in a changed line."""
    lines = old.splitlines()
    for text in successors:
        others = text.splitlines()
        for tag, a, b, c, d in compare_lines(lines, others):
            was = dict.fromkeys(word for line in lines[a:b] for word in _WORD.findall(line) if word in gone)
            now = dict.fromkeys(word for line in others[c:d] for word in _WORD.findall(line) if word in new)
            if tag == "replace" and len(was) == len(now):
                yield from zip(was, now, strict=True)


def _rename(text: str, names: Mapping[str, str]) -> str:
    words = {*_WORD.findall(text)}
    own = {old: called for old, called in names.items() if called not in words}  # Avoid clashes with other names.
    return _WORD.sub(lambda hit: own.get(hit[0], hit[0]), text)
