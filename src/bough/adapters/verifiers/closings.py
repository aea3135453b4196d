"""What a runner says at its end, in the exact shapes that it prints, and never a word like OK found anywhere.

Each reader gets the lines of an output and gives the counts with the number of the line that it read them from; None
when the runner's closing lines are not there. A closing line stands alone on its line, at the end of the output: what
a test prints in the middle of a run is not one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from bough.adapters.verifiers.cases import plain

NEAR_END = 60
"""How many lines from the end a closing line may stand: below it come hints, coverage tables, and make's own errors."""


_LONGEST_TAIL = 200_000


class Said(NamedTuple):
    """Counts, and the line that says them."""

    line: int
    passed: int
    failed: int
    skipped: int = 0
    doubtful: int = 0
    """How many of those that passed may be no tests at all."""


Reader = Callable[[Sequence[str]], Said | None]


def closing(lines: Sequence[str], runner: str) -> tuple[str, Said] | None:
    """What the closing lines of a runner say, and whose they are; of an unknown runner, the last ones of any."""
    readers = {runner: READERS[runner]} if runner in READERS else READERS
    found = [(name, said) for name, read in readers.items() if (said := read(lines))]
    return max(found, key=lambda each: each[1].line, default=None)


_CUT_SHORT = re.compile(
    r"^!+ (?:_pytest\.outcomes\.Exit|stopping after|Interrupted|KeyboardInterrupt|xdist\.dsession\.Interrupted)\b.* !+$"
    r"|^Test Suites: .*\b\d+ of \d+ total$",
    re.MULTILINE,
)


def cut_short(output: str) -> bool:
    """Whether a runner (pytest, jest) says that it stopped before all its tests had run: then what failed is not all
    that fails."""
    return bool(_CUT_SHORT.search(plain(output[-_LONGEST_TAIL:])))


def _tail(lines: Sequence[str], near: int = NEAR_END) -> Sequence[tuple[int, str]]:
    """The last lines that say anything, with their numbers, the last first."""
    found: list[tuple[int, str]] = []
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].strip():
            found.append((at, lines[at]))
            if len(found) == near:
                break
    return found


def _worst(found: Sequence[Said]) -> Said | None:
    """Several closing lines near the end cannot all be the runner's word on the same tests: the worst count stands."""
    if not found:
        return None
    return Said(
        max(said.line for said in found),
        min(said.passed for said in found),
        max(said.failed for said in found),
        max(said.skipped for said in found),
    )


def _total(found: Sequence[Said]) -> Said | None:
    """Closing lines of a runner that prints one for each part: together they are the run."""
    if not found:
        return None
    line = max(said.line for said in found)
    return Said(line, sum(s.passed for s in found), sum(s.failed for s in found), sum(s.skipped for s in found))


def _count(text: str, *words: str) -> int:
    """The sum of the numbers that stand before these words."""
    return sum(int(number) for number in re.findall(rf"(\d{{1,9}}) (?:{'|'.join(words)})\b", text))


def _labelled(text: str, *labels: str) -> int:
    """The sum of the numbers that stand behind these labels."""
    return sum(int(number) for number in re.findall(rf"\b(?:{'|'.join(labels)})[:=] ?(\d{{1,9}})", text))


_PYTEST = re.compile(
    r"(?:=+ )?(no tests ran|(?:\d{1,9} (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|reruns?"
    r"|subtests passed|subtests failed|subtests skipped)(?:, )?)+)"
    r" in [\d.]+s(?: \([\d:]+\))?(?: =+)?"
)


def _pytest(lines: Sequence[str]) -> Said | None:
    found = []
    for at, line in _tail(lines):
        match = _PYTEST.fullmatch(line.strip())
        if match:
            counts = re.sub(r"\d+ subtests passed", "", match[1])
            failed = _count(counts, "failed", "errors?", "subtests failed")
            passed = _count(counts, "passed", "xpassed")
            found.append(Said(at, passed, failed, _count(counts, "skipped", "xfailed", "subtests skipped")))
    return _worst(found)


_UNITTEST_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s")
_UNITTEST_END = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \(((?:[a-z ]+=\d{1,9}(?:, )?)+)\))?")


