"""Everything that can have happened. The journal is a sequence of these, and the only truth.

An event is frozen and carries no behaviour; fields that a newer bough added are skipped (docs/design/journal.md). Names
are in the past tense; an intent (`RoundStarted`, `ToolStarted`, `CheckStarted`) is durable before its effect begins, so
that after a crash what was running can be told from what was done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from bough.core.acceptance.findings import Finding
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, Probed
from bough.core.acceptance.requirements import By, Kind, Requirement
from bough.core.acceptance.shown import Difference, Shown
from bough.core.acceptance.verdict import AllowedChange, Verdict
from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.budget.ledger import Limits, Spend
from bough.core.errors import NewerRun
from bough.core.ladder.escalation import Decision, Means, Trouble
from bough.core.lessons import ProvenLesson
from bough.core.merge.conflict_hunks import Merge
from bough.core.messages import AnswerProtocol, Call, Spoken, Stop, Usage
from bough.core.planning.plan import Join, Plan, Role, Step, Tier
from bough.core.rules import Rules
from bough.core.stuck.signals import Signal
from bough.core.tree.inherited import Inherited, Subject
from bough.core.tree.task_state import State

Halt = Literal["stopped", "budget", "unavailable", "needs_approval", "environment", "paused", "waiting", "quota"]
ChangesBy = Literal["judge", "person", "earlier"]
End = Literal["completed", "not_proven", "failed", "not_verified"]
"""`not_proven`: finished, and nothing shows that the work made the difference. `not_verified` is its old name."""


class Event(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True, tag_field="event"):
    """The base of all events; `event` in the JSON is the class name."""


# ── the run's own stream ────────────────────────────────────────────────────────────────────────────────────────


class RunStarted(Event, frozen=True):
    plan: Plan
    base: str
    """Tree of the person's files at the start, in bough's own repository."""
    folder: str
    """The person's working folder, relative to the tree's root; the agent starts there."""
    models: dict[str, str]
    """Tier → `provider:model`."""
    limits: Limits
    rules: Rules
    version: str
    """Of bough."""
    jobs: int = 1
    """Agents that may work in parallel."""
    grows: bool = False
    """The round budget follows the plan's leaves: no person has set it."""
    endpoints: dict[str, str] = {}
    """The endpoint of each model, by its name: a resumed run uses it and no other."""
    fresh: bool = False
    """Every step runs, even one that an earlier run has done from the same start."""
    continues: str = ""
    """The finished run that it follows up on."""
    origin: str = ""
    """The person's files as that run found them, if its work is not applied yet: this run's work includes it."""
    inherited: Inherited = Inherited()
    """What the goal knows about that run."""
    ask_later: bool = False
    """If it has a question and nobody is there, it waits for `bough answer` instead of giving up."""
    network: str = ""
    """What commands can reach, if the person set it for this run; empty: as configured."""
    setup: str = ""
    """What sets a checkout up, if the person set it for this run; empty: as configured."""
    agents: dict[str, str] = {}
    """Role or tier → outside agent. `main`: all others."""
    agent_env: tuple[str, ...] = ()
    """Names of variables that outside agents see, if the person set them for this run."""
    agent_network: str = ""
    """What outside agents can reach, if the person set it for this run."""
    protocols: dict[str, Spoken] = {}
    """The protocol of each model, by its name, and why: a resumed run and its workers use the same."""
    format: int = 1
    """Of the run's events: `FORMAT` of the bough that started it."""
    settings: dict[str, str] = {}
    """What applies of the repository's own settings, by name and value."""
    listed: str = ""
    """The backlog and the goal in it that the run works on: `backlog/fix-totals`."""


