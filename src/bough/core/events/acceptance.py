"""The events of acceptance: claims, checks, rulings on original tests, examinations and probes."""

from __future__ import annotations

from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, Probed
from bough.core.acceptance.requirements import Kind
from bough.core.acceptance.verdict import AllowedChange, Difference, RequirementProof, Verdict
from bough.core.events.base import ChangesBy, Event


class DoneClaimed(Event, frozen=True):
    """The agent says it is done. That proves nothing; the check does."""

    summary: str


class CheckStarted(Event, frozen=True):
    command: str
    """Empty when none was found, or none is needed."""
    found: str = ""
    """Where it comes from, as a phrase."""


class CheckFinished(Event, frozen=True):
    verdict: Verdict


class FindingReturned(Event, frozen=True):
    """A finding despite a passing check goes back to the same agent, which may answer. It is not a repair."""

    text: str


class Disputed(Event, frozen=True):
    """The agent says that a test is wrong, and why. It proves nothing; the judge or person who decides sees it."""

    test: str
    evidence: str


class ChangesAsked(Event, frozen=True):
    """The person is asked whether these original tests may change. What they say is `ChangesRuled`."""

    tests: tuple[str, ...]


class ChangesRuled(Event, frozen=True):
    """A ruling on whether original tests may change."""

    by: ChangesBy
    """`earlier`: all of it was allowed before, elsewhere in the run."""
    tree: str
    """The work it is about."""
    allowed: tuple[AllowedChange, ...] = ()
    denied: tuple[str, ...] = ()
    """Tests that the person does not allow to change."""
    why: str = ""
    verdict: Verdict | None = None
    """The verdict on the work from here on, if nothing else is pending."""
    person: str = ""
    """The person's name in the system."""


class Examined(Event, frozen=True):
    """An examiner that did not see the work being done has said how it could be refuted."""

    by: str
    """The prompt template that was asked: `examiner`, `reviewer`."""
    probes: tuple[Probe, ...] = ()
    notes: tuple[str, ...] = ()
    """What no probe can show."""
    left_out: tuple[str, ...] = ()
    """Probes that nothing demands: they do not run."""
    kinds: dict[int, Kind] = {}
    """Requirements that ask for nothing that a test could see, by number."""


class ExaminationSkipped(Event, frozen=True):
    """The work was not examined."""

    why: str


class ProbesStarted(Event, frozen=True):
    """Probes are about to run, in a checkout of their own."""

    tree: str
    names: tuple[str, ...]


class ProbesFinished(Event, frozen=True):
    tree: str
    results: tuple[Probed, ...]
    seconds: float = 0.0
    before: tuple[Probed, ...] = ()
    """The results of a goal's probes on the files as they were before the run, where they were not known yet."""


class DifferenceSeen(Event, frozen=True):
    """What the work changes, apart from what the check says: what shows that it made the difference."""

    tree: str
    seen: Difference
    seconds: float = 0.0


class EvidenceJudged(Event, frozen=True):
    """What shows that the work made the difference, for each requirement of the goal."""

    shown: tuple[RequirementProof, ...] = ()
    missing: tuple[int, ...] = ()
    """Numbers of the requirements that nothing shows."""


class ProbeContested(Event, frozen=True):
    """The agent that should make a probe pass says that nobody asked for what it asserts."""

    probe: str
    reason: str


class ProbeRuled(Event, frozen=True):
    """A judge has decided by the words of the goal. A probe that is not demanded is dropped."""

    probe: str
    ruling: Ruling