def _unittest(lines: Sequence[str]) -> Said | None:
    found = []
    tail = _tail(lines)
    for (at, end), (_, ran) in pairwise(tail):
        counts, word = _UNITTEST_RAN.fullmatch(ran.strip()), _UNITTEST_END.fullmatch(end.strip())
        if counts and word:
            by_kind = {k: int(n) for k, n in re.findall(r"([a-z ]+?)=(\d+)", (word[2] or "").replace(", ", ","))}
            failed = sum(by_kind.get(kind, 0) for kind in ("failures", "errors", "unexpected successes"))
            skipped = by_kind.get("skipped", 0) + by_kind.get("expected failures", 0)
            failed = max(failed, int(word[1] == "FAILED"))
            found.append(Said(at, max(int(counts[1]) - failed - skipped, 0), failed, skipped))
    return _worst(found)


_CARGO = re.compile(
    r"test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored"
    r"; \d+ measured; \d+ filtered out(?:; finished in [\d.]+s)?"
)
_NEXTEST = re.compile(
    r"Summary \[ *[\d.]+s\] (\d{1,9})(?:/\d+)? tests? run: (\d{1,9} passed.*|\d{1,9} failed.*|.*skipped)"
)


def _cargo(lines: Sequence[str]) -> Said | None:
    next_gen = [(at, match[2]) for at, line in _tail(lines) if (match := _NEXTEST.fullmatch(line.strip()))]
    if next_gen:
        failed = ("failed", "timed out", "exec failed")
        return _worst([Said(at, _count(t, "passed"), _count(t, *failed), _count(t, "skipped")) for at, t in next_gen])
    found = []
    for at, line in enumerate(lines):
        match = _CARGO.fullmatch(line)
        if match:
            found.append(Said(at, int(match[1]), int(match[2]), int(match[3])))
    return _total(found)


_GO_OK = re.compile(r"ok  \t\S+\t(?:[\d.]+s|\(cached\))((?:\t|  ?)\S.*)?")
_GO_BAD = re.compile(r"FAIL\t\S+(?:\t[\d.]+s| \[(?:build|setup) failed\])")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)")


def _go(lines: Sequence[str]) -> Said | None:
    """One line for each package. Without -v a package says only that its tests passed, which counts as one."""
    good = [at for at, line in enumerate(lines) if _GO_OK.fullmatch(line) and "[no tests to run]" not in line]
    none = [at for at, line in enumerate(lines) if re.fullmatch(r"(ok|\?)  +\t\S+\t.*\[no test.*\]", line)]
    bad = [at for at, line in enumerate(lines) if _GO_BAD.fullmatch(line)]
    if not (good or none or bad):
        return None
    kinds = [match[1] for line in lines if (match := _GO_TEST.fullmatch(line))]
    last = max(good + none + bad)
    passed = max(kinds.count("PASS"), len(good))
    return Said(last, passed, max(kinds.count("FAIL"), len(bad)), kinds.count("SKIP"))


_NODE_COUNT = re.compile(r"(?:#|ℹ) (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms)  ?([\d.]{1,20})")
_NODE_FILE = re.compile(r"(?:ok \d+ - |✔ )\S+\.[cm]?[jt]sx?(?: \([\d.]+ms\))?(?: # .*)?")


def _node(lines: Sequence[str]) -> Said | None:
    """node's own block of counts, in TAP (also tape's shorter one) and in the spec form, where failures follow it."""
    blocks: list[tuple[int, dict[str, int]]] = []
    for at, line in enumerate(lines):
        match = _NODE_COUNT.fullmatch(line.rstrip())
        if match and match[1] == "tests":
            blocks.append((at, {}))
        if match and blocks and at - blocks[-1][0] <= 9:
            blocks[-1][1][match[1]] = int(float(match[2])) if re.fullmatch(r"\d+(\.\d+)?", match[2]) else 0
    whole = [(at, block) for at, block in blocks if {"tests", "pass"} <= block.keys()]
    # A file without tests is reported as a test that passed, under its own name.
    files = sum(1 for line in lines if _NODE_FILE.fullmatch(line))
    if not whole:
        return None
    at, block = whole[-1]
    failed, skipped = block.get("fail", 0) + block.get("cancelled", 0), block.get("skipped", 0) + block.get("todo", 0)
    return Said(at, block["pass"], failed, skipped, files)


_JEST_SUITES = re.compile(r"Test Suites: +((?:\d{1,9} [a-z]+, )*)(?:\d+ of )?\d{1,9} total")
_JEST_TESTS = re.compile(r"Tests: +((?:\d{1,9} [a-z]+, )*)\d{1,9} total")
_NO_JS_TESTS = re.compile(r"No tests? (?:files )?found, exiting with code [01]")


