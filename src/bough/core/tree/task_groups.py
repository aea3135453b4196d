"""The state of a task, grouped by topic: one small struct for each topic. `Task` in `task.py` holds them."""

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, ProbeResult
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.ladder.escalation import Decision, EscalationOptions, Rung, Trouble
from bough.core.merge.conflict_hunks import Merge
from bough.core.messages import AnswerProtocol, Call
from bough.core.planning.plan import Role, Step, Tier
from bough.core.stuck.patterns import StuckMemory
from bough.core.stuck.signals import Act, Signal
from bough.core.tree.task_state import Subject


class Note(Struct, frozen=True):
    kind: str
    text: str


class TaskOrigin(Struct, frozen=True):
    """The task's origin, which never changes."""

    key: str = ""
    """A key of the task's inputs: a step with the same key can reuse its result."""
    subject: Subject | None = None
    merge: Merge | None = None
    """The merge that this task resolves, if it is a merge task."""


class TaskBudget(Struct, frozen=True):
    limits: Limits = Limits()
    granted: bool = False
    """Whether the limits were raised to fit the plan."""
    grows: bool = False
    """Whether the parent may still raise the grant, so that the task halts before its hand-over round."""
    spend: Spend = Spend()
    examining: Spend = Spend()
    """What was spent on examiners, reviewers and judges."""


class TaskModels(Struct, frozen=True):
    """The models in use, and the time of the next call after a failure."""

    tier: Tier | None = None
    """The tier for later agents, if it differs from the step's."""
    windows: dict[Tier, int] = {}
    """Context windows learned from refusals, by tier."""
    protocols: dict[Tier, AnswerProtocol] = {}
    """The protocol of each tier's last agent, if it may change."""
    calling: dict[Tier, int] = {}
    """Answers with a usable tool call in this task, minus those without one, by tier."""
    serving: dict[Tier, str] = {}
    """The keys of the fallback models that answer at present, by tier."""
    quota_until: float = 0.0
    """The time at which the first exhausted quota is available again; 0 if none is exhausted."""
    transport_failures: int = 0
    retry_at: float = 0.0
    retry_wait: float = 0.0
    """Upper bound for the wait, in case the clock was changed meanwhile."""


class TaskRound(Struct, frozen=True):
    """The current round: one call of the model, and the tools that it calls."""

    asking: bool = False
    """Whether the round has started and the model has not answered yet. Asking again belongs to the same round."""
    last: bool = False
    """Whether the current round is the hand-over, in which the agent only reports."""
    handing_over: bool = False
    """Whether the hand-over was announced, so that the next round is the last one."""
    handed_over: bool = False
    """Whether the hand-over round is finished."""
    text: str = ""
    """The model's text in the current round."""
    waiting: tuple[Call, ...] = ()
    """Tool calls of the last answer that have not started."""
    started: tuple[Call, ...] = ()
    """Tool calls that have started and not finished. If the loop finds any when nothing runs, they were interrupted."""
    started_writes: bool = False
    """Whether one of the started calls may have changed the workspace."""
    acts: tuple[Act, ...] = ()
    """The finished calls of the round, as the stuck detector sees them."""
    faulty: str = ""
    """What is wrong with the last answer as a whole, until the agent is told."""
    faults: int = 0
    """How many unusable answers in a row the current agent gave."""
    empty: int = 0
    """How many empty answers in a row all agents gave."""


class TaskProgress(Struct, frozen=True):
    attempts: int = 0
    """The number of attempts so far."""
    memory: StuckMemory = StuckMemory()
    signal: Signal | None = None
    """The sign of being stuck that the last round gave, until it is recorded."""
    nudged: frozenset[str] = frozenset()
    """The stuck patterns about which the current agent has been warned."""
    passing: dict[int, int] = {}
    """The largest number of tests that passed in each of the agents' test commands, by hash of the command."""
    actions: int = 0
    """The number of tool calls that changed the workspace and of checks with other failures than before."""


class TaskLadder(Struct, frozen=True):
    """The current trouble, and the rungs (steps of escalation) taken against it."""

    means: EscalationOptions = EscalationOptions()
    trouble: Trouble | None = None
    """The current trouble, until a rung has dealt with it."""
    rung: Decision | None = None
    """The chosen rung, until its effect is done."""
    taken: dict[Rung, int] = {}
    """How often each rung was taken."""
    tactics: dict[str, int] = {}
    """How often each tactic was tried."""
    spare: tuple[str, ...] = ()
    """Further answers to the last question, which were paid for and have not been tried yet."""
    soft_rounds: int = 0
    """Rounds since the last rung, since the current agent started, or since more tests passed than ever before."""


class TaskPlan(Struct, frozen=True):
    """The smaller steps of the task, and how they were planned."""

    estimate: e.Estimated | None = None
    requirements: tuple[Requirement, ...] = ()
    """What the goal asks for. Only the goal has them."""
    proposed: tuple[Step, ...] = ()
    """A plan that the person has not answered yet."""
    wish: str = ""
    """The person's wishes for the next proposal."""
    leaf: bool = False
    """Whether the task runs as one piece of work, although it could have been planned."""
    steps: tuple[Step, ...] = ()
    """The current steps."""
    parallel: bool = False
    """Whether steps start as soon as their needs are met, several at a time."""
    conventions: tuple[str, ...] = ()
    """Conventions of the plan that apply to every step."""
    approaches: int = 0
    """The number of plans so far."""
    split: tuple[Step, ...] = ()
    """Smaller steps that the agent asked for."""
    problems: tuple[str, ...] = ()
    """What is wrong with the plan of a planning model, while the model can still correct it."""
    answered: str = ""
    """The last answer of that planning model."""
    hinted: bool = False
    """Whether the person has answered a question and the answer has not led to a plan yet."""


