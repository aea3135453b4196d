"""A task as the policies see it: everything that the fold keeps of its events."""

from __future__ import annotations

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, Probed
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.budget.grants import compute_free
from bough.core.budget.ledger import Limits, Spend, compute_remaining
from bough.core.conversation.persistent_list import PersistentList
from bough.core.ids import depth
from bough.core.ladder.escalation import Decision, Means, Rung, Standing, Trouble
from bough.core.merge.conflict_hunks import Merge
from bough.core.messages import AnswerProtocol, Call, Message
from bough.core.planning.plan import Role, Step, Tier
from bough.core.rules import Rules
from bough.core.stuck.detector import Act, Signal, Watch
from bough.core.tree.inherited import Inherited, Subject
from bough.core.tree.task_state import SETTLED, State


class Attempt(Struct, frozen=True):
    """One agent's rounds from one starting context."""

    number: int
    role: Role
    tier: Tier
    system: str
    messages: PersistentList[Message]
    rounds: int = 0
    window: int = 0
    """Tokens that the model can be shown at once; 0: not known."""
    used: int = 0
    """Tokens of the conversation: what the provider counted in the last round, and an estimate of what came since."""
    compacted: bool = False
    """It was made smaller since the last round."""
    exceeded: str = ""
    """How the model refused the conversation for its length, until it is made smaller."""
    useless: int = 0
    """Compactions in a row that did not help."""
    protocol: AnswerProtocol = "tools"
    may_change: bool = False
    """Nothing shows yet that its model can call tools: the ladder may take the other protocol."""
    agent: str = ""
    """The outside agent that it is; empty: bough's own."""
    pictured: bool = False
    """There was an image in it."""


class Note(Struct, frozen=True):
    kind: str
    text: str


def quote_person(text: str) -> str:
    """A person's words, as a note for whoever works on the task."""
    return f"The person says: {text}"


