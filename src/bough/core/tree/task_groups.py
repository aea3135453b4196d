"""What a task knows, by what it is about: one small struct for each idea. `task.py` puts them together."""

from __future__ import annotations

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, Probed
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.budget.ledger import Limits, Spend
from bough.core.ladder.escalation import Decision, Means, Rung, Trouble
from bough.core.merge.conflict_hunks import Merge
from bough.core.messages import Call
from bough.core.planning.plan import Step, Tier
from bough.core.stuck.detector import Act, Signal, Watch
from bough.core.tree.inherited import Subject


class Note(Struct, frozen=True):
    kind: str
    text: str


class TaskOrigin(Struct, frozen=True):
    """What the task was begun for: it never changes."""

    key: str = ""
    """What it is made of: another step with the same key has the same result."""
    subject: Subject | None = None
    merge: Merge | None = None
    """What it brings together, when it is there for that."""


class TaskBudget(Struct, frozen=True):
    """What it may spend, and what it has spent."""

    limits: Limits = Limits()
    granted: bool = False
    """The limits follow the plan."""
    grows: bool = False
    """Its grant may still be raised: it rests before its hand-over round."""
    spend: Spend = Spend()
    examining: Spend = Spend()
    """Spent on examiners, reviewers and judges."""


class TaskModels(Struct, frozen=True):
    """What is known about the models that work on it, and when the next call may be made."""

    tier: Tier | None = None
    """The model that later agents of the task get, when it is not the step's."""
    windows: dict[Tier, int] = {}
    """What the models' refusals taught about their windows."""
    transport_failures: int = 0
    retry_at: float = 0.0
    retry_wait: float = 0.0
    """The most that is waited, wherever the clock was set meanwhile."""


class TaskRound(Struct, frozen=True):
    """The round under way: one call of the model, and the tools that it asks for."""

    asking: bool = False
    """A round was started and the model has not answered, for whatever reason: to ask again is no other round."""
    last: bool = False
    """The round under way is the hand-over."""
    handing_over: bool = False
    """The hand-over was announced: the next round is the last."""
    handed_over: bool = False
    """The hand-over round is over."""
    text: str = ""
    """What the model said in the round under way."""
    waiting: tuple[Call, ...] = ()
    """Calls of the last answer that have not been started."""
    started: tuple[Call, ...] = ()
    """Calls that were started and have not finished. Between effects: interrupted ones."""
    started_writes: bool = False
    """One of those may have changed the workspace."""
    acts: tuple[Act, ...] = ()
    """The calls of that round that have finished, as the stuck detector sees them."""
    faulty: str = ""
    """What was wrong with the last answer as a whole, until the agent has been told."""
    faults: int = 0
    """Unusable answers in a row."""


class TaskProgress(Struct, frozen=True):
    """Whether the work still moves."""

    attempts: int = 0
    """How many there have been."""
    watch: Watch = Watch()
    signal: Signal | None = None
    """Raised by the last round and not yet recorded."""
    nudged: frozenset[str] = frozenset()
    """Patterns that were named to the present agent."""
    passing: dict[int, int] = {}
    """The most tests that passed in each of the agents' latest test commands, by a key of the command."""
    actions: int = 0
    """Tool calls that changed the workspace, and checks that changed what fails."""


class TaskLadder(Struct, frozen=True):
    """What is in its way, and the rungs that were taken against that."""

    means: Means = Means()
    trouble: Trouble | None = None
    """Why the ladder was asked, until a rung has dealt with it."""
    rung: Decision | None = None
    """The rung that was decided on, until its effect is done."""
    taken: dict[Rung, int] = {}
    """How often each rung was taken."""
    soft_rounds: int = 0
    """Rounds since the last rung, or since the present agent began, or since more tests passed than ever before."""


