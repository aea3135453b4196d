"""Single tests out of what a runner prints: `cargo test`, `go test` (also with -v and -json), `python -m unittest -v`.

These name their tests on standard output and write no report of their own; and pytest names those that failed. What is
read here tells which tests failed and with what message; the counts are held against the closing lines all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from bough.adapters.verifiers.cases import MOST_CASES, make_case, one_each
from bough.core.acceptance import Case, CaseOutcome

_MOST_LINES = 60
"""Lines of one test's output that are kept: the last ones."""


def listed(lines: Sequence[str], runner: str, root: str = "") -> tuple[Case, ...]:
    """The tests that the output names, each id once; none when this runner does not name them."""
    read = {"cargo": _cargo, "go": _go, "unittest": _unittest, "pytest": _pytest}.get(runner)
    return one_each(read(lines, root)) if read else ()


# pytest, when it wrote no report

_PYTEST = re.compile(r"(FAILED|ERROR) (.+?\.py(?:::[^\[]+?(?:\[.*?\])?)?)(?: - (.*))?")


def _pytest(lines: Sequence[str], root: str) -> list[Case]:
    """Those that failed, from the short summary that ends the output."""
    starts = [at for at, line in enumerate(lines) if re.fullmatch(r"=+ short test summary info =+", line)]
    matches = [_PYTEST.fullmatch(line) for line in (lines[starts[-1] :] if starts else [])]
    return [
        make_case(match[2], "error" if match[1] == "ERROR" else "failed", match[3] or "", root=root)
        for match in matches
        if match
    ]


# cargo test, cargo nextest

_SECTION = re.compile(r" +Running (?:unittests )?(\S+) \(.*?([\w.-]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)")
_DOC_SECTION = re.compile(r" +Doc-tests (\S+)")
_CARGO_TEST = re.compile(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, .*)?")
_CARGO_OUTPUT = re.compile(r"---- (.+?) stdout ----")
_NEXTEST = re.compile(r" +(PASS|FAIL|SKIP|SIGABRT|SIGSEGV|TIMEOUT) \[ *[\d.]+s\] (?:\( *\d+/\d+\) )?(\S+) (\S.*)")
_CARGO: dict[str, CaseOutcome] = {"ok": "passed", "PASS": "passed", "ignored": "skipped", "SKIP": "skipped"}


def _cargo(lines: Sequence[str], root: str) -> list[Case]:
    target, found, traces = "", list[tuple[str, str, CaseOutcome]](), _cargo_traces(lines)
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if (section := _SECTION.fullmatch(line)) is not None:
            target = f"{section[2]}:{section[1]}"
        elif (docs := _DOC_SECTION.fullmatch(line)) is not None:
            target = f"{docs[1]}:doc"
        elif (test := _CARGO_TEST.fullmatch(line)) is not None:
            found.append((target, test[1], _CARGO.get(test[2], "failed")))
        elif (test := _NEXTEST.fullmatch(line)) is not None and (test[2], test[3]) not in seen:
            seen.add((test[2], test[3]))  # Failures are named once more in the summary.
            found.append((test[2].replace("::", ":"), test[3], _CARGO.get(test[1], "failed")))
    # Documentation tests of one item differ by their line alone, and come in any order: the first in the file first.
    found.sort(key=lambda each: (each[0].endswith(":doc"), _line_of(each[1]) if each[0].endswith(":doc") else 0))
    cases = []
    for target, name, outcome in found[:MOST_CASES]:
        trace = traces.get(name, [])
        # The line number of a documentation test moves with every edit above it.
        stable = re.sub(r" \(line \d+\).*", "", name)
        cases.append(make_case(f"{target}::{stable}", outcome, _panic(trace), "\n".join(trace), root=root))
    return cases


def _line_of(name: str) -> int:
    match = re.search(r"\(line (\d{1,9})\)", name)
    return int(match[1]) if match else 0