class RunResumed(Event, frozen=True):
    worker: str
    limits: Limits
    """The budget from here on: a person may raise it, spend is never reset."""
    models: dict[str, str]
    endpoints: dict[str, str] = {}
    """The endpoint of each model, by its name."""
    check: str = ""
    """The command that proves the goal from here on; empty: as before."""
    accept_failing: bool | None = None
    """Whether tests that failed before the work may still fail; None: as before."""
    network: str = ""
    """What commands can reach from here on; empty: as before."""
    setup: str = ""
    """What sets a checkout up from here on; empty: as before."""
    agents: dict[str, str] = {}
    """Role or tier → outside agent, from here on; empty: as before."""
    agent_env: tuple[str, ...] = ()
    agent_network: str = ""
    by: str = ""
    """Who did it, as the system knows them."""


class BaseStarted(Event, frozen=True):
    """The goal's check is about to run on the files as they are, before any work."""

    command: str
    why: str
    """Where it comes from, as a phrase."""
    environment: str = ""
    """What it runs in, as a phrase: `the environment in .venv`."""


class BaseChecked(Event, frozen=True):
    """What the goal's check says before any work. Without a command: no check was found."""

    command: str = ""
    why: str = ""
    environment: str = ""
    exit_status: int | None = None
    """None when it was killed."""
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0
    lacking: str = ""
    """What it lacks to say anything. Then the run halts."""
    way_out: str = ""
    """What provides it."""
    scouted: bool = False
    """A model proposed the command: no file of the project says it."""
    aside: dict[str, str] = {}
    """Failing tests that cannot run here, and what each lacks: they neither count nor are repaired."""
    left_out: tuple[str, ...] = ()
    """Ignored files that a failing check's output names: they are not in the checkout."""
    said: str = ""
    """The end of a failing check's output."""


class CheckScouted(Event, frozen=True):
    """No rule found a check that runs: a model was asked how the project is tested, and bough tried what it
    proposed."""

    commands: tuple[str, ...] = ()
    refused: dict[str, str] = {}
    """Commands that do not count, and why."""
    usage: Usage = Usage()
    cost: float | None = None
    model: str = ""


class ToolServersListed(Event, frozen=True):
    """The run's MCP servers were started and asked what they offer."""

    tools: dict[str, tuple[str, ...]] = {}
    """The names of the tools that agents get, by server."""
    failed: dict[str, str] = {}
    """Why others offer nothing, by server. The run continues without them."""


class RunHalted(Event, frozen=True):
    """The run is halted, unfinished, and can be resumed."""

    reason: Halt
    message: str
    until: float = 0.0
    """When it can resume, if known: its model's quota is exhausted until then."""


class RunFinished(Event, frozen=True):
    end: End
    summary: str

    def __post_init__(self) -> None:
        if self.end == "not_verified":  # In old journals.
            msgspec.structs.force_setattr(self, "end", "not_proven")


class Judged(Event, frozen=True):
    """A person had the run's work verified again, by its own check or another."""

    verdict: Verdict


class Accepted(Event, frozen=True):
    """A person has accepted the work of a run that finished without proof."""

    by: str = ""
    why: str = ""


class Applied(Event, frozen=True):
    """The run's changes were applied to the person's tree."""

    tree: str
    files: tuple[str, ...]
    before: str = ""
    """The person's files as they were before: what `bough undo` restores."""
    after: str = ""
    """… and as they were right after."""
    commit: str = ""
    """The commit made for it in the person's repository."""
    by: str = ""
    """Who did it, as the system knows them."""


class Undone(Event, frozen=True):
    """The applied changes were undone in the person's files."""

    files: tuple[str, ...]
    by: str = ""
    """Who did it, as the system knows them."""


class RunReopened(Event, frozen=True):
    """A person rewinds the run to a moment of one of its tasks: it can be resumed again. Durable before any task is
    rewound, so that resuming the run completes a rewind that a crash interrupted."""

    task: str
    round: int
    moment: int = 0
    """The last record that still counts, by its `seq`. 0, in older journals: only that one task was rewound."""
    by: str = ""
    """Who did it, as the system knows them."""


class StopRequested(Event, frozen=True):
    """In the control stream: a person wants the live run to stop (`now`: without waiting for the current effect)."""

    now: bool = False
    by: str = ""
    """Who asks, as the system knows them."""