class TaskChildren(Struct, frozen=True):
    """The state of the steps. Each runs as a task of its own, a child."""

    running: dict[str, e.ChildStarted] = {}
    """Running steps, each with the grant (share of the budget) that is reserved for it."""
    held: dict[str, e.ChildHeld] = {}
    """Steps that are ready but wait for a running one."""
    settled: dict[str, e.ChildSettled] = {}
    """Steps that have ended."""
    ended: dict[str, e.ChildSettled] = {}
    """The last end of each step, in any pass."""
    begun: dict[str, int] = {}
    """How often each step has started."""
    tries: dict[str, int] = {}
    """How often each step has started in this pass."""
    reopened: frozenset[str] = frozenset()
    """Blocked steps that were resumed, until they end."""
    charged: dict[str, Spend] = {}
    """What the task was charged for each child so far, by path segment. A resumed child continues to spend."""
    learned: tuple[str, ...] = ()
    """Failed approaches of the steps, for planners and other steps but not for the task's own agents."""
    passes: int = 1
    at_state: str = ""
    """The current state of a state machine; empty for the first."""
    turns: int = 0
    """The number of transitions so far."""


class Summary(Struct, frozen=True):
    """An agent's closing statement."""

    attempt: int
    role: Role
    text: str


class TaskAcceptance(Struct, frozen=True):
    """The agent's claim to be done, the check's result, and how often the work went back."""

    claim: str | None = None
    """The agent's summary, once it claims to be done."""
    summaries: tuple[Summary, ...] = ()
    """The summaries of all the task's agents; none replaces another."""
    verdict: Verdict | None = None
    best: Verdict | None = None
    """The failing verdict with the best score; a repair that made things worse is rolled back to its tree."""
    judged: bool = False
    """Whether the verdict is about the current claim."""
    endless: bool = False
    """Whether a check was stopped because it took too long."""
    longest: float = 0.0
    """How many seconds the longest check took that ended by itself."""
    refuted: frozenset[str] = frozenset()
    """The git trees on which the check failed."""
    repairs: int = 0
    probe_repairs: int = 0
    """How many of the repairs were for failing probes."""
    findings: int = 0
    """How often work went back to the same agent because of a finding, although the check passed."""
    found: str | None = None
    """The git tree of the work that the last finding was about."""
    asked_for_test: bool = False
    """Whether an agent was asked to write a test because no check was found."""

    @property
    def failing(self) -> Verdict | None:
        """Return the verdict, unless the check passed."""
        return self.verdict if self.verdict is not None and self.verdict.ruling != "passed" else None


class TaskTestChanges(Struct, frozen=True):
    """The original tests that may change, and who decided that."""

    allowed: tuple[AllowedChange, ...] = ()
    """Changes that were allowed here or in one of the steps."""
    disputes: dict[str, str] = {}
    """Agents' objections to tests, by test."""
    ruled_by_judge: str | None = None
    """The tree that the judge last ruled on."""
    ruled_by_person: str | None = None
    """The tree that the person last ruled on."""
    denied: str | None = None
    """The tree that the person refused."""
    decided: str = ""
    """The latest reason why no change was allowed."""


class TaskExamination(Struct, frozen=True):
    """An examiner's findings besides the check, and its probes."""

    examined: e.Examined | e.ExaminationSkipped | None = None
    probes: tuple[Probe, ...] = ()
    """The task's own probes, and those that completed steps have passed."""
    times: int = 0
    """How often the task was examined."""
    probed: str = ""
    """The tree that the probes last ran on."""
    before: dict[str, str] = {}
    """The outcomes of probes on the files as they were before the run, by name."""
    seen: e.DifferenceSeen | None = None
    """What bough last observed about the difference that the work makes."""
    results: dict[str, ProbeResult] = {}
    contested: dict[str, str] = {}
    """Why a probe is contested, by name."""
    rulings: dict[str, Ruling] = {}
    """How a judge ruled on contested probes, by name."""


class TaskTalk(Struct, frozen=True):
    """Notes for later agents, and people's messages."""

    notes: tuple[Note, ...] = ()
    heard: int = 0
    """The `seq` of the last message from a person that has reached the task."""
    read: int = 0
    """The `seq` of the last message to the goal that was read for new requirements."""
    unheard: tuple[str, ...] = ()
    """Messages that the current agent has not received yet."""
    question: str = ""
    """The open question to the person."""


class TaskOutcome(Struct, frozen=True):
    commanding: e.CommandStarted | None = None
    """The running command of a command step. If the loop finds one when nothing runs, it was interrupted."""
    ran: e.CommandFinished | None = None
    result: str = ""
    """The result, if no agent states one: the command's output, or a summary of the steps."""
    summarized: bool = False
    report: str = ""
    """A report of the attempts and lessons, once the task is given up."""
    files: tuple[str, ...] = ()
    """Files changed since the base, as of the last checkpoint."""
    commit: str = ""
