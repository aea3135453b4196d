"""Decide the verdict on a check: compare its results now with those before the work (at the base).

The agent that repairs failures gets each failure in brief instead of the raw output: the test, its message and the
location, without frames of runners and libraries. The length is bounded, so a thousand failures cost no more than ten.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from bough.core.acceptance.requirements import speaks_of
from bough.core.acceptance.verdict import UNSEEN, Case, CaseOutcome, Check, Disagreement, Failure, FailureKind, Report
from bough.core.verdict.check_run import NOT_STARTED, Baseline, CheckRun, cut_middle, describe_result, find_signal
from bough.core.verdict.missing import keep_aside
from bough.core.verdict.original_tests import find_carrying, find_file
from bough.core.verdict.registry import LANGUAGES, find_language, find_runner, is_placeholder

SIZE = 1_500
_WIDEST = 160
_FOREIGN = "|".join(language.frames for language in LANGUAGES if language.frames)


def describe_failure(case: Case, size: int = SIZE) -> str:
    """Describe a failure to the repairing agent in at most `size` characters: the useful part of message and trace."""
    first, _, rest = case.message.partition("\n")
    # pytest's message holds the whole comparison, and its trace repeats it.
    message = cut_middle(first if rest.strip().split("\n")[-1] in case.trace else case.message, size // 3)
    frames = _keep_own_frames(case.trace.split("\n"))
    for at in (-1, 0):  # Many traces begin or end with the message.
        if frames and message and frames[at].strip() == message:
            del frames[at]
    room = max(size - len(case.id) - len(message) - 20, 200)
    trace = cut_middle("\n".join(frames).strip("\n"), room)
    return "\n".join(filter(None, [f"{case.outcome.upper()} {case.id}", message, trace]))[:size]


def _keep_own_frames(lines: Sequence[str]) -> list[str]:
    """Remove the lines of frames in runners and libraries (for Python, with their code lines)."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if re.match(r' +File "|\S+:\d+: in ', line):
            inside = bool(re.search(_FOREIGN, line))
        elif not line.startswith("    "):
            inside = False
        foreign = re.search(_FOREIGN, line) and re.match(r"\s+(at |File )|/\S+:\d+: ", line)
        if not (inside or foreign):
            kept.append(line[:_WIDEST])
    return kept


SHOWN_FAILURES = 10
SHOWN_LEFT_OUT = 3
SHOWN_MESSAGE = 300


def decide_ruling(
    check: Check, ran: CheckRun, baseline: Baseline, lost: str, *, worked: bool = True
) -> tuple[str, bool]:
    """Say whether the check passed, and why. `lost`: which tests no longer run, as a sentence; `worked`: the check
    should prove work."""
    finished, read = ran.finished, ran.report
    if finished.exit_status != 0:
        counts = f" ({read.failed} of {read.failed + read.passed} tests failed)" if read.failed else ""
        return describe_result(finished) + counts + _describe_left_out(ran), False
    # A project may accept known failures and exit with 0. In that case no more tests may fail than before.
    if read.failed > (baseline.report.failed if baseline.exit_status == 0 else 0):
        return f"the check ended with exit status 0, but {count_tests(read.failed)} failed", False
    # The command may discard the runner's output, but some runners write a report in any case.
    runner = find_runner(check.runner)
    reports = runner is not None and runner.always_reports
    silent = baseline.mute and not find_signal(baseline.exit_status)  # The check named no tests at the base either.
    if read.how == "exit status" and check.runner and (not silent or reports):
        return f"{check.runner} ended with exit status 0 without reporting what it ran: it did not finish", False
    if reports and baseline.closed and not ran.known.closed:
        return f"{check.runner} left a report, but ended without its summary line: it did not finish", False
    # If only skipped tests were reported, also before the work, the exit status alone counts.
    before = baseline.report
    idle = baseline.exit_status == 0 and not before.passed and 0 < before.skipped <= read.skipped
    if read.how != "exit status" and not read.passed and not idle:
        return "the check ended with exit status 0, but no test ran" + _describe_left_out(ran), False
    if lost:
        return lost, False
    said = f"{count_tests(read.passed)} passed" if read.passed else "exit status 0"
    more = read.passed - before.passed
    fixed = _count_fixed(read, before)
    new = f", {fixed} of which failed before" if fixed else ""
    new = f", {more} more than before" if more > 0 and baseline.exit_status == 0 else new
    same = "; it already passed before the change" if worked and more <= 0 and baseline.exit_status == 0 else ""
    return f"the check passed ({said}{new}, {finished.seconds:.1f} s){same}", True


def count_tests(count: int) -> str:
    return f"{count} test{'' if count == 1 else 's'}"


def _count_fixed(now: Report, baseline: Report) -> int:
    bad = {case.id for case in baseline.failing}
    return sum(case.id in bad for case in now.cases if case.outcome == "passed")