class Task(Struct, frozen=True):
    """Everything the policies need to know about a task."""

    id: str
    version: int = 0
    state: State = State.PENDING
    step: Step = Step("", "")
    rules: Rules = Rules()
    limits: Limits = Limits()
    granted: bool = False
    """The limits follow the plan."""
    means: Means = Means()
    inherited: Inherited = Inherited()
    grows: bool = False
    """Its grant may still be raised: it rests before its hand-over round."""
    base: str = ""
    tree: str = ""
    """Tree of the workspace after the last finished writing call: what a restore goes back to."""
    attempt: Attempt | None = None
    attempts: int = 0
    """How many there have been."""
    spend: Spend = Spend()
    asking: bool = False
    """A round was started and the model has not answered, for whatever reason: to ask again is no other round."""
    last_round: bool = False
    """The round under way is the hand-over."""
    handing_over: bool = False
    """The hand-over was announced: the next round is the last."""
    handed_over: bool = False
    """The hand-over round is over."""
    waiting: tuple[Call, ...] = ()
    """Calls of the last answer that have not been started."""
    started: tuple[Call, ...] = ()
    """Calls that were started and have not finished. Between effects: interrupted ones."""
    started_writes: bool = False
    """One of those may have changed the workspace."""
    text: str = ""
    """What the model said in the round under way."""
    acts: tuple[Act, ...] = ()
    """The calls of that round that have finished, as the stuck detector sees them."""
    watch: Watch = Watch()
    signal: Signal | None = None
    """Raised by the last round and not yet recorded."""
    nudged: frozenset[str] = frozenset()
    """Patterns that were named to the present agent."""
    faulty: str = ""
    """What was wrong with the last answer as a whole, until the agent has been told."""
    faults: int = 0
    """Unusable answers in a row."""
    transport_failures: int = 0
    retry_at: float = 0.0
    retry_wait: float = 0.0
    """The most that is waited, wherever the clock was set meanwhile."""
    claim: str | None = None
    """The agent's summary, once it says it is done."""
    split: tuple[Step, ...] = ()
    """Smaller steps that the agent asked for."""
    verdict: Verdict | None = None
    best: Verdict | None = None
    """The failing verdict with the fewest failures so far: what a repair that made things worse is rolled back to."""
    judged: bool = False
    """The verdict is about the present claim."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change: decided here, or for one of its steps."""
    disputes: dict[str, str] = {}
    """What its agents say against tests, by test."""
    ruled_by_judge: str | None = None
    """The tree that the judge was asked about last …"""
    ruled_by_person: str | None = None
    """… and the person."""
    denied: str | None = None
    """The tree of which the person said no."""
    decided: str = ""
    """Why nothing was allowed, as it was said last."""
    findings: int = 0
    """How often work went back to the same agent because of what was found beside a check that passed."""
    found: str | None = None
    """The tree that it was about last."""
    repairs: int = 0
    probe_repairs: int = 0
    """Of those, how many were for probes that fail."""
    examined: e.Examined | e.ExaminationSkipped | None = None
    probes: tuple[Probe, ...] = ()
    """Its own, and those that its completed steps have passed."""
    probed: str = ""
    """The tree that the probes have run on."""
    probe_results: dict[str, Probed] = {}
    contested: dict[str, str] = {}
    """Why a probe is contested, by its name."""
    rulings: dict[str, Ruling] = {}
    """What a judge says of probes, by name."""
    examining: Spend = Spend()
    """Spent on examiners, reviewers and judges."""
    asked_for_test: bool = False
    """No check was found, and somebody was asked to write a test."""
    notes: tuple[Note, ...] = ()
    heard: int = 0
    """The last that a person said and that has reached it, by its `seq`."""
    unheard: tuple[str, ...] = ()
    """What has reached it since its agent was last told."""
    question: str = ""
    """What it has asked the person, until that is answered."""
    trouble: Trouble | None = None
    """Why the ladder was asked, until a rung has dealt with it."""
    rung: Decision | None = None
    """The rung that was decided on, until its effect is done."""
    taken: dict[Rung, int] = {}
    """How often each rung was taken."""
    soft_rounds: int = 0
    """Rounds since the last rung, or since the present agent began, or since more tests passed than ever before."""
    passing: dict[int, int] = {}
    """The most tests that passed in each of the agents' latest test commands, by a key of the command."""
    actions: int = 0
    """Tool calls that changed the workspace, and checks that changed what fails."""
    problems: tuple[str, ...] = ()
    """What was wrong with a helper's plan, while it may still mend it."""
    answered: str = ""
    """What a helper said last."""
    hinted: bool = False
    """The person was asked, and no plan has been made of the answer yet."""
    windows: dict[Tier, int] = {}
    """What the models' refusals taught about their windows."""
    tier: Tier | None = None
    """The model that later agents of the task get, when it is not the step's."""
    steps: tuple[Step, ...] = ()
    """Its smaller steps, as they are now."""
    settled: dict[str, e.ChildSettled] = {}
    """Those that came to their end, by step."""
    running: dict[str, e.ChildStarted] = {}
    """Those under way, by step, each with the grant that is reserved for it."""
    held: dict[str, e.ChildHeld] = {}
    """Those that are ready and wait for a running one, by step."""
    begun: dict[str, int] = {}
    """How often each step has run."""
    tries: dict[str, int] = {}
    """How often each step was begun in this pass."""
    charged: dict[str, Spend] = {}
    """What it was charged for each of its children, by path segment: one that is retried continues to spend."""
    reopened: frozenset[str] = frozenset()
    """Steps that are taken up again where they were blocked, until they come to their end."""
    parallel: bool = False
    """Its steps run at once as soon as their needs are met."""
    estimate: e.Estimated | None = None
    proposed: tuple[Step, ...] = ()
    """A plan that the person has not answered to."""
    wish: str = ""
    """What the person wants to be different in the next proposal."""
    leaf: bool = False
    """It runs as one piece of work, although it might have been planned."""
    requirements: tuple[Requirement, ...] = ()
    """Of the goal: what it asks."""
    conventions: tuple[str, ...] = ()
    """What its plan says that holds for every step."""
    review: bool = False
    """A phase is over, and whether the steps after it still hold was not asked yet."""
    ended: dict[str, e.ChildSettled] = {}
    """How each step ended last, in whatever pass."""
    learned: tuple[str, ...] = ()
    """Dead ends of its steps: for planners and for other steps, not for its own agents."""
    passes: int = 1
    at_state: str = ""
    """The state that a machine has come to; empty: the first."""
    turns: int = 0
    """Transitions that it has taken."""
    key: str = ""
    subject: Subject | None = None
    merge: Merge | None = None
    """What it brings together, when it is there for that."""
    commanding: e.CommandStarted | None = None
    """The command that is the step, while it runs. Between effects: an interrupted one."""
    ran: e.CommandFinished | None = None
    reviewed: e.Reviewed | None = None
    summarized: bool = False
    approaches: int = 0
    """Plans that it has had."""
    report: str = ""
    """What was tried and learned, once it is given up."""
    result: str = ""
    """What came of it, where no agent says so itself."""
    files: tuple[str, ...] = ()
    """Changed since the base, as of the last checkpoint."""
    commit: str = ""
    why: str = ""
    """Why it is in its state."""
    halt: e.TaskHalted | None = None
    at: float = 0.0
    """When its last event happened."""

    @property
    def created(self) -> bool:
        """It has begun; one that was taken back to before its beginning has not."""
        return bool(self.base)

    @property
    def in_text(self) -> bool:
        """Its present agent acts by blocks in its text."""
        return self.attempt is not None and self.attempt.protocol == "text"

    @property
    def outside(self) -> bool:
        """Its present agent is not bough's own."""
        return self.attempt is not None and self.attempt.protocol == "agent"

    @property
    def resting(self) -> bool:
        """Nothing more to do here for now."""
        return self.state in SETTLED or self.halt is not None

    @property
    def gathering(self) -> bool:
        """It is carried by its smaller steps; no agent of its own is at work."""
        carried = self.state in (State.IN_PROGRESS, State.DECOMPOSED)
        return carried and bool(self.steps) and self.attempt is None and self.claim is None

    @property
    def proposal(self) -> str:
        """What the complexity gate proposed; a phase is planned whatever its size."""
        return self.estimate.proposal if self.estimate else ""

    @property
    def left(self) -> Limits:
        """What may still be spent here, without what is reserved for running steps."""
        return compute_free(self.limits, self.spend, list(self.reserved.values()))

    @property
    def reserved(self) -> dict[str, Limits]:
        """What running steps may still spend beyond what it was charged for them, by step."""
        return {
            name: compute_remaining(self.charged.get(run.task, Spend()), run.grant)
            for name, run in self.running.items()
        }

    @property
    def may_change(self) -> tuple[AllowedChange, ...]:
        """Original tests that may expect something else: decided here, or elsewhere in the run."""
        return tuple(dict.fromkeys((*self.inherited.allowed, *self.allowed)))

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What it has to meet of what the goal asks."""
        return self.requirements or self.inherited.requirements

    @property
    def said(self) -> tuple[str, ...]:
        """What people have said about it: no context may lose that."""
        mark = quote_person("")
        own = (note.text for note in self.notes if note.text.startswith(mark))
        return tuple(dict.fromkeys((*(text for text in self.inherited.decisions if text.startswith(mark)), *own)))

    def standing(self, trouble: Trouble) -> Standing:
        """Where it stands, as the ladder sees it."""
        children = [self.settled[step.name] for step in self.steps if step.name in self.settled]
        completed = sum(child.state in (State.COMPLETED, State.SKIPPED) for child in children)
        return Standing(
            trouble=trouble,
            depth=depth(self.id),
            rules=self.rules.ladder,
            planning=self.rules.planning,
            means=self.means,
            taken=self.taken,
            working=self.attempt is not None and self.state is State.IN_PROGRESS,
            nudged=self.nudged,
            actions=self.actions,
            rounds_left=self.left.rounds,
            parent=bool(self.steps),
            completed=completed,
            blocked=len(self.steps) - completed,
            changed=self.tree != self.base,
            errors=bool(children) and children[-1].errors,
            approaches=self.approaches,
            hinted=self.hinted,
            in_text=self.in_text,
            may_change=self.attempt is not None and self.attempt.may_change,
            provable=self.step.requires_testing and self.verdict is not None and self.verdict.ruling == "failed",
            attempted=self.step.attempt > 0,
        )
