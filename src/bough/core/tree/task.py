"""A task as the policies see it: its state after all its events."""

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import AllowedChange
from bough.core.budget.grants import compute_free
from bough.core.budget.limits import Limits, Spend, compute_remaining
from bough.core.conversation.persistent_list import PersistentList
from bough.core.ids import depth
from bough.core.ladder.escalation import Situation, Trouble
from bough.core.messages import AnswerProtocol, Message
from bough.core.planning.plan import Role, Step, Tier
from bough.core.rules import Rules
from bough.core.tree import task_groups as g
from bough.core.tree.task_state import SETTLED, Inheritance, State

ENDLESS = 60.0
"""The minimum time limit of a check in seconds, however short earlier checks were."""


class Attempt(Struct, frozen=True):
    """One agent's rounds from one starting context."""

    number: int
    role: Role
    tier: Tier
    system: str
    messages: PersistentList[Message]
    rounds: int = 0
    window: int = 0
    """The model's context window in tokens; 0 if unknown."""
    used: int = 0
    """Tokens of the conversation: the provider's count of the last round, plus an estimate for what came since."""
    compacted: bool = False
    """Whether the conversation was compacted since the last round."""
    exceeded: str = ""
    """The model's message if it refused the conversation because of its length; cleared once it is compacted."""
    useless: int = 0
    """Compactions in a row that did not help."""
    protocol: AnswerProtocol = "tools"
    may_change: bool = False
    changed: bool = False
    """Whether the agent has changed a file."""
    tactic: str = ""
    agent: str = ""
    pictured: bool = False


def quote_person(text: str) -> str:
    """Return a person's words as a note for the agents."""
    return f"The person says: {text}"


class Task(Struct, frozen=True):
    """Everything that the policies need to know about a task."""

    id: str
    version: int = 0
    at: float = 0.0
    """The time of the last event."""
    state: State = State.PENDING
    why: str = ""
    """Why the task is in this state."""
    halt: e.TaskHalted | None = None
    step: Step = Step("", "")
    rules: Rules = Rules()
    inherited: Inheritance = Inheritance()
    """The task's view of the work around it."""
    base: str = ""
    tree: str = ""
    """The git tree of the workspace after the last finished call that writes; a restore returns to it."""
    attempt: Attempt | None = None
    origin: g.TaskOrigin = g.TaskOrigin()
    budget: g.TaskBudget = g.TaskBudget()
    models: g.TaskModels = g.TaskModels()
    round: g.TaskRound = g.TaskRound()
    progress: g.TaskProgress = g.TaskProgress()
    ladder: g.TaskLadder = g.TaskLadder()
    plan: g.TaskPlan = g.TaskPlan()
    children: g.TaskChildren = g.TaskChildren()
    acceptance: g.TaskAcceptance = g.TaskAcceptance()
    test_changes: g.TaskTestChanges = g.TaskTestChanges()
    examination: g.TaskExamination = g.TaskExamination()
    talk: g.TaskTalk = g.TaskTalk()
    outcome: g.TaskOutcome = g.TaskOutcome()

    @property
    def created(self) -> bool:
        """Whether the task has started, and was not rewound to before its start."""
        return bool(self.base)

    @property
    def in_text(self) -> bool:
        """Whether the current agent acts by writing blocks of code in its text instead of calling tools."""
        return self.attempt is not None and self.attempt.protocol == "text"

    @property
    def takes_spare(self) -> bool:
        """Whether the agent's next answer is a spare one, which was paid for with the last question."""
        return bool(self.ladder.spare) and self.attempt is not None and self.attempt.rounds == 0

    @property
    def check_timeout(self) -> float:
        """Return the time limit of the next check in seconds. A small model that wrote an endless loop often writes it
        again, so after a check that did not end, checks get only ten times as long as the longest one that did."""
        most, known = self.rules.check_timeout, self.acceptance
        repeats = self.in_text and known.endless and known.longest > 0
        return min(most, max(ENDLESS, 10 * known.longest)) if repeats else most

    @property
    def outside(self) -> bool:
        """Whether the current agent is not bough's own."""
        return self.attempt is not None and self.attempt.protocol == "agent"

    @property
    def resting(self) -> bool:
        """Whether there is nothing more to do for now: the task has ended, is blocked or is halted."""
        return self.state in SETTLED or self.halt is not None

    @property
    def gathering(self) -> bool:
        """Whether the task's steps do the work, and no agent of its own is active."""
        carried = self.state in (State.IN_PROGRESS, State.DECOMPOSED)
        return carried and bool(self.plan.steps) and self.attempt is None and self.acceptance.claim is None

    @property
    def proposal(self) -> str:
        """Return what the estimate proposes: to plan the task or to do it as one piece of work."""
        return self.plan.estimate.proposal if self.plan.estimate else ""

    @property
    def left(self) -> Limits:
        """Return what may still be spent, not counting what is reserved for running steps."""
        return compute_free(self.budget.limits, self.budget.spend, list(self.reserved.values()))

    @property
    def reserved(self) -> dict[str, Limits]:
        """Return what running steps may still spend beyond earlier charges, by step."""
        return {
            name: compute_remaining(self.children.charged.get(run.task, Spend()), run.grant)
            for name, run in self.children.running.items()
        }

    @property
    def may_change(self) -> tuple[AllowedChange, ...]:
        """List the changes of original tests that were allowed, in this task or elsewhere in the run."""
        return tuple(dict.fromkeys((*self.inherited.allowed, *self.test_changes.allowed)))

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements of the goal that this task has to meet."""
        return self.plan.requirements or self.inherited.requirements

    @property
    def said(self) -> tuple[str, ...]:
        """List people's messages about the task, which every agent's context must contain."""
        mark = quote_person("")
        own = (note.text for note in self.talk.notes if note.text.startswith(mark))
        return tuple(dict.fromkeys((*(text for text in self.inherited.decisions if text.startswith(mark)), *own)))

    def situation(self, trouble: Trouble) -> Situation:
        """Return the situation by which escalation (the ladder) decides."""
        children = [self.children.settled[step.name] for step in self.plan.steps if step.name in self.children.settled]
        completed = sum(child.state in (State.COMPLETED, State.SKIPPED) for child in children)
        return Situation(
            trouble=trouble,
            depth=depth(self.id),
            rules=self.rules.ladder,
            planning=self.rules.planning,
            means=self.ladder.means,
            taken=self.ladder.taken,
            working=self.attempt is not None and self.state is State.IN_PROGRESS,
            nudged=self.progress.nudged,
            actions=self.progress.actions,
            rounds_left=self.left.rounds,
            parent=bool(self.plan.steps),
            completed=completed,
            blocked=len(self.plan.steps) - completed,
            changed=self.tree != self.base,
            errors=bool(children) and children[-1].errors,
            approaches=self.plan.approaches,
            hinted=self.plan.hinted,
            in_text=self.in_text,
            may_change=self.attempt is not None and self.attempt.may_change,
            provable=self.step.requires_testing
            and self.acceptance.verdict is not None
            and self.acceptance.verdict.ruling == "failed",
            spare=bool(self.ladder.spare),
        )
