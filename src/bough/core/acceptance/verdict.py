"""The proof that a task is done."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

Severity = Literal["low", "medium", "high"]


class Finding(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that has to change."""

    file: str
    line: int
    """The line in the file as it is now; 0: the file as a whole."""
    severity: Severity
    what: str
    why: str = ""


Ruling = Literal["passed", "failed", "needs_approval", "not_verified"]
"""`needs_approval`: the check passes, but original tests disagree with the work."""
CaseOutcome = Literal["passed", "failed", "error", "skipped"]
How = Literal["junit", "closing line", "exit status"]


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The command that proves a task, and its origin."""

    command: str
    why: str
    """Its origin, as a phrase for people: `you gave it`, `tests/test_buffer.py` …"""
    runner: str = ""
    """The recognised test runner, by its name in the registry of runners; empty: none."""
    environment: str = ""
    """Its environment, as a phrase for people: `the environment in .venv`; empty: the programs on the PATH."""


class Case(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One test and its outcome."""

    id: str
    outcome: CaseOutcome
    message: str = ""
    trace: str = ""
    """Trimmed, with the code lines around."""
    seconds: float = 0.0


class Report(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of a test run, and the source of its counts. Counts may be known even if single tests are not."""

    how: How
    cases: tuple[Case, ...] = ()
    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0

    @property
    def failing(self) -> list[Case]:
        return [case for case in self.cases if case.outcome in ("failed", "error")]


class Disagreement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A test as it was before the work, which fails on the new code."""

    test: str
    path: str = ""
    """The file it is in, if known."""
    was: str = ""
    """Its old expectation: the lines that the work changed, as they were."""
    now: str = ""
    """The same lines as they are now; empty: they are gone."""
    said: str = ""
    """Its message on the new code."""
    asked: bool = True
    """False: it no longer runs, because something that it uses is gone."""
    own: bool = False
    """An earlier step of the same run wrote it."""
    source: str = ""
    """The test with `was` and `now`, as a diff."""

    @property
    def change(self) -> str:
        """Return the change to allow: the new expectation; if the test itself is unchanged, its message."""
        return self.now or self.said


class AllowedChange(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An original test that may expect something else from now on."""

    test: str
    change: str
    """Its new expectation: a different change of the same test needs its own approval."""
    by: Literal["judge", "person"]
    why: str


class Remark(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that a reviewer may want to look at. It never decides anything."""

    path: str
    line: int
    what: str


FailureKind = Literal["regression", "pre-existing", "new", "flaky"]


class Failure(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A failed test and its kind: it passed at the base (regression), failed there too (pre-existing), did not exist
    there (new), or passes when run again alone (flaky)."""

    id: str
    kind: FailureKind
    text: str = ""
    """Message and trimmed trace, with the code lines around."""


UNSEEN = "; bough "
"""Separates what a check showed from what it could not show."""


class Verdict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of running a task's check. Only bough makes one; nothing a model says can."""

    ruling: Ruling
    reason: str
    """One sentence for people."""
    command: str = ""
    found: str = ""
    """The command's origin, as a phrase."""
    exit_status: int | None = None
    """None if there was no command, or it was killed."""
    seconds: float = 0.0
    output: str = ""
    """Head and tail of what the command printed."""
    blob: str = ""
    """The whole output in the blob store, if it was longer."""
    tree: str = ""
    """The tree of the workspace that the check ran on."""
    how: How = "exit status"
    """Source of the counts; `exit status`: single tests are unknown."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cases: str = ""
    """Every test's id and outcome, as JSON in the blob store."""
    failures: tuple[Failure, ...] = ()
    """The first failures; `failed` counts them all."""
    flaky: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Files of the test side that differ from the run's base."""
    disagreements: tuple[Disagreement, ...] = ()
    """Original tests that fail on the new code; in a passing verdict, those with permission."""
    fixed: tuple[str, ...] = field(default=(), name="mended")
    """Original tests, as they were before the run, that failed then and pass now; the first ones. The field's name in
    journals is older, so that they stay readable."""
    added: tuple[str, ...] = ()
    """Tests that pass and did not exist at the base of the task; the first ones."""
    advice: tuple[Remark, ...] = ()
    canary: str = ""
    """Result of changing values in the tests that carry the claim, as a phrase; empty: not tried."""
    doubt: str = ""
    """Why the check alone is no proof: it was not seen to fail on a broken product, or with a changed value. Then a
    probe has to show it."""
    unfalsified: bool = False
    """No value could be changed; only in old journals."""

    @property
    def score(self) -> int:
        """Score failing work by its tests. A file that cannot be loaded fails at least once and passes none."""
        return self.passed - max(self.failed, 1)

    @property
    def finding(self) -> bool:
        """Whether the check passes but proves nothing: the agent that did the work has to answer; it is not a bug."""
        return self.ruling == "needs_approval" or (
            self.ruling == "failed" and self.exit_status == 0 and not self.failed
        )

    @property
    def unseen(self) -> str:
        """Return what a passing check could not show, as a sentence; empty: nothing. The end of `reason`."""
        _, found, rest = self.reason.partition(UNSEEN)
        return f"{found.removeprefix('; ')}{rest}." if found and self.ruling == "passed" else ""

    @property
    def tests(self) -> str:
        """`tests: 12 passed, 1 failed`, or empty if single tests are unknown."""
        if self.how == "exit status":
            return ""
        others = ((self.failed, "failed"), (self.skipped, "skipped"))
        return ", ".join([f"tests: {self.passed} passed", *(f"{count} {how}" for count, how in others if count)])


Showing = Literal[
    "check", "tests", "probe", "author", "speed", "upgrade", "document", "coverage", "restructure", "unchanged"
]
"""What fails without the work: the person's check or older tests, a probe, or only a test of the author's. Or the check
is faster; or nothing runs: only a version, documents, tests or the code's form changed."""


class ChangePart(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a change, by its place in the changed files."""

    path: str
    first: int = 0
    """Its first line; 0: the whole file."""
    last: int = 0
    by: tuple[str, ...] = ()
    """Tests that fail without it."""
    why: str = ""
    """Why it could not be decided."""

    def __str__(self) -> str:
        lines = f":{self.first}{f'-{self.last}' if self.last > self.first else ''}" if self.first else ""
        return f"{self.path}{lines}"


class RequirementProof(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The evidence that the work made the difference for a requirement."""

    number: int
    how: Showing
    by: tuple[str, ...] = ()
    """Names of the tests or probes; the first ones."""

    @property
    def ran(self) -> bool:
        """Whether something that ran shows it."""
        return self.how in ("check", "tests", "probe", "author", "speed")


class Difference(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """bough's observations of a change, apart from the check's result."""

    check: bool = False
    """The person's own check fails without the work."""
    code: bool = True
    """It changes code that runs; not only documents, comments, formatting or names."""
    documents: bool = False
    """It changes documents or comments."""
    interface: bool = False
    """Defined names, their arguments or their files differ."""
    tests: tuple[str, ...] | None = None
    """New tests of the agent's that fail without the work; None: not tried."""
    version: bool = False
    """A version differs in a file that is no code."""
    faster: bool = False
    """The check takes clearly less time than before."""
