"""The events of an agent's rounds (attempts, answers, tools, the conversation) and of acceptance: claims, checks,
rulings on original tests, examinations and probes."""

from typing import Literal

from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, ProbeResult
from bough.core.acceptance.requirements import Kind
from bough.core.acceptance.verdict import AllowedChange, Difference, RequirementProof, Verdict
from bough.core.events.base import ChangesBy, Event
from bough.core.messages import AnswerProtocol, Call, Stop, Usage
from bough.core.planning.plan import Role, Tier


class AttemptStarted(Event, frozen=True):
    """A fresh agent begins. Its brief is stored whole, so that prompts depend on the journal alone."""

    role: Role
    tier: Tier
    system: str
    brief: str
    protocol: AnswerProtocol = "tools"
    """How the agent acts: through native tool calls, blocks in its text, or tools of its own."""
    may_change: bool = False
    """Whether escalation may switch to the other protocol, since it is unknown which one suits the model."""
    agent: str = ""
    """The person's name for the outside agent; empty for bough's own agent."""
    why: str = ""
    """Why the agent has this protocol, if that was found out."""
    tactic: str = ""
    """The form of the question to a model that acts in text: `tests_first`, `short`, `whole`, `hinted`, `repair`."""


class RoundStarted(Event, frozen=True):
    """A model call is about to be made."""

    last: bool = False
    """Whether this is the hand-over round, in which only the tools `done` and `note` are available."""


class ModelFailed(Event, frozen=True):
    """A model call failed by a transport error; it is retried after `wait` seconds (0 means not retried)."""

    message: str
    wait: float
    seconds: float = 0.0
    usage: Usage = Usage()
    """Usage of the part of the answer that arrived before it broke off."""
    too_long: bool = False
    """Whether the model refused the conversation because of its length, so that it is shortened and sent again."""
    window: int = 0
    """The size of the model's window in tokens, as its refusal says; 0 if unknown."""


class ModelSwitched(Event, frozen=True):
    """Another model of the tier answers from now on: the next fallback, or the first model again."""

    tier: Tier
    to: str
    """The key of the new model among the run's models, such as `main+1`; the tier's own name means the first model."""
    model: str
    why: str
    window: int = 0
    """The size of the new model's window in tokens; 0 if unknown."""
    may_change: bool = False
    """Whether escalation may switch the protocol of the new model."""
    restarts: bool = False
    """Whether the new model uses another protocol, so that a fresh agent begins and the open round is not charged."""
    until: float = 0.0
    """The time at which the previous model's quota is available again; 0 if the reason is another."""


class ModelAnswered(Event, frozen=True):
    text: str
    calls: tuple[Call, ...] = ()
    stop: Stop = "end"
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""
    extra: str = ""
    window: int = 0
    """The size of the model's window in tokens; 0 if unknown."""
    repaired: tuple[str, ...] = ()
    """Slips in the files of a text answer that were repaired in its calls; only in old journals."""
    others: tuple[str, ...] = ()
    """Further answers to the same question, which the next attempts try."""
    spare: bool = False
    """Whether this answer is one of these further answers: no model was asked, and nothing is paid."""


class MessageAdded(Event, frozen=True):
    """bough sends the agent a message between rounds, such as a hint that it is stuck or the hand-over."""

    why: str
    """The prompt template of the message."""
    text: str


class ToolStarted(Event, frozen=True):
    """A tool call starts. Recorded before the call runs if it may write; otherwise perhaps together with its result."""

    call: str
    writes: bool


class ToolFinished(Event, frozen=True):
    call: str
    ok: bool
    output: str
    """What the model sees."""
    blob: str = ""
    """The whole output in the blob store, if the model does not see all of it."""
    tree: str = ""
    """The git tree of the workspace after a call that may write."""
    seconds: float = 0.0
    fault: bool = False
    """Whether the call itself was unusable: an unknown tool, malformed or wrong arguments."""
    interrupted: bool = False
    passed: int | None = None
    """The number of tests that passed, if the call was a test run whose report can be read."""
    image: str = ""
    """The media type, if the blob is an image that the model sees."""


class NoteKept(Event, frozen=True):
    """The agent noted a decision or dead end, which later attempts see."""

    kind: Literal["decision", "dead_end"]
    text: str


class GoalProposed(Event, frozen=True):
    """The agent proposed a goal that is not part of its task. It waits in the backlog until a person accepts it."""

    title: str
    why: str
    files: tuple[str, ...] = ()


class CompactionStarted(Event, frozen=True):
    """The conversation is about to fill the model's window, so it is compacted."""

    used: int
    """The conversation's tokens: the provider's count of the last round, plus an estimate of what came since."""
    window: int


class Compacted(Event, frozen=True):
    """A summary replaced the older part of the conversation; the brief and the newer part stayed as they were."""

    summary: str
    """The text that replaces the older part, including facts that must not get lost."""
    at: int
    """The first message that was kept, counted from the brief as 0."""
    before: int
    """The approximate number of tokens of the conversation before."""
    after: int
    by: Literal["model", "rule"]


class ContextPruned(Event, frozen=True):
    """The next agent starts from only what the task needs."""

    before: int
    """The approximate number of tokens of the conversation before."""
    after: int
    by: Literal["model", "rule"]


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
    results: tuple[ProbeResult, ...]
    seconds: float = 0.0
    before: tuple[ProbeResult, ...] = ()
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
