"""One run of a check: how it ended, and what it reported for a tree of files. Each test has one id: the runner's name
for it, without control characters and without the workspace's path."""

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
"""Memory addresses in the names of cases, as Python, Ruby, Go and Java write them."""
_RANK: dict[CaseOutcome, int] = {"skipped": 0, "passed": 1, "failed": 2, "error": 3}


def strip_ansi(text: str) -> str:
    return re.sub(_UNPRINTABLE, "", re.sub(_ANSI, "", text))


def strip_root(text: str, root: str) -> str:
    """Make the paths below the workspace (`root`) relative to it, so that a text is the same in every checkout."""
    if len(root) < 2:
        return text
    return re.sub(rf"(file://)?{re.escape(root.rstrip('/'))}/", "", text)


def cut_middle(text: str, size: int) -> str:
    """Cut out the middle of a text; more is kept of the end, where runners say what went wrong."""
    if len(text) <= size:
        return text
    mark = "\n… (cut) …\n"
    room = max(size - len(mark), 2)
    head = room * 2 // 5
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"[: max(size, 2)]


def make_case(
    name: str, outcome: CaseOutcome, message: str | None = None, trace: str = "", seconds: float = 0.0, root: str = ""
) -> Case:
    """Make a case that is safe to store. If `message` is None, it is the first line of `trace`."""
    message = trace.strip().partition("\n")[0] if message is None else message
    clean = " ".join(strip_root(strip_ansi(name), root).split()) or "?"
    # An address differs in every run, so the test would seem new each time.
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
    """Merge cases of one id: those whose id matches `unique` are one test, others get a number."""
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
    """Take the worse of each count of two reports of one run, and the cases of the first that has some."""
    failed, skipped = max(one.failed, other.failed), max(one.skipped, other.skipped)
    return Report(one.how, one.cases or other.cases, min(one.passed, other.passed), failed, skipped)


def count_told(output: str) -> int:
    """Count the tests of an unknown runner: the largest number before a word for tests, or lines with an outcome."""
    named = r"tests?|specs?|examples?|assertions?|cases?|successes|checks?|pass(?:ed|ing)|ok"
    output = re.sub(r"(?m)^(?:[Cc]hecking |-- ).*", "", output[-_READ:])  # Leave out lines of configure and CMake.
    numbers = re.findall(rf"(?im)\b(\d{{1,6}})\s+(?:\w+\s+)?(?:{named})\b", output)
    outcome = r"(?:not )?ok|OK|PASS(?:ED)?|SUCCESS|FAIL(?:ED|URE)?|[✓✔√✗✘]"
    said = strip_ansi(output)
    lines = re.findall(rf"(?m)^\W{{0,4}}(?:{outcome})\W{{0,3}}\w|^[ \t]*\w.*(?:\.\.|:) *(?:{outcome})\W*$", said)
    return max(map(int, numbers), default=len(lines))


def does_nothing(output: str) -> bool:
    """Whether make ends with "nothing to be done" and no line before it mentions a test."""
    make = r"g?make(?:\[\d+\])?: "
    last = rf"{make}Nothing to be done for '[^'\n]*'\.\s*(?:{make}Leaving directory .*\s*)*\Z"
    return re.search(last, output[-_READ:]) is not None and not count_told(output)


_READ = 20_000
"""Number of characters at the end of an unknown runner's output that are searched for tests."""
NOT_STARTED = (126, 127)
"""Exit statuses of a shell that could not start a command (not executable, not found). Programs may use them too."""


def find_signal(exit_status: int | None) -> str:
    """Return the name of the signal that killed a command, from the shell's exit status; empty if no signal did."""
    try:
        return signal.Signals((exit_status or 0) - 128).name
    except ValueError:
        return ""