class TaskPlan(Struct, frozen=True):
    """Its smaller steps, and how they came about."""

    estimate: e.Estimated | None = None
    requirements: tuple[Requirement, ...] = ()
    """Of the goal: what it asks."""
    proposed: tuple[Step, ...] = ()
    """A plan that the person has not answered to."""
    wish: str = ""
    """What the person wants to be different in the next proposal."""
    leaf: bool = False
    """It runs as one piece of work, although it might have been planned."""
    steps: tuple[Step, ...] = ()
    """Its smaller steps, as they are now."""
    parallel: bool = False
    """Its steps run at once as soon as their needs are met."""
    conventions: tuple[str, ...] = ()
    """What its plan says that holds for every step."""
    approaches: int = 0
    """Plans that it has had."""
    review: bool = False
    """A phase is over, and whether the steps after it still hold was not asked yet."""
    split: tuple[Step, ...] = ()
    """Smaller steps that the agent asked for."""
    problems: tuple[str, ...] = ()
    """What was wrong with a helper's plan, while it may still mend it."""
    answered: str = ""
    """What a helper said last."""
    hinted: bool = False
    """The person was asked, and no plan has been made of the answer yet."""


class TaskChildren(Struct, frozen=True):
    """How its smaller steps come along: each runs as a task of its own, a child."""

    running: dict[str, e.ChildStarted] = {}
    """Those under way, by step, each with the grant that is reserved for it."""
    held: dict[str, e.ChildHeld] = {}
    """Those that are ready and wait for a running one, by step."""
    settled: dict[str, e.ChildSettled] = {}
    """Those that came to their end, by step."""
    ended: dict[str, e.ChildSettled] = {}
    """How each step ended last, in whatever pass."""
    begun: dict[str, int] = {}
    """How often each step has run."""
    tries: dict[str, int] = {}
    """How often each step was begun in this pass."""
    reopened: frozenset[str] = frozenset()
    """Steps that are taken up again where they were blocked, until they come to their end."""
    charged: dict[str, Spend] = {}
    """What it was charged for each of its children, by path segment: one that is retried continues to spend."""
    learned: tuple[str, ...] = ()
    """Dead ends of its steps: for planners and for other steps, not for its own agents."""
    passes: int = 1
    at_state: str = ""
    """The state that a machine has come to; empty: the first."""
    turns: int = 0
    """Transitions that it has taken."""


class TaskAcceptance(Struct, frozen=True):
    """What its agent claims, what the check says of that, and how often it was sent back."""

    claim: str | None = None
    """The agent's summary, once it says it is done."""
    verdict: Verdict | None = None
    best: Verdict | None = None
    """The failing verdict with the fewest failures so far: what a repair that made things worse is rolled back to."""
    judged: bool = False
    """The verdict is about the present claim."""
    repairs: int = 0
    probe_repairs: int = 0
    """Of those, how many were for probes that fail."""
    findings: int = 0
    """How often work went back to the same agent because of what was found beside a check that passed."""
    found: str | None = None
    """The tree that it was about last."""
    asked_for_test: bool = False
    """No check was found, and somebody was asked to write a test."""

    @property
    def failing(self) -> Verdict | None:
        """The verdict, unless the check passed."""
        return self.verdict if self.verdict is not None and self.verdict.ruling != "passed" else None


class TaskTestChanges(Struct, frozen=True):
    """Original tests that may change, and who was asked about that."""

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


class TaskExamination(Struct, frozen=True):
    """What an examiner found beside the check, and the probes that it wrote."""

    examined: e.Examined | e.ExaminationSkipped | None = None
    probes: tuple[Probe, ...] = ()
    """Its own, and those that its completed steps have passed."""
    probed: str = ""
    """The tree that the probes have run on."""
    results: dict[str, Probed] = {}
    contested: dict[str, str] = {}
    """Why a probe is contested, by its name."""
    rulings: dict[str, Ruling] = {}
    """What a judge says of probes, by name."""


class TaskTalk(Struct, frozen=True):
    """What is noted for later agents, and what people have said."""

    notes: tuple[Note, ...] = ()
    heard: int = 0
    """The last that a person said and that has reached it, by its `seq`."""
    unheard: tuple[str, ...] = ()
    """What has reached it since its agent was last told."""
    question: str = ""
    """What it has asked the person, until that is answered."""


class TaskOutcome(Struct, frozen=True):
    """What came of it."""

    commanding: e.CommandStarted | None = None
    """The command that is the step, while it runs. Between effects: an interrupted one."""
    ran: e.CommandFinished | None = None
    reviewed: e.Reviewed | None = None
    result: str = ""
    """What came of it, where no agent says so itself."""
    summarized: bool = False
    report: str = ""
    """What was tried and learned, once it is given up."""
    files: tuple[str, ...] = ()
    """Changed since the base, as of the last checkpoint."""
    commit: str = ""
