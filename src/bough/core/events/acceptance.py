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
    """The check's command; empty if none was found or none is needed."""
    found: str = ""
    """Where the command comes from, as a phrase."""


class CheckFinished(Event, frozen=True):
    verdict: Verdict


class FindingReturned(Event, frozen=True):
    """Work with a passing check went back to the same agent because of a finding, which the agent may answer."""

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
    """The one who decided; `earlier` means that all these changes had been allowed before in the run."""
    tree: str
    """The git tree of the work that the ruling is about."""
    allowed: tuple[AllowedChange, ...] = ()
    denied: tuple[str, ...] = ()
    """Tests that the person does not allow to change."""
    why: str = ""
    verdict: Verdict | None = None
    """The new verdict on the work, if no other change is pending."""
    person: str = ""
    """The person's name in the system."""


class Examined(Event, frozen=True):
    """An examiner that did not see the work being done wrote probes that could refute it."""

    by: str
    """The prompt template of the examiner: `examiner` or `reviewer`."""
    probes: tuple[Probe, ...] = ()
    notes: tuple[str, ...] = ()
    """Remarks that no probe can show."""
    left_out: tuple[str, ...] = ()
    """Probes that nothing demands; they do not run."""
    kinds: dict[int, Kind] = {}
    """Kinds of the requirements that no test can show, by number."""


class ExaminationSkipped(Event, frozen=True):
    """The work was not examined."""

    why: str


class ProbesStarted(Event, frozen=True):
    """Probes are about to run, in a separate checkout."""

    tree: str
    names: tuple[str, ...]


class ProbesFinished(Event, frozen=True):
    tree: str
    results: tuple[Probed, ...]
    seconds: float = 0.0
    before: tuple[Probed, ...] = ()
    """The results of a goal's probes on the files from before the run, if not known yet."""


class DifferenceSeen(Event, frozen=True):
    """bough compared the work with the files from before it, independently of the check."""

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
    """A judge decided, by the words of the goal, whether a contested probe is demanded; if not, it is dropped."""

    probe: str
    ruling: Ruling
