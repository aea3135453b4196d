"""One run of a check and what is known from it: how it ended, what its report says, and what it reported at a tree."""

from __future__ import annotations

import signal

from msgspec import Struct

from bough.core.acceptance.verdict import Report
from bough.core.verdict.cases import count_told

_READ = 20_000
"""Characters at the end of an unknown output in which tests are looked for."""
CRASHED = 126
"""Exit statuses from here on are the system's or a signal's, not the runner's."""


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
    """The output of a run that an assertion refuted, as a hash; empty: it shows no such thing."""
    rewritten: tuple[str, ...] = ()
    """Code that the check itself regenerates."""
    ended: bool = False
    """The runner left behind what it leaves at the end of a session."""
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
        return self.ran_tests > 0 or (self.mute and not self.lacking and (self.exit_status == 0 or self.refuted != ""))

    @property
    def started(self) -> bool:
        return not self.lacking and self.exit_status is not None and self.exit_status < CRASHED

    @property
    def mute(self) -> bool:
        """It finished, and nothing readable said what ran: that is normal here."""
        ended = self.exit_status is not None and self.exit_status < CRASHED
        return ended and self.report.how == "exit status"


class CheckRun(Struct, frozen=True):
    """One whole run of a check."""

    finished: Finished
    report: Report
    text: str
    closed: bool
    """The output has the runner's closing lines."""
    refuted: str = ""
    """What `original_tests.hash_refutation` makes of its output."""
    rewritten: tuple[str, ...] = ()
    """Code that it replaced while it ran."""
    ended: bool = False
    """It left behind what its runner writes at the end of a session."""
    gone: tuple[str, ...] = ()
    """What lay in the workspace and is not part of the tree: it was removed before."""

    def known(self) -> Baseline:
        finished = self.finished
        told = count_told(self.text[-_READ:]) if self.report.how == "exit status" else 0
        return Baseline(
            self.report,
            self.closed,
            finished.exit_status,
            self.refuted,
            self.rewritten,
            self.ended,
            finished.seconds,
            told=told,
        )


class MixedRun(Struct, frozen=True):
    """Tests of one tree that ran on the product of another."""

    report: Report
    exit_status: int | None
    falsified: tuple[str, ...] = ()
    """The tests whose expected values were falsified."""
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
    try:
        name = signal.Signals(status - 128).name
    except ValueError:
        return f"the check failed with exit status {status} after {took}"
    return f"the check was killed by {name} (exit status {status}) after {took}"
