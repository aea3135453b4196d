"""Progress of a test run while it runs: how many tests are done, how many failed, told from each line as it comes.

A count for people to watch, never for a verdict: it is read from lines that the tests' own code could have printed.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.verifiers.cases import plain

_LONGEST = 4_000


class Progress(Struct, frozen=True):
    """Tests done and failed so far; `total` when the runner said how many there will be."""

    done: int = 0
    failed: int = 0
    total: int = 0
    over: bool = False
    """The runner is at its summary, which names failures once more."""
    groups: tuple[str, ...] = ()
    """Groups of node's that are open: what is told at their end is no test of its own."""

    def __str__(self) -> str:
        tests = f"{self.done} of {self.total}" if self.total >= self.done > 0 else str(self.done)
        some = "s" if self.done != 1 or self.total > 1 else ""
        return f"{tests} test{some}, {self.failed} failure{'' if self.failed == 1 else 's'} so far"


_TOTALS = {
    "pytest": re.compile(r"(?:collecting \.\.\. )?collected (\d{1,7}) items?(?: / .*)?"),
    "cargo": re.compile(r"running (\d{1,7}) tests?"),
}
_OVER = re.compile(
    r"✖ failing tests:|=+ (ERRORS|FAILURES|short test summary info|warnings summary) =+|(#|ℹ) tests \d+|failures:|={70}"
)
_DOTS = re.compile(r"(?:\S+\.py )?([.FEsxXRu,-]+) *\[ *\d+%\]|\S+\.py ([.FEsxXRu,-]+)")
_GROUP = re.compile(r" *(▶|✔|✖) (.*?)(?: \([\d.]+ms\))?")
_LINES: dict[str, tuple[re.Pattern[str], ...]] = {
    "pytest": (
        re.compile(r"\S.*? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*\[ *\d+%\]"),
        re.compile(r"\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) \S.*"),
    ),
    "unittest": (re.compile(r"(?!  ).* \.\.\. (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)"),),
    "cargo": (
        re.compile(r"test .+ \.\.\. (ok|FAILED|ignored)(?:, .*)?"),
        re.compile(r" +(PASS|FAIL|SKIP) \[ *[\d.]+s\] \S.*"),
    ),
    "go": (
        re.compile(r" *--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)"),
        re.compile(r'\{.*"Action":"(pass|fail|skip)".*"Test":".*\}'),
    ),
    "node": (
        re.compile(r" *(ok|not ok) \d+ - .*"),
        re.compile(r" *(✔|✖|﹣) .* \([\d.]+ms\)(?: # .*)?"),
    ),
    "jest": (re.compile(r" +(✓|✕|○|✎) .*"),),
    "vitest": (re.compile(r" +(✓|×|↓) .*"),),
}
_BAD = frozenset({"FAILED", "ERROR", "FAIL", "fail", "unexpected success", "not ok", "✖", "✕", "×"})


def counting(so_far: Progress, line: str, runner: str) -> Progress:
    """The progress after one more line; the same one when the line says nothing of it."""
    line = plain(line[:_LONGEST]).rstrip()
    if so_far.over and runner != "cargo":
        return so_far
    if _OVER.fullmatch(line):
        return replace(so_far, over=True)
    total = _TOTALS[runner].fullmatch(line) if runner in _TOTALS else None
    if total:
        # cargo says it anew for each of its programs.
        return replace(so_far, total=so_far.total + int(total[1]), over=False)
    group = _GROUP.fullmatch(line)
    if group and group[1] == "▶":
        return replace(so_far, groups=(*so_far.groups, group[2]))
    if group and so_far.groups[-1:] == (group[2],):
        return replace(so_far, groups=so_far.groups[:-1])
    for kind in (runner,) if runner in _LINES else _LINES:
        done, failed = _counts(line, kind)
        if done:
            return replace(so_far, done=so_far.done + done, failed=so_far.failed + failed)
    return so_far


def _counts(line: str, runner: str) -> tuple[int, int]:
    """How many tests a line tells of, and how many of them failed."""
    dots = _DOTS.fullmatch(line) if runner == "pytest" else None
    if dots:
        marks = dots[1] or dots[2]
        return len(marks), marks.count("F") + marks.count("E")
    for pattern in _LINES[runner]:
        match = pattern.fullmatch(line)
        if match:
            return 1, int(match[1] in _BAD)
    return 0, 0