class PauseRequested(Event, frozen=True):
    """In the control stream: a person wants the live run to halt after the current effect, until it is resumed."""

    by: str = ""


class PersonSaid(Event, frozen=True):
    """In the control stream: a person's message to the agents. If the run has an open question, it is the answer. Kept
    until it is heard, even while the run is not running."""

    text: str
    by: str = ""
    task: str = ""
    """Whose agents it is for: this task's and those below it; empty: all active agents."""


class PlanRuled(Event, frozen=True):
    """In the control stream: a person's answer to a proposed plan, given elsewhere than where they are asked."""

    task: str
    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    steps: tuple[Step, ...] = ()
    """For `own`: the steps as they wrote them …"""
    requirements: tuple[str, ...] = ()
    """… and what the goal asks, if they changed it."""
    by: str = ""


class CommandHeld(Event, frozen=True):
    """In the control stream: a command that the person wants to see first waits for approval. It waits no longer than
    the process that asks: what is open when a run is resumed is asked again with the next such command."""

    id: str
    line: str
    task: str = ""
    """The task whose agent wants to run it."""
    until: float = 0.0
    """When it is denied if nobody has answered; 0: it waits as long as the process that asks."""


class CommandRuled(Event, frozen=True):
    """In the control stream: the outcome, whether the person decided, here or elsewhere, or nobody did in time."""

    id: str
    allow: bool
    say: str = ""
    """What the model is told with a no."""
    by: str = ""
    """Empty: nobody answered."""


class ChangesAnswered(Event, frozen=True):
    """In the control stream: a person's answer to a live task that asks whether original tests may change."""

    task: str
    allow: bool
    say: str = ""
    """What the agent is told with a no."""
    by: str = ""


# ── a task's stream ─────────────────────────────────────────────────────────────────────────────────────────────


class TaskCreated(Event, frozen=True):
    step: Step
    base: str
    """Tree that the task starts from."""
    limits: Limits
    """The task's grant."""
    rules: Rules
    means: Means = Means()
    inherited: Inherited = Inherited()
    grows: bool = False
    """Its grant may still be raised: it halts before its hand-over round."""
    key: str = ""
    """Identifies everything the step's outcome depends on. A later run with the same key can reuse it."""
    subject: Subject | None = None
    """For a critic: what it judges."""
    merge: Merge | None = None
    """For a task that merges a step's work onto a head that has moved on: both sides, and where it starts."""
    heard: int = 0
    """The last message from people by then, by its `seq`: the task above has heard it and passes it on."""
    worker: str = ""
    """The worker that runs it, where tasks are dispatched to workers."""


class StateChanged(Event, frozen=True):
    to: State
    why: str


class WorkspaceOpened(Event, frozen=True):
    tree: str


class AttemptStarted(Event, frozen=True):
    """A fresh agent begins. What it is told is kept whole, so a prompt is always a projection of the journal."""

    role: Role
    tier: Tier
    system: str
    brief: str
    protocol: AnswerProtocol = "tools"
    """How the agent acts: through native tool calls, blocks in its text, or tools of its own."""
    may_change: bool = False
    """Which protocol suits its model is unknown: the ladder may switch to the other one."""
    agent: str = ""
    """The outside agent that it is, as the person names it; empty: bough's own."""
    why: str = ""
    """Why it has this protocol, where that was found out."""
    tactic: str = ""
    """How a model that acts in text is asked: `tests_first`, `short`, `whole`, `hinted`, `repair`."""


class RoundStarted(Event, frozen=True):
    """A model call is about to be made."""

    last: bool = False
    """The hand-over round: only `done` and `note` are available."""


class ModelFailed(Event, frozen=True):
    """A transport error; the call is retried after `wait` seconds (0: not retried)."""

    message: str
    wait: float
    seconds: float = 0.0
    usage: Usage = Usage()
    """Of the part of the answer that arrived before it broke off."""
    too_long: bool = False
    """The model refused the conversation for its length: it is shortened and sent again."""
    window: int = 0
    """Tokens that fit into the model's window, as its refusal says; 0: unknown."""


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
    """Tokens that fit into the model's window; 0: unknown."""