def describe_limits(report: Report, doubt: str = "") -> str:
    """Say what a pass cannot show. `doubt`: why it proves nothing by itself."""
    blind = [f"does not rely on the check alone: {doubt}"] if doubt else []
    blind += ["saw only the exit status, not which tests ran"] if report.how == "exit status" else []
    return f"{UNSEEN}{' and '.join(blind)}" if blind else ""


def explain_acceptance(ran: CheckRun, baseline: Baseline, lost: str, accepts: bool, aside: Collection[str]) -> str:
    """Explain why a failing check is accepted: each failing test could not run before the work either (`aside`), or
    failed then too, and the person accepts that (`accepts`). Empty if the check is not accepted."""
    now, before = ran.report, baseline.report
    status = ran.finished.exit_status
    unfinished = status is None or status in NOT_STARTED or find_signal(status)
    if lost or unfinished or not now.passed or len(now.failing) != now.failed:
        return ""
    known = {case.id for case in before.failing}
    still = {case.id for case in now.failing}
    if not still or not still <= ({*aside, *known} if accepts else {*aside}):
        return ""
    fixed = _count_fixed(now, before)
    passed = f"{count_tests(now.passed)} passed" + f" ({fixed} previously failing now pass)" * bool(fixed)
    if still <= {*aside}:
        return f"{passed}; set aside: {describe_aside({id: baseline.aside[id] for id in still})}"
    fail = "1 test fails as it" if len(still) == 1 else f"{len(still)} tests fail as they"
    return f"no new failure: {passed}; {fail} did before the work (accepted)"


def describe_aside(aside: Mapping[str, str]) -> str:
    """Describe the tests that cannot run here, with the reason for the first: `2 tests not runnable here (a::b: …)`."""
    first = next(iter(aside))
    more = " …" if len(aside) > 1 else ""
    return f"{count_tests(len(aside))} not runnable here ({first}: {aside[first]}{more})"


def describe_baseline(known: Baseline, goal: str, accepts: bool = False, runner: str = "") -> str:
    report, aside = known.report, keep_aside(known.aside, goal)
    failing = [case for case in report.failing if not is_placeholder(case, runner) and case.id not in aside]
    apart = f" It leaves out {describe_aside(aside)}: leave them alone." if aside else ""
    if known.exit_status == 0 or (aside and not failing):
        counts = f" ({count_tests(report.passed)})" if report.passed else ""
        return (
            f"Before your work it passes{counts}, so it says nothing about your change: add tests that fail without it."
            f"{apart}"
        )
    if known.exit_status is None or (known.exit_status in NOT_STARTED and not known.red):
        return ""
    failed = report.failed - len(aside)
    fail = "fails" if failed == 1 else "fail"
    counts = f" ({count_tests(failed)} {fail}, {report.passed} pass)" if failed else ""
    named = ", ".join(case.id for case in failing[:SHOWN_FAILURES])
    named = f": {named}{' …' if len(failing) > SHOWN_FAILURES else ''}" if failing else ""
    there = " They already exist, and your work has to make them pass." if failing else ""
    if failing and not speaks_of(goal, (f"{case.id}\n{case.message}\n{case.trace}" for case in failing)):
        there = " They are not what you are asked for: leave them alone. No other test may fail."
    elif accepts and failing:
        there = " They may keep failing, unless your task is about them; no other test may fail."
    said = next((line for case in failing for line in case.message.split("\n") if line.strip()), "")
    there += f" The first says: {said.strip()[:SHOWN_MESSAGE]}" if said else ""
    return f"Before your work it fails with exit status {known.exit_status}{counts}{named}.{there}{apart}"


def _describe_left_out(ran: CheckRun) -> str:
    paths = [path for path in ran.gone if "__pycache__" not in path]
    named = ", ".join(paths[:SHOWN_LEFT_OUT])
    return f"; it ran without ignored files, which are not part of the work ({named})" if paths else ""