def _cargo_traces(lines: Sequence[str]) -> dict[str, list[str]]:
    """What each failing test printed: `---- name stdout ----` and what follows, up to the next or the list of names."""
    traces: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        if (match := _CARGO_OUTPUT.fullmatch(line)) is not None:
            current = traces.setdefault(match[1], [])
        elif line in ("failures:", "successes:") or line.startswith("test result: "):
            current = None
        elif current is not None and len(current) < _MOST_LINES:
            current.append(line)
    return traces


def _panic(trace: Sequence[str]) -> str:
    for at, line in enumerate(trace):
        if re.match(r"thread '.*' .*panicked at ", line):
            told = [each.strip() for each in trace[at + 1 : at + 4]]
            stops = [n for n, each in enumerate(told) if not each or each.startswith(("note:", "stack backtrace"))]
            return " ".join(told[: stops[0]] if stops else told) or line
    return ""


# go test


class _GoEvent(msgspec.Struct):
    Action: str
    Package: str = ""
    ImportPath: str = ""
    Test: str = ""
    Output: str = ""
    Elapsed: float = 0.0


_GO_OUTCOMES: dict[str, CaseOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_GO_LINE = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)")
_GO_PACKAGE = re.compile(r"(?:ok  |FAIL)\t(\S+)(?:\t.*| \[(?:build|setup) failed\])")


def go_events(lines: Sequence[str]) -> list[_GoEvent]:
    """The events of `go test -json` among the lines of an output; what is no event is left out."""
    decoder = msgspec.json.Decoder(_GoEvent)
    events = []
    for line in lines:
        if line.startswith("{") and '"Action"' in line:
            try:
                events.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
    return events


def readable(output: str, runner: str) -> str:
    """What people and models are shown of an output: `go test -json` as `go test -v` would have printed it."""
    if runner != "go":
        return output
    shown = []
    for line in output.splitlines(keepends=True):
        events = go_events([line.rstrip("\n")])
        shown.append(events[0].Output if events else line)
    return "".join(shown)


def _go(lines: Sequence[str], root: str) -> list[Case]:
    events = go_events(lines)
    return _go_json(events, root) if events else _go_text(lines, root)


def _go_json(events: Sequence[_GoEvent], root: str) -> list[Case]:
    outcomes: dict[tuple[str, str], tuple[CaseOutcome, float]] = {}
    outputs: dict[tuple[str, str], list[str]] = {}
    for event in events[: MOST_CASES * 10]:
        key = (event.Package or event.ImportPath.split(" ")[0], event.Test)
        if event.Action in ("output", "build-output"):
            outputs.setdefault(key, []).append(event.Output)
        elif event.Action == "run":
            # Until it ends: a test that never did was cut off by a panic, an exit or a time limit.
            outcomes[key] = ("error", 0.0)
        elif event.Action in _GO_OUTCOMES and (event.Test or event.Action == "fail"):
            outcomes[key] = (_GO_OUTCOMES[event.Action], event.Elapsed)
    failing = {package for (package, test), (outcome, _) in outcomes.items() if test and outcome in ("failed", "error")}
    cases = []
    for (package, test), (outcome, seconds) in outcomes.items():
        if not test and package in failing:
            continue  # The package failed because of a test that is told by itself.
        said = [out for out in outputs.get((package, test), []) if not re.match(r" *(=== |--- |FAIL\b)", out)]
        name = f"{package}::{test}" if test else package
        kind: CaseOutcome = outcome if test else "error"
        trace = "".join(said[-_MOST_LINES:])
        cases.append(make_case(name, kind, trace.strip().split("\n")[0].strip(), trace, seconds, root))
    return cases


