"""The results of a test run: its report where there is one, else its closing lines, else only its exit status.

Everything read here was written by programs that run the agent's code. So no reader raises, whatever the bytes; no word
in the output decides anything; and where two witnesses of one run disagree, the worse count counts. A closing line
cannot make up for an exit status, nor the reverse: the verdict weighs both.
"""

from __future__ import annotations

from bough.core.acceptance.verdict import Report
from bough.core.verdict import runners
from bough.core.verdict.cases import count_cases, merge_worse, strip_ansi
from bough.core.verdict.registry import find_runner

_LONGEST_OUTPUT = 32 * 1024 * 1024
_LONGEST_LINE = 4_000
_MOST_LINES = 1_000_000
_MOST_UNKNOWN = 40_000
"""Lines at the end of an output that are read, for a known runner and for any: each of those reads all of them."""


def read_results(body: bytes | None, output: str, exit_status: int | None, runner: str, root: str = "") -> Report:
    """The results of a run: from its report file, its output and how it ended.

    `root` is the workspace's path: ids and traces then do not contain the checkout's location. With how = "exit status"
    nothing is known about single tests, and the counts are 0. A command that was killed (`exit_status` None) never
    finished its report, so any report is ignored.
    """
    said = _read_counts(output, runner, root)
    cases = runners.read(body, runner, root) if body and exit_status is not None else None
    if cases is None:
        return said[0] if said else Report("exit status")
    told = count_cases("junit", cases)
    return merge_worse(told, said[1]) if said else told


def read_closing_lines(output: str, runner: str, root: str = "") -> Report | None:
    """What the closing lines of a known runner say; None when there are none. An empty `runner`: any of them."""
    said = _read_counts(output, runner, root)
    return said[0] if said else None


def _read_counts(output: str, runner: str, root: str) -> tuple[Report, Report] | None:
    """The closing lines' report as it counts alone, and as it is compared with a report file."""
    most = _MOST_LINES if find_runner(runner) else _MOST_UNKNOWN
    last = strip_ansi(output[-_LONGEST_OUTPUT:]).rsplit("\n", most)[-most:]
    lines = [line[:_LONGEST_LINE].rstrip("\r") for line in last]
    found = runners.read_closing(lines, runner)
    if found is None:
        return None
    name, said = found
    cases = runners.read_cases(lines, name, root)
    named = count_cases("closing line", cases)
    ran = said.passed + said.failed + said.skipped > 0
    passed = max(said.passed, named.passed) if ran else 0
    failed = max(said.failed, named.failed)
    alone = Report("closing line", cases, max(passed - said.doubtful, 0), failed, said.skipped)
    return alone, Report("closing line", cases, passed, failed, said.skipped)