def find_lost(now: Report, baseline: Report, same: Collection[str], again: Report | None = None) -> str:
    """Say in a sentence which tests ran at the base and no longer do; empty if all still run. `same`: the unchanged
    files, whose tests must all still run. `again`: a second run at the base; tests that are missing there, or a
    different number of tests, vary by chance and do not count."""
    steady = again is None or again.passed + again.failed == baseline.passed + baseline.failed
    if again is not None and again.cases:
        ids = {case.id for case in again.cases if case.outcome != "skipped"}
        baseline = replace(baseline, cases=tuple(case for case in baseline.cases if case.id in ids))
    ran, ran_before = now.passed + now.failed, _count_ran(baseline)
    # If the tests at the base could not be counted, nothing shows that some are missing.
    if baseline.how == "exit status" or not ran_before:
        return ""
    if now.how == "exit status":
        return f"the check no longer reports its tests; {ran_before} ran at the base"
    named = any(case.outcome == "passed" for case in baseline.cases)
    if named and not now.cases:
        return f"the check no longer names its tests; it named {len(baseline.cases)} at the base"
    outcomes = {case.id: case.outcome for case in now.cases}
    # Some runners name only failed tests. With these, no name can be missing.
    names = {name for id in outcomes for name in (find_file(id), _strip_parameters(id))}
    for case in (case for case in baseline.cases if case.outcome != "skipped"):
        if outcomes.get(case.id) == "skipped":
            return f"{case.id} ran at the base and is skipped now"
        name = _strip_parameters(case.id)
        if names and len(outcomes) >= ran and find_file(case.id) in same and name not in names:
            return f"{name} ran at the base and does not run now"
    if steady and ran < ran_before:
        return f"only {ran} tests ran, where {ran_before} ran at the base"
    return ""


def _count_ran(report: Report) -> int:
    """Count the tests that ran, by their names if all are named: closing lines count failed subtests as tests."""
    named = sum(case.outcome != "skipped" for case in report.cases)
    passed = sum(case.outcome == "passed" for case in report.cases)
    complete = report.how == "junit" or (passed and passed >= report.passed)
    return named if complete and named else report.passed + report.failed


def find_broken(now: Baseline, before: Baseline) -> tuple[str, ...]:
    """List the failing tests that passed before. If the runner names no tests, only the whole check can be named."""
    passed = {case.id for case in before.report.cases if case.outcome == "passed"}
    files = {find_file(id) for id in passed}
    failing = [case.id for case in now.report.failing]
    if not failing:
        return ("the check",) if before.exit_status == 0 else ()
    if before.exit_status == 0 and not passed:
        return tuple(failing)
    # A file that cannot be loaded fails as a whole, under its own name.
    return tuple(id for id in failing if id in passed or (id in files and "::" not in id))


def find_added(now: Report, baseline: Report) -> tuple[str, ...]:
    """List the passing tests that the base did not have, the first case of each test before others."""
    if baseline.passed + baseline.failed and not baseline.cases:
        return ()
    cases, seen = dict[str, int](), Counter[str]()
    for name in find_carrying(now, baseline)[1]:
        test = name.partition("[")[0]
        cases[name], seen[test] = seen[test], seen[test] + 1
    return tuple(sorted(cases, key=cases.__getitem__))


def describe_disagreement(found: Sequence[Disagreement]) -> str:
    first = next((one for one in found if one.asked), found[0])
    what = f"with the original tests restored, {first.test} does not pass"
    what = what if first.asked else f"the original tests no longer run: {first.test}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"the check passes, but {what}: {first.said}{more}"


def find_dropped(now: Report, baseline: Report, older: Report) -> str:
    """Say which test of an earlier step no longer runs. `older`: the report from before the run."""
    before_run = {case.id for case in older.cases}
    names = {_strip_parameters(case.id) for case in now.cases if case.outcome != "skipped"}
    own = (case.id for case in baseline.cases if case.outcome == "passed" and case.id not in before_run)
    gone = next((id for id in own if now.cases and _strip_parameters(id) not in names), "")
    return f"{gone}, which an earlier step wrote, no longer runs: fix it, but do not drop it" if gone else ""


def _strip_parameters(id: str) -> str:
    """Return a test's id without its parameters; if the language's ids have no parameters, return only its file."""
    return id.partition("[")[0] if find_language(find_file(id)).parameters else find_file(id)


def find_unproven(flaky: tuple[str, ...], baseline: Report) -> tuple[str, ...]:
    """List the flaky tests that did not pass at the base: what the first run left may let the second one pass."""
    before = {case.id: case.outcome for case in baseline.cases}
    # Some runners name only failed tests. With these, tests that are not named passed.
    missing = "new" if len(before) >= baseline.passed + baseline.failed else "passed"
    return tuple(id for id in flaky if before.get(id, missing) != "passed")


def list_failures(
    ran: CheckRun, baseline: Report, flaky: tuple[str, ...], aside: Collection[str]
) -> tuple[Failure, ...]:
    failing = [case for case in ran.report.failing if case.id not in aside][:SHOWN_FAILURES]
    kinds: dict[str, FailureKind] = {case.id: _KINDS.get(case.outcome, "new") for case in baseline.cases}
    kinds |= dict.fromkeys(flaky, "flaky")
    return tuple(Failure(case.id, kinds.get(case.id, "new"), describe_failure(case)) for case in failing)


_KINDS: Mapping[CaseOutcome, FailureKind] = {"passed": "regression", "failed": "pre-existing", "error": "pre-existing"}
"""Kinds of failure, by the test's outcome at the base."""