def _go_text(lines: Sequence[str], root: str) -> list[Case]:
    """Tests are printed before the line of their package."""
    cases: list[Case] = []
    waiting: list[tuple[str, CaseOutcome, float, list[str]]] = []
    for line in lines:
        test, package = _GO_LINE.fullmatch(line), _GO_PACKAGE.fullmatch(line)
        if test:
            waiting.append((test[2], _GO_OUTCOMES[test[1].lower()], float(test[3]), []))
        elif package:
            if line.startswith("FAIL") and not any(outcome == "failed" for _, outcome, _, _ in waiting):
                cases.append(make_case(package[1], "error", line.replace("\t", " "), root=root))
            for name, outcome, seconds, trace in waiting:
                told = "\n".join(trace)
                name = f"{package[1]}::{name}"
                cases.append(make_case(name, outcome, told.strip().split("\n")[0], told, seconds, root))
            waiting = []
        elif waiting and line.startswith("    ") and len(waiting[-1][3]) < _MOST_LINES:
            waiting[-1][3].append(line)
    return cases


# python -m unittest -v

_UNITTEST = re.compile(r"(\w[\w.]*) \(([\w.<>]+)\)(.*)")
_ENDING = re.compile(r"(?:.* \.\.\. )?(ok|FAIL|ERROR|skipped ['\"].*['\"]|expected failure|unexpected success)")
_BLOCK = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (\w[\w.]*) \(([\w.<>]+)\)(.*)")
_FIXTURES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_UNITTEST_OUTCOMES: dict[str, CaseOutcome] = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "error",
    "UNEXPECTED SUCCESS": "failed",
    "expected failure": "skipped",
    "unexpected success": "failed",
}


def _unittest(lines: Sequence[str], root: str) -> list[Case]:
    """The lines of -v tell which tests there were, the blocks below them which went wrong, and how."""
    outcomes: dict[str, CaseOutcome] = {}
    current = ""
    blocks = next((at for at, line in enumerate(lines) if line == "=" * 70), len(lines))
    for line in lines[:blocks]:
        test = _UNITTEST.fullmatch(line)
        if test:
            current = _unittest_id(test[1], test[2])
            # A test that prints breaks its line; it passed unless a block says otherwise.
            outcomes.setdefault(current, "passed")
        ending = _ENDING.fullmatch(test[3] if test else line)
        if ending and current:
            outcomes[current] = _UNITTEST_OUTCOMES.get(ending[1], "skipped")
            current = ""
    bad = _unittest_blocks(lines[blocks:])
    outcomes.update({name: outcome for name, (outcome, _) in bad.items()})
    cases = []
    for name, outcome in outcomes.items():
        trace = bad[name][1] if name in bad else []
        cases.append(make_case(name, outcome, _last_error(trace), "\n".join(trace), root=root))
    return cases


def _unittest_blocks(lines: Sequence[str]) -> dict[str, tuple[CaseOutcome, list[str]]]:
    found: dict[str, tuple[CaseOutcome, list[str]]] = {}
    current: list[str] | None = None
    for at, line in enumerate(lines):
        block = _BLOCK.fullmatch(line)
        if line in ("=" * 70, "-" * 70):
            # The rule under a block's title belongs to it; one before `Ran 3 tests` ends the last block.
            current = current if at and _BLOCK.fullmatch(lines[at - 1]) else None
        elif block and at and lines[at - 1] == "=" * 70:
            # Several sub-tests of one test may have failed; the first is told.
            name = _unittest_id(block[2], block[3])
            current = found.setdefault(name, (_UNITTEST_OUTCOMES[block[1]], []))[1]
            current = current if not current else []
        elif current is not None and len(current) < _MOST_LINES * 3:
            current.append(line)
    return found


def _last_error(trace: Sequence[str]) -> str:
    """`ValueError: x`: the last line that begins at the margin and names an error."""
    named = [
        line for line in trace if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)?\b(:|$)", line)
    ]
    return named[-1] if named else ""


def _unittest_id(name: str, dotted: str) -> str:
    """`tests.test_a.TestX.test_y`; Python before 3.11 writes the class alone behind the name."""
    dotted = dotted.removeprefix("unittest.loader._FailedTest").removeprefix(".")
    if name in _FIXTURES or dotted == name or dotted.endswith(f".{name}"):
        return dotted
    return f"{dotted}.{name}" if dotted else name
