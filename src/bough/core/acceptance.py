"""How a task proves that it is done."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Ruling = Literal["passed", "failed", "tampered", "not_verified"]
CaseOutcome = Literal["passed", "failed", "error", "skipped"]
How = Literal["junit", "closing line", "exit status"]


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a task is to be proven, and how that was found."""

    command: str
    why: str
    """Where it comes from, as a phrase for people: `the step's test_command`, `tests/test_buffer.py` …"""
    runner: str = ""
    """The test runner that was recognised in it, by its name in the registry of runners; empty: none."""


class Case(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One test and what came of it."""

    id: str
    outcome: CaseOutcome
    message: str = ""
    trace: str = ""
    """Trimmed, with the code lines around."""
    seconds: float = 0.0


class Report(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a test run said, and how it was read. Counts may be known where the single tests are not."""

    how: How
    cases: tuple[Case, ...] = ()
    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0

    @property
    def failing(self) -> list[Case]:
        return [case for case in self.cases if case.outcome in ("failed", "error")]


class Tampering(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One place where tests, their configuration or the check were weakened."""

    path: str
    line: int
    """In the file as it is now; 0 when the place is gone."""
    what: str
    """One clause for the agent and for people: `test_add was removed`, `assertion loosened: == became in` …"""


FailureKind = Literal["regression", "pre-existing", "new", "flaky"]


class Failure(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A test that failed, and what that says: it passed at the base (a regression), it failed there too (pre-existing),
    it was not there (new), or it passes when it is run again alone (flaky)."""

    id: str
    kind: FailureKind
    text: str = ""
    """Message and trimmed trace, with the code lines around."""


class Verdict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What came of running a task's check. Only bough makes one; nothing a model says can."""

    ruling: Ruling
    reason: str
    """One sentence for people."""
    command: str = ""
    found: str = ""
    """Where the command comes from, as a phrase."""
    exit_status: int | None = None
    """None when there was no command, or it was killed."""
    seconds: float = 0.0
    output: str = ""
    """Head and tail of what the command printed."""
    blob: str = ""
    """The whole output in the blob store, when it was longer."""
    tree: str = ""
    """The tree of the workspace that the check ran on."""
    how: How = "exit status"
    """What the counts were read from; `exit status`: nothing is known of single tests."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cases: str = ""
    """Every test's id and outcome, as JSON in the blob store."""
    failures: tuple[Failure, ...] = ()
    """The first ones; `failed` counts them all."""
    flaky: tuple[str, ...] = ()
    tampering: tuple[Tampering, ...] = ()
    """What was done to tests, their configuration or the check. With `may_edit_tests` it is reported and allowed."""

    @property
    def tests(self) -> str:
        """`12 tests passed, 1 failed`, or nothing when single tests are not known."""
        if self.how == "exit status":
            return ""
        counts = [f"{self.passed} passed"]
        counts += [f"{self.failed} failed"] if self.failed else []
        counts += [f"{self.skipped} skipped"] if self.skipped else []
        return "tests: " + ", ".join(counts)