class MessageAdded(Event, frozen=True):
    """bough says something to the agent between rounds: a nudge, the hand-over."""

    why: str
    """The prompt template it was made from."""
    text: str


class MessageReceived(Event, frozen=True):
    """A person's message has reached the task. Its agent gets it before the next round, a later one from the start."""

    said: int
    """The `seq` of the message."""
    text: str
    by: str = ""
    requirements: tuple[Requirement, ...] = ()
    """What it adds to what this task has to meet."""


class MessageRead(Event, frozen=True):
    """What a person's message asks for, in the goal's stream, and in the control stream for those who work elsewhere. A
    message without a demand adds nothing."""

    said: int
    """The `seq` of the message."""
    requirements: tuple[Requirement, ...] = ()
    """What it adds to what the goal asks."""
    replaces: dict[int, int] = {}
    """Numbers of the requirements that it contradicts, each with the number of the one that replaces it."""
    owner: str = ""
    """The step that does it; empty: everyone who hears it."""
    asks: bool = False
    """It only asks something: no agent hears it, since none can answer."""


class RequirementRestored(Event, frozen=True):
    """A person has undone the replacement of a requirement: it counts again. First in the control stream, then in the
    goal's."""

    number: int
    by: str = ""
    said: int = 0
    """The `seq` of their request."""


class ToolStarted(Event, frozen=True):
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
    """Tree of the workspace after a writing call."""
    seconds: float = 0.0
    fault: bool = False
    """The call itself was unusable: unknown tool, malformed or wrong arguments."""
    interrupted: bool = False
    passed: int | None = None
    """Tests that passed in it, if it was a readable test run."""
    image: str = ""
    """The media type, if the blob is an image that the model sees."""


class NoteKept(Event, frozen=True):
    """A decision or dead end that later attempts see."""

    kind: Literal["decision", "dead_end"]
    text: str


class SignalRaised(Event, frozen=True):
    """The stuck detector found that the work is stuck."""

    signal: Signal


class Escalated(Event, frozen=True):
    """A rung of the ladder is taken. Durable before its effect begins, so that no rung is ever counted twice."""

    decision: Decision
    trouble: Trouble


class HelperAnswered(Event, frozen=True):
    """A model was asked something on the task's behalf (to plan, to prune …). It counts as a round of the task."""

    helper: str
    """The prompt template that it was asked with."""
    text: str = ""
    """What it said, or the arguments of its call."""
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""


class HelperFailed(Event, frozen=True):
    """The call failed; its purpose is met without it, or later."""

    helper: str
    message: str
    seconds: float = 0.0
    usage: Usage = Usage()
    """Of the part of the answer that arrived before it broke off."""
    wait: float = 0.0
    """Seconds until the retry; 0: none."""


class ContextPruned(Event, frozen=True):
    """The next agent starts from only what the task needs."""

    before: int
    """Tokens of the conversation, about."""
    after: int
    by: Literal["model", "rule"]


class Estimated(Event, frozen=True):
    """The complexity gate's answer: made once, and passed on."""

    atomic: bool
    steps: int
    """Approximate."""
    phases: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    reason: str = ""
    proposal: Literal["leaf", "flat", "hierarchy"] = "leaf"
    """What follows: one leaf, one level of steps, or phases with steps of their own."""
    programs: tuple[str, ...] = ()
    """Programs that the result has to behave like, as the gate reads the goal."""


class RequirementsRead(Event, frozen=True):
    """What the goal asks, numbered. Read once, before any plan; a person may change it with the plan."""

    requirements: tuple[Requirement, ...]
    by: By = "rule"
    background: tuple[str, ...] = ()
    """Passages of the goal that ask for nothing."""


class PlanProposed(Event, frozen=True):
    """The planner's plan. It takes effect once it is `Planned`: a person may be asked first."""

    steps: tuple[Step, ...]
    conventions: tuple[str, ...] = ()
    """What holds for every step."""


