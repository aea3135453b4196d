"""Count the progress of a test run from the lines that any runner prints. It is only for people to watch, never for a
verdict, since the tests' own code could have printed such lines."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from bough.core.verdict.check_run import strip_ansi

_LONGEST_LINE = 4_000
_TOTAL = r"(?:collecting \.\.\. )?collected (\d{1,7}) items?(?: / .*)?|running (\d{1,7}) tests?"
_SUMMARY = r"={70}|=+ [A-Za-z ]+ =+|failures:|✖ failing tests:|[#ℹ] tests \d+"
"""Pattern for the line after which runners list the failures a second time."""
_DOTS = r"(?:\S+\.py )?([.FEsxXRu,-]+) *\[ *\d+%\]|\S+\.py ([.FEsxXRu,-]+)"
_STEP = (
    r"(?!  ).* \.\.\. ?(ok|OK|FAIL\w*|ERROR|SKIP|skipped .*|ignored|expected failure|unexpected success)(?:[ ,].*)?"
    r"| *(ok|not ok) \d+ - .*| *(?:--- )?(PASS|FAIL|SKIP)(?:: \S+ \(| \[).*|  (Passed|Failed|Skipped) \S.*"
    r'|\{.*"Action":"(pass|fail|skip)".*"Test":".*\}| *([✓✔✕✖×○↓✎﹣]) \S.*'
    r"|(?=.*\[ *\d+%\])\S.*? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*"
)
"""Pattern for a line that reports one test; a group holds its outcome."""
_BAD = r"(?i)fail|error|not ok|unexpected|[✕✖×]"


class Progress(Struct, frozen=True):
    """Tests finished and failed so far; `total` if the runner announced it."""

    done: int = 0
    failed: int = 0
    total: int = 0
    over: bool = False
    """Whether the runner has begun to print its summary."""

    def __str__(self) -> str:
        tests = f"{self.done} of {self.total}" if self.total >= self.done > 0 else str(self.done)
        some = "s" if self.done != 1 or self.total > 1 else ""
        return f"{tests} test{some}, {self.failed} failure{'' if self.failed == 1 else 's'} so far"


def count_progress(so_far: Progress, line: str) -> Progress:
    """Return the progress after one more line."""
    line = strip_ansi(line[:_LONGEST_LINE]).rstrip()
    if total := re.fullmatch(_TOTAL, line):
        return replace(so_far, total=so_far.total + int(total[1] or total[2]), over=False)  # A second runner
    if so_far.over or re.fullmatch(_SUMMARY, line):
        return replace(so_far, over=True)
    if dots := re.fullmatch(_DOTS, line):
        marks = dots[1] or dots[2]
        bad = marks.count("F") + marks.count("E")
        return replace(so_far, done=so_far.done + len(marks), failed=so_far.failed + bad)
    if step := re.fullmatch(_STEP, line):
        bad = re.match(_BAD, next(filter(None, step.groups()))) is not None
        return replace(so_far, done=so_far.done + 1, failed=so_far.failed + bad)
    return so_far