def _jest(lines: Sequence[str]) -> Said | None:
    tail = _tail(lines)
    found = []
    for at, line in tail:
        match = _JEST_TESTS.fullmatch(line.strip())
        if match:
            suites = next((m[1] for _, other in tail if (m := _JEST_SUITES.fullmatch(other.strip()))), "")
            failed = max(_count(match[1], "failed"), _count(suites, "failed"))
            skipped = _count(match[1], "skipped", "todo", "pending", "disabled")
            found.append(Said(at, _count(match[1], "passed"), failed, skipped))
        elif _NO_JS_TESTS.fullmatch(line.strip()):
            found.append(Said(at, 0, 0))
    return _worst(found)


_VITEST_TESTS = re.compile(r" +Tests  ((?:\d{1,9} [a-z ]+(?: \| )?)+\(\d{1,9}\)|no tests)")
_VITEST_FILES = re.compile(r" +Test Files  ((?:\d{1,9} [a-z ]+(?: \| )?)+\(\d{1,9}\)|no tests)")
_VITEST_ERRORS = re.compile(r" +Errors  (\d{1,9}) errors?")


def _vitest(lines: Sequence[str]) -> Said | None:
    tail = _tail(lines)
    found = []
    for at, line in tail:
        match = _VITEST_TESTS.fullmatch(line.rstrip())
        if match:
            files = next((m[1] for _, other in tail if (m := _VITEST_FILES.fullmatch(other.rstrip()))), "")
            errors = sum(int(m[1]) for _, other in tail if (m := _VITEST_ERRORS.fullmatch(other.rstrip())))
            failed = max(_count(match[1], "failed"), _count(files, "failed"), errors)
            found.append(Said(at, _count(match[1], "passed"), failed, _count(match[1], "skipped", "todo")))
        elif _NO_JS_TESTS.fullmatch(line.strip()):
            found.append(Said(at, 0, 0))
    return _worst(found)


_MOCHA = re.compile(r" +(\d{1,9}) (passing|failing|pending)(?: \([\d.]+ ?m?s?\))?")


def _mocha(lines: Sequence[str]) -> Said | None:
    """Its failures follow the counts, so the counts are looked for in the whole output; `passing` begins them."""
    starts = [at for at, line in enumerate(lines) if (m := _MOCHA.fullmatch(line.rstrip())) and m[2] == "passing"]
    if not starts:
        return None
    counts = {"passing": 0, "failing": 0, "pending": 0}
    for line in lines[starts[-1] : starts[-1] + 3]:
        match = _MOCHA.fullmatch(line.rstrip())
        if match:
            counts[match[2]] = int(match[1])
    return Said(starts[-1], counts["passing"], counts["failing"], counts["pending"])


_RSPEC = re.compile(
    r"(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?"
    r"(?:, (\d{1,9}) errors? occurred outside of examples)?"
)
_MINITEST = re.compile(
    r"(\d{1,9}) (?:runs|tests), \d+ assertions, (\d{1,9}) failures, (\d{1,9}) errors"
    r"(?:, (\d{1,9}) (?:skips|pendings))?.*"
)


def _ruby(lines: Sequence[str]) -> Said | None:
    found = []
    for at, line in _tail(lines):
        for pattern, bad, skipped in ((_RSPEC, (2, 4), 3), (_MINITEST, (2, 3), 4)):
            match = pattern.fullmatch(line.strip())
            if match:
                failed, left_out = sum(int(match[group] or 0) for group in bad), int(match[skipped] or 0)
                found.append(Said(at, max(int(match[1]) - failed - left_out, 0), failed, left_out))
    return _worst(found)


_PHPUNIT_OK = re.compile(r"OK \((\d{1,9}) tests?, \d+ assertions?\)")
_PHPUNIT_COUNTS = re.compile(r"Tests: (\d{1,9}), Assertions: \d+(?:, [A-Z][A-Za-z ]+: \d{1,9})*\.")


def _phpunit(lines: Sequence[str]) -> Said | None:
    found = []
    for at, line in _tail(lines):
        ok, counts = _PHPUNIT_OK.fullmatch(line.strip()), _PHPUNIT_COUNTS.fullmatch(line.strip())
        if ok:
            found.append(Said(at, int(ok[1]), 0))
        elif counts:
            failed = _labelled(line, "Failures", "Errors")
            skipped = _labelled(line, "Skipped", "Incomplete")
            found.append(Said(at, max(int(counts[1]) - failed - skipped, 0), failed, skipped))
        elif line.strip() == "No tests executed!":
            found.append(Said(at, 0, 0))
    return _worst(found)


_CTEST = re.compile(r"\d{1,3}% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})")