class CompactionStarted(Event, frozen=True):
    """The conversation is about to fill the model's window: it is compacted."""

    used: int
    """Tokens of it: what the provider counted in the last round, and an estimate of what came since."""
    window: int


class Compacted(Event, frozen=True):
    """A summary replaced the older part of the conversation; the brief and the newer part stayed as they were."""

    summary: str
    """What the agent sees instead, including pinned facts."""
    at: int
    """The first message that was kept, counted from the brief as 0."""
    before: int
    """Tokens of the conversation, about."""
    after: int
    by: Literal["model", "rule"]


class SplitProposed(Event, frozen=True):
    """The agent asked for smaller steps in place of the task; they were validated."""

    steps: tuple[Step, ...]


class PlanAnswered(Event, frozen=True):
    """The person's answer: accept it, do it as one leaf, make another one, or run their own steps."""

    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    """What they want changed."""
    by: str = ""


class PlanChanged(Event, frozen=True):
    """A phase has finished, and the steps after it were reviewed."""

    steps: tuple[Step, ...]
    """The remaining steps, as they are from here on."""
    said: tuple[str, ...] = ()
    """Each change with its reason; empty: the plan holds."""


class Granted(Event, frozen=True):
    """The budget is set to fit the plan's leaves, before any of them begins."""

    limits: Limits


class Planned(Event, frozen=True):
    """The task gets smaller steps. Completed ones stay; `dropped` ones no longer run."""

    steps: tuple[Step, ...]
    why: str
    dropped: tuple[str, ...] = ()
    join: Join = "all"
    """`any`: they are attempts at the same thing, and the first that is proven completes the task."""
    conventions: tuple[str, ...] = ()
    """What holds for every step."""


class PlanRefused(Event, frozen=True):
    """A model's plan was rejected. The model may repair it once; after that (`final`) the next rung is taken."""

    helper: str
    problems: tuple[str, ...]
    final: bool = False


class Reported(Event, frozen=True):
    """What was tried and learned, what is left and how to continue: written before a task is given up."""

    text: str


class QuestionAsked(Event, frozen=True):
    """The ladder has a question for the person. Until it is answered, the task waits."""

    question: str


class PersonAnswered(Event, frozen=True):
    """The person was asked; an empty text means no answer."""

    question: str
    text: str
    by: str = ""
    said: int = 0
    """The `seq` of the `PersonSaid` that is the answer, if it came from elsewhere."""


class DoneClaimed(Event, frozen=True):
    """The agent says it is done. That proves nothing; the check does."""

    summary: str


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
    """Who that is, as the system knows them."""


class FindingReturned(Event, frozen=True):
    """A finding despite a passing check goes back to the same agent, which may answer. It is not a repair."""

    text: str


class CommandStarted(Event, frozen=True):
    """The command that is the whole step is about to run."""

    command: str


class CommandFinished(Event, frozen=True):
    ok: bool
    output: str
    """Head and tail of what it printed."""
    exit_status: int | None = None
    """None when it was killed or interrupted."""
    blob: str = ""
    """The whole output in the blob store, if it was longer."""
    tree: str = ""
    """Tree of the workspace after it."""
    seconds: float = 0.0
    killed: str = ""
    """Why it was killed, as a phrase."""
    interrupted: bool = False
    """bough itself stopped while it ran. It does not run again unless the plan or a person says so."""


class Reviewed(Event, frozen=True):
    """A critic is done. Only a review without problems and findings approves the work."""

    findings: tuple[Finding, ...] = ()
    """What has to change, the most severe first."""
    problems: tuple[str, ...] = ()
    """Why there is no review, if the critic gave no readable one."""


class Summarized(Event, frozen=True):
    """The results of a task's steps, for the tasks above it."""

    text: str
    by: Literal["model", "rule"]


class WorkspaceRestored(Event, frozen=True):
    tree: str
    why: str


class CheckStarted(Event, frozen=True):
    command: str
    """Empty when none was found, or none is needed."""
    found: str = ""
    """Where it comes from, as a phrase."""


