"""The proof that a task is done."""

from typing import Literal

from msgspec import Struct, field

Ruling = Literal["passed", "failed", "needs_approval", "not_verified"]
"""`needs_approval` means that the check passes, but original tests disagree with the work."""
CaseOutcome = Literal["passed", "failed", "error", "skipped"]
How = Literal["junit", "closing line", "exit status"]


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The command that proves a task, and its origin."""

    command: str
    why: str
    """Where the command comes from, as a phrase for people: `you gave it`, `tests/test_buffer.py` …"""
    runner: str = ""
    """The name of the recognised test runner in the registry of runners; empty if none was recognised."""
    environment: str = ""
    """The environment that the command uses, as a phrase for people: `the environment in .venv`; empty for the PATH."""


class Case(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    outcome: CaseOutcome
    message: str = ""
    trace: str = ""
    seconds: float = 0.0


class Report(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of a test run, and the source of its counts. Counts may be known even if single tests are not."""

    how: How
    cases: tuple[Case, ...] = ()
    passed: int = 0
    failed: int = 0
    """The number of failures and errors."""
    skipped: int = 0

    @property
    def failing(self) -> list[Case]:
        return [case for case in self.cases if case.outcome in ("failed", "error")]


class Disagreement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A test as it was before the work, which fails on the new code."""

    test: str
    path: str = ""
    was: str = ""
    """The test's old expectation: the lines that the work changed, as they were."""
    now: str = ""
    """The same lines as they are now; empty if they are gone."""
    said: str = ""
    asked: bool = True
    """False if the test no longer runs, because something that it uses is gone."""
    own: bool = False
    """Whether an earlier step of the same run wrote the test."""
    source: str = ""
    """The test with `was` and `now`, as a diff."""

    @property
    def change(self) -> str:
        """Return the change to allow: the new expectation or, if the test itself is unchanged, its message."""
        return self.now or self.said


class AllowedChange(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An original test that may expect something else from now on."""

    test: str
    change: str
    """The test's new expectation; a different change of the same test needs its own approval."""
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
    """The message and the shortened trace, with the code lines around it."""


UNSEEN = "; bough "
"""Separates, in `Verdict.reason`, what a check showed from what it could not show."""


class Verdict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of running a task's check. Only bough makes verdicts; nothing that a model says becomes one."""

    ruling: Ruling
    reason: str
    """The reason for the ruling, as one sentence for people."""
    command: str = ""
    found: str = ""
    exit_status: int | None = None
    """The exit status; None if there was no command, or if it was killed."""
    seconds: float = 0.0
    output: str = ""
    """The beginning and the end of what the command printed."""
    blob: str = ""
    """The key of the whole output in the blob store, if it was longer."""
    tree: str = ""
    """The git tree of the workspace's files that the check ran on."""
    how: How = "exit status"
    """Where the counts come from; with `exit status` single tests are unknown."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cases: str = ""
    """The key of the JSON in the blob store that has every test's id and outcome."""
    failures: tuple[Failure, ...] = ()
    """The first failures; `failed` counts them all."""
    flaky: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Files that belong to the tests and differ from those before the run."""
    disagreements: tuple[Disagreement, ...] = ()
    """Original tests that fail on the new code; in a passing verdict, those that were allowed to change."""
    fixed: tuple[str, ...] = field(default=(), name="mended")
    """The first original tests that failed before the run and pass now. Journals keep the field's older name."""
    added: tuple[str, ...] = ()
    """The first of the passing tests that did not exist before the task."""
    advice: tuple[Remark, ...] = ()
    canary: str = ""
    """What happened when values in the tests that should prove the work were changed, as a phrase; empty if untried."""
    doubt: str = ""
    """Why the check alone is no proof (nothing wrong was seen to make it fail), so that a probe has to show it."""

    @property
    def score(self) -> int:
        """Score failing work by its tests: those that pass minus those that fail (1 if no failing test is known)."""
        return self.passed - max(self.failed, 1)

    @property
    def finding(self) -> bool:
        """Whether the check passes but proves nothing, which the agent that did the work has to answer for."""
        unproven = self.ruling == "failed" and self.exit_status == 0 and not self.failed
        return unproven or self.ruling == "needs_approval"

    @property
    def unseen(self) -> str:
        """Return the end of `reason` that says what a passing check could not show, as a sentence; it may be empty."""
        _, found, rest = self.reason.partition(UNSEEN)
        return f"{found.removeprefix('; ')}{rest}." if found and self.ruling == "passed" else ""

    @property
    def tests(self) -> str:
        """Return text such as `tests: 12 passed, 1 failed`; empty if single tests are unknown."""
        if self.how == "exit status":
            return ""
        others = ((self.failed, "failed"), (self.skipped, "skipped"))
        return ", ".join([f"tests: {self.passed} passed", *(f"{count} {how}" for count, how in others if count)])


Showing = Literal[
    "check", "tests", "probe", "author", "speed", "upgrade", "document", "coverage", "restructure", "unchanged"
]
"""What shows that the work made the difference: the check, tests, a probe or (in old journals) its author's test fails
without it, the check is faster, or only a version, documents, tests or the code's form had to change, or nothing."""


class ChangePart(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a change, by its place in the changed files."""

    path: str
    first: int = 0
    """The first line of the part; 0 for the whole file."""
    last: int = 0
    by: tuple[str, ...] = ()
    """Tests that fail without this part."""
    why: str = ""
    """Why it could not be decided whether the part is needed."""

    def __str__(self) -> str:
        lines = f":{self.first}{f'-{self.last}' if self.last > self.first else ''}" if self.first else ""
        return f"{self.path}{lines}"


class RequirementProof(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The evidence that the work made the difference for a requirement."""

    number: int
    how: Showing
    by: tuple[str, ...] = ()
    """The names of the first tests or probes that show it."""

    @property
    def ran(self) -> bool:
        """Whether something that ran is the evidence."""
        return self.how in ("check", "tests", "probe", "author", "speed")


class Difference(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What bough itself observed about a change, apart from the check's result."""

    check: bool = False
    """Whether the person's own check fails without the work."""
    code: bool = True
    """Whether the change concerns code that runs, and not only documents, comments, formatting or names."""
    documents: bool = False
    interface: bool = False
    """Whether the names that the code defines, their arguments or their files change."""
    version: bool = False
    """Whether a version differs in a file that is not code."""
    faster: bool = False
    """Whether the check takes clearly less time than before."""