class CommandResult(Struct, frozen=True):
    """How a command ended."""

    exit_status: int | None
    """The exit status; None if bough killed the command because it ran too long or printed too much."""
    output: bytes
    """Standard output and error as they came, interleaved."""
    seconds: float
    killed: str = ""
    """When bough killed the command, as a phrase: `after 120 s`, `after 20 MB of output`."""


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of the check on one tree of files."""

    report: Report
    closed: bool
    """Whether the output has the runner's closing lines, which some plugins and options suppress."""
    exit_status: int | None
    refuted: str = ""
    """Hash of the output by `original_tests.hash_refutation`."""
    seconds: float = 0.0
    lacking: str = ""
    """The missing command or package without which the check can report nothing."""
    way_out: str = ""
    """The command or step that provides what is missing."""
    aside: dict[str, str] = {}
    """Failing tests that cannot run on this machine, and what each of them lacks."""
    left_out: tuple[str, ...] = ()
    """Files ignored by git that a failing check's output names."""
    said: str = ""
    """The end of a failing check's output."""
    told: int = 0
    """Number of tests that the output mentions, if bough cannot read its format."""
    plain: bool = False
    """The check fails with the options that bough adds for reports and passes without them, so it runs without them."""
    absent: bool = False
    """The check started nothing because a target, any test to collect, or its own script does not exist."""

    @property
    def ran_tests(self) -> int:
        """Return the number of tests that ran; tests that failed to load or cannot run here are not counted."""
        report = self.report
        if self.mute and not self.lacking:
            return self.told
        errors = sum(case.outcome == "error" for case in report.failing)
        failed = max(report.failed - max(errors, len(self.aside)), 0)
        return 0 if self.lacking or self.exit_status is None else report.passed + failed

    @property
    def runs_nothing(self) -> bool:
        """Whether the check passed without any test to run."""
        ran = self.report.passed + self.report.failed
        return self.exit_status == 0 and (self.absent or (self.closed and not ran))

    @property
    def fails_throughout(self) -> bool:
        return self.exit_status != 0 and not self.report.passed

    @property
    def is_telling(self) -> bool:
        """Whether the result counts: tests ran, or a check that names none passed, or failed with nothing missing."""
        return self.ran_tests > 0 or (self.mute and (self.exit_status == 0 or (self.red and self.refuted != "")))

    @property
    def red(self) -> bool:
        """Whether the check started the product or a test, and failed with any status or signal."""
        return self.exit_status not in (0, None) and not self.lacking and not self.absent

    def falls_silent(self, then: "Baseline") -> bool:
        """Whether this run failed and named its tests, and `then` passed without naming any: no counts compare."""
        return self.exit_status != 0 and not self.mute and then.exit_status == 0 and then.mute

    @property
    def mute(self) -> bool:
        """Whether the check ended and no report or closing line says which tests ran."""
        return self.exit_status is not None and self.report.how == "exit status"


class CheckRun(Struct, frozen=True):
    """One whole run of a check."""

    finished: CommandResult
    text: str
    known: Baseline
    gone: tuple[str, ...] = ()
    """Files that were removed before the run because they are not part of the tree."""

    @property
    def report(self) -> Report:
        return self.known.report


class MixedRun(Struct, frozen=True):
    """The tests of one tree, run on the product of another."""

    report: Report
    exit_status: int | None
    output: str = ""


def describe_result(finished: CommandResult) -> str:
    status, took = finished.exit_status, f"{finished.seconds:.1f} s"
    if status == 0:
        return f"the check passed (exit status 0 in {took})"
    if status is None:
        loud = finished.killed.endswith("of output")
        less = "make it print less" if loud else "make it faster, or raise check_timeout under [limits]"
        return f"the check was killed {finished.killed}: {less}"
    if status == 127:
        return "the check's command was not found (exit status 127): is it installed, and spelled right?"
    if status == 126:
        return "the check's command cannot be executed (exit status 126): is it an executable program?"
    if name := find_signal(status):
        return f"the check was killed by {name} (exit status {status}) after {took}"
    return f"the check failed with exit status {status} after {took}"


# ── progress, only for people to watch: the tests' own code could have printed such lines ─────────────────────────────

_LONGEST_STEP = 4_000
_TOTAL = r"(?:collecting \.\.\. )?collected (\d{1,7}) items?(?: / .*)?|running (\d{1,7}) tests?"
_SUMMARY = r"={70}|=+ (?!test session)[A-Za-z ]+ =+|failures:|✖ failing tests:|[#ℹ] tests \d+"
"""Pattern for the line after which runners list the failures a second time."""
_DOTS = r"(?:\S+\.py )?([.FEsxXRu,-]+) *\[ *\d+%\]|\S+\.py ([.FEsxXRu,-]+)"
_STEP = (
    r"(?!  ).* \.\.\. ?(ok|OK|FAIL\w*|ERROR|SKIP|skipped .*|ignored|expected failure|unexpected success)(?:[ ,].*)?"
    r"| *(ok|not ok) \d+ - .*| *(?:--- )?(PASS|FAIL|SKIP)(?:: \S+ \(| \[).*|  (Passed|Failed|Skipped) \S.*"
    r"| *([✓✔✕✖×○↓✎﹣]) \S.*"
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
    line = strip_ansi(line[:_LONGEST_STEP]).rstrip()
    if total := re.fullmatch(_TOTAL, line):
        return replace(so_far, total=so_far.total + int(total[1] or total[2]), over=False)  # A second runner begins.
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