class CheckFinished(Event, frozen=True):
    verdict: Verdict


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
    """Of a goal's probes: the results on the files as they were before the run, where they were not known yet."""


class DifferenceSeen(Event, frozen=True):
    """What the work changes, apart from what the check says: what shows that it made the difference."""

    tree: str
    seen: Difference
    seconds: float = 0.0


class EvidenceJudged(Event, frozen=True):
    """What shows that the work made the difference, for each requirement of the goal."""

    shown: tuple[Shown, ...] = ()
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


class CheckpointMade(Event, frozen=True):
    commit: str
    tree: str
    files: tuple[str, ...]
    """Changed since the task's base."""


class ChildStarted(Event, frozen=True):
    """A smaller step begins. Its grant is reserved from here on."""

    step: str
    task: str
    """The last segment of its path: the step's name, with `@2` and so on if it runs again."""
    grant: Limits


class ChildHeld(Event, frozen=True):
    """A ready step does not begin yet: a running one changes the same files."""

    step: str
    other: str
    """The step that it waits for."""
    files: tuple[str, ...]


class MergeStarted(Event, frozen=True):
    """A finished step's work is about to be merged onto the head and proven there."""

    child: str


class ChildMerged(Event, frozen=True):
    """A finished step's work was merged with what landed meanwhile, and checked there. With conflicts
    or a failing check it does not land like that: a task below the step's has to make both work."""

    child: str
    """The step's name."""
    tree: str
    conflicts: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """Of the step's check at the merged tree; None if conflicts left nothing to check."""
    both: tuple[str, ...] = ()
    """Files to which both sides only added at the same place: both additions were kept, and no model was asked."""
    remade: tuple[str, ...] = ()
    """Lock files that were regenerated by their own program."""
    ahead: bool = False
    """It was checked ahead of its turn, on the expected head."""


class ChildSettled(Event, frozen=True):
    """A smaller step ended, and its work was merged if it succeeded."""

    child: str
    """The step's name."""
    state: State
    why: str
    tree: str
    """What the task's workspace holds from here on: with the child's work if it is completed, otherwise unchanged."""
    spend: Spend
    """Of the child and all below it."""
    result: str = ""
    """What its agents said, side by side."""
    summary: str = ""
    """What the agent said that did the work."""
    files: tuple[str, ...] = ()
    """What it changed."""
    dead_ends: tuple[str, ...] = ()
    errors: bool = False
    """It left a failing check; for a critic: it found something severe."""
    verdict: str = ""
    """What its check said, in one sentence."""
    decisions: tuple[str, ...] = ()
    """What it noted, if it shares its parent's context."""
    shared: bool = False
    """It works in its parent's context: its notes are the parent's too."""
    do: Literal["", "break", "continue"] = ""
    """What it asks of the nearest enclosing step that repeats."""
    task: str = ""
    """The last segment of its path; empty if it never began."""
    key: str = ""
    """Identifies everything its outcome depended on, if a later run may reuse it."""
    source: str = ""
    """The run and the task that it was reused from, instead of running again."""
    allowed: tuple[AllowedChange, ...] = ()
    """Original tests that may change, as decided for it."""
    cases: str = ""
    """Every test of its last verdict with its outcome, in the blob store."""
    probes: tuple[Probe, ...] = ()
    """Those it passed, which run again on the whole."""
    refuting: tuple[Probe, ...] = ()
    """For a critic: those that fail. For a step that did not succeed: those it has to pass."""
    not_asked: tuple[str, ...] = ()
    """Probes of other steps that a judge dropped while its work was merged, by name."""


class ChildrenReopened(Event, frozen=True):
    """Failed steps are reopened, with a stronger model."""

    children: tuple[str, ...]
    why: str


class PassEnded(Event, frozen=True):
    """A compound step that repeats starts over."""

    number: int
    why: str


class TransitionTaken(Event, frozen=True):
    """A state has finished, and another one follows."""

    state: str
    to: str
    why: str


class TakenUp(Event, frozen=True):
    """A blocked task continues."""

    tier: Tier
    why: str


