"""One run of a check and what is known from it: how it ended, what its report says, and what it reported at a tree. Its
single tests have the runner's names: safe to keep, free of the workspace's path, and each under one id."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.verdict import Case, CaseOutcome, How, Report

MOST_CASES = 100_000
_LONGEST_ID = 400
_LONGEST_MESSAGE = 1_000
_LONGEST_TRACE = 6_000
_ANSI = r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])"
_UNPRINTABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
_ADDRESS = r"(\bat |#<[\w:]+:|\b(?=0xc[0-9a-f]{9}\b))0x[0-9a-fA-F]+|(\b[A-Z][\w$]*@)[0-9a-f]{5,8}\b"
"""Where an object lies in memory, as Python, Ruby, Go and Java write it in the name of a case."""
_RANK: dict[CaseOutcome, int] = {"skipped": 0, "passed": 1, "failed": 2, "error": 3}


def strip_ansi(text: str) -> str:
    """Text without colours and other control sequences."""
    return re.sub(_UNPRINTABLE, "", re.sub(_ANSI, "", text))


def strip_root(text: str, root: str) -> str:
    """Text in which paths below the workspace are relative to it, so that it is the same in every checkout."""
    if len(root) < 2:
        return text
    return re.sub(rf"(file://)?{re.escape(root.rstrip('/'))}/", "", text)


def cut_middle(text: str, size: int) -> str:
    """Shorten a text to `size` characters: its beginning and, more of it, its end, where runners say what went
    wrong."""
    if len(text) <= size:
        return text
    mark = "\n… (cut) …\n"
    room = max(size - len(mark), 2)
    head = room * 2 // 5
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"[: max(size, 2)]


def make_case(
    name: str, outcome: CaseOutcome, message: str | None = None, trace: str = "", seconds: float = 0.0, root: str = ""
) -> Case:
    """A case that is safe to keep, whatever the runner wrote. `message`: None for the first line of the trace."""
    message = trace.strip().partition("\n")[0] if message is None else message
    clean = " ".join(strip_root(strip_ansi(name), root).split()) or "?"
    # It differs in every run: the test would be new each time.
    clean = re.sub(_ADDRESS, lambda found: f"{found[1] or found[2] or ''}0x0", clean)
    if len(clean) > _LONGEST_ID:
        clean = f"{clean[: _LONGEST_ID - 17]}~{sha256(clean.encode()).hexdigest()[:16]}"
    bad = outcome in ("failed", "error")
    return Case(
        clean,
        outcome,
        cut_middle(strip_root(strip_ansi(message), root).strip(), _LONGEST_MESSAGE) if bad else "",
        cut_middle(strip_root(strip_ansi(trace), root).strip("\n"), _LONGEST_TRACE) if bad else "",
        seconds if 0 <= seconds < 1e7 else 0.0,
    )


def deduplicate(cases: Iterable[Case], unique: str = "") -> tuple[Case, ...]:
    """Every id once.

    Of an id that matches `unique`, a repeated one is the same test (its teardown, a retry): the worse outcome counts.
    Elsewhere two tests may well share a name: the later ones are numbered.
    """
    by_id: dict[str, Case] = {}
    times: dict[str, int] = {}
    for case in cases:
        if len(by_id) >= MOST_CASES:
            break
        seen = by_id.get(case.id)
        if seen is None:
            by_id[case.id] = case
        elif unique and re.match(unique, case.id):
            by_id[case.id] = max(seen, case, key=lambda each: _RANK[each.outcome])
        else:
            times[case.id] = times.get(case.id, 1) + 1
            numbered = f"{case.id}#{times[case.id]}"
            by_id[numbered] = replace(case, id=numbered)
    return tuple(by_id.values())


def count_cases(how: How, cases: tuple[Case, ...]) -> Report:
    outcomes = [case.outcome for case in cases]
    failed = outcomes.count("failed") + outcomes.count("error")
    return Report(how, cases, outcomes.count("passed"), failed, outcomes.count("skipped"))


def merge_worse(one: Report, other: Report) -> Report:
    """Two witnesses of one run: the worse one of each count, and the tests of the first (or of the other when the first
    knows none)."""
    return Report(
        one.how,
        one.cases or other.cases,
        min(one.passed, other.passed),
        max(one.failed, other.failed),
        max(one.skipped, other.skipped),
    )


def count_told(output: str) -> int:
    """How many tests an output of no known runner speaks of: numbers before words that mean tests, or lines with one
    outcome each."""
    named = r"tests?|specs?|examples?|assertions?|cases?|successes|checks?|pass(?:ed|ing)|ok"
    output = output[-_READ:]
    numbers = re.findall(rf"(?im)\b(\d{{1,6}})\s+(?:\w+\s+)?(?:{named})\b", output)
    outcome = r"(?:not )?ok|OK|PASS(?:ED)?|SUCCESS|FAIL(?:ED|URE)?|[✓✔√✗✘]"
    said = strip_ansi(output)
    lines = re.findall(rf"(?m)^\W{{0,4}}(?:{outcome})\W{{0,3}}\w|^[ \t]*\w.*(?:\.\.|:) *(?:{outcome})\W*$", said)
    return max(map(int, numbers), default=len(lines))


def does_nothing(output: str) -> bool:
    """Whether make says at the end that there was nothing to do, and nothing before that speaks of a test."""
    last = (
        r"g?make(?:\[\d+\])?: Nothing to be done for '[^'\n]*'\.\s*(?:g?make(?:\[\d+\])?: Leaving directory .*\s*)*\Z"
    )
    return re.search(last, output[-_READ:]) is not None and not count_told(output)


_READ = 20_000
"""The most characters at the end of an unknown output in which tests are looked for."""
NOT_STARTED = (126, 127)
"""How a shell ends that could not start a command: no program, not found. A program may end so, too."""


def find_signal(exit_status: int | None) -> str:
    """The signal that killed a command, as a shell tells it; empty: none did."""
    try:
        return signal.Signals((exit_status or 0) - 128).name
    except ValueError:
        return ""


class Finished(Struct, frozen=True):
    """How a command ended."""

    exit_status: int | None
    """None when it was killed for its time or its output."""
    output: bytes
    """Standard output and error as they came, interleaved."""
    seconds: float
    killed: str = ""
    """Why it was killed, as a phrase: `after 120 s`, `after 20 MB of output`."""


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """What the check reported at a tree."""

    report: Report
    closed: bool
    """The output has the runner's closing lines, which some plugins and options suppress."""
    exit_status: int | None
    refuted: str = ""
    """What `original_tests.hash_refutation` makes of the output."""
    seconds: float = 0.0
    lacking: str = ""
    """What it lacks in order to report anything: a command, an installed package."""
    way_out: str = ""
    """What provides that."""
    aside: dict[str, str] = {}
    """Failing tests that cannot run here, and what each lacks."""
    left_out: tuple[str, ...] = ()
    """Ignored files that a failing check's output names."""
    said: str = ""
    """The end of a failing check's output."""
    told: int = 0
    """How many tests an output that no reader knows speaks of."""
    plain: bool = False
    """It fails with what bough adds to make it report, and passes as it is written: so it runs without that."""
    absent: bool = False
    """It started nothing, for want of what nobody can install: a target, a test to collect, its own script."""

    @property
    def ran_tests(self) -> int:
        """How many tests it ran. What could not be loaded did not run; nor did a test that cannot run here."""
        report = self.report
        if self.mute and not self.lacking:
            return self.told
        errors = sum(case.outcome == "error" for case in report.failing)
        failed = max(report.failed - max(errors, len(self.aside)), 0)
        return 0 if self.lacking or self.exit_status is None else report.passed + failed

    @property
    def is_telling(self) -> bool:
        """It ran tests, or it ended without a word about them; not because something that it uses was missing."""
        return self.ran_tests > 0 or (self.mute and (self.exit_status == 0 or (self.red and self.refuted != "")))

    @property
    def red(self) -> bool:
        """It started the product or a test and failed, with whatever status or signal."""
        return self.exit_status not in (0, None) and not self.lacking and not self.absent

    def falls_silent(self, then: Baseline) -> bool:
        """It says what runs only when it fails: then nothing can be counted where it passes."""
        return self.exit_status != 0 and not self.mute and then.exit_status == 0 and then.mute

    @property
    def mute(self) -> bool:
        """It ended, and nothing readable said what ran."""
        return self.exit_status is not None and self.report.how == "exit status"


class CheckRun(Struct, frozen=True):
    """One whole run of a check."""

    finished: Finished
    text: str
    known: Baseline
    gone: tuple[str, ...] = ()
    """What lay in the workspace and is not part of the tree: it was removed before."""

    @property
    def report(self) -> Report:
        return self.known.report


class MixedRun(Struct, frozen=True):
    """Tests of one tree that ran on the product of another."""

    report: Report
    exit_status: int | None
    output: str = ""


def describe_result(finished: Finished) -> str:
    """The result of the check, in one sentence for people."""
    status, took = finished.exit_status, f"{finished.seconds:.1f} s"
    if status == 0:
        return f"the check passed (exit status 0 in {took})"
    if finished.killed.endswith("of output"):
        return f"the check was killed {finished.killed}: make it print less"
    if status is None:
        return f"the check was killed {finished.killed}: make it faster, or raise check_timeout under [limits]"
    if status == 127:
        return "the check's command was not found (exit status 127): is it installed, and spelled right?"
    if status == 126:
        return "the check's command cannot be executed (exit status 126): is it an executable program?"
    if name := find_signal(status):
        return f"the check was killed by {name} (exit status {status}) after {took}"
    return f"the check failed with exit status {status} after {took}"