def _ctest(lines: Sequence[str]) -> Said | None:
    found = []
    for at, line in _tail(lines, 400):  # The list of those that failed follows.
        match = _CTEST.fullmatch(line.strip())
        if match:
            found.append(Said(at, max(int(match[2]) - int(match[1]), 0), int(match[1])))
        elif line.strip() == "No tests were found!!!":
            found.append(Said(at, 0, 0))
    return _worst(found)


_PROVE = re.compile(r"Files=\d+, Tests=(\d{1,9}), +[\d.]+ wallclock secs .*")
_PROVE_FAILED = re.compile(r"\S.* \(Wstat: .* Tests: \d+ Failed: (\d{1,9})\)")


def _prove(lines: Sequence[str]) -> Said | None:
    tail = _tail(lines, 400)
    for (at, result), (_, line) in pairwise(tail):
        match = _PROVE.fullmatch(line.strip())
        if match and re.fullmatch(r"Result: (PASS|FAIL|NOTESTS)", result.strip()):
            failed = sum(int(m[1]) for _, other in tail if (m := _PROVE_FAILED.fullmatch(other.strip())))
            failed = max(failed, int("FAIL" in result))
            return Said(at, max(int(match[1]) - failed, 0), failed)
    return None


_MAVEN = re.compile(
    r"\[(?:INFO|WARNING|ERROR)\] Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})"
)


def _maven(lines: Sequence[str]) -> Said | None:
    """The total of each module; the lines of single classes end with the time they took."""
    found = []
    for at, line in enumerate(lines):
        match = _MAVEN.fullmatch(line.rstrip())
        if match:
            ran, failures, errors, skipped = map(int, match.groups())
            found.append(Said(at, max(ran - failures - errors - skipped, 0), failures + errors, skipped))
    return _total(found)


_DENO = re.compile(r"(?:ok|FAILED) \| (\d{1,9}) passed(?: \(.*\))? \| (\d{1,9}) failed(?: \(.*\))?(?: \| .*)? \(.*\)")
_BUN = re.compile(r" +(\d{1,9}) (pass|fail|skip|todo)")


def _deno_or_bun(lines: Sequence[str]) -> Said | None:
    tail = _tail(lines)
    found = []
    for at, line in tail:
        match = _DENO.fullmatch(line.strip())
        if match:
            found.append(Said(at, int(match[1]), int(match[2])))
    bun = {m[2]: (at, int(m[1])) for at, line in reversed(tail) if (m := _BUN.fullmatch(line.rstrip()))}
    if {"pass", "fail"} <= bun.keys():
        skipped = sum(bun[kind][1] for kind in ("skip", "todo") if kind in bun)
        found.append(Said(bun["fail"][0], bun["pass"][1], bun["fail"][1], skipped))
    return _worst(found)


_TAP_POINT = re.compile(r"(not )?ok\b(?: (\d{1,9}))?(?: -)?.*?(?: # (SKIP|TODO|skip|todo)\b.*)?")


def _tap(lines: Sequence[str]) -> Said | None:
    """Any TAP stream whose plan is kept: bats, tape, node-tap …"""
    plans = [(at, int(match[1])) for at, line in enumerate(lines) if (match := re.fullmatch(r"1\.\.(\d{1,9})", line))]
    points = [match for line in lines if line.startswith(("ok", "not ok")) and (match := _TAP_POINT.fullmatch(line))]
    if len(plans) != 1 or plans[0][1] != len(points):
        return None
    skipped = sum(1 for point in points if point[3])
    failed = sum(1 for point in points if point[1] and not point[3])
    return Said(plans[0][0], len(points) - failed - skipped, failed, skipped)


_MAKE_IDLE = re.compile(r"g?make(?:\[\d+\])?: (?:'.*' is up to date|Nothing to be done for '.*')\.")


def _make(lines: Sequence[str]) -> Said | None:
    """make that did nothing at all: a folder has the target's name, or the target has no recipe."""
    tail = _tail(lines, 1)
    return Said(tail[0][0], 0, 0) if tail and _MAKE_IDLE.fullmatch(tail[0][1].strip()) else None


READERS: dict[str, Reader] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "cargo": _cargo,
    "go": _go,
    "node": _node,
    "jest": _jest,
    "vitest": _vitest,
    "mocha": _mocha,
    "ruby": _ruby,
    "phpunit": _phpunit,
    "ctest": _ctest,
    "prove": _prove,
    "maven": _maven,
    "deno or bun": _deno_or_bun,
    "make": _make,
    "tap": _tap,
}
"""In the order in which they are believed when the last lines of two stand on the same line."""