class TaskHalted(Event, frozen=True):
    reason: Halt
    message: str
    seconds: float = 0.0
    """Spent in an effect that was cut off because time ran out."""
    until: float = 0.0
    """When it can resume, if known."""


class TaskResumed(Event, frozen=True):
    limits: Limits
    means: Means = Means()
    grows: bool = False
    check: str = ""
    """The command that proves it from here on; empty: as before."""
    accept_failing: bool | None = None
    worker: str = ""
    """The worker that runs it from here on, where tasks are dispatched to workers."""


class WorkTaken(Event, frozen=True):
    """The step's work is that of a finished run: its changes, its verdict and the probes that it passed."""

    run: str
    base: str
    """What that work started from."""
    tree: str
    summary: str = ""
    verdict: Verdict | None = None
    probes: tuple[Probe, ...] = ()


class TaskRewound(Event, frozen=True):
    """Everything after `version` is as if it had not happened, except for its cost."""

    version: int
    """0: it has not begun."""
    tree: str
    children: dict[str, Spend] = {}
    """What its smaller steps had spent by then and it had not been charged for yet; by path segment."""


# ── a backlog: its control stream, and one stream for each goal ─────────────────────────────────────────────────────


class GoalListed(Event, frozen=True):
    """The first event of a goal's stream: a person has put it on the list."""

    entry: GoalEntry
    by: str = ""


class GoalEdited(Event, frozen=True):
    """In the control stream, as are moves and drops: a person may change the list while another process works on it."""

    item: str
    entry: GoalEntry
    by: str = ""


class GoalDropped(Event, frozen=True):
    item: str
    by: str = ""


class GoalMoved(Event, frozen=True):
    item: str
    before: str = ""
    """The goal that it comes before from now on; empty: it is the last."""
    by: str = ""


class GoalTaken(Event, frozen=True):
    """A process works on the goal. Durable before the run starts, so that after a crash the run is found again."""

    run: str
    base: str
    """The tree that it starts from."""
    origin: str = ""
    """The tree that the night started from, where the goal starts from the work of the goals that it needs."""
    cost: float | None = None
    """Dollars reserved for it this night."""
    before: float = 0.0
    """Dollars that its run had cost before this night."""
    commit: str = ""
    """The commit that its branch is made on."""
    worker: str = ""


class GoalSettled(Event, frozen=True):
    """Its run has ended or halted."""

    report: GoalReport


class NightStarted(Event, frozen=True):
    """Work on the list begins. While it lasts, a process that joins uses the same files."""

    base: str
    """The person's files, in bough's own repository."""
    commit: str = ""
    """The last commit then, on which branches are made; empty: there is none."""
    cost: float | None = None
    """Dollars that the night may spend."""
    together: str = ""
    """The branch that all finished work goes onto."""
    by: str = ""


class NightJoining(Event, frozen=True):
    """The finished branches are about to be merged and proven together, as steps of this run."""

    run: str


class NightJoined(Event, frozen=True):
    """What came of it."""

    branch: str = ""
    """Empty: nothing could be put onto it."""
    commit: str = ""
    landed: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    """Goals that conflict or break others, and how."""
    why: str = ""


class NightEnded(Event, frozen=True):
    why: str


class LessonKept(Event, frozen=True):
    """A finished run has proved something about the repository."""

    lesson: ProvenLesson


class LessonRetired(Event, frozen=True):
    """A verdict contradicts it, or a person has forgotten it."""

    number: int
    why: str
    by: str = ""


