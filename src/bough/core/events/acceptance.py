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
    """The command's origin, as a phrase."""


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
    """The person is asked whether these original tests may change. Their answer is `ChangesRuled`."""

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
    """An examiner that did not see the work being done wrote probes that could refute it."""

    by: str
    """The prompt template: `examiner`, `reviewer`."""
    probes: tuple[Probe, ...] = ()
    notes: tuple[str, ...] = ()
    """Remarks that no probe can show."""
    left_out: tuple[str, ...] = ()
    """Probes that nothing demands; they do not run."""
    kinds: dict[int, Kind] = {}
    """Kinds of the requirements that no test could see, by number."""


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
    """The results of a goal's probes on the files from before the run, if not known yet."""


class DifferenceSeen(Event, frozen=True):
    """bough compared the work with the base, apart from the check's result."""

    tree: str
    seen: Difference
    seconds: float = 0.0


class EvidenceJudged(Event, frozen=True):
    """The evidence that the work made the difference was judged for each requirement of the goal."""

    shown: tuple[RequirementProof, ...] = ()
    missing: tuple[int, ...] = ()
    """Numbers of the requirements without evidence."""


class ProbeContested(Event, frozen=True):
    """The agent that should make a probe pass says that nobody asked for its assertion."""

    probe: str
    reason: str


class ProbeRuled(Event, frozen=True):
    """A judge decided by the words of the goal. A probe that is not demanded is dropped."""

    probe: str
    ruling: Ruling