BacklogEvent = (
    GoalListed
    | GoalEdited
    | GoalDropped
    | GoalMoved
    | GoalTaken
    | GoalSettled
    | NightStarted
    | NightJoining
    | NightJoined
    | NightEnded
    | LessonKept
    | LessonRetired
)
"""What happens in streams that are no run: lists of goals, and lessons."""
AnyEvent = (
    RunStarted
    | BacklogEvent
    | WorkTaken
    | Disputed
    | ChangesAsked
    | ChangesRuled
    | FindingReturned
    | RunResumed
    | BaseStarted
    | BaseChecked
    | CheckScouted
    | ToolServersListed
    | RunHalted
    | RunFinished
    | Judged
    | RunReopened
    | Applied
    | Undone
    | StopRequested
    | PauseRequested
    | PersonSaid
    | PlanRuled
    | CommandHeld
    | CommandRuled
    | ChangesAnswered
    | TaskCreated
    | StateChanged
    | WorkspaceOpened
    | AttemptStarted
    | RoundStarted
    | ModelFailed
    | ModelAnswered
    | MessageAdded
    | MessageReceived
    | ToolStarted
    | ToolFinished
    | NoteKept
    | SignalRaised
    | Escalated
    | HelperAnswered
    | HelperFailed
    | ContextPruned
    | Estimated
    | RequirementsRead
    | PlanProposed
    | PlanAnswered
    | PlanChanged
    | Granted
    | CompactionStarted
    | Compacted
    | SplitProposed
    | Planned
    | PlanRefused
    | Reported
    | QuestionAsked
    | PersonAnswered
    | DoneClaimed
    | CommandStarted
    | CommandFinished
    | Reviewed
    | Summarized
    | WorkspaceRestored
    | CheckStarted
    | CheckFinished
    | Examined
    | ExaminationSkipped
    | ProbesStarted
    | ProbesFinished
    | MessageRead
    | RequirementRestored
    | Accepted
    | DifferenceSeen
    | EvidenceJudged
    | ProbeContested
    | ProbeRuled
    | CheckpointMade
    | ChildStarted
    | ChildHeld
    | MergeStarted
    | ChildMerged
    | ChildSettled
    | ChildrenReopened
    | PassEnded
    | TransitionTaken
    | TakenUp
    | TaskHalted
    | TaskResumed
    | TaskRewound
)


class Record(Struct, frozen=True):
    """An event as the journal holds it."""

    seq: int
    """Order within the whole store."""
    run: str
    task: str
    version: int
    """Order within its stream, from 1 without gaps."""
    at: float
    event: AnyEvent


FORMAT = 2
"""Of the events of a run, written into its `RunStarted`. It moves with an event, or with a field's meaning, that an
older bough cannot skip. A change under which old journals do not decode needs an upcaster and a golden journal, never a
branch in the fold."""
LAYOUT = 2
"""Of the store's tables. 1: the first version, which also refuses every event and field that came since."""

encode = msgspec.json.Encoder().encode

_KINDS: dict[str, type[AnyEvent]] = {kind.__name__: kind for kind in get_args(AnyEvent)}
_BUILDING = Lock()
"""msgspec hands a type that one thread is still building to another, which crashes when it decodes with it."""


@cache
def decoder(kind: str) -> Callable[[bytes], AnyEvent]:
    """Reads events of one kind, and raises `msgspec.ValidationError` for anything else. One for all kinds takes
    10 ms to build, more than the rest of most commands."""
    if kind not in _KINDS:
        raise msgspec.ValidationError(f"unknown event `{kind}`")
    with _BUILDING:
        strict = msgspec.json.Decoder(_KINDS[kind]).decode

    def decode(body: bytes) -> AnyEvent:
        try:
            return strict(body)
        except msgspec.ValidationError:
            from bough.core.journal.newer_fields import drop_unknown

            return msgspec.convert(drop_unknown(msgspec.json.decode(body), _KINDS[kind]), _KINDS[kind])

    return decode


def decode_event(run: str, kind: str, body: bytes) -> AnyEvent:
    """An event of a run, as it is stored. `NewerRun` when a newer bough wrote what this one cannot skip."""
    if kind not in _KINDS:
        raise NewerRun(
            f"{run} was written by a newer bough, with events (`{kind}`) that this one cannot read: upgrade."
        )
    event = decoder(kind)(body)
    if isinstance(event, RunStarted) and event.format > FORMAT:
        raise NewerRun(
            f"{run} was written by a newer bough (format {event.format}, this one reads up to {FORMAT}): upgrade."
        )
    return event
